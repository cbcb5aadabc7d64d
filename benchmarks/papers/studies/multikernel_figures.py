"""Figures of the multi-kernel study."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.papers.studies.multikernel_runs import DESCENT, SetResult
from jaxonline.results.report.plotting import COLOURS, set_log_scales, style_axes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = ("VAW2", "EWA", "Aggregating", "BOA", "ML-Poly", "ML-Prod", "Raker", "OMKL-GF")
WEIGHTED = {"VAW2": COLOURS[0], "EWA": COLOURS[1], "ML-Prod": COLOURS[3]}
NAMES = {"ridge": "online ridge (as published)", "vaw": "true VAW"}


def running(results: Sequence[SetResult], forecaster: str = "ridge") -> "Figure":
    """Plot the mean squared error up to each round, averaged over dictionaries, with one panel per data set."""
    figure, panels = _panels(f"Running mean squared error, experts: {NAMES[forecaster]}", len(results))
    for axes, result in zip(panels, results, strict=True):
        style_axes(axes, "round", title=result.name)
        positive = False
        for i, algorithm in enumerate(SHOWN):
            curve = result.running[algorithm, "ogd" if algorithm in DESCENT else forecaster]
            rounds = np.arange(1, len(curve) + 1)[len(curve) // 100 :]
            axes.plot(rounds, 1e3 * curve[rounds - 1], color=COLOURS[i], label=algorithm, lw=1.5)
            positive |= bool((curve[rounds - 1] > 0).any())
        set_log_scales(axes, linear_y=not positive)  # all errors are 0 if all targets are equal
    panels[0].set_ylabel("mean squared error up to the round, x 1000")
    panels[-1].legend(frameon=False, fontsize=8)
    return figure


def weights(results: Sequence[SetResult], forecaster: str = "ridge") -> "Figure":
    """Plot the kernels' weights after the last round, for the first dictionary, with one panel per data set."""
    figure, panels = _panels(f"Final weights, experts: {NAMES[forecaster]}", len(results))
    for axes, result in zip(panels, results, strict=True):
        style_axes(axes, "kernel", title=result.name)
        for algorithm, colour in WEIGHTED.items():
            axes.plot(result.weights[algorithm, forecaster], "o", color=colour, label=algorithm, ms=2.5)
    panels[0].set_ylabel("weight after the last round")
    panels[-1].legend(frameon=False, fontsize=8)
    return figure


def _panels(title: str, n: int) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.2 * n + 0.8, 4.4), layout="constrained")
    figure.suptitle(title)
    return figure, figure.subplots(1, n, squeeze=False)[0]
