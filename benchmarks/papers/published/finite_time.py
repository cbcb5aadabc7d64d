"""Experiments of Auer, Cesa-Bianchi and Fischer (2002): UCB1, UCB1-tuned, UCB2 and epsilon-greedy on Bernoulli arms."""

from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

import jaxonline as jo
from benchmarks.papers.published import statements as published
from benchmarks.papers.published.statements import Statement
from benchmarks.papers.studies import figures
from benchmarks.papers.study import Items, Positive, Study
from jaxonline.parameters.errors import ArgumentError
from jaxonline.results.report.plotting import COLOURS, plot_band
from jaxonline.results.report.tables import Interval, Number, Table, Text
from jaxonline.study import Context, Report

DISTRIBUTIONS = {  # mean rewards of the arms
    1: (0.9, 0.6),
    2: (0.9, 0.8),
    3: (0.55, 0.45),
    11: (0.9, *[0.6] * 9),
    12: (0.9, *[0.8] * 3, *[0.7] * 3, *[0.6] * 3),
    13: (0.9, *[0.8] * 9),
    14: (0.55, *[0.45] * 9),
}
GREEDY_LOSES = 12, 14  # distributions on which the tuned epsilon-greedy is not best
ROBUST = 13  # the distribution on which epsilon-greedy is good for many values of c
TUNED, SECOND, FIRST, GREEDY = "UCB1-tuned", "UCB2", "UCB1", "epsilon-greedy"
STYLES = {FIRST: (COLOURS[0], "-"), TUNED: (COLOURS[1], "-"), SECOND: (COLOURS[3], "-")}
BEST, WORST = ("black", "-"), ("0.55", "--")
COLUMNS = (
    Number("distribution", "distri-\nbution"), Text("learner"), Interval("regret", "regret\n(95 %)", "{:.1f}"),
    Number("best_arm", "% best\narm", "{:.1f}"),
)  # fmt: skip


