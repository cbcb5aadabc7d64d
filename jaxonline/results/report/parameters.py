"""Figures of a quantity against a parameter: sweeps of a result, and the settings that a search tried."""

import contextlib
import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.results.parts import select_rounds
from jaxonline.results.quantities import LOSS_OF_REWARD, default_quantity, label_of
from jaxonline.results.report import plotting
from jaxonline.results.report.summary import count_words
from jaxonline.results.statistics import estimates
from jaxonline.results.statistics.intervals import ConfidenceInterval

LOGARITHMIC_FROM = 50.0  # the largest mean, as a multiple of the smallest, from which the vertical axis is logarithmic
MAX_TICKS = 10  # values of a parameter with a tick each
_MEMBER = re.compile(r"(.+?)\[(.*)\]", re.DOTALL)


class ParameterAxis:
    """The positions of the values of a parameter on the horizontal axis.

    Args:
        values: numbers, or labels. Labels that are all numbers have the positions of their numbers.

    Example:
        >>> axis = ParameterAxis(["0.1", "1", "10"])
        >>> axis.position("1"), axis.logarithmic
        (1.0, True)
        >>> ParameterAxis(["adam", "sgd"]).position("sgd")
        1.0
    """

    def __init__(self, values: Iterable[Any]):
        names = {str(value): value for value in values}
        numbers = {name: _as_number(value) for name, value in names.items()}
        self.numeric = None not in numbers.values()
        self.places = {name: number if self.numeric else float(at) for at, (name, number) in enumerate(numbers.items())}
        self.logarithmic = self.numeric and plotting.is_geometric(list(self.places.values()))  # type: ignore[arg-type]

    def position(self, value: Any) -> float:
        """Return the position of a value."""
        return float(self.places[str(value)])  # type: ignore[arg-type]

    def set_up(self, axes: Axes) -> None:
        """Set the scale and the ticks of the axis."""
        at = sorted(map(self.position, self.places))
        if not self.numeric:
            turned = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"}
            crowded = sum(min(len(name), 16) for name in self.places) > 60
            names = plotting.figure_names(list(self.places), 16)
            axes.set_xticks(at, names, **(turned if crowded else {}))
            axes.set_xlim(-0.5, len(at) - 0.5)
            return
        if self.logarithmic:
            plotting.set_log_scale(axes, "x")
        if self._has_room(at, axes):
            axes.set_xticks(at, [plotting.format_tick(float(f"{place:.6g}")) for place in at])

    def _has_room(self, at: Sequence[float], axes: Axes) -> bool:
        """Return whether each value can have a tick with its number."""
        if not 1 < len(at) <= MAX_TICKS:
            return False
        places = np.log(at) if self.logarithmic else np.asarray(at)
        inches = axes.get_position().width * axes.get_figure(root=True).get_figwidth()  # type: ignore[union-attr]
        return bool(np.diff(places).min() * inches > 0.35 * np.ptp(places))


def _as_number(value: Any) -> float | None:
    """Return a number or the number in a text; None for others."""
    with contextlib.suppress(TypeError, ValueError):
        number = float(value)
        return None if isinstance(value, bool) or not math.isfinite(number) else number
    return None


