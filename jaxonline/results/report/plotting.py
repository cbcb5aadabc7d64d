"""Figures. Matplotlib is imported when a figure is drawn."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jaxonline.parameters import check
from jaxonline.results.quantities import label_of
from jaxonline.results.report.formats import figure_words, tick

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from jaxonline.results import Result
    from jaxonline.results.report.figure import ResultFigure

# Okabe and Ito's colours, which people with colour-blindness tell apart
COLOURS = ("#0072B2", "#009E73", "#56B4E9", "#D55E00", "#CC79A7", "#E69F00", "#000000", "#F0E442")


class Style(NamedTuple):
    """Sizes of a figure: in inches, and in points."""

    width: float
    height: float
    font: float
    line: float


STYLES = {"screen": Style(7.4, 4.8, 10.0, 1.8), "paper": Style(3.25, 2.4, 8.0, 1.1)}


def plot_result(
    result: "Result",
    path: str | Path | None = None,
    *,
    quantity: str | None = None,
    level: float = 0.95,
    bounds: Mapping[str, np.ndarray] | None = None,
    title: str | None = None,
    style: str = "screen",
) -> "ResultFigure":
    """Mean of a quantity against rounds with bands; with bounds, a second panel on logarithmic axes.

    A band holds for the whole curve of its learner (`Result.bands`), not for each round alone; of one run there is
    none. Axes are logarithmic where the recorded rounds are (`simulate(spacing="log")`). Up to 21 learners differ in
    colour and dashes, with their names at the ends of the curves; of more the best 7 do, and the others are grey.
    Where one round was recorded, the learners are points.

    Args:
        result: the numbers.
        path: where to write the figure (the ending chooses the format), or None. Fonts of a PDF are embedded.
        quantity: "regret", "comparator_loss", or a measure that is a number, by its name; by default the regret, or
            the cumulative loss where there is no comparator.
        level: of each learner's band.
        bounds: what a theorem promises at each recorded round [G], by learner: dashed lines in the second panel.
        title: of the figure.
        style: "screen", or "paper": for a column of a two-column paper, 3.25 inches wide with letters of 8 points, a
            legend below and nothing above, since that is the caption's; with bounds, one panel, which is logarithmic.

    Raises:
        ValueError: a quantity that the study does not have, or a bound for a learner that it does not have, or not of
            the length of the recorded rounds; an unknown style.

    Example:
        >>> import numpy as np
        >>> import jaxonline as jo
        >>> loss = np.array([[[1.0, 2.0], [3.0, 5.0]]])
        >>> measures = {"cumulative_loss": loss, "queries": 0 * loss}
        >>> result = jo.Result(learners=("a",), runs=np.arange(2), rounds=np.array([1, 2]), measures=measures)
        >>> len(result.plot(quantity="cumulative_loss").axes)
        1
    """
    from jaxonline.results.report.curves import Curves
    from jaxonline.results.report.figure import ResultFigure
    from jaxonline.results.report.summary import quantity_of

    for name, bound in check.keyed("bounds", bounds, result.learners).items():
        if check.reals(f"bounds[{name!r}]", bound).shape != result.rounds.shape:
            raise ValueError(
                f"bounds[{name!r}] must have an entry for each of the {len(result.rounds)} recorded rounds, got "
                f"shape {np.shape(bound)}"
            )
    bounds, sizes = bounds or {}, STYLES[check.choice("style", style, STYLES)]
    quantity = quantity_of(result, quantity)
    estimate = result.bands(quantity, level)
    curves = Curves(result, estimate, sizes)
    paper, two = style == "paper", bool(bounds) and style != "paper" and len(result.rounds) > 1
    figure = ResultFigure(figsize=(sizes.width * (1.6 if two else 1), curves.height(paper)), layout="constrained")
    panels = figure.subplots(1, 2 if two else 1, squeeze=False)[0]
    what = figure_words(label_of(quantity))
    words = f"mean of {_runs(result, estimate.n_runs)}" if len(result.runs) > 1 else "one run"
    words += f", {level:.0%} simultaneous bands" if np.isfinite(estimate.low).any() else ""
    if len(result.rounds) == 1:
        curves.draw_points(panels[0], bounds, what)
        words = words.replace("simultaneous bands", "intervals")
    for axes in panels if len(result.rounds) > 1 else ():
        logarithmic = (two and axes is panels[1]) or (paper and bool(bounds))
        curves.draw(axes, bounds if logarithmic else {}, logarithmic or is_logarithmic(result.rounds), logarithmic)
        tidy(axes, "round", what if axes is panels[0] else "")
    if len(result.rounds) > 1:
        curves.name(panels[0], figure if paper else None)
    if not paper:
        panels[0].set_title(words, fontsize=10)
        if two:
            same = "the same, with bounds" if is_logarithmic(result.rounds) else "the same on logarithmic axes"
            panels[1].set_title(same, fontsize=10)
            panels[1].legend(handles=[curves.bound], frameon=False, fontsize=9)
        if title:
            figure.suptitle(figure_words(title))
    for axes in panels if paper else ():
        _small(axes, sizes)
    if path is not None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=150)
    return figure


def is_logarithmic(rounds: Sequence[int] | np.ndarray) -> bool:
    """Whether recorded rounds are spaced as on a logarithmic axis rather than on a linear one.

    Example:
        >>> from jaxonline.results.report.plotting import is_logarithmic
        >>> is_logarithmic([1, 10, 100, 1000]), is_logarithmic([250, 500, 750, 1000]), is_logarithmic([1, 1000])
        (True, False, False)
    """
    at = np.asarray(rounds, float)
    if len(at) < 4 or at[-1] < 10 * at[0]:
        return False
    linear, log = np.diff(at), np.diff(np.log(at))
    return bool(log.std() / log.mean() < linear.std() / linear.mean())


def band(axes: "Axes", x: Any, estimate: Any, i: int, *, color: str, alpha: float = 0.25, **line: Any) -> Any:
    """The mean of learner i as a line, which is returned, and its interval, where there is one, as a band around it."""
    (drawn,) = axes.plot(x, estimate.mean[i], color=color, **line)
    if alpha > 0 and np.isfinite(estimate.low[i]).any():
        axes.fill_between(x, estimate.low[i], estimate.high[i], color=color, alpha=alpha, lw=0)
    return drawn


def _runs(result: "Result", n_runs: np.ndarray) -> str:
    """How many runs are in the means, of those that were played."""
    least, most, played = n_runs.min(), n_runs.max(), len(result.runs)
    if least == played:
        return f"{played:,} runs"
    return f"{least:,} of {played:,} runs" if least == most else f"{least:,} to {most:,} of {played:,} runs"


def tidy(axes: "Axes", xlabel: str = "", ylabel: str = "", title: str = "") -> None:
    """Labels, a faint grid, one format of numbers, and no frame above and to the right.

    Example:
        >>> from matplotlib.figure import Figure
        >>> from jaxonline.results.report.plotting import tidy
        >>> axes = Figure().subplots()
        >>> tidy(axes, "round", "regret")
        >>> axes.get_xlabel()
        'round'
    """
    from matplotlib.ticker import ScalarFormatter

    from jaxonline.results.report.figure import set_ticks

    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.set_title(title, fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    for axis in (axes.xaxis, axes.yaxis):
        if isinstance(axis.get_major_formatter(), ScalarFormatter) and axis.get_scale() == "linear":
            set_ticks(axis, tick)


def log_log(axes: "Axes", linear_y: bool = False) -> None:
    """Logarithmic axes with plain numbers at 1, 2 and 5; with `linear_y` the horizontal one only.

    Example:
        >>> from matplotlib.figure import Figure
        >>> from jaxonline.results.report.plotting import log_log
        >>> axes = Figure().subplots()
        >>> log_log(axes)
        >>> axes.get_xscale(), axes.get_yscale()
        ('log', 'log')
    """
    from jaxonline.results.report.figure import set_ticks

    axes.set_xscale("log")
    if not linear_y:
        axes.set_yscale("log")
    for axis in (axes.xaxis,) if linear_y else (axes.xaxis, axes.yaxis):
        set_ticks(axis, tick)


def _small(axes: "Axes", sizes: Style) -> None:
    """Letters and lines of a paper."""
    axes.tick_params(labelsize=sizes.font - 1, width=0.6, length=2.5, pad=2)
    for label in (axes.xaxis.label, axes.yaxis.label):
        label.set_fontsize(sizes.font)
    for side in axes.spines.values():
        side.set_linewidth(0.6)
