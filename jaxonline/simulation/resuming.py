"""Stored states of unfinished blocks, by which an interrupted study resumes in the middle of a block."""

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

RECORDED_PREFIX = "recorded/"  # of the names of recorded numbers in a stored state


class Position(NamedTuple):
    """Position of a wave of blocks: rounds played, the carry after these rounds, and the numbers recorded so far."""

    round: int
    carry: Carry
    read: list[Numbers]


class InProgress:
    """Saves and restores the states of the blocks of a wave; blocks after the first `real` ones are only copies.

    States are saved at intervals of at least `every` seconds.
    """

    def __init__(self, store: Store, rows: JobArrays, blocks: np.ndarray, real: int):
        self.every = store.every
        self._store, self._rows = store, rows
        self._blocks, self._real = blocks.tolist(), real
        self._since: float | None = None
        self._wait = self.every

    def restore(self, carry: Carry) -> Position | None:
        """Return the stored position if all blocks are stored at the same round; `carry` gives shapes and dtypes."""
        stored = [self._store.load_state(self._rows, block) for block in self._blocks[: self._real]]
        states = [state for state in stored if state is not None]
        if len(states) < len(stored) or len({rounds for rounds, _ in states}) != 1:
            return None
        arrays = [by_name for _, by_name in states]
        arrays += [arrays[-1]] * (len(self._blocks) - self._real)
        stacked = {name: np.stack([by_name[name] for by_name in arrays]) for name in arrays[0]}
        restored = jax.tree_util.tree_map_with_path(
            lambda path, leaf: leaf_like(leaf, stacked[_name_of(path)]), carry
        )  # fmt: skip
        read: dict[str, Numbers] = {}
        for name in stacked:
            if name.startswith(RECORDED_PREFIX):
                number, _, output = name.removeprefix(RECORDED_PREFIX).partition("/")
                read.setdefault(number, {})[output] = stacked[name]
        return Position(states[0][0], restored, list(read.values()))

    def is_due(self) -> bool:
        """Return whether it is time to save the states; the clock starts at the first call."""
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        return now - self._since >= self._wait

    def save(self, position: Position) -> None:
        """Save the states of the blocks; if saving takes long, the next save is due later."""
        start = time.monotonic()
        leaves = jax.tree_util.tree_leaves_with_path(jax.device_get(jax.tree.map(plain_leaf, position.carry)))
        numbers = {_name_of(path): np.asarray(leaf) for path, leaf in leaves}
        numbers |= {
            f"{RECORDED_PREFIX}{i}/{name}": array
            for i, read in enumerate(position.read)
            for name, array in read.items()
        }
        for device, block in enumerate(self._blocks[: self._real]):
            arrays = {name: array[device] for name, array in numbers.items()}
            self._store.save_state(self._rows, block, position.round, arrays)
        self._since = time.monotonic()
        self._wait = max(self.every, min(10 * (self._since - start), 10 * self.every))

    def finish(self, position: Position) -> None:
        """Remove the states of finished blocks; if the store keeps states for more rounds, save the last states."""
        if self._store.keep_states:
            self.save(position._replace(read=[]))
            return
        for block in self._blocks[: self._real]:
            self._store.delete_state(self._rows, block)


def _name_of(path: Any) -> str:
    """Return the name of a leaf of a carry from its path in the pytree, such as "states/learner/w"."""
    return "/".join(encode_name(jax.tree_util.keystr((key,), simple=True)) for key in path)


class Pace:
    """Number of rounds per call of a program, adapted until a call takes between 1/8 and 1/2 of `every` seconds."""

    def __init__(self, every: float, rounds: int = 16):
        self.rounds = rounds
        self._every = every
        self._last = time.monotonic()

    def played(self) -> None:
        """Adapt the number of rounds per call to the time since the last call of `played`."""
        now = time.monotonic()
        took, self._last = now - self._last, now
        if took < self._every / 8:
            self.rounds *= 2
        elif took > self._every / 2:
            self.rounds = max(self.rounds // 2, 1)


def split_segments(
    segments: Iterable[tuple[int, int]], start: int, pace: Pace, capacity: int
) -> Iterator[tuple[int, list[int]]]:
    """Divide the segments after round `start` into calls of at most `pace.rounds` rounds; longer segments are split.

    Yields for each call the number of rounds before it, and its at most `capacity` ends of segments.
    """
    t, ends = start, list[int]()
    for _, until in segments:
        while (ends[-1] if ends else t) < until:
            ends.append(min(t + pace.rounds, until))
            if ends[-1] == t + pace.rounds or len(ends) == capacity:
                yield t, ends
                t, ends = ends[-1], []
    if ends:
        yield t, ends
