"""The figure of a result: means against rounds, with confidence bands and a theorem's bounds."""

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes

from jaxonline.bounds.theorem import unmet_assumptions
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.results.quantities import LOSS_OF_REWARD, ZERO_AT_START, best_first, default_quantity, label_of
from jaxonline.results.report import plotting
from jaxonline.results.report.distributions import plot_final_values
from jaxonline.results.statistics.intervals import ConfidenceInterval, Estimate

BOUND_LABEL = "theorem's bound"


def plot_result(
    result: Any, path: str | Path | None, quantity: str | None, level: float,
    interval: ConfidenceInterval | None, bounds: Mapping[str, Any] | None, choice: plotting.Choice,
    title: str | None, style: str, ax: Axes | None,
) -> Axes:  # fmt: skip
    """Plot means against rounds as `Result.plot` does."""
    bounds = _check_bounds(result, bounds)
    if len(result.rounds) == 1:
        return plot_final_values(result, path, quantity, level, interval, choice, title, style, ax)
    quantity = default_quantity(result, quantity)
    result, names, colours = plotting.choose_learners(result, choice)
    bounds = {name: bound for name, bound in bounds.items() if name in result.learners}
    estimate = result.bands(quantity, level, interval)
    curves = Curves(result, quantity, estimate, names, colours)
    two = bool(bounds) and style != "paper" and ax is None
    with plotting.canvas(path, style, ax, shape=(1, 1 + two), size=(1.6 if two else 1.0, 1.0)) as panels:
        first, last = panels[0, 0], panels[0, -1]
        curves.draw(first, {} if two else bounds)
        if two:
            curves.draw(last, bounds)
            last.set_ylabel("")
            noted = "\n" in curves.bound.get_label()  # long text would cross the curves
            place = {"loc": "outside lower center"} if noted else {}
            (first.figure if noted else last).legend(handles=[curves.bound], **place)
            logarithmic = plotting.is_logarithmic(result.rounds)
            last.set_title("the same, with bounds" if logarithmic else "the same on logarithmic axes")
        if style == "paper" or ax is not None:
            plotting.legend_below(first, *curves.entries(), ax=ax)
        else:
            curves.label_ends(first)
        plotting.set_titles(first, _heading(result, estimate, level), title, style, ax)
    return first


def _check_bounds(result: Any, bounds: Mapping[str, Any] | None) -> Mapping[str, Any]:
    for name, bound in check.dictionary("bounds", bounds, result.learners).items():
        if check.real_array(f"bounds[{name!r}]", bound).shape != result.rounds.shape:
            problem = f"must have an entry for each of the {len(result.rounds)} recorded rounds, result.rounds (got "
            problem += f"shape {np.shape(bound)}); for the bound at the horizon alone, use table(bounds=...)"
            raise ArgumentError(f"bounds[{name!r}]", problem)
    return bounds or {}


def _heading(result: Any, estimate: Estimate, level: float) -> str:
    """Return how many runs the means include, and the level of the bands."""
    least, most, played = estimate.n_runs.min(), estimate.n_runs.max(), len(result.runs)
    counts = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    runs = f"mean of {counts} of {played:,} runs" if least < played else f"mean of {played:,} runs"
    words = runs if played > 1 else "one run"
    return f"{words}, {100 * level:.6g} % simultaneous bands" if np.isfinite(estimate.low).any() else words


