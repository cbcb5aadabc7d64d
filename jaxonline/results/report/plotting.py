"""Colours, sizes, axes and bands of all figures, by the rules in docs/how-do-i-figures.md.

This module imports Matplotlib, so import it only to draw a figure.
"""

import contextlib
import io
import math
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import matplotlib
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.colors import is_color_like
from matplotlib.figure import Figure
from matplotlib.mathtext import MathTextParser
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator, ScalarFormatter

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.results.report.tables import shorten
from jaxonline.store.files import write_atomically

# Okabe and Ito's colours, distinct for colour-blind readers
COLOURS = ("#0072B2", "#009E73", "#56B4E9", "#D55E00", "#CC79A7", "#E69F00", "#000000", "#F0E442")
N_COLOURS = 7  # of curves: yellow is invisible on white
DARK_AND_LIGHT = [COLOURS[i] for i in (0, 5, 1, 2, 3, 4, 6)]  # neighbours of areas, which differ in grey
BOUND_DASHES = (0, (7, 2.5))
LEVEL_DASHES = [(0, dashes) for dashes in ((4, 2), (1, 1), (6, 1.5, 1, 1.5), (3, 1, 1, 1, 1, 1))]  # horizontal lines
DASHES = cycler(linestyle=["-", (0, (2.6, 1.1)), (0, (0.9, 0.9))])
LINES = DASHES * cycler(color=COLOURS[:N_COLOURS], marker=[*"osD^vPX"])
MAX_DISTINCT = len(LINES)
_FORMULA = re.compile(r"(\$[^\s$](?:[^$]*[^\s$])?\$(?!\d))")
NAME_COLUMNS = 36  # characters of a learner's name
StyleName = Literal["screen", "paper"]
COMMON = {
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.25,
    "axes.titlesize": "medium", "figure.titlesize": "medium", "figure.constrained_layout.use": True,
    "legend.frameon": False, "legend.handlelength": 3.2, "legend.columnspacing": 1.0, "legend.labelspacing": 0.3,
    "lines.solid_capstyle": "butt", "text.usetex": False, "pdf.fonttype": 42, "ps.fonttype": 42,
}  # fmt: skip
COLUMN_WIDTH, PAGE_WIDTH = 3.25, 6.75  # inches, of a paper with two columns
STYLES: dict[str, dict[str, Any]] = {  # settings of Matplotlib
    "screen": COMMON | {
        "figure.figsize": (7.4, 4.8), "font.size": 10, "legend.fontsize": 9, "lines.linewidth": 1.8,
        "lines.markersize": 4.7, "savefig.dpi": 150,
    },
    "paper": COMMON | {
        "figure.figsize": (COLUMN_WIDTH, 2.4), "font.size": 8, "legend.fontsize": 8, "lines.linewidth": 1.1,
        "lines.markersize": 2.9, "axes.linewidth": 0.6, "xtick.major.width": 0.6, "ytick.major.width": 0.6,
        "xtick.major.size": 2.5, "ytick.major.size": 2.5, "savefig.dpi": 300,
    },
}  # fmt: skip


def use_style(style: str) -> Any:
    """Return a context manager, which is also a decorator, with Matplotlib's settings of a style.

    Example:
        >>> with use_style("paper"):
        ...     matplotlib.rcParams["font.size"]
        8.0
    """
    return matplotlib.rc_context(STYLES[check.choice("style", style, STYLES)])  # type: ignore[arg-type]


@contextlib.contextmanager
def canvas(
    path: str | Path | None, style: str, ax: Axes | None = None, *, shape: tuple[int, int] = (1, 1),
    size: tuple[float, float] = (1.0, 1.0), **options: Any,
) -> Iterator[np.ndarray]:  # fmt: skip
    """Yield the axes [rows, columns] of a figure, with Matplotlib's settings of a style; afterwards write the figure.

    Args:
        path: where to write the figure (the ending sets the format); None writes no file. A figure without a path is
            one of pyplot, which notebooks show.
        style: a name in `STYLES`.
        ax: the axes of the user in which to draw; by default, a new figure.
        shape: the numbers of rows and columns of panels.
        size: width and height, as multiples of those of the style.
        **options: arguments of `Figure.subplots`.

    Raises:
        ValueError: an unknown style, a path beside `ax`, a folder as a path, or an unknown format.
        OSError: the figure cannot be written; the error names the path.
    """
    styled = use_style(style)
    if ax is not None:
        check.instance("ax", ax, Axes, "Matplotlib axes")
        if path is not None:
            raise ArgumentError("path", "must be None if ax is given (got both); save the figure by ax.figure.savefig")
    if path is not None:
        _check_path(path)
    with styled:
        if ax is not None:
            yield np.array([[ax]])
            return
        options = {"squeeze": False, **options}
        figsize = tuple(np.multiply(matplotlib.rcParams["figure.figsize"], size))
        if path is None:
            from matplotlib import pyplot

            yield pyplot.figure(figsize=figsize).subplots(*shape, **options)
            return
        figure = Figure(figsize=figsize)
        yield figure.subplots(*shape, **options)
        write_figure(figure, path)


