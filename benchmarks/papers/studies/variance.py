"""Variance against expected queries: the geometric distribution of N, and distributions optimised for a loss.

From N noisy copies of a number X, a series estimator estimates l'(E X) without bias, where N is random. The geometric
distribution of Lemma 1 (Cesa-Bianchi, Shalev-Shwartz, Shamir, COLT 2010) has one parameter p. Optimised distributions
have less variance and fewer queries. A series expansion about a guess of E X also reduces variance and queries. All
numbers are computed exactly, not by simulation.
"""

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from benchmarks.papers.studies import figures
from benchmarks.papers.study import AboveOne, Study
from jaxonline.estimators.series import VarianceRow, variance_table
from jaxonline.losses import Exponential, Logistic, SmoothedAbsolute, SmoothedHinge, Squared
from jaxonline.parameters.errors import ArgumentError
from jaxonline.results.report.plotting import COLOURS
from jaxonline.results.report.tables import Number, Table, Text
from jaxonline.study import Context, Report

LOSSES: dict[str, Any] = {
    "squared": Squared(),
    "exponential": Exponential(),
    "smoothed absolute (s = 1)": SmoothedAbsolute(1.0),
    "smoothed hinge (s = 1)": SmoothedHinge(1.0),
    "logistic": Logistic(),
}
GEOMETRIC = "geometric"
MARKERS = {  # colour and marker of the other distributions of `variance_table`
    "minimum variance": (COLOURS[1], "o"),
    "cost-aware": (COLOURS[0], "s"),
    "minimum variance, constant outside": (COLOURS[4], "D"),
    "cost-aware, constant outside": (COLOURS[5], "^"),
}
COLUMNS = (
    Text("loss"), Text("law", "distribution"), Number("p", form="{:g}"), Number("centre", "expanded\nabout", "{:g}"),
    Number("expected_queries", "expected\nqueries", "{:.4g}"), Number("variance", "variance", "{:.4g}"),
)  # fmt: skip
_MAX_SHARE = 0.88  # of radius^2; beyond it, float64 cannot hold the coefficients of relevant terms


RowsByCase = dict[tuple[str, float], list[VarianceRow]]


class Variance(Study):
    """Exact variance and expected queries by distribution and loss, for series about 0 and about a guess of E X.

    Running the study raises a ValueError if E X^2 is at (or almost at) the edge of a disc of convergence.

    Example:
        >>> from benchmarks.papers.studies.variance import Variance
        >>> rows = Variance(mean=1.0, noise_variance=0.25, guess=0.9).compute()["squared", 0.0]
        >>> [(row.p, round(row.variance, 3)) for row in rows if row.law == "geometric"][:4]
        [(1.1, 56.5), (1.25, 27.25), (1.5, 18.5), (2.0, 16.0)]
    """

    title: ClassVar[str] = "Variance of series estimators against expected queries, by loss and distribution."
    mean: float = Field(1.5, description="E X.")
    noise_variance: float = Field(0.5, gt=0, description="Var X.")
    guess: float = Field(1.0, description="A guess of E X, the other point of expansion; not 0.")
    ps: AboveOne = Field((1.1, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0), min_length=1, description="p of the geometric law.")

    def run(self, context: Context) -> Report:
        rows_by_case = self.compute()
        rows = [
            {"loss": loss, "centre": centre, "law": row.law, "p": None if math.isnan(row.p) else row.p}
            | {name: getattr(row, name) for name in ("expected_queries", "second_moment", "variance")}
            for (loss, centre), estimators in rows_by_case.items()
            for row in estimators
        ]
        title = f"E X = {self.mean:g}, Var X = {self.noise_variance:g}: distributions of the number of copies"
        table = Table(title, rows, COLUMNS, group="loss")
        return Report({"table": table}, {"figure": lambda: self.plot(rows_by_case)})

    def compute(self) -> dict[tuple[str, float], list[VarianceRow]]:
        """Return the rows of the variance table by loss (key of `LOSSES`) and point of expansion (0 and the guess)."""
        if self.guess == 0.0:
            raise ArgumentError("guess", "must not be 0, the first point of expansion (got 0)")
        try:
            return {(name, centre): self.rows(name, centre, self.ps) for name in LOSSES for centre in (0.0, self.guess)}
        except ValueError as error:
            raise ArgumentError("mean", f"must fit noise_variance, guess and ps ({error})") from error

    def rows(self, loss: str, centre: float, ps: Sequence[float]) -> list[VarianceRow]:
        """Return the rows of the variance table for one loss and one point of expansion."""
        return variance_table([LOSSES[loss]], self.mean, self.second_moment(0.0), ps=ps, centre=centre)

    def second_moment(self, centre: float) -> float:
        """Return E (X - centre)^2, the second moment of X about a point of expansion."""
        return self.noise_variance + (self.mean - centre) ** 2

    @figures.paper_style
    def plot(self, rows_by_case: RowsByCase) -> Any:
        """Draw a panel for each loss: curves over p (geometric distribution), and markers (optimised distributions).

        Solid lines and filled markers show the expansion about 0; dashed lines and hollow markers show the expansion
        about the guess. Gray marks expected queries at which the variance about 0 is infinite.
        """
        title = (
            f"Estimating l'(E X) without bias from noisy copies of X: E X = {self.mean:g}, Var X = "
            f"{self.noise_variance:g}. Lower left is better. Dots: p = {', '.join(f'{p:g}' for p in self.ps)}"
        )
        figure, panels = figures.panels(2, 3, 5.2, title)
        *of_losses, last = panels.ravel()
        for axes, (name, loss) in zip(of_losses, LOSSES.items(), strict=True):
            for centre, line in ((0.0, "-"), (self.guess, "--")):
                axes.plot(*self.curve(name, centre), color="0.35", ls=line, label=f"geometric, about {centre:g}")
                for row in rows_by_case[name, centre]:
                    colour, marker = MARKERS.get(row.law, ("0.35", "."))
                    face = colour if centre == 0.0 else "white"
                    label = f"{row.law}, about {centre:g}" if row.law in MARKERS else None
                    axes.plot(row.expected_queries, row.variance, marker, color=colour, mfc=face, ms=5, label=label)
            limit = loss.radius() ** 2 / self.second_moment(0.0)
            note = f"; about 0 infinite for p ≥ {limit:.3g}" if limit < max(self.ps) else ""
            if note:
                axes.axvspan(0.25, 1 / (limit - 1), color="0.9", lw=0)
            figures.finish(axes, "expected queries E N", "variance of the estimate", name + note, log="xy")
            axes.set_xlim(0.25, 16)
        last.set_axis_off()
        figures.legend_below(figure, 2, of_losses[0])
        return figure

    def curve(self, name: str, centre: float) -> tuple[Sequence[float], Sequence[float]]:
        """Return expected queries and finite variances of the geometric distribution over a range of p."""
        ps = 1.0 + np.geomspace(min(self.ps) - 1.0, max(self.ps) - 1.0, 60)
        ps = ps[ps * self.second_moment(centre) <= _MAX_SHARE * LOSSES[name].radius(centre) ** 2]
        rows = [row for row in self.rows(name, centre, ps.tolist()) if row.law == GEOMETRIC]
        return [row.expected_queries for row in rows], [row.variance for row in rows]
