"""The figure of the study of kernel learners under Gaussian noise."""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from jaxonline.results.report.plotting import COLOURS, band, log_log, tidy
from jaxonline.results.statistics import Estimate
from jaxonline.study import ComparisonResult
from jaxonline.study.comparison import ignore_skewness_warnings
from jaxonline.study.ready.gaussian_noise_problem import ALGORITHM_1, ALGORITHM_2, CLEAN, NAIVE, TOLD

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLES = {  # colour, line, marker
    CLEAN: ("#000000", "-", "s"),
    ALGORITHM_2: (COLOURS[0], "-", "o"),
    ALGORITHM_1: (COLOURS[5], "-", "D"),
    TOLD: (COLOURS[5], "--", "d"),
    NAIVE: (COLOURS[3], "-", "v"),
    "mean of 2 copies": (COLOURS[4], "-", "^"),
    "mean of 5 copies": (COLOURS[4], "--", "^"),
    "mean of 20 copies": (COLOURS[4], ":", "^"),
    "Fourier, 1 copy": (COLOURS[1], ":", "P"),
    "Fourier, 2 copies": (COLOURS[1], "-", "P"),
    "Fourier, mean of 5": (COLOURS[1], "--", "P"),
}


@ignore_skewness_warnings()
def plot(
    by_noise: Sequence[ComparisonResult],
    at_one: Sequence[ComparisonResult],
    zero: float,
    notes: Sequence[str] = (),
    *,
    shown_noise: float,
    limit: float,
) -> "Figure":
    """Regret against the noise, regret against rounds at one noise with the bounds, and slopes with intervals.

    Args:
        by_noise: learners at several noises.
        at_one: at the noise that is shown: for more rounds, and where there are such learners, for many passes.
        zero: the regret of the predictor 0 after the rounds of `by_noise`.
        notes: sentences that must not be missing below the title.
        shown_noise: the noise of `at_one`.
        limit: the noise from which on there is no surrogate kernel.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(15.0, 5.6), layout="constrained")
    panels = figure.subplots(1, 3, width_ratios=(1.0, 1.15, 1.0))
    titles = (
        f"(a) after {by_noise[0].result.rounds[-1]:,} rounds, as the noise grows",
        f"(b) noise {shown_noise:g}; dashed: what the theorems promise",
        f"(c) slopes at noise {shown_noise:g}, {at_one[0].slope_rounds}",
    )
    for axes, title in zip(panels, titles, strict=True):
        tidy(axes, title=title)
    _noise_panel(panels[0], by_noise, zero, limit)
    _rounds_panel(panels[1], at_one)
    _slope_panel(panels[2], at_one[0])
    handles, labels = panels[1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False, fontsize=9)
    figure.suptitle(
        "Kernel learning from noisy instances: Gaussian kernel, squared loss, Gaussian noise, "
        f"{len(at_one[0].result.runs)} runs, 95 % intervals (b: bands that are simultaneous over rounds)\n"
        "Steps are chosen by losses on clean instances, for 'told bounds' on noisy copies. "
        "Algorithm 1 is tuned to the true noise, 'told bounds' to the largest of (a)"
        + "".join(f"\n{textwrap.fill(note, 190)}" for note in notes),
        fontsize=11,
    )
    return figure


def _noise_panel(axes: "Axes", by_noise: Sequence[ComparisonResult], zero: float, limit: float) -> None:
    noises = [played.labels["noise"] for played in by_noise]
    for name, (colour, ls, marker) in STYLES.items():
        own = {p.labels["noise"]: p.result.select(name).mean() for p in by_noise if name in p.result.learners}
        if own and name == CLEAN:
            axes.axhline(next(iter(own.values())).mean[0, -1], color=colour, ls=ls, lw=1.2)
        elif own:
            ends = Estimate(*(np.array([part[:, -1] for part in parts]).T for parts in zip(*own.values(), strict=True)))
            band(axes, list(own), ends, 0, color=colour, alpha=0.18, ls=ls, marker=marker, ms=4.5, lw=1.6)
    small = {"textcoords": "offset points", "fontsize": 8, "color": "0.4"}
    axes.axhline(zero, color="0.5", ls=(0, (1, 2)), lw=1.2)
    axes.annotate("always predict 0", (0.0, zero), xytext=(0, 4), **small)
    axes.axvline(limit, color="0.5", lw=1.0)
    where = {"xycoords": ("data", "axes fraction"), "xytext": (-3, 0), "ha": "right"}
    axes.annotate("no surrogate kernel\nbeyond", (limit, 0.02), **where, **small)
    axes.set(yscale="log", xlabel="noise (standard deviation of a coordinate)", ylabel="regret")
    axes.set_xticks(noises, [f"{noise:g}" for noise in noises])
    axes.yaxis.set_major_formatter("{x:,g}")


def _rounds_panel(axes: "Axes", at_one: Sequence[ComparisonResult]) -> None:
    plays = {name: played for played in at_one for name in played.result.learners}
    for name, (colour, ls, marker) in STYLES.items():
        if name not in plays:
            continue
        result, bound = plays[name].result, plays[name].bounds.get(name)
        line = {"color": colour, "ls": ls, "marker": marker, "ms": 3.5, "lw": 1.6, "label": name}
        band(axes, result.rounds, result.select(name).bands(), 0, alpha=0.18, **line)
        if bound is not None:
            axes.plot(result.rounds, bound, color=colour, ls=(0, (5, 2)), lw=1.1)
            axes.annotate("bound", (result.rounds[0], bound[0]), xytext=(0, 9), textcoords="offset points",
                          fontsize=8, color=colour)  # fmt: skip
    shown = at_one[0].result
    ends = np.array([shown.rounds[1], at_one[-1].result.rounds[-1]], float)
    base = 0.45 * np.nanmin(np.abs(shown.mean().mean[:, 1]))
    for slope, text in ((1.0, "slope 1"), (0.5, "slope 1/2")):
        line = base * (ends / ends[0]) ** slope
        axes.plot(ends, line, color="0.65", lw=0.8, zorder=0)
        axes.annotate(text, (ends[1], line[1]), xytext=(-4, 5), textcoords="offset points", fontsize=8, color="0.4",
                      ha="right", va="bottom")  # fmt: skip
    log_log(axes)
    axes.set(xlabel="round", ylabel="regret")


def _slope_panel(axes: "Axes", shown: ComparisonResult) -> None:
    """All slopes over the same rounds."""
    found = sorted(shown.rows(), key=lambda row: list(STYLES).index(row["learner"]))
    for at, row in enumerate(found):
        colour, _, marker = STYLES[row["learner"]]
        axes.plot([row["slope_low"], row["slope_high"]], [at, at], color=colour, lw=2.5, alpha=0.6)
        axes.plot(row["slope"], at, marker, color=colour, ms=6)
    for slope, text in ((0.5, "square root"), (1.0, "linear")):
        axes.axvline(slope, color="0.35", lw=1.0, ls="--")
        axes.annotate(text, (slope, 0.985), xycoords=("data", "axes fraction"), xytext=(4, 0), va="top", fontsize=8,
                      textcoords="offset points", color="0.35")  # fmt: skip
    axes.set_yticks(range(len(found)), [row["learner"] for row in found], fontsize=8)
    axes.invert_yaxis()
    axes.set(xlabel="slope of log regret against log rounds", xlim=(-0.1, 1.2))
    axes.set_xticks([0.0, 0.25, 0.5, 0.75, 1.0])
