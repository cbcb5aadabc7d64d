"""Where the calls of runs are in one list of them all, run after run: running sums, and a search in them.

`jnp.cumsum` and `jnp.searchsorted` are a dozen small kernels of a CPU, and the search compares every place with every
run. In blocks of 16 both are a few kernels: a place is compared with the ends of the blocks first, then with those of
one block; 3 microseconds instead of 30 for 512 runs.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

BLOCK_RUNS = 16
"""Runs of a block. Other numbers of runs than multiples of it are padded, which takes longer than the sums."""

_MAX_BLOCKS = 64  # blocks; beyond it the library's search takes fewer operations


def chunk_size(share: float, size: int, most: int) -> int:
    """How many calls are made together: `share` for each run, `most` at most; whole blocks where they are many."""
    piece = round(share * size)
    if piece >= 2 * BLOCK_RUNS:
        piece = BLOCK_RUNS * round(piece / BLOCK_RUNS)
    return max(1, min(piece, most))


class RunEnds(NamedTuple):
    """Where the calls of each run end.

    Attributes:
        ends: the number of calls of a run and of all before it, in blocks, padded with the total [blocks, block].
        size: the number of runs.
    """

    ends: Int[Array, "blocks block"]
    size: int

    @classmethod
    def from_counts(cls, number: Int[Array, "size"]) -> "RunEnds":
        """The ends for these numbers of calls.

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
        place, block = np.arange(BLOCK_RUNS), np.arange(blocks)
        upto, before = place[:, None] >= place, block[:, None] > block
        inside = jnp.sum(jnp.where(upto[None], padded[:, None], jnp.int32(0)), axis=2, dtype=jnp.int32)
        others = jnp.sum(jnp.where(before, inside[None, :, -1], jnp.int32(0)), axis=1, dtype=jnp.int32)
        return cls(inside + others[:, None], size)

    def per_run(self) -> Int[Array, "size"]:
        """The end of each run."""
        return self.ends.reshape(-1)[: self.size]

    def total(self) -> Int[Array, ""]:
        """The number of all calls."""
        return self.ends[-1, -1]

    def find_runs(self, places: Int[Array, "piece"]) -> Int[Array, "piece"]:
        """The run to which each place of the list belongs; `size` beyond the end."""
        blocks, block = self.ends.shape
        if blocks == 1:
            method = "scan_unrolled" if block > BLOCK_RUNS else "compare_all"
            found = jnp.searchsorted(self.ends[0], places, side="right", method=method)
            return jnp.minimum(found.astype(jnp.int32), self.size)
        places = places[:, None]
        own = jnp.sum(self.ends[None, :, -1] <= places, axis=1, dtype=jnp.int32)
        own = jnp.minimum(own, blocks - 1)
        inside = jnp.sum(self.ends.at[own].get(mode="promise_in_bounds") <= places, axis=1, dtype=jnp.int32)
        return jnp.minimum(own * block + inside, self.size)
