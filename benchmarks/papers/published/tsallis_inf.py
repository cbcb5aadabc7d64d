"""Experiments of Zimmert and Seldin (2021): Tsallis-INF against stochastic and constrained adversarial losses."""

import math
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from benchmarks.papers.published.skewed_runs import mean_regret, skewed_runs_sentences
from benchmarks.papers.published.statements import Statement, statements_table, verdict_sentences
from benchmarks.papers.published.tsallis_inf_games import (
    ADVERSARIAL,
    EXPONENTIAL,
    REDUCED,
    STOCHASTIC,
    THOMPSON,
    UCB,
    WEIGHTED,
    adversarial_arms,
    stochastic_arms,
)
from jaxonline.comparators import BestArm
from jaxonline.feedback import Bandit
from jaxonline.game import Game
from jaxonline.learners import EXP3, UCB1, BernoulliThompson, TsallisINF
from jaxonline.losses import ArmLoss
from jaxonline.results import Result
from jaxonline.results.report.tables import Interval, Number, Table, Text
from jaxonline.study import Context, Report, Study

PLACES = {"text": "Abstract", "memory": "Experiments"}
SPAN = 8  # growth is measured from T / 8 to T


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
        verdicts = statements_table("Statements of the paper", self.statements(results))
        rows = [row for name, result in results.items() for row in self.rows(name, result)]
        title = f"{self.runs:,} runs of {self.rounds:,} rounds, K = {self.arms}, gap {self.gap:g}"
        return Report(
            {"statements": verdicts, "regrets": Table(title, rows, COLUMNS, group="losses")},
            {"figure": lambda: self._plot(results)},
            [*verdict_sentences(verdicts.rows), *skewed_runs_sentences(results)],
            results,
        )

    def play(self, context: Context, losses: str) -> Result:
        """Simulate the learners on stochastic or on adversarial losses."""
        learners = {
            REDUCED: TsallisINF(), WEIGHTED: TsallisINF("importance_weighted"),
            EXPONENTIAL: EXP3.over_horizon(self.arms, self.rounds), UCB: UCB1(), THOMPSON: BernoulliThompson(),
        }  # fmt: skip
        arms: Any = stochastic_arms(self.arms, self.gap)
        if losses == ADVERSARIAL:
            arms = adversarial_arms(self.arms, self.gap, self.rounds)
        game = Game(arms, Bandit(), loss=ArmLoss(), pseudo=True)
        span = max(1, self.rounds // SPAN)
        recorded = np.geomspace(max(1, self.rounds / 1000), self.rounds, 40).round().astype(int)
        return context.simulate(
            game, learners, n_runs=self.runs, n_rounds=self.rounds, comparator=BestArm(),
            record_at=sorted({*recorded.tolist(), span, self.rounds}),
        )  # fmt: skip

    def statements(self, results: dict[str, Result]) -> list[Statement]:
        """Return the statements of the paper with the regrets at the horizon and at an eighth of it."""
        final = {losses: _regrets_at(result, self.rounds) for losses, result in results.items()}
        early = _regrets_at(results[ADVERSARIAL], max(1, self.rounds // SPAN))
        bound = 4 * math.sqrt(self.arms * self.rounds) + 1

        def less(losses: str, second: str, origin: Any, first: str = REDUCED) -> Statement:
            return Statement(
                PLACES[origin], f"On {losses} losses {first} has less regret than {second}.", origin,
                f"difference of the regrets, {first} - {second}", {"": final[losses][first] - final[losses][second]},
                high=0.0,
            )  # fmt: skip

        def growth(name: str, exponent: float) -> dict[str, np.ndarray]:
            return {name: final[ADVERSARIAL][name] - SPAN**exponent * early[name]}

        return [
            less(STOCHASTIC, UCB, "text"),
            less(STOCHASTIC, EXPONENTIAL, "text"),
            less(STOCHASTIC, WEIGHTED, "memory"),
            less(STOCHASTIC, REDUCED, "memory", first=THOMPSON),
            less(ADVERSARIAL, UCB, "text"),
            less(ADVERSARIAL, THOMPSON, "text"),
            Statement(
                "Abstract", "On adversarial losses the regrets of UCB1 and Thompson sampling are almost linear (we "
                "read: growth exponent at least 0.8).", "text", "R(T) - 8^0.8 R(T/8)",
                growth(UCB, 0.8) | growth(THOMPSON, 0.8), low=0.0,
            ),
            Statement(
                "Abstract", "On adversarial losses the regret of Tsallis-INF is logarithmic (we check only that it "
                "grows more slowly than sqrt(T)).", "text", "R(T) - 8^0.5 R(T/8)", growth(REDUCED, 0.5), high=0.0,
            ),
            Statement(
                "Theorem 1", "The regret of Tsallis-INF, IW, is at most 4 sqrt(KT) + 1 on all losses.", "memory",
                "regret / bound", {losses: runs[WEIGHTED] / bound for losses, runs in final.items()}, high=1.0,
            ),
            Statement(
                PLACES["memory"], "Tsallis-INF has less regret than Broad and EXP3++.", "memory",
                reason="Broad and EXP3++ are not in this package.",
            ),
        ]  # fmt: skip

    def rows(self, losses: str, result: Result) -> list[dict[str, Any]]:
        """Return a row for each learner, with its regret and the growth exponent of the mean regret."""
        regret, early = mean_regret(result), _regrets_at(result, max(1, self.rounds // SPAN))
        return [
            {
                "losses": losses, "learner": name, "regret": float(regret.mean[i, -1]),
                "regret_low": float(regret.low[i, -1]), "regret_high": float(regret.high[i, -1]),
                "exponent": _exponent(float(regret.mean[i, -1]), float(early[name].mean())),
            }
            for i, name in enumerate(result.learners)
        ]  # fmt: skip

    def _plot(self, results: dict[str, Result]) -> Any:
        from benchmarks.papers.published.tsallis_inf_figure import plot_tsallis

        title = f"Zimmert and Seldin (2021): K = {self.arms}, gap {self.gap:g}"
        return plot_tsallis(title, adversarial_arms(self.arms, self.gap, self.rounds).starts.tolist(), results)


COLUMNS = (
    Text("losses"), Text("learner"), Interval("regret", "regret\n(95 %)", "{:.1f}"),
    Number("exponent", "growth\nexponent", "{:.2f}"),
)  # fmt: skip


def _regrets_at(result: Result, t: int) -> dict[str, np.ndarray]:
    """Return the regrets of all runs after round t, by learner."""
    place = int(np.searchsorted(result.rounds, t))
    return {name: np.asarray(result.regret[i, :, place]) for i, name in enumerate(result.learners)}


def _exponent(late: float, early: float) -> float | None:
    return math.log(late / early) / math.log(SPAN) if min(late, early) > 0 else None
