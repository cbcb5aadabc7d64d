"""What blocks in progress have come to: kept every so often, so that a wave of them goes on in the middle."""

import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import jax
import numpy as np

from jaxonline.simulation.segments import Carry
from jaxonline.store.blocks import Store
from jaxonline.store.key_arrays import leaf_like, plain_leaf
from jaxonline.store.layout import Rows

Leaves = list[np.ndarray]  # of totals on the host, each with the leading axis of devices


class Position(NamedTuple):
    """Where a wave stands: rounds played, the carry after them, and what was read at recorded rounds before."""

    round: int
    carry: Carry
    read: list[Leaves]


class InProgress:
    """The blocks of a wave, until they are finished.

    Args:
        store: where they are kept.
        rows: of their job in the store.
        blocks: one for each device; copies of the last one fill up a wave.
        real: how many of them count.

    Attributes:
        every: seconds between two keepings, at least.
    """

    def __init__(self, store: Store, rows: Rows, blocks: np.ndarray, real: int):
        self.every = store.every
        self._store, self._rows = store, rows
        self._blocks, self._real = blocks.tolist(), real
        self._since: float | None = None
        self._wait = self.every

    def restore(self, carry: Carry) -> Position | None:
        """Where the wave was, if all of its blocks were kept at the same round; `carry` is one like those kept."""
        found = [self._store.state(self._rows, block) for block in self._blocks[: self._real]]
        states = [state for state in found if state is not None]
        if len(states) < len(found) or len({rounds for rounds, _ in states}) != 1:
            return None
        kept = [arrays for _, arrays in states]
        kept += [kept[-1]] * (len(self._blocks) - self._real)

        def together(name: str) -> np.ndarray:
            return np.stack([each[name] for each in kept])

        leaves, structure = jax.tree.flatten(carry)
        restored = [leaf_like(leaf, together(f"carry {i}")) for i, leaf in enumerate(leaves)]
        sizes = [int(n) for n in kept[0]["read"]]
        read = [[together(f"read {i} {j}") for j in range(size)] for i, size in enumerate(sizes)]
        return Position(states[0][0], jax.tree.unflatten(structure, restored), read)

    def due(self) -> bool:
        """Whether it is time to keep the blocks. The clock starts when this is first asked."""
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        return now - self._since >= self._wait

    def keep(self, position: Position) -> None:
        """Keep the blocks. Where that takes long it is done more rarely."""
        start = time.monotonic()
        leaves = jax.device_get([plain_leaf(leaf) for leaf in jax.tree.leaves(position.carry)])
        numbers = {f"carry {i}": np.asarray(leaf) for i, leaf in enumerate(leaves)}
        numbers |= {f"read {i} {j}": leaf for i, each in enumerate(position.read) for j, leaf in enumerate(each)}
        about = {"read": np.array([len(each) for each in position.read], np.int64)}
        for device, block in enumerate(self._blocks[: self._real]):
            own = about | {name: part[device] for name, part in numbers.items()}
            self._store.keep_state(self._rows, block, position.round, own)
        self._since = time.monotonic()
        self._wait = max(self.every, min(10 * (self._since - start), 10 * self.every))

    def finish(self, position: Position) -> None:
        """The blocks are finished, and in the store: their states go, or stay as they are now, for more rounds."""
        if self._store.keep_states:
            self.keep(position._replace(read=[]))
            return
        for block in self._blocks[: self._real]:
            self._store.forget_state(self._rows, block)


class Pace:
    """How many rounds are played at a time, so that one can stop about as often as blocks are to be kept.

    Args:
        every: seconds; so many rounds are played at a time that they take an eighth to a half of it.
        rounds: the first time.
    """

    def __init__(self, every: float, rounds: int = 16):
        self.rounds = rounds
        self._every = every
        self._last = time.monotonic()

    def played(self) -> None:
        """So many rounds were played since this was called last."""
        now = time.monotonic()
        took, self._last = now - self._last, now
        if took < self._every / 8:
            self.rounds *= 2
        elif took > self._every / 2:
            self.rounds = max(self.rounds // 2, 1)


def pieces(segments: Iterable[tuple[int, int]], start: int, pace: Pace) -> Iterator[tuple[int, int]]:
    """Segments after round `start`, in pieces of at most the rounds of the pace, as pairs like segments."""
    for first, until in segments:
        t = max(first, start)
        while t < until:
            end = min(t + pace.rounds, until)
            yield t, end
            t = end