class Points(NamedTuple):
    """Means of the settings of one curve [S], with intervals; a point is uncertain if runs failed or are few.

    Attributes:
        name: the name in the legend.
        x: positions of the settings on the axis, increasing [S].
        ends: means, lower ends and upper ends of the intervals [3, S].
        uncertain: which points have a white face [S].
        best: position of the best setting, which gets a ring; None if there is none.
    """

    name: str
    x: np.ndarray
    ends: np.ndarray
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
    result: Any, path: str | Path | None, quantity: str | None, level: float,
    interval: ConfidenceInterval | None, label: str | None, title: str | None, style: str, ax: Axes | None,
) -> Axes:  # fmt: skip
    """Plot the sweeps of a result as `Result.plot_sweep` does."""
    parameter = "parameter" if label is None else check.text("label", label)
    quantity = default_quantity(result, quantity)
    estimates.check_number(result, quantity)
    sweeps = sweeps_of(result.learners)
    if not sweeps:
        problem = "must include a sweep with at least two labels, with names such as 'UCB1[0.5]' (got "
        names = ", ".join(map(repr, result.learners[:3]))
        raise ArgumentError("learners", f"{problem}{names}); pass {{name: jo.sweep(...)}} to simulate")
    mean = estimates.at_horizon(select_rounds(result, slice(-1, None)).mean(quantity, level, interval))
    ends = np.stack([mean.mean, mean.low, mean.high])
    left_out = (result.first_nonfinite > 0).any(axis=1) | (result.first_overflow > 0).any(axis=1)
    axis = ParameterAxis([value for members in sweeps.values() for value in members])
    reward = quantity in LOSS_OF_REWARD
    curves = [_sweep_points(name, members, axis, ends, left_out, reward) for name, members in sweeps.items()]
    inside = {i for members in sweeps.values() for i in members.values()}
    others = [i for i in range(len(result.learners)) if i not in inside]
    with plotting.canvas(path, style, ax) as panels:
        axes = panels[0, 0]
        best = "largest mean" if reward else "smallest mean"
        handles, names = _draw(axes, axis, curves, "some runs left out (failed)", best)
        names += plotting.figure_names([result.learners[i] for i in others])
        for at, i in enumerate(others):
            colour = "0.35" if len(others) == 1 else plotting.COLOURS[(len(curves) + at) % plotting.N_COLOURS]
            dashes = plotting.LEVEL_DASHES[at % len(plotting.LEVEL_DASHES)]
            handles.append(axes.axhline(ends[0, i], color=colour, ls=dashes, zorder=1.5))
            if np.isfinite(ends[:, i]).all():
                axes.axhspan(ends[1, i], ends[2, i], color=colour, alpha=0.15, lw=0)
        words = f"{label_of(quantity, result.meta)} after {count_words(int(result.rounds[-1]), 'round')}"
        _finish(axes, axis, parameter, words, ends)
        plotting.legend_below(axes, handles, names, ax)
        heading = f"mean of {count_words(len(result.runs), 'run')}" if len(result.runs) > 1 else "one run"
        heading += f", {100 * level:.6g} % intervals" if np.isfinite(ends[1]).any() else ""
        plotting.set_titles(axes, heading, title, style, ax)
    return axes


def _sweep_points(
    name: str, members: dict[str, int], axis: ParameterAxis, ends: np.ndarray, left_out: np.ndarray, reward: bool
) -> Points:
    """Return the curve of a sweep; the best setting has no failed runs, unless all settings have some."""
    values = sorted(members, key=axis.position)
    at = [members[value] for value in values]
    own, failed = ends[:, at], left_out[at]
    costs = np.where(np.isfinite(own[0]), -own[0] if reward else own[0], np.inf)
    sound = costs if failed.all() else np.where(failed, np.inf, costs)
    best = int(np.argmin(sound)) if np.isfinite(sound).any() else None
    return Points(name, np.array([axis.position(value) for value in values]), own, failed, best)


