"""The figure of the study of one and two copies: four panels."""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from jaxonline.environments.adversaries import SCATTERED
from jaxonline.results import Estimate
from jaxonline.results.plotting import COLOURS
from jaxonline.study.ready.impossibility import KINDS, MEAN, ONE, OTHER, TOLD, TWO, WORLDS, Impossibility

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLE = {ONE: COLOURS[3], TOLD: COLOURS[1], TWO: COLOURS[0], MEAN: COLOURS[5], OTHER: COLOURS[4]}
TITLES = "without noise: x is 3e or -e, and so is every copy", "with noise: x is e, a copy of it is 3e or -e"
_NEAR = 0.07  # regrets a round that are closer share a label


def plot_impossibility(study: Impossibility) -> "Figure":
    """Regret against rounds in both worlds, regret a round by learner, and what one copy cannot reach.

    Example:
        >>> from jaxonline.study.ready.impossibility import impossibility
        >>> from jaxonline.study.ready.impossibility_figure import plot_impossibility
        >>> len(plot_impossibility(impossibility(n_runs=8, n_rounds=200, only=("one copy",))).axes)
        4
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(14.5, 11.0), layout="constrained")
    figure.get_layout_engine().set(h_pad=0.12, w_pad=0.1)  # type: ignore[union-attr]
    panels = figure.subplots(2, 2, height_ratios=(1, 1.15))
    estimates = [getattr(study, world).mean() for world in WORLDS]
    for axes, title, estimate in zip(panels[0], TITLES, estimates, strict=True):
        _curves(axes, study, estimate)
        axes.set_title(title, fontsize=11)
    limits = [axes.get_ylim() for axes in panels[0]]
    for axes in panels[0]:
        axes.set_ylim(min(low for low, _ in limits), max(high for _, high in limits) * 4)
    for kind in KINDS:
        if kind in study.kinds.values():
            panels[0, 0].plot([], [], color=STYLE[kind], lw=2, label=kind)
    panels[0, 0].plot(
        [], [], color="black", ls="--", lw=1.3, label=f"unavoidable in one of the worlds: {study.unavoidable:.3f} t"
    )
    panels[0, 0].plot([], [], color="0.6", lw=1.0, label="slope 1/2")
    panels[0, 0].legend(frameon=False, fontsize=9, loc="upper left")
    horizon = study.with_noise.rounds[-1]
    ends = [Estimate(*(part[:, -1] / (horizon if i < 4 else 1) for i, part in enumerate(e))) for e in estimates]
    _dots(panels[1, 0], study, ends)
    _trade_off(panels[1, 1], study, np.stack([end.mean for end in ends]))
    for axes in panels.ravel():
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    runs = f"{len(study.with_noise.runs):,} runs of {horizon:,} rounds"
    figure.suptitle(f"Two worlds in which one noisy copy has the same law: regret against linear predictors, {runs}")
    return figure


def _curves(axes: "Axes", study: Impossibility, estimate: Estimate) -> None:
    """Regret against rounds with intervals, on logarithmic axes; what is not above 0 is left out."""
    rounds = study.with_noise.rounds.astype(float)
    for mean, low, high, kind in zip(*estimate[:1], estimate.low, estimate.high, study.kinds.values(), strict=True):
        mean, low, high = (np.where(part > 0, part, np.nan) for part in (mean, low, high))
        axes.plot(rounds, mean, color=STYLE[kind], lw=1.5, zorder=3)
        axes.fill_between(rounds, low, high, color=STYLE[kind], alpha=0.2, lw=0)
    axes.plot(rounds, study.unavoidable * rounds, color="black", ls="--", lw=1.3, zorder=4)
    axes.plot(rounds, study.unavoidable * np.sqrt(rounds * rounds[0]), color="0.6", lw=1.0, zorder=0)
    axes.set(xscale="log", yscale="log", xlabel="round", ylabel="regret")
    _label_ends(axes, study, rounds[-1], estimate.mean[:, -1])


def _label_ends(axes: "Axes", study: Impossibility, horizon: float, ends: Float[np.ndarray, "L"]) -> None:
    """Names beside the ends of the curves that can be seen, pushed apart where they would overlap."""
    seen = np.flatnonzero(ends > 0)
    top = -np.inf
    for group in sorted(_groups(np.log10(ends[seen])[:, None], 0.06), key=lambda group: ends[seen[group[0]]]):
        text, colour = _label(study, [int(seen[i]) for i in group])
        end = float(np.mean(np.log10(ends[seen[group]])))
        half = 0.08 * (1 + text.count("\n"))
        at, top = max(end, top + half), max(end, top + half) + half
        axes.annotate(
            text, (horizon, 10**end), xytext=(horizon * 1.25, 10**at), va="center", fontsize=8, color=colour,
            annotation_clip=False, arrowprops={"arrowstyle": "-", "color": "0.75", "lw": 0.7, "shrinkA": 0},
        )  # fmt: skip


def _groups(points: Float[np.ndarray, "n k"], near: float) -> list[list[int]]:
    """Points by neighbourhood: each joins the first group whose first point is near, or opens one."""
    groups: list[list[int]] = []
    for i, point in enumerate(points):
        group = next((g for g in groups if np.linalg.norm(points[g[0]] - point) < near), None)
        groups.append([i]) if group is None else group.append(i)
    return groups


def _label(study: Impossibility, group: list[int]) -> tuple[str, str]:
    """The name of a group of learners, and its colour."""
    names = [list(study.kinds)[i] for i in group]
    kinds = {study.kinds[name] for name in names}
    text = "\n".join(names) if len(names) < 3 else f"{names[0]} and {len(names) - 1} more"
    return text, STYLE[kinds.pop()] if len(kinds) == 1 else "0.3"


def _dots(axes: "Axes", study: Impossibility, ends: list[Estimate]) -> None:
    """Regret a round with its interval in both worlds, by learner."""
    at = -np.arange(len(study.kinds), dtype=float)
    for end, filled in zip(ends, (False, True), strict=True):
        for i, kind in enumerate(study.kinds.values()):
            width = [[end.mean[i] - end.low[i]], [end.high[i] - end.mean[i]]]
            face = STYLE[kind] if filled else "white"
            axes.errorbar(
                end.mean[i], at[i], xerr=width, fmt="o", ms=6.5, color=STYLE[kind], mfc=face, mew=1.5, capsize=2
            )
    for filled, text in ((False, "without noise"), (True, "with noise")):
        axes.plot([], [], "o", ms=6.5, color="0.3", mfc="0.3" if filled else "white", mew=1.5, label=text)
    axes.axvline(study.unavoidable, color="black", ls="--", lw=1.3, label=f"unavoidable: {study.unavoidable:.3f}")
    axes.axvline(0.0, color="0.5", lw=0.8, zorder=0)
    axes.legend(
        frameon=False, fontsize=9, loc="lower left" if min(end.mean.min() for end in ends) > -0.3 else "upper left"
    )
    axes.set_yticks(at, list(study.kinds), fontsize=9)
    for label, kind in zip(axes.get_yticklabels(), study.kinds.values(), strict=True):
        label.set_color(STYLE[kind])
    axes.set_xlabel("regret a round at the horizon")
    axes.set_title("the larger of the two is what the theorem is about", fontsize=11)


def _trade_off(axes: "Axes", study: Impossibility, means: Float[np.ndarray, "2 L"]) -> None:
    """One regret against the other, and the pairs that no linear predictor with one copy can reach."""
    # with one copy and m the mean of the hypotheses, the regrets a round are at least F1(m) and F2(m)
    w = np.linspace(0.2, 1.0, 200)
    first = np.mean([(multiple * w - 1) ** 2 for multiple in SCATTERED], axis=0) - 0.8
    second = (w - 1) ** 2
    most = 0.78
    axes.fill_between(np.append(first, most), np.append(second, 0.0), color="0.9", lw=0, zorder=0)
    axes.plot(first, second, color="black", lw=1.3)
    balance = study.unavoidable, study.unavoidable
    axes.plot(*balance, "*", color="black", ms=12, zorder=2)
    axes.annotate(
        f"least larger regret:\n({balance[0]:.3f}, {balance[1]:.3f})", balance,
        xytext=(-28, -66), textcoords="offset points", fontsize=9, arrowprops={"arrowstyle": "-", "color": "0.4"},
    )  # fmt: skip
    text = "out of reach\nfor linear predictors that take\none copy and know no more"
    axes.text(0.42, 0.03, text, color="0.35", fontsize=9)
    shown = [i for i, kind in enumerate(study.kinds.values()) if kind != OTHER]
    for i in shown:
        axes.plot(*means[:, i], "o", color=STYLE[list(study.kinds.values())[i]], ms=7, alpha=0.85, zorder=3)
    for group in _groups(means[:, shown].T, _NEAR):
        text, colour = _label(study, [shown[i] for i in group])
        x, y = means[:, [shown[i] for i in group]].max(axis=1)
        axes.annotate(
            text, (x, y), xytext=(7, 5), textcoords="offset points", fontsize=8.5, color=colour,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 1.0},
        )  # fmt: skip
    axes.set(xlim=(-0.03, most), ylim=(-0.03, most), aspect="equal")
    axes.set(xlabel="regret a round without noise", ylabel="regret a round with noise")
    axes.set_title("what one world is spared the other one pays", fontsize=11)
