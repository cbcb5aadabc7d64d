"""Experiment of Garivier and Moulines (2011): UCB that forgets, on Bernoulli arms that change twice."""

import math
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from benchmarks.papers.published.non_stationary_arms import BEST, REWARDS
from benchmarks.papers.published.skewed_runs import mean_regret, skewed_runs_sentences
from benchmarks.papers.published.statements import Statement, statements_table, verdict_sentences
from jaxonline.comparators import BestOfEachRound
from jaxonline.environments import SwitchingArms
from jaxonline.feedback import Bandit
from jaxonline.game import Game
from jaxonline.learners import EXP3, UCB1, DiscountedUCB, FixedShare, SlidingWindowUCB
from jaxonline.losses import ArmLoss
from jaxonline.results import Result
from jaxonline.results.report.tables import Interval, Number, Table, Text
from jaxonline.simulation.measures import Pulls
from jaxonline.study import Context, Report, Study

UCB, DISCOUNTED, WINDOW, EXPONENTIAL = "UCB1", "D-UCB", "SW-UCB", "EXP3.S"


class NonStationary(Study):
    """Three Bernoulli arms; the mean reward of the third arm is 0.9 from 30 % to 50 % of the rounds, and otherwise 0.4.

    EXP3.S is EXP3 with fixed share and uniform exploration, on estimated losses. The paper has estimated rewards.
    """

    title: ClassVar[str] = "Experiment of Garivier and Moulines (2011), and what agrees."
    runs: int = Field(200, ge=2, le=1_000_000, description="Runs of each learner.")
    rounds: int = Field(10_000, ge=100, le=10_000_000, description="The horizon T.")
    xi: float = Field(0.6, gt=0, description="Exploration of UCB1, D-UCB and SW-UCB.")

    def run(self, context: Context) -> Report:
        result = self.play(context)
        verdicts = statements_table("Statements of the paper", self.statements(result))
        title = f"{self.runs:,} runs of {self.rounds:,} rounds, regret against the best arm of each round"
        return Report(
            {"statements": verdicts, "regrets": Table(title, self.rows(result), COLUMNS)},
            {"figure": lambda: self._plot(result)},
            [*verdict_sentences(verdicts.rows), *skewed_runs_sentences({"three arms": result})],
            {"result": result},
        )

    @property
    def starts(self) -> tuple[int, int]:
        """The first rounds of the second and third segment."""
        return 3 * self.rounds // 10, self.rounds // 2

    def play(self, context: Context) -> Result:
        """Simulate the four policies, with the parameters of the paper for two changes in T rounds."""
        T, K, changes = self.rounds, len(REWARDS[0]), len(REWARDS) - 1
        gamma = min(1.0, math.sqrt(K * (changes * math.log(K * T) + math.e) / ((math.e - 1) * T)))
        discounted, window = DiscountedUCB.over_horizon(T), SlidingWindowUCB.over_horizon(T)
        learners = {
            UCB: UCB1(self.xi),
            DISCOUNTED: DiscountedUCB(discounted.discount, self.xi),
            WINDOW: SlidingWindowUCB(window.window, self.xi),
            EXPONENTIAL: EXP3(FixedShare(gamma / K, min(1.0, math.e / T)), exploration=gamma),
        }
        environment = SwitchingArms(1.0 - np.asarray(REWARDS), starts=list(self.starts))
        game = Game(environment, Bandit(), loss=ArmLoss(), pseudo=True)
        return context.simulate(
            game, learners, n_runs=self.runs, n_rounds=T, comparator=BestOfEachRound(), measures=[Pulls()],
            record_at=sorted({max(1, T * i // 100) for i in range(1, 101)} | {start - 1 for start in self.starts}),
        )  # fmt: skip

    def statements(self, result: Result) -> list[Statement]:
        """Return the statements of the paper with the regrets at the horizon."""
        regrets = {name: np.asarray(result.regret[i, :, -1]) for i, name in enumerate(result.learners)}
        shares = dict(zip(result.learners, self.best_arm_shares(result)[:, :, 1], strict=True))
        pairs = [(first, second) for first in (DISCOUNTED, WINDOW) for second in (UCB, EXPONENTIAL)]
        return [
            *(
                Statement(
                    "Simulations", f"{first} has less regret than {second}.", "memory",
                    f"difference of the regrets, {first} - {second}", {"": regrets[first] - regrets[second]}, high=0.0,
                )
                for first, second in pairs
            ),
            Statement(
                "Simulations",
                "SW-UCB has less regret than D-UCB (in the paper a little less; the size is not checked).", "memory",
                "difference of the regrets, SW-UCB - D-UCB", {"": regrets[WINDOW] - regrets[DISCOUNTED]}, high=0.0,
            ),
            Statement(
                "Simulations", "SW-UCB finds the new best arm of the second segment faster than UCB1.", "memory",
                "difference of the shares of its pulls in the segment, SW-UCB - UCB1",
                {"": shares[WINDOW] - shares[UCB]}, low=0.0,
            ),
            Statement(
                "Simulations", "In a second experiment two arms change slowly and periodically.", "memory",
                reason="We do not know its parameters.",
            ),
        ]  # fmt: skip

    def best_arm_shares(self, result: Result) -> np.ndarray:
        """Return the shares of pulls of the best arm in the three segments [learners, runs, 3]."""
        ends = [*(start - 1 for start in self.starts), self.rounds]
        pulls = np.asarray(result.measures["pulls"])[:, :, np.searchsorted(result.rounds, ends)]  # L, R, 3, K
        in_segment = np.diff(pulls, axis=2, prepend=0)
        lengths = np.diff(ends, prepend=0)
        return np.stack([in_segment[:, :, i, arm] / lengths[i] for i, arm in enumerate(BEST)], axis=-1)

    def rows(self, result: Result) -> list[dict[str, Any]]:
        """Return a row for each policy: regret, and shares of pulls of the best arm in the segments, in per cent."""
        regret, shares = mean_regret(result), 100 * self.best_arm_shares(result).mean(axis=1)
        return [
            {
                "learner": name, "regret": float(regret.mean[i, -1]), "regret_low": float(regret.low[i, -1]),
                "regret_high": float(regret.high[i, -1]),
                **{f"segment_{j + 1}": float(share) for j, share in enumerate(shares[i])},
            }
            for i, name in enumerate(result.learners)
        ]  # fmt: skip

    def _plot(self, result: Result) -> Any:
        from benchmarks.papers.published.non_stationary_figure import plot_changes

        return plot_changes(self.starts, result)


COLUMNS = (
    Text("learner"), Interval("regret", "regret\n(95 %)", "{:.1f}"),
    *(Number(f"segment_{i}", f"% best arm,\nsegment {i}", "{:.1f}") for i in (1, 2, 3)),
)  # fmt: skip