class FiniteTime(Study):
    """Regret and share of pulls of the best arm on the seven distributions of rewards of the paper.

    Epsilon-greedy explores with probability min(1, c K / (d^2 t)), where d is the gap between the two best arms. The
    value of c with the least regret is chosen in one half of the runs; the other half decides the statements about it.
    The paper has 100 runs of 100,000 rounds.
    """

    title: ClassVar[str] = "Experiments of Auer, Cesa-Bianchi and Fischer (2002), and what agrees."
    runs: int = Field(400, ge=4, le=1_000_000, description="Runs of each learner.")
    rounds: int = Field(10_000, ge=20, le=10_000_000, description="The horizon.")
    alpha: float = Field(0.001, gt=0, le=1, description="Growth of the epochs of UCB2.")
    cs: Positive = Field((0.01, 0.03, 0.1, 0.3, 1.0), min_length=2, description="Values of c of epsilon-greedy.")
    distributions: Annotated[tuple[int, ...], Items] = Field(
        tuple(DISTRIBUTIONS), min_length=1, description="Distributions to play."
    )

    def run(self, context: Context) -> Report:
        for number in set(self.distributions) - set(DISTRIBUTIONS):
            known = ", ".join(map(str, DISTRIBUTIONS))
            raise ArgumentError("distributions", f"must be among {known} (got {number})")
        with context.parts(len(self.distributions)) as part:
            results = {n: self.play(part(f"distribution {n}"), DISTRIBUTIONS[n]) for n in self.distributions}
        named = {f"distribution {number}": result for number, result in results.items()}
        title = f"{self.runs:,} runs of {self.rounds:,} rounds"
        regrets = Table(title, self.rows(results), COLUMNS, group="distribution")
        return published.report(self.statements(results), regrets, lambda: self.plot(results), named)

    def play(self, context: Context, rewards: tuple[float, ...]) -> jo.Result:
        """Simulate all learners on arms with the given mean rewards."""
        means, n_arms = 1.0 - np.asarray(rewards), len(rewards)
        gap = float(np.sort(means)[1] - means.min())
        greedy = {f"c = {c:g}": jo.learners.EpsilonGreedy.decreasing(n_arms, gap, c) for c in self.cs}
        learners = {
            FIRST: jo.learners.UCB1(),
            TUNED: jo.learners.UCB1Tuned(),
            SECOND: jo.learners.UCB2(self.alpha),
            GREEDY: jo.sweep(greedy),
        }
        options = {"measures": [jo.Pulls()], "record_at": 30, "spacing": "log"}
        return published.play(
            context, jo.environments.BernoulliArms(means), learners, self.runs, self.rounds, **options
        )

    def statements(self, results: dict[int, jo.Result]) -> list[Statement]:
        """Return the statements of the paper with the regrets at the horizon."""
        regrets = {number: published.final_regrets(result) for number, result in results.items()}
        gaps = {n: max(DISTRIBUTIONS[n]) - np.asarray(DISTRIBUTIONS[n]) for n in results}
        chosen = {n: held_out_greedy(by_learner) for n, by_learner in regrets.items()}
        greedy = {n: best - regrets[n][TUNED][self.runs // 2 :] for n, (best, _) in chosen.items()}
        values: dict[str, dict[int, np.ndarray]] = {
            "tuned": {n: by[TUNED] - by[FIRST] for n, by in regrets.items()},
            "second": {n: by[SECOND] - by[TUNED] for n, by in regrets.items()},
            "greedy-wins": {n: runs for n, runs in greedy.items() if n not in GREEDY_LOSES},
            "greedy-loses": {n: runs for n, runs in greedy.items() if n in GREEDY_LOSES},
            "wrong-c": {n: worst - 2 * best for n, (best, worst) in chosen.items() if n != ROBUST},
            "bound": {n: by[FIRST] / jo.bounds.ucb1(gaps[n], self.rounds) for n, by in regrets.items()},
        }
        named = {key: {f"distribution {n}": runs for n, runs in own.items()} for key, own in values.items()}
        return published.read_statements("auer", named)

    def rows(self, results: dict[int, jo.Result]) -> list[dict[str, Any]]:
        """Return the rows by distribution and learner: regret and share of pulls of the best arm, at the horizon."""
        return [
            {"distribution": number} | row | {"best_arm": 100 * float(share[-1])}
            for number, result in results.items()
            for row, share in zip(published.regret_rows(result), best_arm_shares(result), strict=True)
        ]

    @figures.paper_style
    def plot(self, results: dict[int, jo.Result]) -> Any:
        """Draw for each distribution the share of pulls of the best arm, and the regret with 95 % bands."""
        columns, rows = min(len(results), 4), -(-len(results) // 4)
        title = "Auer, Cesa-Bianchi and Fischer (2002), section 4"
        figure, panels = figures.panels(2 * rows, columns, 0.6 + 3.0 * rows, title, sharey="row")
        above, below = panels[::2].ravel(), panels[1::2].ravel()
        for axes in (*above[len(results) :], *below[len(results) :]):
            axes.set_axis_off()
        for (number, result), upper, lower in zip(results.items(), above, below, strict=False):
            shares, regret, regrets = (
                best_arm_shares(result),
                published.mean_regret(result),
                published.final_regrets(result),
            )
            greedy = sorted((name for name in regrets if name not in STYLES), key=lambda name: regrets[name].mean())
            styles = STYLES | {greedy[-1]: WORST, greedy[0]: BEST}  # of epsilon-greedy, the best and the worst c
            labels = dict(zip(styles, (*STYLES, f"{GREEDY}, worst c", f"{GREEDY}, best c"), strict=False))
            for name in styles:
                i, look = result.learners.index(name), figures.look_of(name, styles)
                upper.plot(result.rounds, 100 * shares[i], label=labels[name], **look)
                plot_band(lower, result.rounds, regret, i, **look)
            figures.finish(upper, "", "% best arm", f"distribution {number}", log="x")
            figures.finish(lower, "round", "regret", log="xy")
            upper.set_ylim(0, 100)
            lower.set_ylim(bottom=0.5)
        figures.legend_below(figure, 3, above[0])
        return figure


def best_arm_shares(result: jo.Result) -> np.ndarray:
    """Return the mean share of pulls of arm 0, the best one, after each recorded round [learners, rounds]."""
    return np.asarray(result.measures["pulls"])[..., 0].mean(axis=1) / result.rounds


def held_out_greedy(regrets: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the regrets with the best and with the worst c in the second half of the runs.

    The first half of the runs chooses both values of c.
    """
    half = len(regrets[TUNED]) // 2
    names = [name for name in regrets if name.startswith(GREEDY)]
    best, *_, worst = sorted(names, key=lambda name: regrets[name][:half].mean())
    return regrets[best][half:], regrets[worst][half:]
