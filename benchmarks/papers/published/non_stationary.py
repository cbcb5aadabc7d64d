"""Experiment of Garivier and Moulines (2011): UCB that forgets, on Bernoulli arms that change twice."""

import math
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

import jaxonline as jo
from benchmarks.papers.published import statements as published
from benchmarks.papers.published.statements import Statement
from benchmarks.papers.studies import figures
from benchmarks.papers.study import Study
from jaxonline.results.report.plotting import COLOURS
from jaxonline.results.report.tables import Interval, Number, Table, Text
from jaxonline.study import Context, Report

REWARDS = ((0.5, 0.3, 0.4), (0.5, 0.3, 0.9), (0.5, 0.3, 0.4))  # mean rewards of the arms in the three segments
BEST = 0, 2, 0  # best arm of each segment
UCB, DISCOUNTED, WINDOW, EXPONENTIAL = "UCB1", "D-UCB", "SW-UCB", "EXP3.S"
STYLES = dict(zip((UCB, DISCOUNTED, WINDOW, EXPONENTIAL), ((COLOURS[i], "-") for i in (0, 3, 1, 4)), strict=True))
COLUMNS = (
    Text("learner"), Interval("regret", "regret\n(95 %)", "{:.1f}"),
    *(Number(f"segment_{i}", f"% best arm,\nsegment {i}", "{:.1f}") for i in (1, 2, 3)),
)  # fmt: skip


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
        title = f"{self.runs:,} runs of {self.rounds:,} rounds, regret against the best arm of each round"
        regrets = Table(title, self.rows(result), COLUMNS)
        return published.report(self.statements(result), regrets, lambda: self.plot(result), {"result": result})

    @property
    def starts(self) -> tuple[int, int]:
        """The first rounds of the second and third segment."""
        return 3 * self.rounds // 10, self.rounds // 2

    def play(self, context: Context) -> jo.Result:
        """Simulate the four policies, with the parameters of the paper for two changes in T rounds."""
        T, K, changes = self.rounds, len(REWARDS[0]), len(REWARDS) - 1
        gamma = min(1.0, math.sqrt(K * (changes * math.log(K * T) + math.e) / ((math.e - 1) * T)))
        discounted, window = jo.learners.DiscountedUCB.over_horizon(T), jo.learners.SlidingWindowUCB.over_horizon(T)
        learners = {
            UCB: jo.learners.UCB1(self.xi),
            DISCOUNTED: jo.learners.DiscountedUCB(discounted.discount, self.xi),
            WINDOW: jo.learners.SlidingWindowUCB(window.window, self.xi),
            EXPONENTIAL: jo.learners.EXP3(jo.learners.FixedShare(gamma / K, min(1.0, math.e / T)), exploration=gamma),
        }
        environment = jo.environments.SwitchingArms(1.0 - np.asarray(REWARDS), starts=list(self.starts))
        record_at = sorted({max(1, T * i // 100) for i in range(1, 101)} | {start - 1 for start in self.starts})
        options = {"comparator": jo.comparators.BestOfEachRound(), "measures": [jo.Pulls()], "record_at": record_at}
        return published.play(context, environment, learners, self.runs, T, **options)

    def statements(self, result: jo.Result) -> list[Statement]:
        """Return the statements of the paper with the regrets at the horizon."""
        shares = dict(zip(result.learners, self.best_arm_shares(result)[:, :, 1], strict=True))
        regrets = published.final_regrets(result)
        return published.read_statements("garivier", {
            "d-ucb-ucb1": {"": regrets[DISCOUNTED] - regrets[UCB]},
            "d-ucb-exp3": {"": regrets[DISCOUNTED] - regrets[EXPONENTIAL]},
            "sw-ucb-ucb1": {"": regrets[WINDOW] - regrets[UCB]},
            "sw-ucb-exp3": {"": regrets[WINDOW] - regrets[EXPONENTIAL]},
            "sw-ucb-d-ucb": {"": regrets[WINDOW] - regrets[DISCOUNTED]},
            "finds-the-arm": {"": shares[WINDOW] - shares[UCB]},
        })  # fmt: skip

    def best_arm_shares(self, result: jo.Result) -> np.ndarray:
        """Return the shares of pulls of the best arm in the three segments [learners, runs, 3]."""
        ends = [*(start - 1 for start in self.starts), self.rounds]
        pulls = np.asarray(result.measures["pulls"])[:, :, np.searchsorted(result.rounds, ends)]  # L, R, 3, K
        in_segment = np.diff(pulls, axis=2, prepend=0)
        lengths = np.diff(ends, prepend=0)
        return np.stack([in_segment[:, :, i, arm] / lengths[i] for i, arm in enumerate(BEST)], axis=-1)

    def rows(self, result: jo.Result) -> list[dict[str, Any]]:
        """Return a row for each policy: regret, and shares of pulls of the best arm in the segments, in per cent."""
        shares = 100 * self.best_arm_shares(result).mean(axis=1)
        return [
            row | {f"segment_{j + 1}": float(share) for j, share in enumerate(own)}
            for row, own in zip(published.regret_rows(result), shares, strict=True)
        ]

    @figures.paper_style
    def plot(self, result: jo.Result) -> Any:
        """Draw mean rewards, the regret with 95 % bands, and the shares of the best arm between recorded rounds."""
        title = "Garivier and Moulines (2011), abrupt changes"
        figure, ((rewards, regret, best),) = figures.panels(1, 3, 2.7, title)
        edges = [0, *self.starts, int(result.rounds[-1])]
        for arm, (means, line) in enumerate(zip(zip(*REWARDS, strict=True), ("-", "--", ":"), strict=True)):
            rewards.stairs(means, edges, color="0.2", ls=line, baseline=None, label=f"arm {arm + 1}")
        rewards.set_ylim(0, 1)
        pulls = np.asarray(result.measures["pulls"]).mean(axis=1)  # learners, rounds, arms
        segment = np.searchsorted(self.starts, result.rounds, side="right")
        recent = np.diff(pulls, axis=1, prepend=0) / np.diff(result.rounds, prepend=0)[:, None]
        shares = recent[:, np.arange(len(segment)), np.asarray(BEST)[segment]]
        middles = (result.rounds + np.concatenate([[0], result.rounds[:-1]])) / 2
        figures.plot_bands(regret, result.rounds, published.mean_regret(result), result.learners, STYLES)
        for name, share in zip(result.learners, shares, strict=True):
            best.plot(middles, 100 * share, **figures.look_of(name, STYLES))
        for axes in (regret, best):
            for start in self.starts:
                axes.axvline(start, **figures.GUIDE, label="change of the best arm")
            axes.set_ylim(bottom=0)
        figures.legend_below(figure, 4)
        figures.finish(rewards, "round", "mean reward", "The three arms")
        figures.finish(regret, "round", "regret", "Regret against the best arm of each round")
        figures.finish(best, "round", "% of pulls", "Pulls of the best arm between recorded rounds")
        return figure
