"""Figures. Matplotlib is imported when a figure is drawn."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxonline._util import check
from jaxonline.results.quantities import label_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from jaxonline.results import Result

# Okabe and Ito's colours, which people with colour-blindness tell apart
COLOURS = ("#0072B2", "#009E73", "#56B4E9", "#D55E00", "#CC79A7", "#E69F00", "#000000", "#F0E442")


def plot_result(
    result: "Result",
    path: str | Path | None = None,
    *,
    quantity: str = "regret",
    level: float = 0.95,
    bounds: Mapping[str, np.ndarray] | None = None,
    title: str | None = None,
) -> "Figure":
    """Mean of a quantity against rounds with bands; with bounds, a second panel on logarithmic axes.

    A band holds for the whole curve of its learner (`Result.bands`), not for each round alone.

    Args:
        result: the numbers.
        path: where to write the figure (the ending chooses the format), or None.
        quantity: "regret", "comparator_loss", or a measure that is a number, by its name.
        level: of each learner's band.
        bounds: what a theorem promises at each recorded round [G], by learner: dashed lines in the second panel.
        title: of the figure.

    Raises:
        ValueError: a quantity that the study does not have, or a bound for a learner that it does not have, or not of
            the length of the recorded rounds.

    Example:
        >>> import numpy as np
        >>> import jaxonline as jo
        >>> loss = np.array([[[1.0, 2.0], [3.0, 5.0]]])
        >>> measures = {"cumulative_loss": loss, "queries": 0 * loss}
        >>> result = jo.Result(learners=("a",), runs=np.arange(2), rounds=np.array([1, 2]), measures=measures)
        >>> len(result.plot(quantity="cumulative_loss").axes)
        1
    """
    from matplotlib.figure import Figure

    for name, bound in check.keyed("bounds", bounds, result.learners).items():
        if check.reals(f"bounds[{name!r}]", bound).shape != result.rounds.shape:
            raise ValueError(
                f"bounds[{name!r}] must have an entry for each of the {len(result.rounds)} recorded rounds, got "
                f"shape {np.shape(bound)}"
            )
    estimate = result.bands(quantity, level)
    figure = Figure(figsize=(11.5, 4.8) if bounds else (6.8, 4.8), layout="constrained")
    panels = figure.subplots(1, 2 if bounds else 1, squeeze=False)[0]
    for i, name in enumerate(result.learners):
        colour = COLOURS[i % len(COLOURS)]
        for axes in panels:  # the first panel names them, at their ends or in a legend
            band(axes, result.rounds, estimate, i, color=colour, lw=1.8, label=name if axes is panels[0] else None)
        if bounds and name in bounds:
            panels[1].plot(result.rounds, bounds[name], color=colour, ls="--", lw=1.4)
    what = label_of(quantity)
    tidy(panels[0], "round", what, f"mean of {_runs(result, estimate.n_runs)}, {level:.0%} simultaneous bands")
    _label_ends(panels[0], result, estimate.mean[:, -1])
    if bounds:
        log_log(panels[1])
        panels[1].plot([], [], color="0.4", ls="--", label="the theorem's bound")
        tidy(panels[1], "round", "", "the same on logarithmic axes")
        panels[1].legend(frameon=False, fontsize=9)
        _slope_guides(panels[1], result, estimate.mean)
    if title:
        figure.suptitle(title)
    if path is not None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=150)
    return figure


def band(axes: "Axes", x: Any, estimate: Any, i: int, *, color: str, alpha: float = 0.25, **line: Any) -> None:
    """The mean of learner i as a line, and its interval as a band around it."""
    axes.plot(x, estimate.mean[i], color=color, **line)
    axes.fill_between(x, estimate.low[i], estimate.high[i], color=color, alpha=alpha, lw=0)


def _runs(result: "Result", n_runs: np.ndarray) -> str:
    """How many runs are in the means, of those that were played."""
    least, most, played = n_runs.min(), n_runs.max(), len(result.runs)
    if least == played:
        return f"{played:,} runs"
    return f"{least:,} of {played:,} runs" if least == most else f"{least:,} to {most:,} of {played:,} runs"


def tidy(axes: "Axes", xlabel: str = "", ylabel: str = "", title: str = "") -> None:
    """Labels, a faint grid, and no frame above and to the right.

    Example:
        >>> from matplotlib.figure import Figure
        >>> from jaxonline.results.plotting import tidy
        >>> axes = Figure().subplots()
        >>> tidy(axes, "round", "regret")
        >>> axes.get_xlabel()
        'round'
    """
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.set_title(title, fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)


def log_log(axes: "Axes", linear_y: bool = False) -> None:
    """Logarithmic axes with plain numbers at 1, 2 and 5; with `linear_y` the horizontal one only.

    Example:
        >>> from matplotlib.figure import Figure
        >>> from jaxonline.results.plotting import log_log
        >>> axes = Figure().subplots()
        >>> log_log(axes)
        >>> axes.get_xscale(), axes.get_yscale()
        ('log', 'log')
    """
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    if not linear_y:
        axes.set_yscale("log")
    for axis in (axes.xaxis,) if linear_y else (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(StrMethodFormatter("{x:,g}"))
        axis.set_minor_formatter(NullFormatter())


def _label_ends(axes: "Axes", result: "Result", ends: np.ndarray) -> None:
    """Names beside the curves' ends, pushed apart where they would overlap; a legend when there are many."""
    if len(ends) > len(COLOURS):
        axes.legend(frameon=False, fontsize=8)
        return
    low, high = axes.get_ylim()
    gap = 0.05 * (high - low)
    order = [i for i in np.argsort(ends) if np.isfinite(ends[i])]
    at = -np.inf
    for i in order:
        at = max(ends[i], at + gap)
        where: Any = (result.rounds[-1], at)
        axes.annotate(
            result.learners[i], where, xytext=(6, 0), textcoords="offset points", va="center",
            color=COLOURS[i], fontsize=9, annotation_clip=False,
        )  # fmt: skip


def _slope_guides(axes: "Axes", result: "Result", means: np.ndarray) -> None:
    """Thin lines of slope 1 and 1/2 through the middle of the picture, to read growth rates by."""
    positive = means[np.isfinite(means) & (means > 0)]
    if positive.size == 0:
        return
    rounds = np.asarray(result.rounds, float)
    for slope, text in ((1.0, "slope 1"), (0.5, "slope 1/2")):
        line = positive.min() * 0.7 * (rounds / rounds[0]) ** slope
        axes.plot(rounds, line, color="0.6", lw=0.8, zorder=0)
        axes.annotate(text, (rounds[-1], line[-1]), xytext=(3, 0), textcoords="offset points", fontsize=8, color="0.4")
