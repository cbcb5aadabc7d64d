"""Figure of the study `impossibility` (learners with one and with two noisy copies)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Float

from jaxonline.environments.adversaries import NOISELESS_MULTIPLES
from jaxonline.results import Result
from jaxonline.results.report.plotting import set_log_scales, style_axes
from jaxonline.results.statistics import Estimate
from jaxonline.study.comparison import ignore_skewness_warnings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLES = "without noise: x is 3e or -e, and so is every copy", "with noise: x is e, a copy of it is 3e or -e"
_LABEL_DISTANCE = 0.07  # closer regrets a round share a label


class LearnerKinds(NamedTuple):
    """Kind of each learner, colours of kinds, unavoidable regret per round, and the kind of non-linear learners."""

    kinds: Mapping[str, str]
    colours: Mapping[str, str]
    unavoidable: float
    not_linear: str


@ignore_skewness_warnings()
def plot_impossibility(
    results: Mapping[str, Result],
    kinds: Mapping[str, str],
    colours: Mapping[str, str],
    unavoidable: float,
    not_linear: str,
) -> "Figure":
    """Plot regret against rounds in both worlds, final regrets, and the regrets that one copy cannot reach.

    `results` are the results in the world without noise and in the world with noise, in this order. A learner with one
    copy has at least the regret per round `unavoidable` in one of the worlds. Learners of the kind `not_linear` are not
    linear predictors.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(14.5, 11.0), layout="constrained")
    figure.get_layout_engine().set(h_pad=0.12, w_pad=0.1)  # type: ignore[union-attr]
    panels, shown = (
        figure.subplots(2, 2, height_ratios=(1, 1.15)),
        LearnerKinds(kinds, colours, unavoidable, not_linear),
    )
    first = next(iter(results.values()))
    rounds = first.rounds
    estimates, bands = ([getattr(result, method)() for result in results.values()] for method in ("mean", "bands"))
    titles = (
        *TITLES,
        "final regret in both worlds; the theorem bounds the larger",
        "trade-off between the two worlds",
    )
    for axes, title in zip(panels.ravel(), titles, strict=True):
        style_axes(axes, title=title)
    for axes, estimate in zip(panels[0], bands, strict=True):
        _curves(axes, shown, rounds.astype(float), estimate)
    limits = [axes.get_ylim() for axes in panels[0]]
    for axes in panels[0]:
        axes.set_ylim(min(low for low, _ in limits), max(high for _, high in limits) * 4)
    lines = {kind: {"color": colour, "lw": 2} for kind, colour in colours.items() if kind in kinds.values()}
    lines[f"unavoidable in one of the worlds: {unavoidable:.3f} t"] = {"color": "black", "ls": "--", "lw": 1.3}
    for label, line in (lines | {"slope 1/2": {"color": "0.6", "lw": 1.0}}).items():
        panels[0, 0].plot([], [], label=label, **line)
    panels[0, 0].legend(frameon=False, fontsize=9, loc="upper left")
    ends = [Estimate(*(f[:, -1] / (rounds[-1] if i < 4 else 1) for i, f in enumerate(e))) for e in estimates]
    _dots(panels[1, 0], shown, ends)
    _trade_off(panels[1, 1], shown, np.stack([end.mean for end in ends]))
    runs = f"{len(first.runs):,} runs of {rounds[-1]:,} rounds"
    figure.suptitle(
        f"Two worlds in which one noisy copy has the same distribution: regret against linear predictors, {runs}\n"
        "95 % intervals; above, bands that are simultaneous over rounds"
    )
    return figure


def _curves(axes: "Axes", shown: LearnerKinds, rounds: np.ndarray, estimate: Estimate) -> None:
    """Plot regret against rounds with bands on logarithmic axes; regrets of 0 or less are left out."""
    for mean, low, high, kind in zip(*estimate[:1], estimate.low, estimate.high, shown.kinds.values(), strict=True):
        mean, low, high = (np.where(values > 0, values, np.nan) for values in (mean, low, high))
        axes.plot(rounds, mean, color=shown.colours[kind], lw=1.5, zorder=3)
        axes.fill_between(rounds, low, high, color=shown.colours[kind], alpha=0.2, lw=0)
    axes.plot(rounds, shown.unavoidable * rounds, color="black", ls="--", lw=1.3, zorder=4)
    axes.plot(rounds, shown.unavoidable * np.sqrt(rounds * rounds[0]), color="0.6", lw=1.0, zorder=0)
    set_log_scales(axes)
    axes.set(xlabel="round", ylabel="regret")
    _label_ends(axes, shown, rounds[-1], estimate.mean[:, -1])


