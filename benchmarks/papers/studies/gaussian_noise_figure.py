"""Figure of the study of kernel learners under Gaussian noise."""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.papers.studies.gaussian_noise_problem import ALGORITHM_1, ALGORITHM_2, BOUND_TUNED, CLEAN, NAIVE
from jaxonline.results.report.plotting import COLOURS, plot_band, set_log_scales, style_axes
from jaxonline.results.statistics import Estimate
from jaxonline.study import ComparisonResult
from jaxonline.study.comparison import ignore_skewness_warnings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLES = {  # colour, line, marker
    CLEAN: ("#000000", "-", "s"),
    ALGORITHM_2: (COLOURS[0], "-", "o"),
    ALGORITHM_1: (COLOURS[5], "-", "D"),
    BOUND_TUNED: (COLOURS[5], "--", "d"),
    NAIVE: (COLOURS[3], "-", "v"),
    "mean of 2 copies": (COLOURS[4], "-", "^"),
    "mean of 5 copies": (COLOURS[4], "--", "^"),
    "mean of 20 copies": (COLOURS[4], ":", "^"),
    "Fourier, 1 copy": (COLOURS[1], ":", "P"),
    "Fourier, 2 copies": (COLOURS[1], "-", "P"),
    "Fourier, mean of 5": (COLOURS[1], "--", "P"),
}


@ignore_skewness_warnings()
def plot_gaussian_noise(
    by_noise: Sequence[ComparisonResult],
    at_one: Sequence[ComparisonResult],
    zero: float,
    notes: Sequence[str] = (),
    *,
    shown_noise: float,
    limit: float,
) -> "Figure":
    """Plot three panels: regret against the noise, regret (with bounds) against rounds at one noise, and slopes.

    `zero` is the regret of the predictor 0 after the rounds of `by_noise`, and `limit` is the noise above which no
    surrogate kernel exists. `at_one` are two results at the noise `shown_noise`: one with a longer horizon, and one
    with many passes.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(15.0, 5.6), layout="constrained")
    panels = figure.subplots(1, 3, width_ratios=(1.0, 1.15, 1.0))
    titles = (
        f"(a) after {by_noise[0].result.rounds[-1]:,} rounds, as the noise grows",
        f"(b) noise {shown_noise:g}; dashed: regret bounds",
        f"(c) slopes at noise {shown_noise:g}, {at_one[0].slope_rounds}",
    )
    for axes, title in zip(panels, titles, strict=True):
        style_axes(axes, title=title)
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
    noises = [compared.labels["noise"] for compared in by_noise]
    for name, (colour, ls, marker) in STYLES.items():
        own = {p.labels["noise"]: p.result.select(name).mean() for p in by_noise if name in p.result.learners}
        if own and name == CLEAN:
            axes.axhline(next(iter(own.values())).mean[0, -1], color=colour, ls=ls, lw=1.2)
        elif own:
            ends = Estimate(
                *(np.array([field[:, -1] for field in fields]).T for fields in zip(*own.values(), strict=True))
            )
            plot_band(axes, list(own), ends, 0, color=colour, alpha=0.18, ls=ls, marker=marker, ms=4.5, lw=1.6)
    small = {"textcoords": "offset points", "fontsize": 8, "color": "0.4"}
    axes.axhline(zero, color="0.5", ls=(0, (1, 2)), lw=1.2)
    axes.annotate("always predict 0", (0.0, zero), xytext=(0, 4), **small)
    axes.axvline(limit, color="0.5", lw=1.0)
    position = {"xycoords": ("data", "axes fraction"), "xytext": (-3, 0), "ha": "right"}
    axes.annotate("no surrogate kernel\nbeyond", (limit, 0.02), **position, **small)
    axes.set(yscale="log", xlabel="noise (standard deviation of a coordinate)", ylabel="regret")
    axes.set_xticks(noises, [f"{noise:g}" for noise in noises])
    axes.yaxis.set_major_formatter("{x:,g}")


def _rounds_panel(axes: "Axes", at_one: Sequence[ComparisonResult]) -> None:
    by_name = {name: compared for compared in at_one for name in compared.result.learners}
    for name, (colour, ls, marker) in STYLES.items():
        if name not in by_name:
            continue
        result, bound = by_name[name].result, by_name[name].bounds.get(name)
        line = {"color": colour, "ls": ls, "marker": marker, "ms": 3.5, "lw": 1.6, "label": name}
        plot_band(axes, result.rounds, result.select(name).bands(), 0, alpha=0.18, **line)
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
    set_log_scales(axes)
    axes.set(xlabel="round", ylabel="regret")


def _slope_panel(axes: "Axes", shown: ComparisonResult) -> None:
    rows = sorted(shown.rows(), key=lambda row: list(STYLES).index(row["learner"]))
    for position, row in enumerate(rows):
        colour, _, marker = STYLES[row["learner"]]
        axes.plot([row["slope_low"], row["slope_high"]], [position, position], color=colour, lw=2.5, alpha=0.6)
        axes.plot(row["slope"], position, marker, color=colour, ms=6)
    for slope, text in ((0.5, "square root"), (1.0, "linear")):
        axes.axvline(slope, color="0.35", lw=1.0, ls="--")
        axes.annotate(text, (slope, 0.985), xycoords=("data", "axes fraction"), xytext=(4, 0), va="top", fontsize=8,
                      textcoords="offset points", color="0.35")  # fmt: skip
    axes.set_yticks(range(len(rows)), [row["learner"] for row in rows], fontsize=8)
    axes.invert_yaxis()
    axes.set(xlabel="slope of log regret against log rounds", xlim=(-0.1, 1.2))
    axes.set_xticks([0.0, 0.25, 0.5, 0.75, 1.0])
