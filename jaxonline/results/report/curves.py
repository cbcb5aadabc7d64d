"""The figure of a result: means against rounds, with confidence bands and a theorem's bounds."""

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxonline.bounds.theorem import unmet_assumptions
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.results.quantities import LOSS_OF_REWARD, ZERO_AT_START, best_first, label_of
from jaxonline.results.report.formats import format_tick, shorten_names
from jaxonline.results.report.formulas import escape_figure, wrap_figure
from jaxonline.results.report.plotting import (
    COLOURS,
    STYLES,
    Style,
    add_legend,
    columns_beside,
    is_logarithmic,
    new_figure,
    plot_band,
    set_log_scales,
    set_paper_sizes,
    style_axes,
    write_figure,
)
from jaxonline.results.report.summary import default_quantity
from jaxonline.results.statistics.intervals import ConfidenceInterval, Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from jaxonline.results.report.figure import ResultFigure

DASHES: tuple[Any, ...] = ("-", (0, (2.6, 1.1)), (0, (0.9, 0.9)))
MARKERS = "osD^vPX"
MAX_DISTINCT_LEARNERS = 7 * len(DASHES)  # without yellow, which is invisible on white
BOUND_LABEL = "theorem's bound"
LABEL_COLUMNS = {"screen": 60, "paper": 26}  # characters in a line of an axis label
MAX_NAMED_LEARNERS = 7  # if there are too many to be distinct


def plot_result(
    result: Any,
    path: str | Path | None,
    quantity: str | Sequence[str] | None,
    level: float,
    interval: ConfidenceInterval | None,
    bounds: Mapping[str, Any] | None,
    title: str | None,
    style: str,
    ax: "Axes | None",
) -> Any:
    """Plot means against rounds as `Result.plot` does."""
    sizes = STYLES[check.choice("style", style, STYLES)]
    bounds = _check_bounds(result, bounds)
    if quantity is not None and not isinstance(quantity, str):
        return _plot_panels(result, path, quantity, level, interval, bounds, title, style, ax)
    quantity = default_quantity(result, quantity)
    estimate = result.bands(quantity, level, interval)
    curves = Curves(result, quantity, estimate, sizes)
    if ax is not None:
        return _plot_in_axes(curves, bounds, title, style, ax)
    paper, two = style == "paper", bool(bounds) and style != "paper" and len(result.rounds) > 1
    figure = new_figure(sizes, sizes.width * (1.6 if two else 1), curves.height(paper))
    panels = figure.subplots(1, 2 if two else 1, squeeze=False)[0]
    curves.fill(panels[0], bounds, LABEL_COLUMNS[style], logarithmic=paper and bool(bounds))
    if two:
        curves.fill(panels[1], bounds, LABEL_COLUMNS[style], logarithmic=True)
        panels[1].set_ylabel("")
    if len(result.rounds) > 1:
        curves.name(panels[0], figure if paper else None)
    if not paper:
        panels[0].set_title(_describe(result, estimate, level), fontsize=10)
        if two:
            same = "the same, with bounds" if is_logarithmic(result.rounds) else "the same on logarithmic axes"
            panels[1].set_title(same, fontsize=10)
            noted = "\n" in curves.bound.get_label()  # long text would cross the curves
            place: dict[str, Any] = {"loc": "outside lower center"} if noted else {}
            (figure if noted else panels[1]).legend(handles=[curves.bound], frameon=False, fontsize=9, **place)
        if title:
            figure.suptitle(escape_figure(title))
    for axes in panels if paper else ():
        set_paper_sizes(axes, sizes)
    return write_figure(figure, path)


def _plot_in_axes(curves: "Curves", bounds: Mapping[str, Any], title: str | None, style: str, ax: "Axes") -> "Axes":
    """Plot in the user's axes, with a legend inside."""
    curves.fill(ax, bounds, columns_beside(ax, "y"), logarithmic=bool(bounds))
    if len(curves.result.rounds) > 1:
        handles, names = curves.entries()
        if len(handles) > 1:
            add_legend(ax, handles, names, curves.sizes, 1 + (len(handles) > MAX_NAMED_LEARNERS), loc="best")
    if title:
        ax.set_title(escape_figure(title))
    if style == "paper":
        set_paper_sizes(ax, curves.sizes)
    return ax


