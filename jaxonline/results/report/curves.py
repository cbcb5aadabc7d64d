"""The curves of a figure: how those of many learners are told apart, and where their names stand."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxonline.results.report.formats import figure_words, short_names, tick
from jaxonline.results.report.plotting import COLOURS, Style, band, log_log, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from jaxonline.results import Result
    from jaxonline.results.statistics.intervals import Estimate

DASHES: tuple[Any, ...] = ("-", (0, (2.6, 1.1)), (0, (0.9, 0.9)))
MARKERS = "osD^vPX"
TOLD_APART = 7 * len(DASHES)  # yellow is not seen on white
BOUND = "theorem's bound"
BEST = 7  # of more than can be told apart, so many are named


class Curves:
    """The curves of all learners in one look: colours, dashes and markers; names at their ends."""

    def __init__(self, result: "Result", estimate: "Estimate", sizes: Style):
        ends = estimate.mean[:, -1]
        self.result, self.estimate, self.sizes = result, estimate, sizes
        self.order = [int(i) for i in np.argsort(ends, kind="stable") if np.isfinite(ends[i])]  # from the best on
        many = len(result.learners) > TOLD_APART
        self.named = self.order[:BEST] if many else list(range(len(result.learners)))
        self.names = [figure_words(name) for name in short_names(result.learners, 36)]
        self.lines: dict[int, Any] = {}  # by learner, in the panel that was drawn last
        self.bound: Any = None  # what a bound looks like, where there are some

    def height(self, paper: bool) -> float:
        """Of the figure: points and the names of a legend need room."""
        letters = 1.5 * self.sizes.font / 72
        if len(self.result.rounds) == 1:
            return 1.2 + letters * len(self.result.learners)
        return self.sizes.height + (letters * self._legend_rows() if paper else 0.0)

    def look(self, i: int) -> dict[str, Any]:
        """Of the curve of learner i; a marker stands here and there, at other rounds for each learner."""
        if i not in self.named:
            return {"color": "0.7", "lw": 0.6 * self.sizes.line, "zorder": 1.5}
        at = self.named.index(i)
        return {
            "color": COLOURS[at % 7], "ls": DASHES[at // 7 % len(DASHES)], "lw": self.sizes.line,
            "marker": MARKERS[at % 7] if len(self.named) > 1 else None, "ms": 2.6 * self.sizes.line,
            "markevery": (0.03 + 0.12 * at / len(self.named), 0.25),
        }  # fmt: skip

    def draw(self, axes: "Axes", bounds: Mapping[str, np.ndarray], log_rounds: bool, guides: bool) -> None:
        """Means, bands, bounds; on logarithmic axes, where all are positive, lines of two slopes."""
        rounds, mean = np.asarray(self.result.rounds, float), self.estimate.mean
        shade = 0.22 if len(self.names) <= 7 else 0.1
        for i, name in enumerate(self.names):
            named = i in self.named
            own = {"alpha": shade if named else 0.0, "label": name if named else None, **self.look(i)}
            self.lines[i] = band(axes, rounds, self.estimate, i, **own)
        for name, bound in bounds.items():
            i = self.result.learners.index(name)
            axes.plot(rounds, bound, color=self.look(i)["color"], ls=(0, (7, 2.5)), lw=0.7 * self.sizes.line)
        letters = 0.62 * self.sizes.font * len(tick(float(rounds[-1]))) + 8.0  # of a number, with what is between two
        axes.locator_params(axis="x", nbins=max(2, min(6, int(0.75 * 72 * self.sizes.width / letters))))
        axes.locator_params(axis="y", nbins=6)
        if log_rounds:
            known = mean[np.isfinite(mean)]
            log_log(axes, linear_y=not (known.size and known.min() > 0) and not guides)
        if guides:
            if bounds:
                look = {"color": "0.4", "ls": (0, (7, 2.5)), "lw": 0.7 * self.sizes.line, "label": BOUND}
                (self.bound,) = axes.plot([], [], **look)
            _slope_guides(axes, rounds, mean, self.sizes)

    def draw_points(self, axes: "Axes", bounds: Mapping[str, np.ndarray], what: str) -> None:
        """One recorded round: a point with its interval for each learner, the best at the top."""
        order = self.order + [i for i in range(len(self.names)) if i not in self.order]
        for at, i in enumerate(order):
            mean, low, high = (getattr(self.estimate, name)[i, 0] for name in ("mean", "low", "high"))
            axes.plot([low, high], [at, at], color=COLOURS[0], lw=self.sizes.line, solid_capstyle="butt")
            axes.plot([mean], [at], "o", color=COLOURS[0], ms=2.6 * self.sizes.line, label=self.names[i])
            if self.result.learners[i] in bounds:
                axes.plot(bounds[self.result.learners[i]], [at], "|", color=COLOURS[3], ms=10, mew=self.sizes.line)
        axes.set_yticks(range(len(order)), [self.names[i] for i in order])
        axes.set_ylim(len(order) - 0.5, -0.5)
        tidy(axes, f"{what} after {tick(float(self.result.rounds[0]))} rounds")
        axes.grid(visible=False, axis="y")

    def name(self, axes: "Axes", below: Any = None) -> None:
        """Names at the ends of the curves, in the order of their ends; or in a legend below, in the same order."""
        shown = [i for i in reversed(self.order) if i in self.named]
        if below is not None:
            entries = [(self.lines[i], self.names[i]) for i in shown]
            entries += [(self.bound, BOUND)] if self.bound is not None else []
            legend = below.legend(
                [line for line, _ in entries], ["name"] * len(entries), loc="outside lower center",
                ncol=self._legend_columns(), frameon=False, fontsize=self.sizes.font - 1, handlelength=2.4,
                columnspacing=1.0, labelspacing=0.3,
            )  # fmt: skip
            for text, (_, name) in zip(legend.get_texts(), entries, strict=True):
                text.set_text(name)  # a label that begins with _ is left out
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
    """Words beside the ends of curves, with a line to each where they had to make room for one another.

    Args:
        axes: with the curves in it, on their final scales.
        x: where the curves end.
        ends: of all curves.
        words: by position in `ends`.
        colours: likewise.
    """
    size, figure_height = 9.0, 72.0 * axes.figure.get_size_inches()[1]  # type: ignore[union-attr]
    axes.autoscale_view()
    to_axes = axes.transScale + axes.transLimits
    order = sorted(words, key=lambda i: ends[i])
    heights = [float(to_axes.transform((x, ends[i]))[1]) for i in order]
    gap = min(1.25 * size / (0.78 * figure_height), 1.08 / max(len(order) - 1, 1))
    for i, at in zip(order, apart(heights, gap, -0.04, 1.04), strict=True):
        line = {"arrowstyle": "-", "color": colours[i], "lw": 0.8, "shrinkA": 0, "shrinkB": 1}
        axes.annotate(
            words[i], (x, ends[i]), xytext=(1.04, at), textcoords="axes fraction", va="center", fontsize=size,
            color="0.15", annotation_clip=False, arrowprops=line | {"relpos": (0, 0.5)},
        )  # fmt: skip


def apart(wanted: Sequence[float], gap: float, low: float, high: float) -> np.ndarray:
    """The places nearest to those wanted, in increasing order, that are at least a gap apart, between two ends.

    Example:
        >>> from jaxonline.results.report.curves import apart
        >>> apart([0.5, 0.5, 0.9], 0.1, 0.0, 1.0).round(6).tolist()
        [0.45, 0.55, 0.9]
    """
    from scipy.optimize import isotonic_regression

    steps = gap * np.arange(len(wanted))
    if not len(steps):
        return steps
    found = isotonic_regression(np.asarray(wanted) - steps).x
    return np.clip(found, low, max(low, high - steps[-1])) + steps


def _slope_guides(axes: "Axes", rounds: np.ndarray, means: np.ndarray, sizes: Style) -> None:
    """Thin lines of slope 1 and 1/2 through the bottom of the picture, to read growth rates by."""
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
