"""Colours, sizes, axes and bands of all figures. Matplotlib is imported when a figure is drawn."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jaxonline.parameters import check
from jaxonline.results.report.formats import format_tick
from jaxonline.store.output_paths import output_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from jaxonline.results.report.figure import ResultFigure

# Okabe and Ito's colours, distinct for colour-blind readers
COLOURS = ("#0072B2", "#009E73", "#56B4E9", "#D55E00", "#CC79A7", "#E69F00", "#000000", "#F0E442")


class Style(NamedTuple):
    """Sizes of a figure in inches (width, height) and points."""

    width: float
    height: float
    font: float
    line: float


STYLES = {"screen": Style(7.4, 4.8, 10.0, 1.8), "paper": Style(3.25, 2.4, 8.0, 1.1)}


def is_logarithmic(rounds: Sequence[int] | np.ndarray) -> bool:
    """Return whether recorded rounds are spaced logarithmically.

    Example:
        >>> is_logarithmic([1, 10, 100, 1000]), is_logarithmic([250, 500, 750, 1000]), is_logarithmic([1, 1000])
        (True, False, False)
    """
    at = np.asarray(rounds, float)
    if len(at) < 4 or at[-1] < 10 * at[0]:
        return False
    linear, log = np.diff(at), np.diff(np.log(at))
    return bool(log.std() / log.mean() < linear.std() / linear.mean())


def plot_band(axes: "Axes", x: Any, estimate: Any, i: int, *, color: str, alpha: float = 0.25, **line: Any) -> Any:
    """Draw the mean of learner i as a line and its interval as a band; return the line."""
    (drawn,) = axes.plot(x, estimate.mean[i], color=color, **line)
    if alpha > 0 and np.isfinite(estimate.low[i]).any():
        axes.fill_between(x, estimate.low[i], estimate.high[i], color=color, alpha=alpha, lw=0)
    return drawn


def style_axes(axes: "Axes", xlabel: str = "", ylabel: str = "", title: str = "") -> None:
    """Set the labels of axes, a faint grid and one number format, and hide the top and right lines of the frame.

    Example:
        >>> from matplotlib.figure import Figure
        >>> axes = Figure().subplots()
        >>> style_axes(axes, "round", "regret")
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
            set_ticks(axis, format_tick)


def set_log_scales(axes: "Axes", linear_y: bool = False) -> None:
    """Set logarithmic axes with ticks at 1, 2 and 5; if `linear_y` is True, only the horizontal axis is logarithmic.

    Example:
        >>> from matplotlib.figure import Figure
        >>> axes = Figure().subplots()
        >>> set_log_scales(axes)
        >>> axes.get_xscale(), axes.get_yscale()
        ('log', 'log')
    """
    from jaxonline.results.report.figure import set_ticks

    axes.set_xscale("log")
    if not linear_y:
        axes.set_yscale("log")
    for axis in (axes.xaxis,) if linear_y else (axes.xaxis, axes.yaxis):
        set_ticks(axis, format_tick)


def set_paper_sizes(axes: "Axes", sizes: Style) -> None:
    """Set the sizes of letters and lines for figures of the style "paper"."""
    axes.tick_params(labelsize=sizes.font - 1, width=0.6, length=2.5, pad=2)
    for label in (axes.xaxis.label, axes.yaxis.label):
        label.set_fontsize(sizes.font)
    for side in axes.spines.values():
        side.set_linewidth(0.6)


def write_figure(figure: "ResultFigure", path: str | Path | None) -> "ResultFigure":
    """Write the figure to a path, if given, and create the folder of the path; return the figure."""
    if path is not None:
        ending = Path(check.path("path", path)).suffix[1:].lower()
        if ending:
            check.choice("the ending of path", ending, figure.canvas.get_supported_filetypes())
        with output_file(Path(path)):
            figure.savefig(path, dpi=150)
    return figure
