"""Figures of a quantity against a parameter: sweeps of a result, and the settings that a search tried."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.results import parts
from jaxonline.results.quantities import LOSS_OF_REWARD, label_of
from jaxonline.results.report.formats import format_tick, shorten, shorten_names
from jaxonline.results.report.formulas import escape_figure, wrap_figure
from jaxonline.results.report.parameter_axis import ParameterAxis
from jaxonline.results.report.plotting import (
    COLOURS,
    STYLES,
    Style,
    add_legend,
    columns_beside,
    new_figure,
    set_paper_sizes,
    style_axes,
    write_figure,
)
from jaxonline.results.report.summary import default_quantity, format_runs
from jaxonline.results.statistics import estimates
from jaxonline.results.statistics.intervals import ConfidenceInterval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOGARITHMIC_FROM = 50.0  # the largest mean, as a multiple of the smallest, from which the vertical axis is logarithmic
LABEL_COLUMNS = {"screen": 60, "paper": 34}  # characters in a line of an axis label
MARKERS, DASHES = "osD^vPX", ("-", (0, (2.6, 1.1)), (0, (0.9, 0.9)))
_MEMBER = re.compile(r"(.+?)\[(.*)\]", re.DOTALL)


class Points(NamedTuple):
    """Means of the settings of one curve [S], with intervals; a point is uncertain if runs failed or are few.

    Attributes:
        name: the name in the legend.
        values: the values of the parameter.
        means: means [S].
        lows: lower ends of the intervals [S].
        highs: upper ends of the intervals [S].
        uncertain: which points have a white face [S].
        best: position of the best setting, which gets a ring.
    """

    name: str
    values: Sequence[Any]
    means: np.ndarray
    lows: np.ndarray
    highs: np.ndarray
    uncertain: np.ndarray
    best: int | None


def sweeps_of(learners: Sequence[str]) -> dict[str, dict[str, int]]:
    """Return the sweeps of a result by name, each with the positions of its learners by label.

    Example:
        >>> sweeps_of(["UCB1[0.5]", "Thompson", "UCB1[1]", "EXP3[a]"])
        {'UCB1': {'0.5': 0, '1': 2}}
    """
    sweeps: dict[str, dict[str, int]] = {}
    for i, name in enumerate(learners):
        if (match := _MEMBER.fullmatch(name)) is not None:
            sweeps.setdefault(match[1], {})[match[2]] = i
    return {name: members for name, members in sweeps.items() if len(members) > 1}


def plot_sweeps(
    result: Any,
    path: str | Path | None,
    quantity: str | None,
    level: float,
    interval: ConfidenceInterval | None,
    label: str | None,
    title: str | None,
    style: str,
    ax: "Axes | None",
) -> Any:
    """Plot the sweeps of a result as `Result.plot_sweep` does."""
    sizes = STYLES[check.choice("style", style, STYLES)]
    parameter = "parameter" if label is None else check.text("label", label)
    quantity = default_quantity(result, quantity)
    estimates.check_number(result, quantity)
    sweeps = sweeps_of(result.learners)
    if not sweeps:
        problem = "must include a sweep with at least two labels, with names such as 'UCB1[0.5]' (got "
        names = ", ".join(map(repr, result.learners[:3]))
        raise ArgumentError("learners", f"{problem}{names}); pass {{name: jo.sweep(...)}} to simulate")
    estimate = parts.select_rounds(result, slice(-1, None)).mean(quantity, level, interval)
    ends = np.stack([estimate.mean[:, 0], estimate.low[:, 0], estimate.high[:, 0]])
    left_out = (result.first_nonfinite > 0).any(axis=1) | (result.first_overflow > 0).any(axis=1)
    axis = ParameterAxis([value for members in sweeps.values() for value in members])
    larger = quantity in LOSS_OF_REWARD
    curves = []
    for name, members in zip(shorten_names(list(sweeps), 36, drawn=True), sweeps.values(), strict=True):
        values = axis.sort(members)
        at = [members[value] for value in values]
        curves.append(_points(name, values, ends[:, at], left_out[at], larger))
    inside = {i for members in sweeps.values() for i in members.values()}
    others = [i for i in range(len(result.learners)) if i not in inside]
    names = [escape_figure(name) for name in shorten_names(result.learners, 36, drawn=True)]
    figure, axes = _open(sizes, ax, len(curves) + len(others) + 2)
    handles, entries = _draw(
        axes, axis, curves, sizes, "some runs left out (failed)", best="largest mean" if larger else "smallest mean"
    )
    for at, i in enumerate(others):
        colour = "0.35" if len(others) == 1 else COLOURS[(len(curves) + at) % 7]
        line = axes.axhline(ends[0, i], color=colour, lw=sizes.line, ls=(0, (4, 2)), zorder=1.5)
        if np.isfinite(ends[:, i]).all():
            axes.axhspan(ends[1, i], ends[2, i], color=colour, alpha=0.15, lw=0)
        handles, entries = [*handles, line], [*entries, names[i]]
    horizon = int(result.rounds[-1])
    words = f"{label_of(quantity, result.meta)} after {format_tick(horizon)} round{'s' * (horizon > 1)}"
    _finish(axes, axis, parameter, words, style, ax is not None, ends)
    heading = f"mean of {format_runs(len(result.runs))}" if len(result.runs) > 1 else "one run"
    heading += f", {100 * level:.6g} % intervals" if np.isfinite(ends[1]).any() else ""
    return _close(figure, axes, path, handles, entries, title, heading, sizes)


def plot_settings(
    tuned: Any, path: str | Path | None, parameter: str | None, title: str | None, style: str, ax: "Axes | None"
) -> Any:
    """Plot the settings of a search as `Tuned.plot` does."""
    sizes = STYLES[check.choice("style", style, STYLES)]
    varied = [name for name in tuned.choice if len({str(setting[name]) for setting in tuned.settings}) > 1]
    varied = varied or list(tuned.choice)
    if parameter is not None:
        check.choice("parameter", parameter, tuned.choice)
    elif len(varied) > 1:
        raise ArgumentError("parameter", f"must be one of {', '.join(varied)} if several were varied (got None)")
    name = varied[0] if parameter is None else parameter
    rows = list({row["setting"]: row for row in tuned.rows()}.values())
    runs = np.array([row["runs"] for row in rows])
    axis = ParameterAxis([row[name] for row in rows])
    order = sorted(range(len(rows)), key=lambda i: (axis.position(rows[i][name]), i))
    rows, runs = [rows[i] for i in order], runs[order]
    chosen = next(i for i, row in enumerate(rows) if row["chosen"])
    ends = np.array([[row[key] for row in rows] for key in (tuned.quantity, "low", "high")], float)
    curve = Points(
        f"settings, {runs.max():,} runs",
        [row[name] for row in rows],
        ends[0],
        ends[1],
        ends[2],
        runs < runs.max(),
        chosen,
    )
    figure, axes = _open(sizes, ax, 4)
    few = f"{runs.min():,}" if len(set(runs.tolist())) < 3 else f"{runs.min():,} or more"
    handles, entries = _draw(
        axes, axis, [curve], sizes, f"{few} runs, then dropped", joined=len(varied) == 1, best="chosen"
    )
    failed = [axis.position(row[name]) for row in rows if not np.isfinite(row[tuned.quantity])]
    if failed:
        (crosses,) = axes.plot(
            failed, np.full(len(failed), 0.97), "x", color=COLOURS[3], ms=3.5 * sizes.line, mew=sizes.line,
            transform=axes.get_xaxis_transform(),
        )  # fmt: skip
        handles, entries = [*handles, crosses], [*entries, "some runs failed"]
    rounds = "one round" if tuned.n_rounds == 1 else f"{format_tick(tuned.n_rounds)} rounds"
    words = f"{label_of(tuned.quantity)} after {rounds}"
    _finish(axes, axis, name, words, style, ax is not None, ends)
    heading = f"{len(rows):,} settings, means with 95 % intervals"
    return _close(figure, axes, path, handles, entries, title, heading, sizes)


def _points(name: str, values: Sequence[str], ends: np.ndarray, left_out: np.ndarray, larger: bool) -> Points:
    """Return the curve of a sweep; the best setting has no failed runs, unless all settings have some."""
    costs = np.where(np.isfinite(ends[0]), -ends[0] if larger else ends[0], np.inf)
    sound = costs if left_out.all() else np.where(left_out, np.inf, costs)
    best = int(np.argmin(sound)) if np.isfinite(sound).any() else None
    return Points(name, values, ends[0], ends[1], ends[2], left_out, best)


def _open(sizes: Style, ax: "Axes | None", entries: int) -> tuple[Any, "Axes"]:
    if ax is not None:
        return None, ax
    figure = new_figure(sizes, None, sizes.height + 1.5 * sizes.font / 72 * -(-entries // 2))
    return figure, figure.subplots()


def _draw(
    axes: "Axes", axis: ParameterAxis, curves: Sequence[Points], sizes: Style, uncertain: str, joined: bool = True,
    best: str = "smallest mean",
) -> tuple[list[Any], list[str]]:  # fmt: skip
    """Draw curves with intervals and rings; return the handles and names of the legend."""
    handles, names = [], []
    ring = hollow = None
    for k, curve in enumerate(curves):
        colour, mark = COLOURS[k % 7], MARKERS[k % 7]
        x = np.array([axis.position(value) for value in curve.values])
        known = np.isfinite(curve.means)
        if joined and axis.numeric:
            axes.plot(
                x[known], curve.means[known], color=colour, lw=sizes.line, ls=DASHES[k // 7 % len(DASHES)], alpha=0.7
            )
        bars = known & np.isfinite(curve.lows) & np.isfinite(curve.highs)
        axes.errorbar(
            x[bars], curve.means[bars], yerr=[(curve.means - curve.lows)[bars], (curve.highs - curve.means)[bars]],
            fmt="none", ecolor=colour, elinewidth=0.8 * sizes.line, capsize=1.8 * sizes.line, capthick=0.8 * sizes.line,
        )  # fmt: skip
        look = {"color": colour, "marker": mark, "ms": 2.8 * sizes.line, "mew": 0.7 * sizes.line, "ls": "none"}
        full = known & ~curve.uncertain
        (points,) = axes.plot(x[full], curve.means[full], zorder=3, **look)
        if (known & curve.uncertain).any():
            part = known & curve.uncertain
            (hollow,) = axes.plot(x[part], curve.means[part], mfc="white", zorder=2.5, **look)
        handles, names = [*handles, points], [*names, escape_figure(curve.name)]
        if curve.best is not None:
            at = x[curve.best], float(curve.means[curve.best])
            (ring,) = axes.plot(
                *[[value] for value in at], marker="o", ms=6.5 * sizes.line, mfc="none", mec="0.15", ls="none",
                mew=0.9 * sizes.line, zorder=4,
            )  # fmt: skip
            if len(curves) == 1:
                best = f"{best}: {escape_figure(shorten(axis.name(curve.values[curve.best]), 20, drawn=True))}"
    extra = [(hollow, uncertain), (ring, best)]
    handles += [handle for handle, _ in extra if handle is not None]
    return handles, names + [name for handle, name in extra if handle is not None]


def _finish(
    axes: "Axes", axis: ParameterAxis, parameter: str, words: str, style: str, own: bool, ends: np.ndarray
) -> None:
    """Set scales, ticks and labels."""
    from jaxonline.results.report.figure import set_ticks

    columns = columns_beside(axes, "y") if own else LABEL_COLUMNS[style]
    style_axes(axes, escape_figure(parameter), wrap_figure(words, columns))
    axes.margins(y=0.08)
    axis.set_up(axes, 0.13 if style == "paper" else 0.06)
    means, lows = ends[0][np.isfinite(ends[0])], ends[1][np.isfinite(ends[1])]
    positive = len(means) and means.min() > 0 and (lows > 0).all()
    if positive and means.max() > LOGARITHMIC_FROM * means.min():
        axes.set_yscale("log")
        set_ticks(axes.yaxis, format_tick)


def _close(
    figure: Any, axes: "Axes", path: Any, handles: list[Any], names: list[str], title: str | None, heading: str,
    sizes: Style,
) -> Any:  # fmt: skip
    """Add legend and titles; return the axes of the user, or the written figure."""
    paper = sizes is STYLES["paper"]
    if figure is None:
        add_legend(axes, handles, names, sizes, loc="best")
        if title:
            axes.set_title(escape_figure(title))
    else:
        longest = max(map(len, names))
        columns = max(1, min(len(names), int(72 * sizes.width / ((longest * 0.52 + 4.2) * (sizes.font - 1)))))
        add_legend(figure, handles, names, sizes, columns, loc="outside lower center")
        if not paper:
            axes.set_title(heading, fontsize=10)
            if title:
                figure.suptitle(escape_figure(title))
    if paper:
        set_paper_sizes(axes, sizes)
    return axes if figure is None else write_figure(figure, path)