def _label_ends(axes: "Axes", shown: LearnerKinds, horizon: float, ends: Float[np.ndarray, "L"]) -> None:
    """Label the visible ends of the curves, pushed apart where labels would overlap."""
    visible = np.flatnonzero(ends > 0)
    top = -np.inf
    for group in sorted(_groups(np.log10(ends[visible])[:, None], 0.06), key=lambda group: ends[visible[group[0]]]):
        text, colour = _label(shown, [int(visible[i]) for i in group])
        end = float(np.mean(np.log10(ends[visible[group]])))
        half = 0.08 * (1 + text.count("\n"))
        height, top = max(end, top + half), max(end, top + half) + half
        axes.annotate(
            text, (horizon, 10**end), xytext=(horizon * 1.25, 10**height), va="center", fontsize=8, color=colour,
            annotation_clip=False, arrowprops={"arrowstyle": "-", "color": "0.75", "lw": 0.7, "shrinkA": 0},
        )  # fmt: skip


def _groups(points: Float[np.ndarray, "n k"], near: float) -> list[list[int]]:
    """Group points by distance: a point joins the first group whose first point is near, or starts a new group."""
    groups: list[list[int]] = []
    for i, point in enumerate(points):
        group = next((g for g in groups if np.linalg.norm(points[g[0]] - point) < near), None)
        groups.append([i]) if group is None else group.append(i)
    return groups


def _label(shown: LearnerKinds, group: list[int]) -> tuple[str, str]:
    names = [list(shown.kinds)[i] for i in group]
    kinds = {shown.kinds[name] for name in names}
    text = "\n".join(names) if len(names) < 3 else f"{names[0]} and {len(names) - 1} more"
    return text, shown.colours[kinds.pop()] if len(kinds) == 1 else "0.3"


def _dots(axes: "Axes", shown: LearnerKinds, ends: list[Estimate]) -> None:
    positions = -np.arange(len(shown.kinds), dtype=float)
    for end, filled in zip(ends, (False, True), strict=True):
        for i, kind in enumerate(shown.kinds.values()):
            width = [[end.mean[i] - end.low[i]], [end.high[i] - end.mean[i]]]
            face = shown.colours[kind] if filled else "white"
            axes.errorbar(
                end.mean[i],
                positions[i],
                xerr=width,
                fmt="o",
                ms=6.5,
                color=shown.colours[kind],
                mfc=face,
                mew=1.5,
                capsize=2,
            )
    for filled, text in ((False, "without noise"), (True, "with noise")):
        axes.plot([], [], "o", ms=6.5, color="0.3", mfc="0.3" if filled else "white", mew=1.5, label=text)
    axes.axvline(shown.unavoidable, color="black", ls="--", lw=1.3, label=f"unavoidable: {shown.unavoidable:.3f}")
    axes.axvline(0.0, color="0.5", lw=0.8, zorder=0)
    axes.legend(
        frameon=False, fontsize=9, loc="lower left" if min(end.mean.min() for end in ends) > -0.3 else "upper left"
    )
    axes.set_yticks(positions, list(shown.kinds), fontsize=9)
    for label, kind in zip(axes.get_yticklabels(), shown.kinds.values(), strict=True):
        label.set_color(shown.colours[kind])
    axes.set_xlabel("regret a round at the horizon")


def _trade_off(axes: "Axes", shown: LearnerKinds, means: Float[np.ndarray, "2 L"]) -> None:
    """Plot the regret in one world against that in the other; shade pairs that one copy cannot reach linearly."""
    # With one copy and mean hypothesis m, the regrets a round are at least F1(m) and F2(m).
    w = np.linspace(0.2, 1.0, 200)
    first = np.mean([(multiple * w - 1) ** 2 for multiple in NOISELESS_MULTIPLES], axis=0) - 0.8
    second = (w - 1) ** 2
    limit = 0.78
    axes.fill_between(np.append(first, limit), np.append(second, 0.0), color="0.9", lw=0, zorder=0)
    axes.plot(first, second, color="black", lw=1.3)
    balance = shown.unavoidable, shown.unavoidable
    axes.plot(*balance, "*", color="black", ms=12, zorder=2)
    axes.annotate(
        f"least larger regret:\n({balance[0]:.3f}, {balance[1]:.3f})", balance,
        xytext=(-28, -66), textcoords="offset points", fontsize=9, arrowprops={"arrowstyle": "-", "color": "0.4"},
    )  # fmt: skip
    text = "out of reach for linear\npredictors with one copy"
    axes.text(0.42, 0.03, text, color="0.35", fontsize=9)
    linear = [i for i, kind in enumerate(shown.kinds.values()) if kind != shown.not_linear]
    for i in linear:
        axes.plot(*means[:, i], "o", color=shown.colours[list(shown.kinds.values())[i]], ms=7, alpha=0.85, zorder=3)
    for group in _groups(means[:, linear].T, _LABEL_DISTANCE):
        text, colour = _label(shown, [linear[i] for i in group])
        x, y = means[:, [linear[i] for i in group]].max(axis=1)
        axes.annotate(
            text, (x, y), xytext=(7, 5), textcoords="offset points", fontsize=8.5, color=colour,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 1.0},
        )  # fmt: skip
    axes.set(xlim=(-0.03, limit), ylim=(-0.03, limit), aspect="equal")
    axes.set(xlabel="regret a round without noise", ylabel="regret a round with noise")
