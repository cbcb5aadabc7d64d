"""Figure of the study of radial kernels: g and its part k, and the regret of Algorithm 2."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.papers.claims.surrogates import printed_radial_surrogate_mean
from benchmarks.papers.studies.radial_kernels_problem import ALGORITHM_2, FULL, MEAN, N_NODES, NAIVE, PRESCRIBED
from jaxonline.kernels.radial import Cauchy, truncate
from jaxonline.results.report.plotting import COLOURS, plot_band, set_log_scales, style_axes
from jaxonline.study import ComparisonResult
from jaxonline.study.comparison import ignore_skewness_warnings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLES = {  # colour, line
    FULL: ("#000000", "-"),
    ALGORITHM_2: (COLOURS[0], "-"),
    PRESCRIBED: (COLOURS[0], ":"),
    MEAN: (COLOURS[4], "-"),
    NAIVE: (COLOURS[3], "-"),
}
PRINTED_CS = 2.0, 4.0  # in the paper's figure


@ignore_skewness_warnings()
def plot_radial_kernels(
    compared: Mapping[str, tuple[ComparisonResult, ComparisonResult]],
    facts: Mapping[str, Mapping[str, Any]],
    dimension: int,
    noise_std: float,
) -> "Figure":
    """Plot g = (1 + r^2/d)^-1 and k for c = 2 and 4 (Figure 1), and regret against rounds for each kernel."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.2, 5.8), layout="constrained")
    above, below = figure.subfigures(2, 1)  # type: ignore[misc]
    for i, (axes, c) in enumerate(zip(above.subplots(1, 2, sharey=True), PRINTED_CS, strict=True)):
        _plot_kernels(axes, c, dimension, noise_std)
        style_axes(axes, "r / sqrt(d)", "" if i else "kernel", f"g = 1 / (1 + r²/d), c = {c:g}")
        if i == 0:
            axes.legend(frameon=False, fontsize=9)
    panels = below.subplots(1, len(compared), squeeze=False, sharey=True)[0]
    for axes, (name, results) in zip(panels, compared.items(), strict=True):
        _plot_regret(axes, results, facts[name]["predictor_0"])
        style_axes(axes, "round", "regret" if axes is panels[0] else "", name.replace("^2", "²"))
        set_log_scales(axes)
    handles, labels = panels[0].get_legend_handles_labels()
    below.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    runs = len(next(iter(compared.values()))[0].result.runs)
    figure.suptitle(
        f"Radial kernels under Gaussian noise, d = {dimension}, sigma = {noise_std:g}; regret in {runs} runs with 95 % "
        "intervals",
        fontsize=11,
    )
    return figure


def _plot_kernels(axes: "Axes", c: float, dimension: int, noise_std: float) -> None:
    g, cut, r = Cauchy(float(dimension)), c / dimension, np.linspace(0.0, 4.0, 200)
    squared = dimension * r**2
    axes.plot(r, 1.0 / (1.0 + r**2), color="black", lw=1.6, label="g")
    axes.plot(r, g.truncated_profile(squared, cut), color=COLOURS[0], ls="--", lw=1.8, label="k, the part u <= c/d")
    if 2.0 * noise_std * cut < 1.0:
        mean = printed_radial_surrogate_mean(truncate(g, cut, N_NODES), noise_std, dimension, squared)
        label = "mean of the surrogate as printed (E13)"
        axes.plot(r, mean, color=COLOURS[3], ls=":", lw=1.6, label=label)


def _plot_regret(axes: "Axes", results: tuple[ComparisonResult, ComparisonResult], zero: float) -> None:
    for own in results:
        estimate, rounds = own.result.bands(), own.result.rounds
        for i, name in enumerate(own.result.learners):
            colour, ls = STYLES[name]
            plot_band(axes, rounds, estimate, i, color=colour, ls=ls, lw=1.6, label=name)
    bound = results[1].bounds[PRESCRIBED]
    axes.plot(results[1].result.rounds, bound, color="0.5", ls="--", lw=1.1, label="bound of the theorem")
    axes.plot(results[1].result.rounds[-1], zero, "x", color="0.3", ms=7, label="predictor 0")
