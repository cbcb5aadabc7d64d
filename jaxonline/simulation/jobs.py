"""Jobs of a study, and plans that divide a job into blocks of runs and segments of rounds."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import jax
import numpy as np
from jax.sharding import Mesh

from jaxonline.simulation import blocks
from jaxonline.simulation.segments import BlockPrograms, Matchup
from jaxonline.store.checkpoints import JobArrays, Numbers


class Plan(NamedTuple):
    """Division of a job into blocks of `width` runs, and of their rounds into segments between recorded rounds."""

    key: jax.Array
    n_rounds: int
    rounds: np.ndarray
    width: int
    mesh: Mesh
    blocks: list[int]

    def n_steps(self) -> int:
        """Return the number of segments to play, over all waves of blocks."""
        return sum(1 for _ in self.segments()) * -(-len(self.blocks) // self.mesh.devices.size)

    def segments(self) -> Iterator[tuple[int, int]]:
        """Yield segments as pairs (number of rounds before the segment, last round of the segment).

        A segment ends at each recorded round. Long gaps between recorded rounds are divided, so that progress is
        reported.
        """
        longest, before = 2 * -(-self.n_rounds // len(self.rounds)), 0
        for recorded in self.rounds.tolist():
            for t in range(before, recorded, longest):
                yield t, min(t + longest, recorded)
            before = recorded

    def single_device(self) -> "Plan":
        """Return the plan for the first device only."""
        return self._replace(mesh=blocks.default_mesh([self.mesh.devices.flat[0]]))

    def single_run(self) -> "Plan":
        """Return the plan for run 0 only."""
        return self.single_device()._replace(width=1, blocks=[0])


class Job(NamedTuple):
    """A matchup and its plan; `name` is shown as progress, `rows` is the job's part of the store."""

    name: str
    rows: JobArrays
    matchup: Matchup
    plan: Plan
    programs: BlockPrograms | None = None

    def block_label(self, block_indices: Sequence[int]) -> str:
        """Return a progress label such as "EXP3, blocks 3-4 of 7"; only the name for a job with one block."""
        n = len(self.plan.blocks)
        first, last = (self.plan.blocks.index(block) + 1 for block in (block_indices[0], block_indices[-1]))
        numbers = f"block {first}" if first == last else f"blocks {first}-{last}"
        return self.name if n == 1 else f"{self.name}, {numbers} of {n:,}"


def join_blocks(block_numbers: Sequence[Numbers]) -> Numbers:
    """Concatenate the arrays [learners, runs, ...] of several blocks along the axis of runs.

    The arrays are removed from the blocks one by one, so that they are not in memory twice.
    """
    return {
        name: np.concatenate([numbers.pop(name) for numbers in block_numbers], axis=1)
        for name in tuple(block_numbers[0])
    }
