"""Figure of the study of errors in variables: the bias and the error of every method, in a panel for each problem."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jaxonline.results.report.formats import format_tick
from jaxonline.results.report.plotting import COLOURS, style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_errors(rows: Sequence[Mapping[str, Any]], n_runs: int) -> "Figure":
    """Draw the RMSE (dots) and the bias (circles) of the estimates of w; online learners have another colour.

    The panels have two rows. Regression problems in a row share the labels on the left. Those of flipped labels are on
    the right.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    problems = list(dict.fromkeys(row["problem"] for row in rows))
    methods = {problem: [row["method"] for row in rows if row["problem"] == problem] for problem in problems}
    shared, n_columns = max(methods.values(), key=len), (len(problems) + 1) // 2
    figure = Figure(figsize=(2.4 * n_columns + 5.2, 9.0), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)  # type: ignore[union-attr]
    panels = figure.subplots(2, n_columns, squeeze=False).ravel()
    for axes in panels[len(problems) :]:
        axes.set_axis_off()
    for i, (axes, problem) in enumerate(zip(panels, problems, strict=False)):
        names = shared if set(methods[problem]) <= set(shared) else methods[problem]
        _panel(axes, names, [row for row in rows if row["problem"] == problem])
        style_axes(axes, "relative to |w|", "", problem)
        axes.set_xscale("log")
        low, high = axes.get_xlim()
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0) if high < 200 * low else (1.0,)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: format_tick(value)))
        axes.xaxis.set_minor_locator(NullLocator())
        labelled = i % n_columns == 0 or names is not shared
        axes.set_yticks(range(len(names)), names if labelled else [""] * len(names), fontsize=10)
        axes.tick_params(axis="y", length=0)
        if names is not shared:
            axes.yaxis.tick_right()
    labels = ("RMSE, methods of statistics", COLOURS[0], True), ("RMSE, online learners", COLOURS[3], True)
    for label, colour, filled in (*labels, ("bias", "0.4", False)):
        panels[0].plot([], [], "o", color=colour, mfc=colour if filled else "white", label=label)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle(f"Error of the estimated vector w, {n_runs} runs")
    return figure


def _panel(axes: "Axes", names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    for row in rows:
        y, colour = names.index(row["method"]), COLOURS[3] if row["method"].startswith("online") else COLOURS[0]
        axes.plot([row["bias"], row["rmse"]], [y, y], color=colour, lw=0.8, alpha=0.5)
        axes.plot(row["bias"], y, "o", color=colour, mfc="white", ms=5)
        axes.plot(row["rmse"], y, "o", color=colour, ms=6)
    axes.set_ylim(len(names) - 0.5, -0.5)
