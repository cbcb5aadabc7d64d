"""Figure of the experiment of Garivier and Moulines (2011): mean rewards, regret, and pulls of the best arm."""

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.papers.published.non_stationary_arms import BEST, REWARDS
from benchmarks.papers.published.skewed_runs import mean_regret
from jaxonline.results import Result
from jaxonline.results.report.plotting import COLOURS, plot_band, style_axes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINES = COLOURS[0], COLOURS[3], COLOURS[1], COLOURS[4]
ARM_STYLES = "-", "--", ":"


def plot_changes(starts: tuple[int, int], result: Result) -> "Figure":
    """Draw mean rewards, which change at `starts`, the regret with 95 % bands, and the shares of the best arm."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.5, 4.1), layout="constrained")
    rewards, regret, best = figure.subplots(1, 3)
    edges = [0, *starts, int(result.rounds[-1])]
    for arm, style in enumerate(ARM_STYLES):
        rewards.stairs([row[arm] for row in REWARDS], edges, color="0.2", ls=style, lw=1.8, baseline=None,
                       label=f"arm {arm + 1}")  # fmt: skip
    rewards.set_ylim(0, 1)
    rewards.legend(frameon=False, fontsize=9)
    estimate, shares = mean_regret(result), _recent_shares(starts, result)
    middles = (result.rounds + np.concatenate([[0], result.rounds[:-1]])) / 2
    for i, (name, colour) in enumerate(zip(result.learners, LINES, strict=True)):
        plot_band(regret, result.rounds, estimate, i, color=colour, lw=1.6, label=name)
        best.plot(middles, 100 * shares[i], color=colour, lw=1.3)
    for axes in (regret, best):
        for start in starts:
            axes.axvline(start, color="0.6", lw=0.8, ls=":")
        axes.set_ylim(bottom=0)
    regret.legend(frameon=False, fontsize=9, loc="upper left")
    style_axes(rewards, "round", "mean reward", "The three arms")
    style_axes(regret, "round", "regret", "Regret against the best arm of each round")
    style_axes(best, "round", "% of pulls", "Pulls of the best arm between recorded rounds")
    figure.suptitle("Garivier and Moulines (2011), abrupt changes")
    return figure


def _recent_shares(starts: tuple[int, int], result: Result) -> np.ndarray:
    """Return the mean share of pulls of the best arm since the previous recorded round [learners, rounds]."""
    pulls = np.asarray(result.measures["pulls"]).mean(axis=1)  # learners, rounds, arms
    segment = np.searchsorted(starts, result.rounds, side="right")
    recent = np.diff(pulls, axis=1, prepend=0) / np.diff(result.rounds, prepend=0)[:, None]
    return recent[:, np.arange(len(segment)), np.asarray(BEST)[segment]]
