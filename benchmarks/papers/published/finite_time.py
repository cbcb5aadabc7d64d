"""Experiments of Auer, Cesa-Bianchi and Fischer (2002): UCB1, UCB1-tuned, UCB2 and epsilon-greedy on Bernoulli arms."""

from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from benchmarks.papers.published.finite_time_curves import FIRST, SECOND, TUNED, best_arm_shares, final_regrets
from benchmarks.papers.published.skewed_runs import mean_regret, skewed_runs_sentences
from benchmarks.papers.published.statements import Statement, statements_table, verdict_sentences
from jaxonline.bounds import ucb1
from jaxonline.comparators import BestArm
from jaxonline.environments import BernoulliArms
from jaxonline.feedback import Bandit
from jaxonline.game import Game
from jaxonline.learners import UCB1, UCB2, EpsilonGreedy, UCB1Tuned
from jaxonline.losses import ArmLoss
from jaxonline.parameters.errors import ArgumentError
from jaxonline.results import Result
from jaxonline.results.report.tables import Interval, Number, Table, Text
from jaxonline.simulation.measures import Pulls
from jaxonline.simulation.sweeps import sweep
from jaxonline.study import Context, Report, Study
from jaxonline.study.study import Items, Positive

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
Distributions = Annotated[tuple[int, ...], Items]


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
    distributions: Distributions = Field(tuple(DISTRIBUTIONS), min_length=1, description="Distributions to play.")

    def run(self, context: Context) -> Report:
        unknown = [number for number in self.distributions if number not in DISTRIBUTIONS]
        if unknown:
            raise ArgumentError(
                "distributions", f"must be among {', '.join(map(str, DISTRIBUTIONS))} (got {unknown[0]})"
            )
        with context.parts(len(self.distributions)) as part:
            results = {
                number: self.play(part(f"distribution {number}"), DISTRIBUTIONS[number])
                for number in self.distributions
            }
        named = {f"distribution {number}": result for number, result in results.items()}
        verdicts = statements_table("Statements of the paper", self.statements(results))
        title = f"{self.runs:,} runs of {self.rounds:,} rounds"
        regrets = Table(title, self.rows(results), COLUMNS, group="distribution")
        return Report(
            {"statements": verdicts, "regrets": regrets},
            {"figure": lambda: self._plot(results)},
            [*verdict_sentences(verdicts.rows), *skewed_runs_sentences(named)],
            named,
        )

    def play(self, context: Context, rewards: tuple[float, ...]) -> Result:
        """Simulate all learners on arms with the given mean rewards."""
        means, n_arms = 1.0 - np.asarray(rewards), len(rewards)
        gap = float(np.sort(means)[1] - means.min())
        greedy = {f"c = {c:g}": EpsilonGreedy.decreasing(n_arms, gap, c) for c in self.cs}
        learners = {FIRST: UCB1(), TUNED: UCB1Tuned(), SECOND: UCB2(self.alpha), "epsilon-greedy": sweep(greedy)}
        game = Game(BernoulliArms(means), Bandit(), loss=ArmLoss(), pseudo=True)
        return context.simulate(
            game, learners, n_runs=self.runs, n_rounds=self.rounds, comparator=BestArm(), measures=[Pulls()],
            record_at=30, spacing="log",
        )  # fmt: skip

    def statements(self, results: dict[int, Result]) -> list[Statement]:
        """Return the statements of the paper with the regrets at the horizon."""
        regrets = {number: final_regrets(result) for number, result in results.items()}
        gaps = {number: max(DISTRIBUTIONS[number]) - np.asarray(DISTRIBUTIONS[number]) for number in results}
        chosen = {number: held_out_greedy(by_learner) for number, by_learner in regrets.items()}
        half = self.runs // 2

        def difference(first: str, second: str) -> dict[str, np.ndarray]:
            return {f"distribution {n}": by[first] - by[second] for n, by in regrets.items()}

        greedy = {n: best - regrets[n][TUNED][half:] for n, (best, _) in chosen.items()}
        best = {f"distribution {n}": runs for n, runs in greedy.items() if n not in GREEDY_LOSES}
        beaten = {f"distribution {n}": runs for n, runs in greedy.items() if n in GREEDY_LOSES}
        sensitive = {f"distribution {n}": worst - 2 * best for n, (best, worst) in chosen.items() if n != ROBUST}
        absent = "None of these distributions was played."
        return [
            Statement(
                "Section 4", "UCB1-tuned has less regret than UCB1 on every distribution.", "memory",
                "difference of the regrets, UCB1-tuned - UCB1", difference(TUNED, FIRST), high=0.0,
            ),
            Statement(
                "Section 4", "UCB2 has more regret than UCB1-tuned on every distribution.", "memory",
                "difference of the regrets, UCB2 - UCB1-tuned", difference(SECOND, TUNED), low=0.0,
            ),
            Statement(
                "Section 4", "Epsilon-greedy with the best c has less regret than UCB1-tuned, except on distributions "
                "12 and 14.", "memory", "difference of the regrets, epsilon-greedy - UCB1-tuned", best or None,
                high=0.0, reason="" if best else absent,
            ),
            Statement(
                "Section 4", "Epsilon-greedy with the best c has more regret than UCB1-tuned on distributions 12 and "
                "14.", "memory", "difference of the regrets, epsilon-greedy - UCB1-tuned", beaten or None, low=0.0,
                reason="" if beaten else absent,
            ),
            Statement(
                "Section 4", "Epsilon-greedy has much more regret with a wrong c (we read: twice as much), except on "
                "distribution 13.", "memory", "regret with the worst c - twice the regret with the best c",
                sensitive or None, low=0.0, reason="" if sensitive else absent,
            ),
            Statement(
                "Theorem 1", "The regret of UCB1 is below its bound.", "formula", "regret / bound",
                {f"distribution {n}": by[FIRST] / ucb1(gaps[n], self.rounds) for n, by in regrets.items()}, high=1.0,
            ),
            Statement(
                "Figures", "The curves have the heights of the printed curves.", "memory",
                reason="The figures could not be read.",
            ),
        ]  # fmt: skip

    def rows(self, results: dict[int, Result]) -> list[dict[str, Any]]:
        """Return the rows by distribution and learner: regret and share of pulls of the best arm, at the horizon."""
        rows = []
        for number, result in results.items():
            regret, best = mean_regret(result), best_arm_shares(result)
            rows += [
                {
                    "distribution": number, "learner": name, "regret": float(regret.mean[i, -1]),
                    "regret_low": float(regret.low[i, -1]), "regret_high": float(regret.high[i, -1]),
                    "best_arm": 100 * float(best[i, -1]),
                }
                for i, name in enumerate(result.learners)
            ]  # fmt: skip
        return rows

    def _plot(self, results: dict[int, Result]) -> Any:
        from benchmarks.papers.published.finite_time_figure import plot_experiments

        return plot_experiments(results)


COLUMNS = (
    Number("distribution", "distri-\nbution"), Text("learner"), Interval("regret", "regret\n(95 %)", "{:.1f}"),
    Number("best_arm", "% best\narm", "{:.1f}"),
)  # fmt: skip


def held_out_greedy(regrets: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the regrets with the best and with the worst c in the second half of the runs.

    The first half of the runs chooses both values of c.
    """
    half = len(regrets[TUNED]) // 2
    names = [name for name in regrets if name.startswith("epsilon-greedy")]
    best, *_, worst = sorted(names, key=lambda name: regrets[name][:half].mean())
    return regrets[best][half:], regrets[worst][half:]