def write_figure(figure: Figure, path: str | Path, **options: Any) -> Path:
    """Write a figure; the ending of the path sets the format. Options are those of `Figure.savefig`."""
    path, image = Path(path), io.BytesIO()
    path = path if path.suffix else path.with_name(f"{path.name}.{figure.canvas.get_default_filetype()}")
    figure.savefig(image, format=path.suffix[1:].lower(), **options)
    return write_atomically(path, image.getvalue())


def _check_path(path: str | Path) -> None:
    if Path(check.path("path", path)).is_dir():
        raise ArgumentError("path", f"must be a file (got the folder {check.quote(str(path))})")
    ending = Path(path).suffix[1:].lower()
    if ending:
        check.choice("the ending of path", ending, Figure().canvas.get_supported_filetypes())


# ---------------------------------------------------------------------------------------------------------------------
# Texts


def figure_text(words: str, most: int = 1000) -> str:
    r"""Return a text for Matplotlib: formulas between dollar signs stay, other dollar signs are escaped.

    Example:
        >>> print(figure_text(r"$\epsilon$-greedy"), figure_text("for $5"), figure_text(r"$\unknown$"))
        $\epsilon$-greedy for \$5 \$\unknown\$
    """
    words = shorten(words, most)
    words = f" {words}" if words.startswith("_") else words  # Matplotlib leaves such names out of legends
    parts = [part if i % 2 else part.replace("$", r"\$") for i, part in enumerate(_FORMULA.split(words))]
    with contextlib.suppress(ValueError, RuntimeError):
        MathTextParser("path").parse("".join(parts))
        return "".join(parts)
    return words.replace("$", r"\$")


def figure_names(names: Sequence[str], most: int = NAME_COLUMNS) -> list[str]:
    """Return names for Matplotlib, shortened to `most` characters; equal short names get numbers at the end.

    Example:
        >>> figure_names(["gradient descent[0.125]", "gradient ascent[0.125]", "a"], 12)
        ['gradie….125] (1)', 'gradie….125] (2)', 'a']
    """
    short = [shorten(name, most) for name in names]
    numbers = [f" ({short[: i + 1].count(name)})" if short.count(name) > 1 else "" for i, name in enumerate(short)]
    return [figure_text(name + number) for name, number in zip(short, numbers, strict=True)]


Choice = tuple[Sequence[str] | None, Mapping[str, str] | None, Mapping[str, Any] | None]  # learners, labels, colours


def choose_learners(result: Any, choice: Choice) -> tuple[Any, list[str], dict[int, Any]]:
    """Return the learners to show as a result, their names in the figure [L], and the given colours by position.

    Raises:
        ValueError: an unknown learner, an empty list of learners, an empty label, or an unknown colour.
    """
    learners, labels, colours = choice
    labels = check.dictionary("labels", labels, result.learners)
    colours = check.dictionary("colours", colours, result.learners)
    for name, label in labels.items():
        check.text(f"labels[{name!r}]", label)
    for name, colour in colours.items():
        if not is_color_like(colour):
            raise ArgumentError(f"colours[{name!r}]", f"must be a colour of Matplotlib (got {check.quote(colour)})")
    if learners is not None:
        result = result.select(*check.sequence("learners", learners, "learner name"))
    names = figure_names([labels.get(name, name) for name in result.learners])
    return result, names, {i: colours[name] for i, name in enumerate(result.learners) if name in colours}


