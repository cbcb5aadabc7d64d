"""Figures of "Bandit Algorithms" (Lattimore and Szepesvari 2020): explore-then-commit, UCB, MOSS, Thompson sampling."""

from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from benchmarks.papers.published.bandit_algorithms_runs import (
    COMMITMENTS,
    TUNED,
    many_arms_regrets,
    regrets_by_gap,
    thompson_regrets,
)
from benchmarks.papers.published.bandit_algorithms_statements import book_statements
from benchmarks.papers.published.explore_then_commit import best_commitment, commitment, expected_regret
from benchmarks.papers.published.statements import statements_table, verdict_sentences
from jaxonline.results.report.tables import Interval, Number, Table, Text
from jaxonline.results.statistics import mean_over_runs
from jaxonline.study import Context, Report, Study
from jaxonline.study.study import Items, Positive

ArmCounts = Annotated[tuple[Annotated[int, Field(ge=3, le=1000)], ...], Items]


class BanditAlgorithms(Study):
    """Regret against the gap of two Gaussian arms (chapters 6 to 9), and the games of sections 9.2 and 36.2.

    The losses are Gaussian with variance 1. The closed form of the regret of explore-then-commit checks the simulation.
    """

    title: ClassVar[str] = "Figures of Bandit Algorithms (Lattimore and Szepesvari 2020), and what agrees."
    runs: int = Field(4000, ge=2, le=1_000_000, description="Runs of each learner for each gap.")
    rounds: int = Field(1000, ge=300, le=10_000_000, description="The horizon n of the figures against the gap.")
    gaps: Positive = Field(
        (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0), min_length=2, description="Gaps between the two arms."
    )
    arms: ArmCounts = Field((5, 10, 20), min_length=2, description="Numbers of arms k of section 9.2 (n = k^3).")
    thompson_runs: int = Field(20_000, ge=2, le=1_000_000, description="Runs of the experiment of section 36.2.")

    def run(self, context: Context) -> Report:
        with context.parts(3) as part:
            by_gap = regrets_by_gap(part("gaps"), self.gaps, self.runs, self.rounds)
            by_arms = many_arms_regrets(part("many arms"), self.arms, self.runs)
            thompson = thompson_regrets(part("Thompson sampling"), self.thompson_runs)
        statements = book_statements(self.rounds, by_gap, by_arms, thompson)
        verdicts = statements_table("Statements of the book", statements)
        tables = {
            "statements": verdicts,
            "gaps": Table(f"{self.runs:,} runs of {self.rounds:,} rounds, two arms", self._rows(by_gap), GAP_COLUMNS),
            "arms": Table("n = k^3 rounds, section 9.2", _regret_rows("arms", by_arms), (Number("arms"), *COLUMNS)),
            "thompson": Table(
                "2,000 rounds, means 1/5 and 0, section 36.2", _regret_rows("gap", {0.2: thompson}), COLUMNS
            ),
        }
        shown = [tables[name] for name in ("statements", "arms", "thompson")]
        figures = {"figure": lambda: self._plot(by_gap, by_arms, thompson)}
        return Report(tables, figures, verdict_sentences(verdicts.rows), shown=shown)

    def _rows(self, by_gap: dict[float, dict[str, np.ndarray]]) -> list[dict[str, Any]]:
        """Return the rows by gap and learner, with the closed form of the regret of explore-then-commit."""
        rows = _regret_rows("gap", by_gap)
        for row in rows:
            pulls = commitment(row["gap"], self.rounds) if row["learner"] == TUNED else COMMITMENTS.get(row["learner"])
            row["exact"] = None if pulls is None else expected_regret(row["gap"], pulls, self.rounds)
        best = [
            {"gap": gap, "learner": f"ETC, optimal m = {m}", "exact": expected_regret(gap, m, self.rounds)}
            for gap in self.gaps
            for m in [best_commitment(gap, self.rounds)]
        ]
        blank = {"regret": None, "regret_low": None, "regret_high": None}
        return sorted(rows + [{**row, **blank} for row in best], key=lambda row: row["gap"])

    def _plot(self, by_gap: Any, by_arms: Any, thompson: Any) -> Any:
        from benchmarks.papers.published.bandit_algorithms_figure import plot_book

        return plot_book(self.rounds, by_gap, by_arms, thompson)


COLUMNS = Text("learner"), Interval("regret", "regret\n(95 %)", "{:.2f}")
GAP_COLUMNS = Number("gap"), *COLUMNS, Number("exact", "closed\nform", "{:.2f}")


def _regret_rows(key: str, regrets: dict[Any, dict[str, np.ndarray]]) -> list[dict[str, Any]]:
    rows = []
    for value, by_learner in regrets.items():
        estimate = mean_over_runs(np.stack(list(by_learner.values())))
        for i, name in enumerate(by_learner):
            ends = {"regret_low": float(estimate.low[i]), "regret_high": float(estimate.high[i])}
            rows.append({key: value, "learner": name, "regret": float(estimate.mean[i])} | ends)
    return rows
