"""All claims as intervals around zero."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxonline.verify.claims import Row

_COLOURS = {"printed": "#c0392b", "corrected": "#1e7b4f", "improved": "#2c5aa0"}
_LINEAR = 0.05


def plot_intervals(rows: Sequence[Row]) -> Any:
    """A figure with one interval for each claim: where it is right, the interval contains zero.

    For bounds the interval is value / bound - 1: where the bound is respected, it does not lie above zero. The axis
    is linear near zero and logarithmic beyond.

    Args:
        rows: of `run_claims`; those without a number are left out.

    Returns:
        A `matplotlib.figure.Figure`.

    Example:
        >>> from jaxonline.verify.claims import run_claims
        >>> from jaxonline.verify.plots import plot_intervals
        >>> len(plot_intervals(run_claims("E18")).axes)
        1
    """
    from matplotlib.figure import Figure

    shown = [row for row in rows if row.bias is not None and row.half_width is not None]
    figure = Figure(figsize=(9.5, 0.6 + 0.24 * max(len(shown), 2)), layout="constrained")
    axes = figure.add_subplot()
    for form, colour in _COLOURS.items():
        places = [i for i, row in enumerate(shown) if row.form == form]
        if places:
            axes.errorbar(
                [shown[i].bias for i in places], places, xerr=[shown[i].half_width for i in places],
                fmt="o", color=colour, markersize=4, capsize=2, label=form,
            )  # fmt: skip
    unexpected = [i for i, row in enumerate(shown) if not row.as_expected]
    if unexpected:
        axes.scatter([shown[i].bias for i in unexpected], unexpected, s=90, facecolors="none", edgecolors="black",
                     label="not as expected")  # fmt: skip
    axes.axvline(0.0, color="black", linewidth=0.8)
    axes.set_xscale("symlog", linthresh=_LINEAR)
    reach = max([abs(row.bias) + row.half_width for row in shown], default=_LINEAR)
    axes.set_xlim(-1.3 * reach, 1.3 * reach)
    axes.set_yticks(np.arange(len(shown)), [f"{row.claim}: {row.verdict}" for row in shown], fontsize=7)
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_xlabel("bias in units of the target (bounds: value / bound - 1)")
    axes.grid(axis="x", alpha=0.3)
    if shown:
        axes.legend(loc="lower right", fontsize=8)
    return figure


def save_intervals(rows: Sequence[Row], path: str | Path) -> None:
    """Draw `plot_intervals(rows)` to a file; its ending decides the format.

    Example:
        >>> import pathlib, tempfile
        >>> from jaxonline.verify.claims import run_claims
        >>> from jaxonline.verify.plots import save_intervals
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "claims.png"
        >>> save_intervals(run_claims("E18"), path); path.stat().st_size > 1000
        True
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    plot_intervals(rows).savefig(path, dpi=150)
