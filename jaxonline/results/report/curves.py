"""The figure of a result: means against rounds, with confidence bands and a theorem's bounds."""

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxonline.bounds.assumptions import unmet_assumptions
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.results.quantities import label_of
from jaxonline.results.report.formats import escape_figure, format_tick, shorten_names
from jaxonline.results.report.plotting import (
    COLOURS,
    STYLES,
    Style,
    is_logarithmic,
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
    path: str | Path | None = None,
    *,
    quantity: str | None = None,
    level: float = 0.95,
    interval: ConfidenceInterval | None = None,
    bounds: Mapping[str, np.ndarray] | None = None,
    title: str | None = None,
    style: str = "screen",
) -> "ResultFigure":
    """Plot the mean of a quantity against rounds with bands; with bounds, a second panel has logarithmic axes.

    A band holds for the whole curve of its learner (`Result.bands`). A result with a single run has no bands. Axes are
    logarithmic if the recorded rounds have logarithmic spacing (`simulate(spacing="log")`). Up to 21 learners have
    different colours and dashes; of more learners, the best 7 have colours, and the others are grey. If only one
    round is recorded, the figure shows one point for each learner.

    Args:
        result: the numbers.
        path: where to write the figure (the ending sets the format), or None. PDF files embed their fonts.
        quantity: a quantity that is a number; by default the regret, or the cumulative loss without a comparator.
        level: confidence level of each learner's band.
        interval: the kind of interval, as in `Result.bands`.
        bounds: by learner, a theorem's bound at each recorded round [G], drawn as a dashed line in the second panel.
        title: title of the figure.
        style: "screen", or "paper" for one column of a two-column paper. A "paper" figure is 3.25 inches wide, with
            letters of 8 points, a legend below and no title; with bounds, it has one panel with logarithmic axes.

    Raises:
        ValueError: an unknown quantity, learner or style, or a bound with the wrong length.

    Example:
        >>> import jaxonline as jo
        >>> loss = np.array([[[1.0, 2.0], [3.0, 5.0]]])
        >>> measures = {"cumulative_loss": loss, "queries": 0 * loss}
        >>> result = jo.Result(learners=("a",), runs=np.arange(2), rounds=np.array([1, 2]), measures=measures)
        >>> len(result.plot(quantity="cumulative_loss").axes)
        1
    """
    from jaxonline.results.report.figure import ResultFigure

    for name, bound in check.dictionary("bounds", bounds, result.learners).items():
        if check.real_array(f"bounds[{name!r}]", bound).shape != result.rounds.shape:
            problem = f"must have an entry for each of the {len(result.rounds)} recorded rounds, result.rounds (got "
            problem += f"shape {np.shape(bound)}); for the bound at the horizon alone, use table(bounds=...)"
            raise ArgumentError(f"bounds[{name!r}]", problem)
    bounds, sizes = bounds or {}, STYLES[check.choice("style", style, STYLES)]
    quantity = default_quantity(result, quantity)
    estimate = result.bands(quantity, level, interval)
    curves = Curves(result, estimate, sizes)
    paper, two = style == "paper", bool(bounds) and style != "paper" and len(result.rounds) > 1
    figure = ResultFigure(figsize=(sizes.width * (1.6 if two else 1), curves.height(paper)), layout="constrained")
    panels = figure.subplots(1, 2 if two else 1, squeeze=False)[0]
    what = textwrap.fill(escape_figure(label_of(quantity, result.meta)), LABEL_COLUMNS[style])
    words = f"mean of {_runs(result, estimate.n_runs)}" if len(result.runs) > 1 else "one run"
    words += f", {100 * level:.6g} % simultaneous bands" if np.isfinite(estimate.low).any() else ""
    if len(result.rounds) == 1:
        curves.draw_points(panels[0], bounds, what)
        words = words.replace("simultaneous bands", "intervals")
    for axes in panels if len(result.rounds) > 1 else ():
        logarithmic = (two and axes is panels[1]) or (paper and bool(bounds))
        curves.draw(axes, bounds if logarithmic else {}, logarithmic or is_logarithmic(result.rounds), logarithmic)
        style_axes(axes, "round", what if axes is panels[0] else "")
    if len(result.rounds) > 1:
        curves.name(panels[0], figure if paper else None)
    if not paper:
        panels[0].set_title(words, fontsize=10)
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


