"""Variance against expected queries: the paper's geometric law of N, and the laws made for the series at hand.

From noisy copies of a number X, a series estimator makes an unbiased estimate of l'(E X). The geometric law of Lemma 1
(Cesa-Bianchi, Shalev-Shwartz, Shamir, COLT 2010) has one parameter p: fewer copies, or less variance. Laws made for
the loss need less of both, and so does an expansion about a guess of E X. All numbers here are exact.
"""

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from jaxonline.estimators.series_moments import VarianceRow, variance_table
from jaxonline.losses import Exponential, Logistic, Loss, SmoothedAbsolute, SmoothedHinge, Squared
from jaxonline.results.plotting import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PS = (1.1, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0)
LOSSES: dict[str, Loss] = {
    "squared": Squared(),
    "exponential": Exponential(),
    "smoothed absolute (s = 1)": SmoothedAbsolute(1.0),
    "smoothed hinge (s = 1)": SmoothedHinge(1.0),
    "logistic": Logistic(),
}
GEOMETRIC = "geometric"
MADE = {  # the other laws of `variance_table`: colour, marker, name in the figure
    "minimum variance": (COLOURS[1], "o", "minimum variance"),
    "cost-aware": (COLOURS[0], "s", "cost-aware"),
    "minimum variance, constant outside": (COLOURS[4], "D", "minimum variance,\n$\\gamma_0$ outside the draw"),
    "cost-aware, constant outside": (COLOURS[5], "^", "cost-aware,\n$\\gamma_0$ outside the draw"),
}
_EDGE = 0.88  # times radius^2: closer to infinite variance, terms matter whose coefficients float64 cannot hold


class VarianceStudy(NamedTuple):
    """What the study brings.

    Attributes:
        mean: E X.
        noise_variance: Var X.
        rows: the numbers, by loss (a key of `LOSSES`) and point of expansion (0 and the guess).

    Example:
        >>> from jaxonline.study.ready.variance import VarianceStudy
        >>> VarianceStudy._fields
        ('mean', 'noise_variance', 'rows')
    """

    mean: float
    noise_variance: float
    rows: dict[tuple[str, float], list[VarianceRow]]


def variance(mean: float = 1.5, noise_variance: float = 0.5, guess: float = 1.0) -> VarianceStudy:
    """The exact variance and expected queries of every law for every loss.

    Args:
        mean: E X.
        noise_variance: Var X, above 0.
        guess: of E X, the other point of expansion; not 0.

    Raises:
        ValueError: `noise_variance` not above 0, `guess` 0, or E X^2 at (or all but at) the edge of a disc of
            convergence.

    Example:
        >>> from jaxonline.study.ready.variance import variance
        >>> study = variance(mean=1.0, noise_variance=0.25, guess=0.9)
        >>> [(row.p, round(row.variance, 3)) for row in study.rows["squared", 0.0] if row.law == "geometric"][:4]
        [(1.1, 56.5), (1.25, 27.25), (1.5, 18.5), (2.0, 16.0)]
    """
    if guess == 0.0:
        raise ValueError("guess must not be 0, which is the first point of expansion")
    rows = {
        (name, centre): variance_table([loss], mean, mean**2 + noise_variance, ps=PS, centre=centre)
        for name, loss in LOSSES.items()
        for centre in (0.0, guess)
    }
    return VarianceStudy(mean, noise_variance, rows)


def write(study: VarianceStudy, folder: Path) -> list[Path]:
    """Write table.csv and figure.png; returns their paths.

    Example:
        >>> import tempfile, pathlib
        >>> from jaxonline.study.ready.variance import variance, write
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     [path.name for path in write(variance(), pathlib.Path(folder))]
        ['table.csv', 'figure.png']
    """
    folder.mkdir(parents=True, exist_ok=True)
    table, figure = folder / "table.csv", folder / "figure.png"
    with table.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(["loss", "centre", "law", "p", "expected_queries", "second_moment", "variance"])
        for (name, centre), rows in study.rows.items():
            for row in rows:
                p = "" if math.isnan(row.p) else f"{row.p:g}"
                numbers = (f"{x:.6g}" for x in (row.expected_queries, row.second_moment, row.variance))
                lines.writerow([name, f"{centre:g}", row.law, p, *numbers])
    plot_variance(study).savefig(figure, dpi=150)
    return [table, figure]


