"""Figures of the study `noisy_kernels` (Algorithm 1)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.papers.studies.noisy_kernels_cases import BEST, THEOREM, Case, short
from jaxonline.results.report.plotting import COLOURS, plot_band, set_log_scales, style_axes
from jaxonline.study import ComparisonResult
from jaxonline.study.comparison import ignore_skewness_warnings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


Cases = Mapping[Case, ComparisonResult]


@ignore_skewness_warnings()
def losses_figure(cells: Cases, zero: Mapping[Case, np.ndarray]) -> "Figure":
    """Plot regret against rounds with both step sizes, and the theorem's bound; one panel for each kernel and loss.

    `zero` is the regret of the predictor 0 at the recorded rounds.
    """
    from matplotlib.figure import Figure

    kernels, losses = (list(dict.fromkeys(column)) for column in list(zip(*cells, strict=True))[:2])
    figure = Figure(figsize=(14.0, 7.4), layout="constrained")
    panels = figure.subplots(len(kernels), len(losses), sharex=True, sharey=True, squeeze=False)
    for axes, (case, compared) in zip(panels.ravel(), cells.items(), strict=True):
        style_axes(axes, title=f"{case.loss} loss\n{case.kernel}, {case.law_name}")
        _regret_panel(axes, compared, zero[case])
    for axes in panels[:, 0]:
        axes.set_ylabel("regret")
    for axes in panels[-1]:
        axes.set_xlabel("round")
    panels[0, 0].legend(frameon=False, fontsize=9, loc="upper left")
    figure.suptitle(
        "Algorithm 1 on noisy copies, steps eta / sqrt(t); 95 % bands, simultaneous over rounds. Dashed: the theorem's "
        "bound (its anytime form).\nThin: slope 1/2. Slopes are those of the best step, over "
        f"{next(iter(cells.values())).slope_rounds}, with 95 % intervals. The best step is chosen by clean losses"
    )
    return figure


def _regret_panel(axes: "Axes", compared: ComparisonResult, zero: np.ndarray) -> None:
    result, bound = compared.result, compared.bounds[THEOREM]
    estimate, rounds = result.bands(), np.asarray(result.rounds, float)
    set_log_scales(axes)
    for i, (name, colour) in enumerate(((THEOREM, COLOURS[0]), (BEST, COLOURS[3]))):
        plot_band(axes, rounds, estimate, i, color=colour, lw=1.8, label=name)
    axes.plot(rounds, zero, color="0.25", ls=(0, (1, 1.5)), lw=1.6, label="predictor 0")
    axes.plot(rounds, bound, color=COLOURS[0], ls="--", lw=1.3)
    growth = result.growth(compared.growth_from)[BEST]
    axes.plot(rounds, estimate.mean[1, -1] * 0.5 * np.sqrt(rounds / rounds[-1]), color="0.6", lw=0.8)
    text = (
        f"slope {growth.exponent:.2f} ({growth.low:.2f} .. {growth.high:.2f})\n"
        f"bound at the end {short(bound[-1])}"
    )  # fmt: skip
    axes.annotate(text, (0.97, 0.03), xycoords="axes fraction", ha="right", fontsize=8, color="0.25")
    axes.set_ylim(2.0, 4.0 * rounds[-1])


@ignore_skewness_warnings()
def laws_figure(laws: Cases, zero: Mapping[Case, np.ndarray]) -> "Figure":
    """Plot regret against queries per round, and regret per round against queries so far, by kernel and distribution.

    `zero` is the regret of the predictor 0 at the recorded rounds.
    """
    from matplotlib.figure import Figure

    kernels = list(dict.fromkeys(case.kernel for case in laws))
    figure = Figure(figsize=(11.5, 8.2), layout="constrained")
    panels = figure.subplots(len(kernels), 2, squeeze=False)
    for (left, right), kernel in zip(panels, kernels, strict=True):
        own = {case: compared for case, compared in laws.items() if case.kernel == kernel}
        style_axes(left, "queries a round", "regret at the horizon", f"{kernel}, squared loss, the best step tried")
        style_axes(right, "queries spent", "regret per round so far", "at equal cost: lower left is better")
        nothing, horizon = next((zero[case][-1], compared.result.rounds[-1]) for case, compared in own.items())
        left.axhline(nothing, color="0.25", ls=(0, (1, 1.5)), lw=1.6, label="predictor 0, no queries")
        right.axhline(nothing / horizon, color="0.25", ls=(0, (1, 1.5)), lw=1.6, label="predictor 0")
        for law, colour in (("geometric", "0.35"), ("best", COLOURS[0])):
            _frontier(left, {case: compared for case, compared in own.items() if case.law == law}, colour)
        for i, (case, compared) in enumerate(own.items()):
            result, geometric = compared.result, case.law == "geometric"
            spent, regret = result.mean("queries").mean[1], result.mean().mean[1] / result.rounds
            shade = str(0.1 + 0.17 * i) if geometric else COLOURS[(0, 1, 3)[i % 3]]
            right.plot(spent, regret, color=shade, lw=1.3 if geometric else 2.0, label=case.law_name)
        set_log_scales(left, linear_y=True)
        left.margins(x=0.12)
        left.set_ylim(bottom=0.0)
        set_log_scales(right)
        left.legend(frameon=False, fontsize=9)
        right.legend(frameon=False, fontsize=8, ncols=2, loc="lower left")
    figure.suptitle("Distributions of the number of copies: 95 % intervals; steps chosen by clean losses in other runs")
    return figure


def _frontier(axes: "Axes", own: Cases, colour: str) -> None:
    if not own:
        return
    means, lows, highs = np.transpose([
        [estimate.mean[1, -1], estimate.low[1, -1], estimate.high[1, -1]]
        for estimate in (compared.result.mean() for compared in own.values())
    ])  # fmt: skip
    queries = [compared.labels["expected_queries_per_round"] for compared in own.values()]
    label = "the paper's: (p-1)/p^(n+1)" if next(iter(own)).law == "geometric" else "best for a price"
    line = {"color": colour, "marker": "o", "ms": 5, "lw": 1.4, "capsize": 3, "label": label}
    axes.errorbar(queries, means, (highs - lows) / 2, **line)
    for x, y, case in zip(queries, means, own, strict=True):
        offset = (5, -13) if case.law_name == "best" else (5, 6)
        axes.annotate(case.law_name, (x, y), xytext=offset, textcoords="offset points", fontsize=8, color=colour)
