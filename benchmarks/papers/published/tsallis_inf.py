"""Experiments of Zimmert and Seldin (2021): Tsallis-INF against stochastic and constrained adversarial losses."""

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

REDUCED, WEIGHTED = "Tsallis-INF, RV", "Tsallis-INF, IW"  # reduced variance, importance-weighted
EXPONENTIAL, UCB, THOMPSON = "EXP3", "UCB1", "Thompson sampling"
STOCHASTIC, ADVERSARIAL = "stochastic", "adversarial"
GROWTH = 1.6  # of the phases of the adversary
SPAN = 8  # growth is measured from T / 8 to T
STYLES = {
    REDUCED: (COLOURS[0], "-"), WEIGHTED: (COLOURS[2], "--"), EXPONENTIAL: (COLOURS[4], "-"), UCB: (COLOURS[3], "-"),
    THOMPSON: (COLOURS[1], "-"),
}  # fmt: skip
TITLES = {STOCHASTIC: "Stochastic losses", ADVERSARIAL: "Means that an adversary changes, with a constant gap"}
COLUMNS = (
    Text("losses"), Text("learner"), Interval("regret", "regret\n(95 %)", "{:.1f}"),
    Number("exponent", "growth\nexponent", "{:.2f}"),
)  # fmt: skip


def stochastic_arms(n_arms: int, gap: float) -> jo.environments.BernoulliArms:
    """Return arms with the mean losses (1 - gap) / 2 and (1 + gap) / 2."""
    return jo.environments.BernoulliArms([0.5 - gap / 2, *[0.5 + gap / 2] * (n_arms - 1)])


def adversarial_arms(n_arms: int, gap: float, n_rounds: int) -> jo.environments.SwitchingArms:
    """Return arms whose mean losses are 0 and gap in odd phases, 1 - gap and 1 in even phases."""
    starts, n = [], 0
    while (start := (starts[-1] if starts else 1) + math.floor(GROWTH**n)) <= n_rounds:
        starts.append(start)
        n += 1
    low, high = ([base, *[base + gap] * (n_arms - 1)] for base in (0.0, 1.0 - gap))
    return jo.environments.SwitchingArms([low if phase % 2 == 0 else high for phase in range(len(starts) + 1)], starts)


class TsallisExperiments(Study):
    """Bernoulli arms of which one is better by a gap: with constant means, and with means that an adversary changes.

    The adversary is stochastically constrained: the best arm and the gap stay the same, but the mean losses of all arms
    change together, from (0, gap) to (1 - gap, 1) and back. The phases grow by the factor 1.6.
    """

    title: ClassVar[str] = "Experiments of Zimmert and Seldin (2021), and what agrees."
    runs: int = Field(256, ge=2, le=1_000_000, description="Runs of each learner.")
    rounds: int = Field(20_000, ge=100, le=10_000_000, description="The horizon T.")
    arms: int = Field(8, ge=2, le=1000, description="Number of arms K.")
    gap: float = Field(0.125, gt=0, lt=0.5, description="Gap between the best arm and the others.")

    def run(self, context: Context) -> Report:
        with context.parts(2) as part:
            results = {name: self.play(part(name), name) for name in (STOCHASTIC, ADVERSARIAL)}
        rows = [row for name, result in results.items() for row in self.rows(name, result)]
        title = f"{self.runs:,} runs of {self.rounds:,} rounds, K = {self.arms}, gap {self.gap:g}"
        regrets = Table(title, rows, COLUMNS, group="losses")
        return published.report(self.statements(results), regrets, lambda: self.plot(results), results)

    @property
    def early(self) -> int:
        """The round from which growth is measured."""
        return max(1, self.rounds // SPAN)

    def play(self, context: Context, losses: str) -> jo.Result:
        """Simulate the learners on stochastic or on adversarial losses."""
        learners = {
            REDUCED: jo.learners.TsallisINF(),
            WEIGHTED: jo.learners.TsallisINF("importance_weighted"),
            EXPONENTIAL: jo.learners.EXP3.over_horizon(self.arms, self.rounds),
            UCB: jo.learners.UCB1(),
            THOMPSON: jo.learners.BernoulliThompson(),
        }
        arms: Any = stochastic_arms(self.arms, self.gap)
        if losses == ADVERSARIAL:
            arms = adversarial_arms(self.arms, self.gap, self.rounds)
        recorded = np.geomspace(max(1, self.rounds / 1000), self.rounds, 40).round().astype(int)
        record_at = sorted({*recorded.tolist(), self.early, self.rounds})
        return published.play(context, arms, learners, self.runs, self.rounds, record_at=record_at)

    def statements(self, results: dict[str, jo.Result]) -> list[Statement]:
        """Return the statements of the paper with the regrets at the horizon and at an eighth of it."""
        final = {losses: published.final_regrets(result, self.rounds) for losses, result in results.items()}
        early = published.final_regrets(results[ADVERSARIAL], self.early)
        bound = 4 * math.sqrt(self.arms * self.rounds) + 1

        def growth(name: str, exponent: float) -> dict[str, np.ndarray]:
            return {name: final[ADVERSARIAL][name] - SPAN**exponent * early[name]}

        by_place = {
            f"{losses}-{key}": {"": final[losses][first] - final[losses][second]}
            for losses, key, first, second in (
                (STOCHASTIC, "ucb", REDUCED, UCB), (STOCHASTIC, "exp3", REDUCED, EXPONENTIAL),
                (STOCHASTIC, "weighted", REDUCED, WEIGHTED), (STOCHASTIC, "thompson", THOMPSON, REDUCED),
                (ADVERSARIAL, "ucb", REDUCED, UCB), (ADVERSARIAL, "thompson", REDUCED, THOMPSON),
            )
        }  # fmt: skip
        return published.read_statements("zimmert", by_place | {
            "almost-linear": growth(UCB, 0.8) | growth(THOMPSON, 0.8),
            "logarithmic": growth(REDUCED, 0.5),
            "bound": {losses: runs[WEIGHTED] / bound for losses, runs in final.items()},
        })  # fmt: skip

    def rows(self, losses: str, result: jo.Result) -> list[dict[str, Any]]:
        """Return a row for each learner, with its regret and the growth exponent of the mean regret."""
        early = published.final_regrets(result, self.early)
        return [
            {"losses": losses} | row | {"exponent": _exponent(row["regret"], float(early[row["learner"]].mean()))}
            for row in published.regret_rows(result)
        ]

    @figures.paper_style
    def plot(self, results: dict[str, jo.Result]) -> Any:
        """Draw the regrets with 95 % bands on logarithmic axes."""
        title = f"Zimmert and Seldin (2021): K = {self.arms}, gap {self.gap:g}"
        figure, (both,) = figures.panels(1, 2, 3.2, title, sharey=True)
        for axes, (losses, result) in zip(both, results.items(), strict=True):
            figures.plot_bands(axes, result.rounds, published.mean_regret(result), result.learners, STYLES)
            figures.finish(axes, "round", "regret", TITLES[losses], log="xy")
        for start in adversarial_arms(self.arms, self.gap, self.rounds).starts.tolist():
            if start >= results[ADVERSARIAL].rounds[0]:
                both[1].axvline(start, **figures.GUIDE, label="start of a phase")
        figures.legend_below(figure, 3)
        return figure


def _exponent(late: float, early: float) -> float | None:
    return math.log(late / early) / math.log(SPAN) if min(late, early) > 0 else None
