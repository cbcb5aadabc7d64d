"""The figure of the distribution over runs: the values of all runs at the horizon, for each learner."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jaxonline.parameters import check
from jaxonline.results import parts
from jaxonline.results.quantities import LOSS_OF_REWARD, best_first, label_of
from jaxonline.results.report.formats import format_tick, shorten_names
from jaxonline.results.report.formulas import escape_figure, wrap_figure
from jaxonline.results.report.plotting import (
    COLOURS,
    STYLES,
    Style,
    add_legend,
    columns_beside,
    new_figure,
    set_log_scales,
    set_paper_sizes,
    style_axes,
    write_figure,
)
from jaxonline.results.report.summary import default_quantity, format_runs
from jaxonline.results.statistics import estimates
from jaxonline.results.statistics.intervals import ConfidenceInterval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_ROWS = 40  # learners in a figure
MAX_BINS = 90
TAIL = 0.05  # share of the runs on either side that are drawn as single points
HEAVY_TAIL = 30.0  # the largest value, as a multiple of the median, from which the axis is logarithmic
LABEL_COLUMNS = {"screen": 70, "paper": 40}  # characters in a line of an axis label


class LearnerRuns(NamedTuple):
    """The values of a learner's runs [R], and the mean at the horizon with its interval."""

    name: str
    values: np.ndarray
    mean: float
    low: float
    high: float


def plot_final_values(
    result: Any,
    path: str | Path | None,
    quantity: str | None,
    level: float,
    interval: ConfidenceInterval | None,
    title: str | None,
    style: str,
    ax: "Axes | None",
) -> Any:
    """Plot the distribution over runs as `Result.plot_final` does."""
    sizes = STYLES[check.choice("style", style, STYLES)]
    quantity = default_quantity(result, quantity)
    estimates.check_number(result, quantity)
    rows = _rows(result, quantity, level, interval)
    shown = rows[:MAX_ROWS]
    paper, each = style == "paper", (0.62 if len(rows) <= 8 else 0.42) * sizes.font / 10
    figure = new_figure(sizes, None, each * len(shown) + (1.3 if paper else 1.5)) if ax is None else None
    axes: Any = ax if figure is None else figure.subplots()
    handles = _draw(axes, shown, sizes)
    horizon = int(result.rounds[-1])
    label = f"{label_of(quantity, result.meta)} after {format_tick(horizon)} round{'s' * (horizon > 1)}"
    style_axes(axes, wrap_figure(label, LABEL_COLUMNS[style] if figure is not None else columns_beside(axes, "x")))
    axes.grid(visible=False, axis="y")
    if _has_heavy_tail(np.concatenate([row.values for row in shown])):
        set_log_scales(axes, linear_y=True)
    else:
        axes.locator_params(axis="x", nbins=5 if paper else 8)
    names = [
        f"mean, {100 * level:.6g} % interval",
        "median and middle half",
        f"outer {200 * TAIL:g} % of the runs",
    ]
    if figure is None:
        if title:
            axes.set_title(escape_figure(title))
    else:
        add_legend(figure, handles, names, sizes, 2 if paper else 3, loc="outside lower center")
        if not paper:
            part = f", the best {MAX_ROWS} of {len(rows)} learners" if len(rows) > MAX_ROWS else ""
            axes.set_title(f"distribution over {format_runs(len(result.runs))}{part}", fontsize=10)
            if title:
                figure.suptitle(escape_figure(title))
    if paper:
        set_paper_sizes(axes, sizes)
    axes.tick_params(axis="y", length=0)
    return axes if figure is None else write_figure(figure, path)


def _rows(result: Any, quantity: str, level: float, interval: Any) -> list[LearnerRuns]:
    """Return the rows from the best mean to the worst; learners without a finished run are last."""
    last = parts.select_rounds(result, slice(-1, None))
    values = estimates.values(last, quantity)[:, :, 0]
    mean = last.mean(quantity, level, interval)
    names = [escape_figure(name) for name in shorten_names(result.learners, 36, drawn=True)]
    ends = np.stack([mean.mean[:, 0], mean.low[:, 0], mean.high[:, 0]], axis=1)
    return [
        LearnerRuns(names[i], values[i][np.isfinite(values[i])], *ends[i].tolist())
        for i in best_first(ends[:, 0], quantity in LOSS_OF_REWARD)
    ]


