"""Colours, sizes, axes and bands of all figures. Matplotlib is imported when a figure is drawn."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.results.report.formats import format_tick
from jaxonline.store.output_paths import output_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from jaxonline.results.report.figure import ResultFigure

# Okabe and Ito's colours, distinct for colour-blind readers
COLOURS = ("#0072B2", "#009E73", "#56B4E9", "#D55E00", "#CC79A7", "#E69F00", "#000000", "#F0E442")


StyleName = Literal["screen", "paper"]


class Style(NamedTuple):
    """Sizes of a figure in inches (width, height) and points (font, line), and dots per inch of its PNG files."""

    width: float
    height: float
    font: float
    line: float
    dpi: float


STYLES = {"screen": Style(7.4, 4.8, 10.0, 1.8, 150.0), "paper": Style(3.25, 2.4, 8.0, 1.1, 300.0)}


def new_figure(sizes: Style, width: float | None = None, height: float | None = None) -> "ResultFigure":
    """Return an empty figure of a style; by default, it has the width and height of the style."""
    from jaxonline.results.report.figure import ResultFigure

    figure = ResultFigure(figsize=(width or sizes.width, height or sizes.height), layout="constrained")
    figure.file_dpi = sizes.dpi
    return figure


def check_axes(ax: Any, path: Any) -> Any:
    """Check that `ax` is None or Matplotlib axes, and that no path is given beside axes; return `ax`."""
    if ax is not None:
        from matplotlib.axes import Axes

        check.instance("ax", ax, Axes, "Matplotlib axes")
        if path is not None:
            raise ArgumentError("path", "must be None if ax is given (got both); save the figure by ax.figure.savefig")
    return ax


@contextmanager
def without_latex() -> Iterator[None]:
    """Let Matplotlib draw texts itself, even if `text.usetex` is set: LaTeX would fail at "%" and "_" in names."""
    import matplotlib

    with matplotlib.rc_context({"text.usetex": False}):
        yield


def columns_beside(ax: "Axes", axis: str) -> int:
    """Return how many characters fit in a line of a label beside the user's axes; `axis` is "x" or "y"."""
    box = ax.get_window_extent()
    inches = (box.width if axis == "x" else box.height) / ax.get_figure(root=True).dpi  # type: ignore[union-attr]
    return max(16, int(inches * 72 / (0.6 * 10)))


def add_legend(
    owner: Any, handles: Sequence[Any], names: Sequence[str], sizes: Style, columns: int = 1, **place: Any
) -> Any:
    """Add a legend without a frame to a figure or to axes; names may begin with "_", which Matplotlib would drop."""
    legend = owner.legend(
        list(handles), ["name"] * len(handles), ncol=columns, frameon=False, fontsize=sizes.font - 1, handlelength=2.4,
        columnspacing=1.0, labelspacing=0.3, **place,
    )  # fmt: skip
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_text(name)
    return legend


def is_geometric(values: Sequence[float] | np.ndarray) -> bool:
    """Return whether values of a parameter are spaced logarithmically: positive, with ratios that differ little.

    Example:
        >>> is_geometric([0.01, 0.1, 1.0]), is_geometric([0.1, 0.2, 0.5, 1.0, 2.0]), is_geometric([1, 2, 3, 4])
        (True, True, False)
    """
    at = np.unique(np.asarray(values, float))
    if len(at) < 2 or at[0] <= 0 or at[-1] < 4 * at[0]:
        return False
    if len(at) == 2:
        return bool(at[-1] >= 100 * at[0])
    linear, log = np.diff(at), np.diff(np.log(at))
    return bool(log.std() / log.mean() < linear.std() / linear.mean())


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
        if Path(check.path("path", path)).is_dir():
            raise ArgumentError("path", f"must be a file (got the folder {check.quote(str(path))})")
        ending = Path(path).suffix[1:].lower()
        if ending:
            check.choice("the ending of path", ending, figure.canvas.get_supported_filetypes())
        with output_file(Path(path)):
            figure.savefig(path)
    return figure