def plot_variance(study: VarianceStudy) -> "Figure":
    """A panel for each loss: a curve for the geometric law over p, a marker for each law made for the series.

    Solid and filled: expansion about 0. Dashed and hollow: about the guess.

    Example:
        >>> from jaxonline.study.ready.variance import plot_variance, variance
        >>> len(plot_variance(variance()).axes)
        6
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.0, 7.4), layout="constrained")
    panels = figure.subplots(2, 3).ravel()
    for axes, name in zip(panels, LOSSES, strict=False):
        _panel(axes, study, name)
    for axes in panels[[0, 3]]:
        axes.set_ylabel("variance of the estimate")
    for axes in panels[2:5]:
        axes.set_xlabel("expected queries E N")
    centres = sorted({centre for _, centre in study.rows}, key=abs)
    _legend(panels[5], centres)
    figure.suptitle(
        f"Estimating l'(E X) without bias from noisy copies of X: E X = {study.mean:g}, Var X = "
        f"{study.noise_variance:g}. Down and to the left is better"
    )
    return figure


def _panel(axes: "Axes", study: VarianceStudy, name: str) -> None:
    for (loss, centre), rows in study.rows.items():
        if loss != name:
            continue
        about_zero = centre == 0.0
        queries, variances = _curve(study, name, centre)
        axes.plot(queries, variances, color="0.35", ls="-" if about_zero else "--", lw=1.6, zorder=1)
        dots = [row for row in rows if row.law == GEOMETRIC and math.isfinite(row.variance)]
        axes.plot([r.expected_queries for r in dots], [r.variance for r in dots], ".", color="0.35", ms=7, zorder=1)
        for row in dots if about_zero else ():
            if row.p in (1.1, 2.0, 4.0):
                axes.annotate(f"p = {row.p:g}", (row.expected_queries, row.variance), xytext=(-3, 7),
                              textcoords="offset points", fontsize=8, color="0.35")  # fmt: skip
        for row in rows:
            if row.law in MADE:
                colour, marker, _ = MADE[row.law]
                face = colour if about_zero else "white"
                axes.plot(row.expected_queries, row.variance, marker, color=colour, mfc=face, ms=7.5, mew=1.6)
    limit = LOSSES[name].radius() ** 2 / _second_moment(study, 0.0)
    axes.set(xscale="log", yscale="log", xlim=(0.25, 16))
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * (high / low) ** (0.05 if limit >= max(PS) else 0.2))
    if limit < max(PS):
        axes.axvspan(0.25, 1 / (limit - 1), color=COLOURS[3], alpha=0.15, lw=0)
        axes.annotate(
            f"about 0, geometric law:\ninfinite variance\nfor p ≥ {limit:.3g}", (0.02, 0.98), va="top",
            xycoords="axes fraction", fontsize=8, color=COLOURS[3],
        )  # fmt: skip
    axes.set_title(name, fontsize=11)
    axes.set_xticks([0.3, 1, 3, 10], ["0.3", "1", "3", "10"])
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)


def _curve(study: VarianceStudy, name: str, centre: float) -> tuple[Sequence[float], Sequence[float]]:
    """Expected queries and variance of the geometric law, for p from 1.1 to 4 as far as the variance is finite."""
    loss = LOSSES[name]
    ps = 1.0 + np.geomspace(min(PS) - 1.0, max(PS) - 1.0, 60)
    ps = ps[ps * _second_moment(study, centre) <= _EDGE * loss.radius(centre) ** 2]
    table = variance_table([loss], study.mean, _second_moment(study, 0.0), ps=ps.tolist(), centre=centre)
    rows = [row for row in table if row.law == GEOMETRIC]
    return [row.expected_queries for row in rows], [row.variance for row in rows]


def _second_moment(study: VarianceStudy, centre: float) -> float:
    """E (X - centre)^2."""
    return study.noise_variance + (study.mean - centre) ** 2


def _legend(axes: "Axes", centres: Sequence[float]) -> None:
    """In a panel of its own: what lines and markers mean."""
    axes.set_axis_off()
    axes.plot([], [], color="0.35", lw=1.6, marker=".", ms=7, label="geometric law, p from 1.1 to 4 (Lemma 1)")
    for colour, marker, text in MADE.values():
        axes.plot([], [], marker, color=colour, ms=7.5, label=text)
    axes.plot([], [], " ", label=" ")
    for centre, ls, face in zip(centres, ("-", "--"), ("0.35", "white"), strict=True):
        style = "solid, filled" if ls == "-" else "dashed, hollow"
        axes.plot([], [], color="0.35", ls=ls, marker="o", mfc=face, label=f"{style}: series about {centre:g}")
    axes.legend(loc="center left", frameon=False, fontsize=10, title="law of the number N of copies", alignment="left")
