"""Stored states of unfinished blocks, by which an interrupted study resumes in the middle of a block."""

import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import jax
import numpy as np

from jaxonline.simulation.segments import Carry
from jaxonline.store.checkpoints import JobArrays, Numbers, Store

ROUND = "round"  # names of arrays in a saved state: ROUND, "leaf 0", "leaf 1", ..., "0 cumulative_loss", ...


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
        if len(states) < len(stored) or len({int(state[ROUND]) for state in states}) != 1:
            return None
        states += [states[-1]] * (len(self._blocks) - self._real)
        stacked = {name: np.stack([state[name] for state in states]) for name in states[0]}
        leaves, structure = jax.tree.flatten(carry)
        restored = [leaf_like(leaf, stacked.pop(f"leaf {i}")) for i, leaf in enumerate(leaves)]
        round_ = int(stacked.pop(ROUND)[0])
        read: dict[str, Numbers] = {}
        for name, numbers in stacked.items():
            position, _, output = name.partition(" ")
            read.setdefault(position, {})[output] = numbers
        return Position(round_, jax.tree.unflatten(structure, restored), list(read.values()))

    def is_due(self) -> bool:
        """Return whether it is time to save the states; the clock starts at the first call."""
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        return now - self._since >= self._wait

    def save(self, position: Position) -> None:
        """Save the states of the blocks; if saving takes long, the next save is due later."""
        start = time.monotonic()
        leaves = jax.device_get(jax.tree.leaves(jax.tree.map(plain_leaf, position.carry)))
        numbers = {f"leaf {i}": np.asarray(leaf) for i, leaf in enumerate(leaves)}
        numbers |= {f"{i} {name}": array for i, read in enumerate(position.read) for name, array in read.items()}
        for device, block in enumerate(self._blocks[: self._real]):
            arrays = {name: array[device] for name, array in numbers.items()}
            self._store.save_state(self._rows, block, {ROUND: np.array(position.round), **arrays})
        self._since = time.monotonic()
        self._wait = max(self.every, min(10 * (self._since - start), 10 * self.every))


def plain_leaf(leaf: jax.Array) -> jax.Array:
    """Return a leaf unchanged, or the key data of a leaf that is a JAX key."""
    return jax.random.key_data(leaf) if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf


def leaf_like(leaf: jax.Array, numbers: np.ndarray) -> jax.Array:
    """Convert numbers from a file to an array (or JAX key) with the type and devices of `leaf`."""
    target = plain_leaf(leaf)
    if numbers.dtype.kind == "V":  # a dtype unknown to NumPy (bfloat16)
        numbers = numbers.view(target.dtype)
    array = jax.device_put(numbers, target.sharding)
    return array if target is leaf else jax.random.wrap_key_data(array, impl=jax.random.key_impl(leaf))


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
