"""Figure of the study of copies: variances and risks against the copies of a round, and Algorithm 1."""

from typing import TYPE_CHECKING, Any

import numpy as np

from jaxonline.results.report.plotting import COLOURS, set_log_scales, style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLES = "-", "--", ":", "-."


def plot_copies(linear: list[dict[str, Any]], kernel: list[dict[str, Any]]) -> "Figure":
    """Plot exact (lines) and sampled variances (dots), and risks with intervals, of the rows of the study's tables."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.5, 4.4), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12)  # type: ignore[union-attr]
    variance, risk, algorithm = figure.subplots(1, 3)
    names = list(dict.fromkeys(row["estimator"] for row in linear))
    noises = list(dict.fromkeys(row["noise_variance"] for row in linear))
    for i, name in enumerate(names):
        for noise_variance, style in zip(noises, STYLES * len(noises), strict=False):
            rows = [row for row in linear if (row["estimator"], row["noise_variance"]) == (name, noise_variance)]
            if rows:
                label = f"{name}, noise variance {noise_variance:g}"
                copies = [row["copies"] for row in rows]
                variance.plot(copies, [row["variance"] for row in rows], ls=style, color=COLOURS[i], lw=1.4)
                _plot_intervals(variance, copies, rows, "sampled", color=COLOURS[i], ls="none")
                _plot_intervals(risk, copies, rows, "risk", color=COLOURS[i], ls=style, label=label)
    repetitions = [row["repetitions"] for row in kernel]
    _plot_intervals(algorithm, repetitions, kernel, "risk", color=COLOURS[3], ls="-")
    excess = "excess risk of the mean hypothesis"
    style_axes(variance, "copies m of an estimate", "variance at w = u/2", "Lines: exact; dots: sampled")
    style_axes(risk, "copies m in a round", excess, "Linear, equal number of copies")
    style_axes(algorithm, "repetitions r in a round", excess, "Algorithm 1, equal expected copies")
    for axes, ticks in ((variance, copies_of(linear)), (risk, copies_of(linear)), (algorithm, repetitions)):
        set_log_scales(axes)
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.minorticks_off()
    algorithm.set_xticks(repetitions, [f"{row['repetitions']}\np = {row['p']:.2f}" for row in kernel])
    figure.legend(*risk.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return figure


def copies_of(linear: list[dict[str, Any]]) -> list[int]:
    """Return the numbers of copies."""
    return sorted({row["copies"] for row in linear})


def _plot_intervals(axes: "Axes", x: list[int], rows: list[dict[str, Any]], key: str, **line: Any) -> None:
    means, lows, highs = (np.array([row[key + end] for row in rows]) for end in ("", "_low", "_high"))
    axes.errorbar(x, means, [means - lows, highs - means], marker="o", ms=4, lw=1.4, capsize=2, **line)
