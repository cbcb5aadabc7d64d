"""Plot of an interval for the bias of each claim."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.papers.claims.registry import Row, check_rows
from jaxonline.results.report.plotting import COLOURS
from jaxonline.store.output_paths import output_file

ENDINGS = (".eps", ".jpg", ".pdf", ".png", ".svg")
_STYLES = {
    "printed": (COLOURS[3], "s"), "corrected": (COLOURS[1], "o"), "improved": (COLOURS[0], "D"),
    "control": (COLOURS[4], "v"),
}  # fmt: skip
_LINEAR_RANGE = 0.1


def plot_intervals(rows: Sequence[Row]) -> Any:
    """Plot an interval for the bias of each claim; the interval of a correct claim contains zero.

    For a claim on a bound, the plot shows the interval of value / bound - 1, which is not above zero if the bound is
    respected. The axis of the bias is linear near zero and logarithmic beyond. Rows without a finite bias and
    half-width are left out.

    Example:
        >>> from benchmarks.papers.claims import plot_intervals, run_claims
        >>> len(plot_intervals(run_claims("E18")).axes)
        1
    """
    from matplotlib.figure import Figure

    shown = [row for row in check_rows(rows) if np.isfinite([row.verification.bias, row.verification.half_width]).all()]
    bias = np.array([row.verification.bias for row in shown], float)
    half_width = np.array([row.verification.half_width for row in shown], float)
    figure = Figure(figsize=(9.5, 1.0 + 0.19 * max(len(shown), 2)), layout="constrained")
    axes = figure.add_subplot()
    for form, (colour, marker) in _STYLES.items():
        indices = [i for i, row in enumerate(shown) if row.claim.form == form]
        if indices:
            axes.errorbar(
                bias[indices], indices, xerr=half_width[indices],
                fmt=marker, color=colour, markersize=4, capsize=2, label=form,
            )  # fmt: skip
    unexpected = [i for i, row in enumerate(shown) if not row.as_expected]
    if unexpected:
        axes.scatter(bias[unexpected], unexpected, s=90, facecolors="none", edgecolors="black",
                     label="not as expected")  # fmt: skip
    axes.axvline(0.0, color="black", linewidth=0.8)
    axes.set_xscale("symlog", linthresh=_LINEAR_RANGE)
    reach = 2 * float(np.max(np.abs(bias) + half_width, initial=_LINEAR_RANGE))
    axes.set_xlim(-reach, reach)
    decades = [t for t in 10.0 ** np.arange(-1, 9) if t <= reach]
    axes.set_xticks([-t for t in reversed(decades)] + [0.0, *decades])
    axes.xaxis.set_major_formatter("{x:g}")
    axes.minorticks_off()
    axes.set_yticks(
        np.arange(len(shown)), [f"{row.claim.name}: {row.verification.verdict}" for row in shown], fontsize=7
    )
    axes.set_ylim(max(len(shown), 1) - 0.5, -0.5)
    axes.set_xlabel("bias in units of the target (bounds: value / bound - 1)")
    axes.grid(axis="x", alpha=0.3)
    if shown:
        axes.legend(loc="lower right", fontsize=8)
    return figure


def save_intervals(rows: Sequence[Row], path: str | Path) -> None:
    """Write `plot_intervals(rows)` to a file; the ending of its name, one of `ENDINGS`, determines the format."""
    with output_file(Path(path)) as path:
        plot_intervals(rows).savefig(path, dpi=150)