def _has_heavy_tail(values: np.ndarray) -> bool:
    """Return whether a logarithmic axis shows the values better: positive values with a heavy tail."""
    return bool(len(values) and values.min() > 0 and values.max() > HEAVY_TAIL * np.median(values))


def _edges(rows: list[LearnerRuns]) -> np.ndarray:
    """Return the edges of bins that all learners share; they are spaced as the axis of the figure."""
    values = np.concatenate([row.values for row in rows])
    logarithmic = _has_heavy_tail(values)
    at = np.log(values) if logarithmic else values
    low, high = (float(at.min()), float(at.max())) if len(at) else (0.0, 1.0)
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        low, high = low - 0.5, high + 0.5
    runs = [np.log(row.values) if logarithmic else row.values for row in rows if len(row.values)]
    # the rule of Freedman and Diaconis, for the typical learner
    widths = [2.0 * np.subtract(*np.percentile(own, [75, 25])) / len(own) ** (1 / 3) for own in runs]
    width = float(np.median(widths)) if widths else 0.0
    n_bins = MAX_BINS if width <= 0 else int(np.clip(np.ceil((high - low) / width), 12, MAX_BINS))
    edges = np.linspace(low, high, n_bins + 1)
    return np.exp(edges) if logarithmic else edges


def _draw(axes: "Axes", rows: list[LearnerRuns], sizes: Style) -> list[Any]:
    """Draw histograms above lines with intervals and tails; return the handles of the legend."""
    handles: list[Any] = []
    edges = _edges(rows)
    for at, row in enumerate(rows):
        colour, look = COLOURS[0], {"solid_capstyle": "butt", "zorder": 3}
        counts = np.histogram(row.values, edges)[0] if len(row.values) else np.zeros(len(edges) - 1)
        heights = 0.6 * counts / max(counts.max(), 1)
        axes.stairs(at - heights, edges, baseline=at, fill=True, color=colour, alpha=0.35, lw=0)
        below = at + 0.16
        quartiles = np.percentile(row.values, [25, 50, 75]) if len(row.values) else np.full(3, np.nan)
        low, high = np.quantile(row.values, [TAIL, 1 - TAIL]) if len(row.values) else (np.nan, np.nan)
        tail = row.values[(row.values < low) | (row.values > high)]
        (runs,) = axes.plot(
            tail, np.full(len(tail), below), ls="none", marker="o", ms=1.6 * sizes.line, mew=0, color="0.35", alpha=0.6
        )
        axes.plot([low, high], [below, below], color="0.35", lw=0.5 * sizes.line, **look)
        (box,) = axes.plot(quartiles[[0, 2]], [below, below], color="0.35", lw=3.2 * sizes.line, marker="", **look)
        axes.plot(
            [quartiles[1]], [below], marker="|", color="white", ms=3.2 * sizes.line, mew=0.7 * sizes.line, zorder=4
        )
        interval = axes.errorbar(
            [row.mean], [at], xerr=_errors(row), fmt="D", color=COLOURS[3], ms=2.6 * sizes.line, lw=sizes.line,
            capsize=1.8 * sizes.line, capthick=sizes.line, zorder=5,
        )  # fmt: skip
        handles = [interval, box, runs]
    axes.set_yticks(range(len(rows)), [row.name for row in rows])
    axes.set_ylim(len(rows) - 0.55, -0.75)
    return handles


def _errors(row: LearnerRuns) -> Any:
    """Return the two lengths of the error bar, or None without an interval."""
    if not np.isfinite([row.low, row.high]).all():
        return None
    return [[row.mean - row.low], [row.high - row.mean]]