class Curves:
    """The curves of all learners: those of more than 21 learners are grey, but for the best 7.

    Args:
        result: the result.
        quantity: the quantity on the vertical axis.
        estimate: means and bands [L, G].
        names: names in the legend [L].
        colours: colours by position of the learner; the style chooses all others.
    """

    def __init__(self, result: Any, quantity: str, estimate: Estimate, names: list[str], colours: Mapping[int, Any]):
        ends = estimate.mean[:, -1]
        self.result, self.quantity, self.estimate = result, quantity, estimate
        self.order = [int(i) for i in best_first(ends, quantity in LOSS_OF_REWARD) if np.isfinite(ends[i])]
        named = range(len(ends)) if len(ends) <= plotting.MAX_DISTINCT else self.order[: plotting.N_COLOURS]
        self.looks = dict(zip(named, plotting.line_looks(len(named)), strict=True))
        self.looks |= {i: {**self.looks.get(i, {}), "color": colour} for i, colour in colours.items()}
        self.names = names
        self.lines: dict[int, Any] = {}  # by learner, of the last panel
        self.bound: Any = None  # the legend entry of bounds

    def draw(self, axes: Axes, bounds: Mapping[str, np.ndarray]) -> None:
        """Draw means, bands and bounds; with bounds, the axes are logarithmic."""
        rounds, mean = np.asarray(self.result.rounds, float), self.estimate.mean
        log_rounds = bool(bounds) or plotting.is_logarithmic(rounds)
        linear = not log_rounds and axes.get_xscale() == axes.get_yscale() == "linear"
        x, drawn = self._with_start(rounds) if linear else (rounds, self.estimate)
        for i in range(len(mean)):
            self.lines[i] = self._draw_curve(axes, x, drawn, i)
        for name, bound in bounds.items():
            look = self.looks.get(self.result.learners.index(name), {"color": "0.7"})
            axes.plot(rounds, bound, **look | plotting.bound_look())
        if log_rounds:
            known = mean[np.isfinite(mean)]
            linear_y = not bounds and not (known.size and known.min() > 0)
            plotting.set_log_scales(axes, linear_y)
            if linear_y:
                plotting.start_at_zero(axes, "y")
        else:
            axes.locator_params(nbins=6)
        if bounds:
            unmet = unmet_assumptions(bounds, self.result.meta.get("oblivious"))
            notes = [textwrap.fill(plotting.figure_text(sentence), 130) for sentence in unmet]
            label = "\n".join([BOUND_LABEL, *notes])
            hollow = {"marker": "o"} if len(mean) > 1 else {}
            (self.bound,) = axes.plot([], [], color="0.4", label=label, **hollow, **plotting.bound_look())
        plotting.style_axes(axes, "round", plotting.axis_label(label_of(self.quantity, self.result.meta), axes, "y"))

    def _draw_curve(self, axes: Axes, x: np.ndarray, estimate: Estimate, i: int) -> Any:
        look = dict(self.looks.get(i, {"color": "0.7", "linewidth": 1.0, "zorder": 1.5}))
        alpha = 0.22 if len(self.names) <= plotting.N_COLOURS else 0.1
        named = {"alpha": alpha, "label": self.names[i]} if i in self.looks else {"alpha": 0.0}
        line = plotting.plot_band(axes, x, estimate, i, **named, **look)
        for edges in (line.sticky_edges.x, line.sticky_edges.y):
            edges.append(0.0)  # no margin beside (0, 0)
        return line

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

    def entries(self) -> tuple[list[Any], list[str]]:
        """Return the lines and names of the legend, sorted by the ends of the curves from the highest."""
        from_highest = self.order if self.quantity in LOSS_OF_REWARD else self.order[::-1]
        shown = [i for i in from_highest if i in self.looks]
        bound = [] if self.bound is None else [self.bound]
        return [self.lines[i] for i in shown] + bound, [self.names[i] for i in shown] + [BOUND_LABEL] * len(bound)

    def label_ends(self, axes: Axes) -> None:
        """Write the names beside the ends of the curves; a line leads from a curve to its name."""
        words = {i: self.names[i] for i in self.order if i in self.looks}
        others = [i for i in self.order if i not in self.looks]
        if others:
            words[others[len(others) // 2]] = f"{len(others)} others"
        x, ends = float(self.result.rounds[-1]), self.estimate.mean[:, -1]
        axes.autoscale_view()
        to_axes = axes.transScale + axes.transLimits
        order = sorted(words, key=lambda i: ends[i])
        heights = [float(to_axes.transform((x, ends[i]))[1]) for i in order]
        size, inches = matplotlib.rcParams["legend.fontsize"], axes.get_figure(root=True).get_figheight()  # type: ignore
        gap = min(1.25 * size / (0.78 * 72 * inches), 1.08 / max(len(order) - 1, 1))
        for i, height in zip(order, spread_positions(heights, gap, -0.04, 1.04), strict=True):
            colour = self.looks.get(i, {"color": "0.7"})["color"]
            arrow = {"arrowstyle": "-", "color": colour, "lw": 0.8, "shrinkA": 0, "shrinkB": 1, "relpos": (0, 0.5)}
            axes.annotate(
                words[i], (x, ends[i]), xytext=(1.04, height), textcoords="axes fraction", va="center", fontsize=size,
                color="0.15", annotation_clip=False, arrowprops=arrow,
            )  # fmt: skip


def spread_positions(wanted: list[float], gap: float, low: float, high: float) -> np.ndarray:
    """Return increasing positions close to the increasing `wanted`, at least `gap` apart, between `low` and `high`.

    Example:
        >>> spread_positions([0.5, 0.5, 0.9], 0.1, 0.0, 1.0).round(6).tolist()
        [0.45, 0.55, 0.9]
    """
    from scipy.optimize import isotonic_regression

    steps = gap * np.arange(len(wanted))
    if not len(steps):
        return steps
    return np.clip(isotonic_regression(np.asarray(wanted) - steps).x, low, max(low, high - steps[-1])) + steps