def _plot_panels(
    result: Any, path: Any, quantities: Sequence[str], level: float, interval: Any, bounds: Mapping[str, Any],
    title: str | None, style: str, ax: Any,
) -> "ResultFigure":  # fmt: skip
    """Plot several quantities in panels below each other, with common rounds."""
    check.sequence("quantity", quantities, "quantity name")
    names = [default_quantity(result, check.text("quantity", name)) for name in quantities]
    if not names:
        raise ArgumentError("quantity", "must hold at least one name (got none)")
    for argument, given in (("ax", ax is not None), ("bounds", bool(bounds))):
        if given:
            raise ArgumentError(argument, f"must be None for a list of quantities (got {len(names)} quantities)")
    sizes, paper = STYLES[style], style == "paper"
    estimates = [result.bands(name, level, interval) for name in names]
    several = [Curves(result, *pair, sizes) for pair in zip(names, estimates, strict=True)]
    for curves in several:
        curves.named = several[0].named  # a learner has one colour
    below = several[0].height(paper) - sizes.height
    height = several[0].height(paper) if len(result.rounds) == 1 else 0.62 * sizes.height + 0.3
    figure = new_figure(sizes, None, height * len(names) + max(below, 0.0) * (len(result.rounds) > 1))
    panels = figure.subplots(len(names), 1, sharex=len(result.rounds) > 1, squeeze=False)[:, 0]
    for curves, axes in zip(several, panels, strict=True):
        curves.fill(axes, {}, 2 * LABEL_COLUMNS[style] // 3)
        if len(result.rounds) > 1:
            if axes is not panels[-1]:
                axes.set_xlabel("")
            if not paper:
                curves.name(axes)
        if paper:
            set_paper_sizes(axes, sizes)
    if paper and len(result.rounds) > 1:
        several[0].name(panels[0], figure)
    if not paper:
        panels[0].set_title(_describe(result, estimates[0], level), fontsize=10)
        if title:
            figure.suptitle(escape_figure(title))
    figure.align_ylabels()
    return write_figure(figure, path)


def _check_bounds(result: Any, bounds: Mapping[str, Any] | None) -> Mapping[str, Any]:
    for name, bound in check.dictionary("bounds", bounds, result.learners).items():
        if check.real_array(f"bounds[{name!r}]", bound).shape != result.rounds.shape:
            problem = f"must have an entry for each of the {len(result.rounds)} recorded rounds, result.rounds (got "
            problem += f"shape {np.shape(bound)}); for the bound at the horizon alone, use table(bounds=...)"
            raise ArgumentError(f"bounds[{name!r}]", problem)
    return bounds or {}


def _describe(result: Any, estimate: Estimate, level: float) -> str:
    """Return the title of a panel: the number of runs and the level of the bands."""
    words = f"mean of {_runs(result, estimate.n_runs)}" if len(result.runs) > 1 else "one run"
    bands = "simultaneous bands" if len(result.rounds) > 1 else "intervals"
    return f"{words}, {100 * level:.6g} % {bands}" if np.isfinite(estimate.low).any() else words


def _runs(result: Any, n_runs: np.ndarray) -> str:
    """Return a text that states how many of the runs the means include."""
    least, most, played = n_runs.min(), n_runs.max(), len(result.runs)
    if least == played:
        return f"{played:,} runs"
    return f"{least:,} of {played:,} runs" if least == most else f"{least:,} to {most:,} of {played:,} runs"


class Curves:
    """Draws the curves of all learners with colours, dashes, markers and names."""

    def __init__(self, result: Any, quantity: str, estimate: Estimate, sizes: Style):
        ends = estimate.mean[:, -1]
        self.result, self.quantity, self.estimate, self.sizes = result, quantity, estimate, sizes
        self.order = [int(i) for i in best_first(ends, quantity in LOSS_OF_REWARD) if np.isfinite(ends[i])]
        many = len(result.learners) > MAX_DISTINCT_LEARNERS
        self.named = self.order[:MAX_NAMED_LEARNERS] if many else list(range(len(result.learners)))
        self.names = [escape_figure(name) for name in shorten_names(result.learners, 36, drawn=True)]
        self.lines: dict[int, Any] = {}  # by learner, of the last panel
        self.bound: Any = None  # the legend entry of bounds

    def height(self, paper: bool) -> float:
        """Return the height of the figure, which depends on the number of points or legend rows."""
        letters = 1.5 * self.sizes.font / 72
        if len(self.result.rounds) == 1:
            return 1.2 + letters * len(self.result.learners)
        return self.sizes.height + (letters * self._legend_rows() if paper else 0.0)

    def look(self, i: int) -> dict[str, Any]:
        """Return the line options of learner i; markers of different learners stand at different rounds."""
        if i not in self.named:
            return {"color": "0.7", "lw": 0.6 * self.sizes.line, "zorder": 1.5}
        # matplotlib cannot place markers on a line without a point
        at, drawn = self.named.index(i), np.isfinite(self.estimate.mean[i]).any()
        return {
            "color": COLOURS[at % 7], "ls": DASHES[at // 7 % len(DASHES)], "lw": self.sizes.line,
            "marker": MARKERS[at % 7] if len(self.named) > 1 else None, "ms": 2.6 * self.sizes.line,
            "markevery": (0.03 + 0.12 * at / len(self.named), 0.25) if drawn else None,
        }  # fmt: skip

    def fill(self, axes: "Axes", bounds: Mapping[str, Any], columns: int, logarithmic: bool = False) -> None:
        """Draw the panel of all learners with its labels; `logarithmic` panels have bounds and logarithmic axes."""
        label = wrap_figure(label_of(self.quantity, self.result.meta), columns)
        if len(self.result.rounds) == 1:
            self.draw_points(axes, bounds, label)
            return
        log_rounds = logarithmic or is_logarithmic(self.result.rounds)
        self.draw(axes, bounds if logarithmic else {}, log_rounds, logarithmic)
        style_axes(axes, "round", label)

    def draw(self, axes: "Axes", bounds: Mapping[str, np.ndarray], log_rounds: bool, guides: bool) -> None:
        """Draw means, bands and bounds; if `guides` is True, also lines of slope 1 and 1/2."""
        rounds, mean = np.asarray(self.result.rounds, float), self.estimate.mean
        linear = not log_rounds and axes.get_xscale() == axes.get_yscale() == "linear"
        x, drawn = self._with_start(rounds) if linear else (rounds, self.estimate)
        shade = 0.22 if len(self.names) <= 7 else 0.1
        for i, name in enumerate(self.names):
            named = i in self.named
            own = {"alpha": shade if named else 0.0, "label": name if named else None, **self.look(i)}
            self.lines[i] = plot_band(axes, x, drawn, i, **own)
            self.lines[i].sticky_edges.x.append(0.0)  # no margin beside (0, 0)
            self.lines[i].sticky_edges.y.append(0.0)
        for name, bound in bounds.items():
            i = self.result.learners.index(name)
            axes.plot(rounds, bound, color=self.look(i)["color"], ls=(0, (7, 2.5)), lw=0.7 * self.sizes.line)
        if linear:
            letters = 0.62 * self.sizes.font * len(format_tick(float(rounds[-1]))) + 8.0  # points per tick label
            axes.locator_params(axis="x", nbins=max(2, min(6, int(0.75 * 72 * self.sizes.width / letters))))
            axes.locator_params(axis="y", nbins=6)
        if log_rounds:
            known = mean[np.isfinite(mean)]
            set_log_scales(axes, linear_y=not (known.size and known.min() > 0) and not guides)
        if guides:
            if bounds:
                unmet = unmet_assumptions(bounds, self.result.meta.get("oblivious"))
                label = "\n".join([BOUND_LABEL, *(textwrap.fill(escape_figure(sentence), 130) for sentence in unmet)])
                look = {"color": "0.4", "ls": (0, (7, 2.5)), "lw": 0.7 * self.sizes.line, "label": label}
                (self.bound,) = axes.plot([], [], **look)
            _slope_guides(axes, rounds, mean, self.sizes)

    def _with_start(self, rounds: np.ndarray) -> tuple[np.ndarray, Estimate]:
        """Return rounds and estimate with the point (0, 0), if the first recorded round is close to it."""
        close = 0 < rounds[0] <= 2 * (rounds[1] - rounds[0])
        if self.quantity not in ZERO_AT_START or not close:
            return rounds, self.estimate
        mean, low, high = (
            np.concatenate([np.where(np.isfinite(array[:, :1]), 0.0, np.nan), array], axis=1)
            for array in (self.estimate.mean, self.estimate.low, self.estimate.high)
        )
        return np.append(0.0, rounds), self.estimate._replace(mean=mean, low=low, high=high)

    def draw_points(self, axes: "Axes", bounds: Mapping[str, np.ndarray], what: str) -> None:
        """Draw the result of one recorded round: a point with its interval for each learner, the best at the top."""
        order = self.order + [i for i in range(len(self.names)) if i not in self.order]
        for at, i in enumerate(order):
            mean, low, high = (getattr(self.estimate, name)[i, 0] for name in ("mean", "low", "high"))
            axes.plot([low, high], [at, at], color=COLOURS[0], lw=self.sizes.line, solid_capstyle="butt")
            axes.plot([mean], [at], "o", color=COLOURS[0], ms=2.6 * self.sizes.line, label=self.names[i])
            if self.result.learners[i] in bounds:
                axes.plot(bounds[self.result.learners[i]], [at], "|", color=COLOURS[3], ms=10, mew=self.sizes.line)
        axes.set_yticks(range(len(order)), [self.names[i] for i in order])
        axes.set_ylim(len(order) - 0.5, -0.5)
        style_axes(axes, f"{what} after {format_tick(float(self.result.rounds[0]))} rounds")
        axes.grid(visible=False, axis="y")

    def name(self, axes: "Axes", below: Any = None) -> None:
        """Write learners' names at the ends of the curves, or in a legend below, sorted by the ends of the curves."""
        if below is not None:
            handles, names = self.entries()
            add_legend(below, handles, names, self.sizes, self._legend_columns(), loc="outside lower center")
            return
        words = {i: self.names[i] for i in self.order if i in self.named}
        others = [i for i in self.order if i not in self.named]
        if others:
            words[others[len(others) // 2]] = f"{len(others)} others"
        label_ends(
            axes,
            float(self.result.rounds[-1]),
            self.estimate.mean[:, -1],
            words,
            {i: self.look(i)["color"] for i in words},
        )

    def entries(self) -> tuple[list[Any], list[str]]:
        """Return the lines and names of the legend, sorted by the ends of the curves from the highest."""
        from_highest = self.order if self.quantity in LOSS_OF_REWARD else reversed(self.order)
        shown = [i for i in from_highest if i in self.named]
        entries = [(self.lines[i], self.names[i]) for i in shown]
        entries += [(self.bound, BOUND_LABEL)] if self.bound is not None else []
        return [line for line, _ in entries], [name for _, name in entries]

    def _legend_columns(self) -> int:
        longest = max(map(len, self.names), default=0)
        room = (longest * 0.52 + 4.2) * (self.sizes.font - 1)
        return max(1, min(len(self.named), int(72 * self.sizes.width / room)))

    def _legend_rows(self) -> int:
        return -(-(len(self.named) + 1) // self._legend_columns())


def label_ends(axes: "Axes", x: float, ends: np.ndarray, words: Mapping[int, str], colours: Mapping[int, str]) -> None:
    """Write texts (by position in `ends`) beside the ends of curves at `x`; a line leads to each text that is moved."""
    place = axes.get_subplotspec()
    rows = 1 if place is None else place.get_gridspec().nrows
    size, figure_height = 9.0, 72.0 * axes.figure.get_size_inches()[1] / rows  # type: ignore[union-attr]
    axes.autoscale_view()
    to_axes = axes.transScale + axes.transLimits
    order = sorted(words, key=lambda i: ends[i])
    heights = [float(to_axes.transform((x, ends[i]))[1]) for i in order]
    gap = min(1.25 * size / (0.78 * figure_height), 1.08 / max(len(order) - 1, 1))
    for i, at in zip(order, spread_positions(heights, gap, -0.04, 1.04), strict=True):
        line = {"arrowstyle": "-", "color": colours[i], "lw": 0.8, "shrinkA": 0, "shrinkB": 1}
        axes.annotate(
            words[i], (x, ends[i]), xytext=(1.04, at), textcoords="axes fraction", va="center", fontsize=size,
            color="0.15", annotation_clip=False, arrowprops=line | {"relpos": (0, 0.5)},
        )  # fmt: skip


def spread_positions(wanted: Sequence[float], gap: float, low: float, high: float) -> np.ndarray:
    """Return increasing positions close to `wanted`, at least `gap` apart, between `low` and `high`.

    Example:
        >>> spread_positions([0.5, 0.5, 0.9], 0.1, 0.0, 1.0).round(6).tolist()
        [0.45, 0.55, 0.9]
    """
    from scipy.optimize import isotonic_regression

    steps = gap * np.arange(len(wanted))
    if not len(steps):
        return steps
    found = isotonic_regression(np.asarray(wanted) - steps).x
    return np.clip(found, low, max(low, high - steps[-1])) + steps


def _slope_guides(axes: "Axes", rounds: np.ndarray, means: np.ndarray, sizes: Style) -> None:
    """Draw thin lines of slope 1 and 1/2 at the bottom of the plot, so that readers can compare growth rates."""
    positive = means[np.isfinite(means) & (means > 0)]
    if positive.size == 0:
        return
    for slope, text in ((1.0, "slope 1"), (0.5, "slope 1/2")):
        line = positive.min() * 0.7 * (rounds / rounds[0]) ** slope
        axes.plot(rounds, line, color="0.6", lw=0.8, zorder=0)
        where: Any = (rounds[-1], line[-1])
        axes.annotate(
            text, where, xytext=(3, 0), textcoords="offset points", fontsize=sizes.font - 2, color="0.4", va="center"
        )
