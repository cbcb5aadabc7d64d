"""Figure of the study of "Bandit Algorithms": five panels, and their legend."""

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.papers.published.bandit_algorithms_runs import (
    ASYMPTOTIC,
    COMMITMENTS,
    MINIMAX,
    THOMPSON,
    TUNED,
    UCB,
    Regrets,
)
from benchmarks.papers.published.bandit_algorithms_statements import PUBLISHED_THOMPSON
from benchmarks.papers.published.explore_then_commit import (
    best_commitment,
    commitment,
    commitment_bound,
    expected_regret,
)
from jaxonline.results.report.plotting import COLOURS, style_axes
from jaxonline.results.statistics import mean_over_runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POLICY_COLOURS = {UCB: COLOURS[0], ASYMPTOTIC: COLOURS[1], MINIMAX: COLOURS[3], THOMPSON: COLOURS[4]}
GREYS = ("0.6", "0.5", "0.38", "0.22")


def plot_book(n_rounds: int, by_gap: dict[float, Regrets], by_arms: dict[int, Regrets], thompson: Regrets) -> "Figure":
    """Draw the regrets; lines without dots are closed forms and bounds."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.5, 7.4), layout="constrained")
    (first, second, third), (fourth, fifth, legend) = figure.subplots(2, 3)
    gaps = list(by_gap)
    fine = np.linspace(0.02, max(gaps), 197)
    _plot_commitment(first, fine, n_rounds, by_gap)
    _plot_universality(second, fine, n_rounds, by_gap)
    for name in POLICY_COLOURS:
        _plot_simulated(third, gaps, [by_gap[gap][name] for gap in gaps], name)
    _plot_many_arms(fourth, by_arms)
    _plot_thompson(fifth, thompson)
    style_axes(first, "gap", "regret", f"Figure 6.1: ETC, n = {n_rounds:,}")
    style_axes(second, "gap", "regret", f"Figure 7.1: UCB and ETC, n = {n_rounds:,}")
    style_axes(third, "gap", "regret", f"Chapters 7, 8, 9 and 36, n = {n_rounds:,}")
    style_axes(fourth, "arms k", "regret", "Section 9.2: n = k³, one close arm")
    style_axes(fifth, "regret", "share of runs above", "Experiment 36.1: gap 0.2, n = 2,000")
    for axes in (first, second, third, fourth):
        axes.set_ylim(bottom=0)
    fourth.set_xticks(list(by_arms), [str(k) for k in by_arms])
    _draw_legend(legend)
    figure.suptitle("Bandit Algorithms (Lattimore and Szepesvari 2020): Gaussian arms with variance 1")
    return figure


def _plot_commitment(axes: "Axes", fine: np.ndarray, n_rounds: int, by_gap: dict[float, Regrets]) -> None:
    axes.plot(fine, [commitment_bound(gap, n_rounds) for gap in fine], color=COLOURS[3], lw=1.6, ls="--")
    exact = [expected_regret(gap, commitment(gap, n_rounds), n_rounds) for gap in fine]
    axes.plot(fine, exact, color="0.25", lw=1.6)
    _plot_simulated(axes, list(by_gap), [regrets[TUNED] for regrets in by_gap.values()], TUNED)


def _plot_universality(axes: "Axes", fine: np.ndarray, n_rounds: int, by_gap: dict[float, Regrets]) -> None:
    for (name, m), grey in zip(COMMITMENTS.items(), GREYS, strict=True):
        axes.plot(fine, [expected_regret(gap, m, n_rounds) for gap in fine], color=grey, lw=1.3)
        _plot_simulated(axes, list(by_gap), [regrets[name] for regrets in by_gap.values()], name, grey, line=False)
        axes.annotate(f"m = {m}", (fine[-1], m * fine[-1]), xytext=(6, 0), textcoords="offset points", fontsize=8,
                      color=grey, va="center", annotation_clip=False)  # fmt: skip
    best = [expected_regret(gap, best_commitment(gap, n_rounds), n_rounds) for gap in fine]
    axes.plot(fine, best, color="black", lw=1.6, ls=":")
    _plot_simulated(axes, list(by_gap), [regrets[UCB] for regrets in by_gap.values()], UCB)
    axes.set_ylim(0, 110)


def _plot_many_arms(axes: "Axes", by_arms: dict[int, Regrets]) -> None:
    for name in (ASYMPTOTIC, MINIMAX):
        _plot_simulated(axes, list(by_arms), [regrets[name] for regrets in by_arms.values()], name)


def _plot_thompson(axes: "Axes", thompson: Regrets) -> None:
    """Plot the share of runs with more regret than x, the mean regrets, and the mean of the book."""
    for name, values in thompson.items():
        share = 1.0 - np.arange(len(values)) / len(values)
        axes.plot(np.sort(values), share, color=POLICY_COLOURS[name], lw=1.4)
        axes.axvline(float(values.mean()), color=POLICY_COLOURS[name], lw=1, ls="--")
    axes.plot(PUBLISHED_THOMPSON, 1.0, "v", color="black", ms=7, clip_on=False, zorder=3)
    axes.set_yscale("log")
    axes.set_yticks([1.0, 0.1, 0.01, 0.001], ["1", "0.1", "0.01", "0.001"])
    axes.minorticks_off()


def _plot_simulated(
    axes: "Axes", x: list[Any], runs: list[np.ndarray], name: str, colour: str = "", line: bool = True
) -> None:
    """Plot mean regrets with their 95 % intervals."""
    estimate = mean_over_runs(np.stack(runs))
    errors = [estimate.mean - estimate.low, estimate.high - estimate.mean]
    style = "-" if line and name in POLICY_COLOURS else "none"
    colour = colour or POLICY_COLOURS.get(name, "0.25")
    axes.errorbar(x, estimate.mean, errors, color=colour, ls=style, marker="o", ms=4, lw=1.4, capsize=2)


def _draw_legend(axes: "Axes") -> None:
    axes.set_axis_off()
    for name, colour in POLICY_COLOURS.items():
        axes.plot([], [], color=colour, marker="o", ms=4, lw=1.4, label=name)
    axes.plot([], [], color="0.25", marker="o", ms=4, ls="none", label="ETC, simulated")
    axes.plot([], [], color="0.25", lw=1.6, label="ETC, closed form")
    axes.plot([], [], color="black", lw=1.6, ls=":", label="ETC, optimal m, closed form")
    axes.plot([], [], color=COLOURS[3], lw=1.6, ls="--", label="bound (6.6)")
    axes.plot([], [], color="0.25", lw=1, ls="--", label="mean regret (experiment 36.1)")
    axes.plot([], [], "v", color="black", ms=7, label="mean regret in the book, 29.9")
    axes.legend(loc="center left", frameon=False, fontsize=10)
