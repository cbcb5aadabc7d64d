"""Figure of the study of errors in variables: the bias and the error of every method, in a panel for each problem."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jaxonline.results.report.formats import format_tick
from jaxonline.results.report.plotting import COLOURS, style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot(rows: Sequence[Mapping[str, Any]], n_runs: int) -> "Figure":
    """Draw the RMSE (dots) and the bias (circles) of the estimates of w; online learners have another colour."""
    from matplotlib.figure import Figure

    from jaxonline.results.report.figure import set_ticks

    problems = list(dict.fromkeys(row["problem"] for row in rows))
    methods = [[row for row in rows if row["problem"] == problem] for problem in problems]
    columns = -(-len(problems) // 2)
    figure = Figure(figsize=(5.2 * columns, 9.0), layout="constrained")
    panels = figure.subplots(2, columns, squeeze=False).ravel()
    for axes, problem, own in zip(panels, problems, methods, strict=False):
        _panel(axes, own)
        style_axes(axes, "relative to |w|", "", problem)
        axes.set_xscale("log")
        set_ticks(axes.xaxis, format_tick)
        axes.set_yticks(range(len(own)), [row["method"] for row in own], fontsize=8)
        axes.invert_yaxis()
    for axes in panels[len(problems) :]:
        axes.set_axis_off()
    labels = ("RMSE, methods of statistics", COLOURS[0], True), ("RMSE, online learners", COLOURS[3], True)
    for label, colour, filled in (*labels, ("bias", "0.4", False)):
        panels[0].plot([], [], "o", color=colour, mfc=colour if filled else "white", label=label)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle(f"Error of the estimated vector w, {n_runs} runs")
    return figure


def _panel(axes: "Axes", rows: Sequence[Mapping[str, Any]]) -> None:
    for y, row in enumerate(rows):
        colour = COLOURS[3] if row["method"].startswith("online") else COLOURS[0]
        axes.plot([row["bias"], row["rmse"]], [y, y], color=colour, lw=0.8, alpha=0.5)
        axes.plot(row["bias"], y, "o", color=colour, mfc="white", ms=5)
        axes.plot(row["rmse"], y, "o", color=colour, ms=6)
