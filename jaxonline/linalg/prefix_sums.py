"""Prefix sums of the numbers of calls of runs, and search of the run to which a position of the joint list belongs.

`jnp.cumsum` and `jnp.searchsorted` need a dozen small CPU kernels, and `searchsorted` compares every position with
every run. Here a position is compared with the ends of blocks of 16 runs, and then with the ends in one block. This
search needs a few kernels, and 3 microseconds instead of 30 for 512 runs.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

BLOCK_RUNS = 16
"""Runs per block. Other numbers of runs than its multiples are padded, which takes longer than the sums."""

_MAX_BLOCKS = 64  # with more blocks the library's search needs fewer operations


def chunk_size(share: float, size: int, most: int) -> int:
    """Return the number of calls per chunk: `share` for each run, at most `most`; a multiple of BLOCK_RUNS if large."""
    chunk = round(share * size)
    if chunk >= 2 * BLOCK_RUNS:
        chunk = BLOCK_RUNS * round(chunk / BLOCK_RUNS)
    return max(1, min(chunk, most))


class RunEnds(NamedTuple):
    """Positions in a list of calls at which each run ends."""

    # calls of a run and all runs before it, in blocks, padded with the total [blocks, block]
    ends: Int[Array, "blocks block"]
    size: int  # number of runs

    @classmethod
    def from_counts(cls, number: Int[Array, "size"]) -> "RunEnds":
        """Return the ends of runs with the given numbers of calls.

        Example:
            >>> import jax.numpy as jnp
            >>> from jaxonline.linalg.prefix_sums import RunEnds
            >>> ends = RunEnds.from_counts(jnp.array([2, 0, 3]))
            >>> ends.per_run().tolist(), ends.total().item(), ends.find_runs(jnp.arange(6)).tolist()
            ([2, 2, 5], 5, [0, 0, 2, 2, 2, 3])
        """
        size = len(number)
        blocks = -(-size // BLOCK_RUNS)
        if blocks > _MAX_BLOCKS:
            return cls(jnp.cumsum(number, dtype=jnp.int32)[None], size)
        padded = jnp.pad(number, (0, blocks * BLOCK_RUNS - size)).reshape(blocks, BLOCK_RUNS)
        run, block = np.arange(BLOCK_RUNS), np.arange(blocks)
        upto, before = run[:, None] >= run, block[:, None] > block
        within = jnp.sum(jnp.where(upto[None], padded[:, None], jnp.int32(0)), axis=2, dtype=jnp.int32)
        earlier = jnp.sum(jnp.where(before, within[None, :, -1], jnp.int32(0)), axis=1, dtype=jnp.int32)
        return cls(within + earlier[:, None], size)

    def per_run(self) -> Int[Array, "size"]:
        """Return the end of each run."""
        return self.ends.reshape(-1)[: self.size]

    def total(self) -> Int[Array, ""]:
        """Return the total number of calls."""
        return self.ends[-1, -1]

    def find_runs(self, positions: Int[Array, "chunk"]) -> Int[Array, "chunk"]:
        """Return the run to which each position belongs, or `size` for positions beyond the last run."""
        blocks, block = self.ends.shape
        if blocks == 1:
            method = "scan_unrolled" if block > BLOCK_RUNS else "compare_all"
            runs = jnp.searchsorted(self.ends[0], positions, side="right", method=method)
            return jnp.minimum(runs.astype(jnp.int32), self.size)
        positions = positions[:, None]
        row = jnp.sum(self.ends[None, :, -1] <= positions, axis=1, dtype=jnp.int32)
        row = jnp.minimum(row, blocks - 1)
        column = jnp.sum(self.ends.at[row].get(mode="promise_in_bounds") <= positions, axis=1, dtype=jnp.int32)
        return jnp.minimum(row * block + column, self.size)