def axis_label(words: str, axes: Axes, axis: str, beside: int = 0) -> str:
    """Return the label of the axis "x" or "y", wrapped to lines that fit beside the axes.

    `beside` is the number of characters of tick labels that make the axes narrower.
    """
    box = axes.get_position()
    width, height = axes.get_figure(root=True).get_size_inches()  # type: ignore[union-attr]
    inches = width * box.width if axis == "x" else height * box.height
    columns = inches * 72 / (0.5 * matplotlib.rcParams["font.size"]) - beside / 2
    return textwrap.fill(figure_text(words), max(16, int(columns)), break_long_words=False)


def wrap_title(words: str, inches: float) -> str:
    """Return a title as one line or two lines of at most `inches`; the rest is left out."""
    columns = max(16, int(inches * 72 / (0.53 * matplotlib.rcParams["font.size"])))
    lines = textwrap.wrap(figure_text(words), columns, max_lines=2, placeholder=" …", break_long_words=False)
    return "\n".join(lines)


def legend_below(axes: Axes, handles: Sequence[Any], names: Sequence[str], ax: Axes | None = None) -> None:
    """Add a legend below a figure, which becomes higher, or inside the axes of the user."""
    if ax is not None:
        ax.legend(handles, names, loc="best", ncols=1 + (len(names) > N_COLOURS))
        return
    figure: Any = axes.figure
    size = matplotlib.rcParams["legend.fontsize"]
    room = (0.52 * max(map(len, names), default=0) + 5.0) * size
    columns = max(1, min(len(names), int(72 * figure.get_figwidth() / room)))
    figure.set_figheight(figure.get_figheight() + 1.45 * size / 72 * -(-len(names) // columns))
    figure.legend(handles, names, loc="outside lower center", ncols=columns)


def legend_entries(*panels: Any) -> dict[str, Any]:
    """Return the lines of panels by label, as `handles` and `labels` of a legend."""
    handles = {
        label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    return {"handles": list(handles.values()), "labels": list(handles)}


def set_titles(axes: Axes, heading: str, title: str | None, style: str, ax: Axes | None) -> None:
    """Set the title of a figure and the heading of its panel; figures of papers have no heading."""
    figure: Any = axes.get_figure(root=True)
    if ax is not None:
        if title:
            ax.set_title(wrap_title(title, figure.get_figwidth() * ax.get_position().width))
    elif style != "paper":
        axes.set_title(heading)
        if title:
            figure.suptitle(wrap_title(title, figure.get_figwidth()))


# ---------------------------------------------------------------------------------------------------------------------
# Axes


class LogTicks(LogLocator):
    """Ticks of a logarithmic axis at powers of ten, at 2 and 5 times these if they fit, or even ticks in one decade."""

    axis: Any

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """Return the ticks from the smallest to the largest visible value."""
        low, high = min(vmin, vmax), max(vmin, vmax)
        if not 0 < low < high:
            return super().tick_values(vmin, vmax)
        room = self.axis.get_tick_space()
        if self.axis.axis_name == "x" and high > 1e3:  # long tick labels
            room = 2 * room // 3
        for subs in ((1,), (1, 2, 5)) if 3 * math.log10(high / low) > min(room, 9) else ((1, 2, 5),):
            self.set_params(subs=subs, numticks=max(room, 3))
            ticks = np.asarray(super().tick_values(vmin, vmax))
            if ((low <= ticks) & (ticks <= high)).sum() > 1:
                return ticks
        return [tick for tick in MaxNLocator(4).tick_values(low, high) if tick > 0]


def format_tick(value: float, _: Any = None) -> str:
    """Format a number as the label of an axis tick.

    Example:
        >>> [format_tick(number) for number in (0.0, 0.25, 20000.0, -3.0)]
        ['0', '0.25', '20,000', '−3']
    """
    return f"{value:,.10g}".replace("-", "−")


def style_axes(axes: Axes, xlabel: str = "", ylabel: str = "", title: str = "") -> None:
    """Set the labels of axes, a faint grid and one number format, and hide the top and right lines of the frame.

    Example:
        >>> axes = Figure().subplots()
        >>> style_axes(axes, "round", "regret")
        >>> axes.get_xlabel()
        'round'
    """
    axes.set(xlabel=xlabel, ylabel=ylabel)
    if title:
        axes.set_title(title)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    for axis in (axes.xaxis, axes.yaxis):
        if axis.get_scale() == "linear" and isinstance(axis.get_major_formatter(), ScalarFormatter):
            axis.set_major_formatter(FuncFormatter(format_tick))


def start_at_zero(axes: Axes, axis: str) -> None:
    """Start the linear axis "x" or "y" at 0 if all values are positive and the smallest is below half the largest.

    Example:
        >>> axes = Figure().subplots()
        >>> lines = axes.plot([1.0, 3.0], [9.0, 10.0])
        >>> for axis in "xy":
        ...     start_at_zero(axes, axis)
        >>> float(axes.get_xlim()[0]), bool(axes.get_ylim()[0] > 8.9)
        (0.0, True)
    """
    low, high = axes.dataLim.intervalx if axis == "x" else axes.dataLim.intervaly
    if 0 <= low < high / 2:
        axes.set(**{f"{axis}lim": (0.0, None)})


def set_log_scales(axes: Axes, linear_y: bool = False) -> None:
    """Set logarithmic axes with ticks at 1, 2 and 5; if `linear_y` is True, only the horizontal axis is logarithmic.

    Example:
        >>> axes = Figure().subplots()
        >>> set_log_scales(axes)
        >>> axes.get_xscale(), axes.get_yscale()
        ('log', 'log')
    """
    for axis in "x" if linear_y else "xy":
        set_log_scale(axes, axis)


def set_log_scale(axes: Axes, axis: str) -> None:
    """Make the axis "x" or "y" logarithmic."""
    axes.set(**{f"{axis}scale": "log"})
    own = axes.xaxis if axis == "x" else axes.yaxis
    own.set_major_locator(LogTicks())
    own.set_minor_locator(NullLocator())
    own.set_major_formatter(FuncFormatter(format_tick))
    for line in axes.lines:
        _check_markers(line)


def is_geometric(values: Sequence[float] | np.ndarray, least: float = 4.0) -> bool:
    """Return whether values are spaced logarithmically: positive, with logarithms that are spaced more evenly.

    The largest value must be at least `least` times the smallest; of two values, 100 times.

    Example:
        >>> is_geometric([0.01, 0.1, 1.0]), is_geometric([0.1, 0.2, 0.5, 1.0, 2.0]), is_geometric([1, 2, 3, 4])
        (True, True, False)
    """
    at = np.unique(np.asarray(values, float))
    if len(at) < 2 or at[0] <= 0 or at[-1] < (100.0 if len(at) == 2 else least) * at[0]:
        return False
    linear, log = np.diff(at), np.diff(np.log(at))
    return bool(len(at) == 2 or log.std() / log.mean() < linear.std() / linear.mean())


def is_logarithmic(rounds: Sequence[int] | np.ndarray) -> bool:
    """Return whether recorded rounds are spaced logarithmically.

    Example:
        >>> is_logarithmic([1, 10, 100, 1000]), is_logarithmic([250, 500, 750, 1000]), is_logarithmic([1, 1000])
        (True, False, False)
    """
    return len(rounds) > 3 and is_geometric(rounds, 10.0)


def plot_band(axes: Axes, x: Any, estimate: Any, i: int, *, color: str, alpha: float = 0.25, **line: Any) -> Any:
    """Draw the mean of learner i as a line and its interval as a band; return the line."""
    (drawn,) = axes.plot(x, estimate.mean[i], color=color, **line)
    _check_markers(drawn)
    if alpha > 0 and np.isfinite(estimate.low[i]).any():
        axes.fill_between(x, estimate.low[i], estimate.high[i], color=color, alpha=alpha, lw=0)
    return drawn


def _check_markers(line: Any) -> None:
    """Remove the markers of a line without a point on its axes: Matplotlib cannot place them."""
    points = np.asarray(line.get_ydata(), float)
    is_shown = np.isfinite(points) & ((points > 0) | (line.axes.get_yscale() != "log"))
    if not is_shown.any():
        line.set_markevery(None)


def bound_look() -> dict[str, Any]:
    """Return what differs between the line of a bound and that of its learner: long dashes and hollow markers."""
    return {"linestyle": BOUND_DASHES, "linewidth": 0.7 * matplotlib.rcParams["lines.linewidth"], "mfc": "white"}


def line_looks(n: int) -> list[Mapping[str, Any]]:
    """Return colour, dashes and markers of n curves; the markers of two curves stand at different rounds."""
    looks = [dict(look) for _, look in zip(range(n), LINES(), strict=False)]
    if n == 1:
        return [look | {"marker": None} for look in looks]
    return [look | {"markevery": (0.03 + 0.12 * i / n, 0.25)} for i, look in enumerate(looks)]
