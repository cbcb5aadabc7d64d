"""What is computed in a study: plans that cut jobs into blocks of runs and segments of rounds, and jobs."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.sharding import Mesh

from jaxonline.simulation import blocks
from jaxonline.simulation.segments import BlockPrograms, Matchup
from jaxonline.store.layout import JobArrays


class Plan(NamedTuple):
    """How a job is cut: segments between recorded rounds, blocks of `width` runs."""

    key: jax.Array
    n_rounds: int
    rounds: np.ndarray
    width: int
    mesh: Mesh
    blocks: list[int]

    def pieces(self) -> int:
        """Segments to play, over all waves of blocks."""
        return sum(1 for _ in self.segments()) * -(-len(self.blocks) // self.mesh.devices.size)

    def segments(self) -> Iterator[tuple[int, int]]:
        """The segments as pairs (rounds before it, its last round).

        One ends at each recorded round; where these are far apart for what they are on average there are more, so that
        progress is seen.
        """
        longest, before = 2 * -(-self.n_rounds // len(self.rounds)), 0
        for recorded in self.rounds.tolist():
            for t in range(before, recorded, longest):
                yield t, min(t + longest, recorded)
            before = recorded

    def recording(self, rounds: Sequence[int]) -> "Plan":
        """The same with other recorded rounds."""
        return self._replace(rounds=np.asarray(rounds))

    def on_one_device(self) -> "Plan":
        """The same on the first device only."""
        return self._replace(mesh=blocks.default_mesh([self.mesh.devices.flat[0]]))

    def of_one_run(self) -> "Plan":
        """Run 0 alone."""
        return self.on_one_device()._replace(width=1, blocks=[0])


class Job(NamedTuple):
    """A matchup to be played, and how. The `name` is what progress calls it, `rows` are its arrays and their place in a
    store, and `programs` play it, where they have been compiled for it."""

    name: str
    rows: JobArrays
    matchup: Matchup
    plan: Plan
    programs: BlockPrograms | None = None

    def recording(self, rounds: Sequence[int]) -> "Job":
        """The same with other recorded rounds."""
        return self._replace(plan=self.plan.recording(rounds))

    def blocks_in_words(self, some: Sequence[int]) -> str:
        """The job, and which of its blocks are played, where it has several: "EXP3, blocks 3-4 of 7"."""
        n = len(self.plan.blocks)
        first, last = (self.plan.blocks.index(block) + 1 for block in (some[0], some[-1]))
        which = f"block {first}" if first == last else f"blocks {first}-{last}"
        return self.name if n == 1 else f"{self.name}, {which} of {n:,}"


Numbers = dict[str, Any]  # the arrays of a job, by the names of its outputs


def join_blocks(parts: Sequence[Numbers]) -> Numbers:
    """The arrays [learners, runs, ...] of blocks, one after the other along the axis of runs."""
    return {name: np.concatenate([part[name] for part in parts], axis=1) for name in parts[0]}
