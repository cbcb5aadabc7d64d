"""States of blocks in progress, stored every few seconds, so that an interrupted study resumes inside a block."""

import time
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxonline.simulation.jobs import Numbers
from jaxonline.simulation.segments import Carry
from jaxonline.store.blocks import Store
from jaxonline.store.key_arrays import leaf_like, plain_leaf
from jaxonline.store.layout import JobArrays
from jaxonline.store.zarr_format import encode_name

READ = "recorded/"  # the names of numbers of recorded rounds start with it


class Position(NamedTuple):
    """Where a wave stands: rounds played, the carry after them, and the numbers of recorded rounds before."""

    round: int
    carry: Carry
    read: list[Numbers]


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

    def __init__(self, store: Store, rows: JobArrays, blocks: np.ndarray, real: int):
        self.every = store.every
        self._store, self._rows = store, rows
        self._blocks, self._real = blocks.tolist(), real
        self._since: float | None = None
        self._wait = self.every

    def restore(self, carry: Carry) -> Position | None:
        """Where the wave was, if all of its blocks were kept at the same round; `carry` is one like those kept."""
        kept = [self._store.load_state(self._rows, block) for block in self._blocks[: self._real]]
        states = [state for state in kept if state is not None]
        if len(states) < len(kept) or len({rounds for rounds, _ in states}) != 1:
            return None
        arrays = [named for _, named in states]
        arrays += [arrays[-1]] * (len(self._blocks) - self._real)
        together = {name: np.stack([named[name] for named in arrays]) for name in arrays[0]}
        restored = jax.tree_util.tree_map_with_path(
            lambda path, leaf: leaf_like(leaf, together[_name_of(path)]), carry
        )  # fmt: skip
        read: dict[str, Numbers] = {}
        for name in together:
            if name.startswith(READ):
                number, _, output = name.removeprefix(READ).partition("/")
                read.setdefault(number, {})[output] = together[name]
        return Position(states[0][0], restored, list(read.values()))

    def due(self) -> bool:
        """Whether it is time to keep the blocks. The clock starts when this is first asked."""
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        return now - self._since >= self._wait

    def keep(self, position: Position) -> None:
        """Keep the blocks. Where that takes long it is done more rarely."""
        start = time.monotonic()
        leaves = jax.tree_util.tree_leaves_with_path(jax.device_get(jax.tree.map(plain_leaf, position.carry)))
        numbers = {_name_of(path): np.asarray(leaf) for path, leaf in leaves}
        numbers |= {f"{READ}{i}/{name}": array for i, read in enumerate(position.read) for name, array in read.items()}
        for device, block in enumerate(self._blocks[: self._real]):
            own = {name: part[device] for name, part in numbers.items()}
            self._store.save_state(self._rows, block, position.round, own)
        self._since = time.monotonic()
        self._wait = max(self.every, min(10 * (self._since - start), 10 * self.every))

    def finish(self, position: Position) -> None:
        """The blocks are finished, and in the store: their states go, or stay as they are now, for more rounds."""
        if self._store.keep_states:
            self.keep(position._replace(read=[]))
            return
        for block in self._blocks[: self._real]:
            self._store.delete_state(self._rows, block)


def _name_of(path: Any) -> str:
    """The name of a leaf of a carry, by its path in the pytree: "states/learner/w"."""
    return "/".join(encode_name(jax.tree_util.keystr((key,), simple=True)) for key in path)


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