def plot_settings(
    tuned: Any, path: str | Path | None, parameter: str | None, title: str | None, style: str, ax: Axes | None
) -> Axes:
    """Plot the settings of a search as `Tuned.plot` does."""
    varied = [name for name in tuned.choice if len({str(setting[name]) for setting in tuned.settings}) > 1]
    varied = varied or list(tuned.choice)
    if parameter is not None:
        check.choice("parameter", parameter, tuned.choice)
    elif len(varied) > 1:
        raise ArgumentError("parameter", f"must be one of {', '.join(varied)} if several were varied (got None)")
    name = varied[0] if parameter is None else parameter
    rows = list({row["setting"]: row for row in tuned.rows()}.values())
    axis = ParameterAxis([row[name] for row in rows])
    rows = sorted(rows, key=lambda row: axis.position(row[name]))
    runs = np.array([row["runs"] for row in rows])
    x = np.array([axis.position(row[name]) for row in rows])
    ends = np.array([[row[key] for row in rows] for key in (tuned.quantity, "low", "high")], float)
    chosen = next(i for i, row in enumerate(rows) if row["chosen"])
    curve = Points(f"settings, {runs.max():,} runs", x, ends, runs < runs.max(), chosen)
    few = f"{runs.min():,}" if len(set(runs.tolist())) < 3 else f"{runs.min():,} or more"
    with plotting.canvas(path, style, ax) as panels:
        axes = panels[0, 0]
        dropped = f"{few} runs, then dropped"
        handles, names = _draw(axes, axis, [curve], dropped, "chosen", joined=len(varied) == 1)
        failed = x[~np.isfinite(ends[0])]
        if failed.size:
            heights = np.full(failed.size, 0.97)
            handles += axes.plot(failed, heights, "x", color=plotting.COLOURS[3], transform=axes.get_xaxis_transform())
            names.append("some runs failed")
        _finish(axes, axis, name, f"{label_of(tuned.quantity)} after {count_words(tuned.n_rounds, 'round')}", ends)
        plotting.legend_below(axes, handles, names, ax)
        plotting.set_titles(axes, f"{len(rows):,} settings, means with 95 % intervals", title, style, ax)
    return axes


def _draw(
    axes: Axes, axis: ParameterAxis, curves: Sequence[Points], uncertain: str, best: str, joined: bool = True
) -> tuple[list[Any], list[str]]:
    """Draw curves with intervals and rings; return the handles and names of the legend."""
    size = matplotlib.rcParams["lines.markersize"]
    handles, names = [], plotting.figure_names([curve.name for curve in curves])
    extra: dict[str, Any] = {}
    for curve, look in zip(curves, plotting.line_looks(len(curves)), strict=False):
        colour, marker = look["color"], look["marker"] or "o"
        known, (mean, low, high) = np.isfinite(curve.ends[0]), curve.ends
        if joined and axis.numeric:
            axes.plot(curve.x[known], mean[known], color=colour, ls=look["linestyle"], alpha=0.7)
        bars = known & np.isfinite(low) & np.isfinite(high)
        lengths = [(mean - low)[bars], (high - mean)[bars]]
        axes.errorbar(curve.x[bars], mean[bars], lengths, fmt="none", ecolor=colour, capsize=size / 2)
        full, part = known & ~curve.uncertain, known & curve.uncertain
        points = {"color": colour, "marker": marker, "ls": "none"}
        handles += axes.plot(curve.x[full], mean[full], zorder=3, **points)
        if part.any():
            extra[uncertain] = axes.plot(curve.x[part], mean[part], mfc="white", zorder=2.5, **points)[0]
        if curve.best is not None:
            at = [curve.x[curve.best]], [mean[curve.best]]
            name = next(name for name, place in axis.places.items() if place == curve.x[curve.best])
            words = f"{best}: {plotting.figure_text(name, 20)}" if len(curves) == 1 else best
            extra[words] = axes.plot(*at, "o", ms=2.4 * size, mfc="none", mec="0.15", zorder=4)[0]
    return [*handles, *extra.values()], [*names, *extra]


def _finish(axes: Axes, axis: ParameterAxis, parameter: str, words: str, ends: np.ndarray) -> None:
    """Set scales, ticks and labels."""
    plotting.style_axes(axes, plotting.figure_text(parameter), plotting.axis_label(words, axes, "y"))
    axes.margins(y=0.08)
    axis.set_up(axes)
    means, lows = ends[0][np.isfinite(ends[0])], ends[1][np.isfinite(ends[1])]
    positive = len(means) and means.min() > 0 and (lows > 0).all()
    if positive and means.max() > LOGARITHMIC_FROM * means.min():
        plotting.set_log_scale(axes, "y")
    else:
        plotting.start_at_zero(axes, "y")
