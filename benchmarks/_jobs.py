"""Jobs: workloads of which this package and numba compute the same losses, so that tests can compare these losses."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

import jaxonline as jo
from benchmarks._many_runs import ManyRuns, shorten_horizon
from benchmarks._workload import Workload

NUMBA, INCREMENTAL, FASTMATH = "numba, parallel", "numba, incremental", "numba, fastmath"
OURS, NARROW = "jaxonline", "jaxonline, block_size=64"
Losses = Callable[[], np.ndarray]


class Job(NamedTuple):
    """A workload whose contenders return the cumulative loss of every run.

    Attributes:
        title: title without sizes of the study.
        rounds: the horizon T.
        runs: number of runs.
        play: `play(runs, rounds, block_size)` returns the contenders; each returns the cumulative losses [runs]. With a
            block size of None, they include this package with default settings and with 64 runs in a block.
        others: returns contenders that play fewer runs or rounds; each returns its number of rounds.
        is_random: whether runs differ, so that only the distributions of the losses are equal.
        goal: goal for the rate with default settings, divided by numba's.
    """

    title: str
    rounds: int
    runs: int
    play: Callable[[int, int, int | None], Mapping[str, Losses]]
    others: Callable[[], Mapping[str, Callable[[], float]]] = dict
    is_random: bool = True
    goal: float | None = None

    def workload(self) -> Workload:
        """Return the workload, with all contenders as rates."""
        contenders = dict(self.others()) | self._rates(self.runs, self.rounds)
        title = f"{self.title}, T={self.rounds:,}, {self.runs:,} runs"
        return Workload(title, "round", contenders, goal=self.goal, many=ManyRuns(self.title, self._many_runs))

    def _many_runs(self, runs: int, width: int) -> dict[str, Callable[[], float]]:
        """Return this package alone, with a horizon so that all runs have 10^8 rounds together, but at least 200.

        A round has up to 1,000 arms, and numba would play 10^6 runs for hours on a CPU.
        """
        return {OURS: self._rates(runs, shorten_horizon(self.rounds, 10 * runs), width)[OURS]}

    def _rates(self, runs: int, rounds: int, block_size: int | None = None) -> dict[str, Callable[[], float]]:
        """Return the contenders of `play` as functions that return their numbers of rounds."""
        contenders = self.play(runs, rounds, block_size)
        return {name: lambda play=play: play().size * rounds for name, play in contenders.items()}


def studies(game: jo.Game, learner: Any, runs: int, rounds: int, block_size: int | None = None) -> dict[str, Losses]:
    """Return this package with a number of runs in a block, or with 64 runs in a block and with default settings."""

    def study(block_size: int | None) -> Losses:
        def play() -> np.ndarray:
            result = jo.simulate(game, learner, n_runs=runs, n_rounds=rounds, block_size=block_size)
            return result.cumulative_loss[0, :, -1]

        return play

    return {OURS: study(block_size)} if block_size else {NARROW: study(min(64, runs)), OURS: study(None)}