def _runs(result: Any, n_runs: np.ndarray) -> str:
    """Return a text that states how many of the runs the means include."""
    least, most, played = n_runs.min(), n_runs.max(), len(result.runs)
    if least == played:
        return f"{played:,} runs"
    return f"{least:,} of {played:,} runs" if least == most else f"{least:,} to {most:,} of {played:,} runs"


class Curves:
    """Draws the curves of all learners with colours, dashes, markers and names."""

    def __init__(self, result: Any, estimate: Estimate, sizes: Style):
        ends = estimate.mean[:, -1]
        self.result, self.estimate, self.sizes = result, estimate, sizes
        self.order = [int(i) for i in np.argsort(ends, kind="stable") if np.isfinite(ends[i])]  # best first
        many = len(result.learners) > MAX_DISTINCT_LEARNERS
        self.named = self.order[:MAX_NAMED_LEARNERS] if many else list(range(len(result.learners)))
        self.names = [escape_figure(name) for name in shorten_names(result.learners, 36)]
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
        at = self.named.index(i)
        return {
            "color": COLOURS[at % 7], "ls": DASHES[at // 7 % len(DASHES)], "lw": self.sizes.line,
            "marker": MARKERS[at % 7] if len(self.named) > 1 else None, "ms": 2.6 * self.sizes.line,
            "markevery": (0.03 + 0.12 * at / len(self.named), 0.25),
        }  # fmt: skip

    def draw(self, axes: "Axes", bounds: Mapping[str, np.ndarray], log_rounds: bool, guides: bool) -> None:
        """Draw means, bands and bounds; if `guides` is True, also lines of slope 1 and 1/2."""
        rounds, mean = np.asarray(self.result.rounds, float), self.estimate.mean
        shade = 0.22 if len(self.names) <= 7 else 0.1
        for i, name in enumerate(self.names):
            named = i in self.named
            own = {"alpha": shade if named else 0.0, "label": name if named else None, **self.look(i)}
            self.lines[i] = plot_band(axes, rounds, self.estimate, i, **own)
        for name, bound in bounds.items():
            i = self.result.learners.index(name)
            axes.plot(rounds, bound, color=self.look(i)["color"], ls=(0, (7, 2.5)), lw=0.7 * self.sizes.line)
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
        shown = [i for i in reversed(self.order) if i in self.named]
        if below is not None:
            entries = [(self.lines[i], self.names[i]) for i in shown]
            entries += [(self.bound, BOUND_LABEL)] if self.bound is not None else []
            legend = below.legend(
                [line for line, _ in entries], ["name"] * len(entries), loc="outside lower center",
                ncol=self._legend_columns(), frameon=False, fontsize=self.sizes.font - 1, handlelength=2.4,
                columnspacing=1.0, labelspacing=0.3,
            )  # fmt: skip
            for text, (_, name) in zip(legend.get_texts(), entries, strict=True):
                text.set_text(name)  # legend() drops labels that begin with _
            return
        words = {i: self.names[i] for i in shown}
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

    def _legend_columns(self) -> int:
        longest = max(map(len, self.names), default=0)
        room = (longest * 0.52 + 4.2) * (self.sizes.font - 1)
        return max(1, min(len(self.named), int(72 * self.sizes.width / room)))

    def _legend_rows(self) -> int:
        return -(-(len(self.named) + 1) // self._legend_columns())


def label_ends(axes: "Axes", x: float, ends: np.ndarray, words: Mapping[int, str], colours: Mapping[int, str]) -> None:
    """Write texts (by position in `ends`) beside the ends of curves at `x`; a line leads to each text that is moved."""
    size, figure_height = 9.0, 72.0 * axes.figure.get_size_inches()[1]  # type: ignore[union-attr]
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
