"""Figures across games: performance profiles and the critical-difference diagram."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxonline.parameters import check
from jaxonline.results.report.formats import shorten_names
from jaxonline.results.report.formulas import escape_figure, wrap_figure
from jaxonline.results.report.plotting import (
    COLOURS,
    STYLES,
    plot_band,
    set_log_scales,
    set_paper_sizes,
    style_axes,
    write_figure,
)

if TYPE_CHECKING:
    from jaxonline.results.report.figure import ResultFigure

NAME_COLUMNS = 32
LABEL_COLUMNS = {"screen": 80, "paper": 40}  # characters in a line of an axis label
DASHES: tuple[Any, ...] = ("-", "--", ":")
N_COLOURS = 7  # without yellow, which is invisible on white


def plot_profiles(
    learners: Sequence[str], profiles: Any, path: str | Path | None = None, *, label: str, heading: str, style: str
) -> "ResultFigure":
    """Plot performance profiles as `AcrossGames.plot_profiles` does."""
    from jaxonline.results.report.figure import ResultFigure

    sizes = STYLES[check.choice("style", style, STYLES)]
    names = [escape_figure(name) for name in shorten_names(learners, NAME_COLUMNS, drawn=True)]
    lines = -(-len(names) // 2)
    figure = ResultFigure(figsize=(sizes.width, sizes.height + 0.02 * sizes.font * lines), layout="constrained")
    figure.file_dpi = sizes.dpi
    axes = figure.subplots()
    at, shares = profiles
    for i, name in enumerate(names):
        dash = DASHES[i // N_COLOURS % len(DASHES)]
        plot_band(axes, at, shares, i, color=COLOURS[i % N_COLOURS], alpha=0.12, lw=sizes.line, ls=dash, label=name)
    if at[0] > 0 and np.ptp(np.diff(at)) > 1e-6 * at[-1]:
        set_log_scales(axes, linear_y=True)
    label = wrap_figure(label, LABEL_COLUMNS[style])
    style_axes(axes, label, "share of runs at most this")
    axes.set_xlim(at[0], at[-1])
    axes.set_ylim(-0.02, 1.02)
    if heading:
        axes.set_title(escape_figure(heading), fontsize=sizes.font)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=sizes.font - 1)
    if style == "paper":
        set_paper_sizes(axes, sizes)
    return write_figure(figure, path)


def plot_critical_differences(
    learners: Sequence[str], mean_ranks: Sequence[float], groups: Sequence[tuple[int, int]], difference: float,
    path: str | Path | None = None, *, heading: str = "", style: str = "screen",
) -> "ResultFigure":  # fmt: skip
    """Plot Demsar's diagram: sorted mean ranks on an axis, and a bar over each group of learners."""
    from jaxonline.results.report.figure import ResultFigure

    sizes = STYLES[check.choice("style", style, STYLES)]
    names = [escape_figure(name) for name in shorten_names(learners, NAME_COLUMNS, drawn=True)]
    em, n, half = sizes.font / 72.0, len(names), (len(names) + 1) // 2
    side = 0.55 * em * max(map(len, names)) + em  # inches beside the axis
    axis = 0.45 * sizes.width
    unit = (n - 1) / axis  # ranks in an inch
    top = -0.9 - 0.45 * len(groups)
    bottom = top - half
    figure = ResultFigure(figsize=(axis + 2 * side, 1.6 * em * (2.9 - bottom + 1.4 * bool(heading))))
    figure.file_dpi = sizes.dpi
    axes = figure.subplots()
    figure.subplots_adjust(0.0, 0.0, 1.0, 1.0)
    axes.set_xlim(1 - side * unit, n + side * unit)
    axes.set_ylim(bottom - 0.3, 2.6 + 1.4 * bool(heading))
    axes.set_axis_off()
    ink: dict[str, Any] = {"color": "black", "lw": 0.5 * sizes.line}
    axes.plot([1, n], [0, 0], **ink)
    for rank in range(1, n + 1):
        axes.plot([rank, rank], [0, 0.2], **ink)
        axes.text(rank, 0.3, str(rank), fontsize=sizes.font - 1, ha="center", va="bottom")
    length = min(difference, n - 1)
    axes.plot([1, 1 + length], [1.5, 1.5], color=COLOURS[3], lw=sizes.line)
    words = f"critical difference {difference:.2f}"
    axes.text(1 + length / 2, 1.6, words, fontsize=sizes.font - 1, ha="center", va="bottom", color=COLOURS[3])
    for i, (name, rank) in enumerate(zip(names, mean_ranks, strict=True)):
        left = i < half
        y = top - (i if left else n - 1 - i) - 0.4
        end = 1 - 0.3 * em * unit if left else n + 0.3 * em * unit
        axes.plot([rank, rank, end], [0, y, y], **ink)
        axes.text(
            end - 0.2 * em * unit if left else end + 0.2 * em * unit, y, name, fontsize=sizes.font, va="center",
            ha="right" if left else "left",
        )  # fmt: skip
    for k, (first, last) in enumerate(groups):
        y, margin = -0.6 - 0.45 * k, 0.2 * em * unit
        axes.plot([mean_ranks[first] - margin, mean_ranks[last] + margin], [y, y], color=COLOURS[0], lw=2 * sizes.line)
    if heading:
        axes.text((n + 1) / 2, 3.2, escape_figure(heading), fontsize=sizes.font, ha="center", va="center")
    return write_figure(figure, path)
