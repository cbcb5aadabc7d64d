"""Figure of the experiments of Auer, Cesa-Bianchi and Fischer (2002): best arm and regret by distribution."""

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.papers.published.finite_time_curves import FIRST, SECOND, TUNED, best_arm_shares, final_regrets
from benchmarks.papers.published.skewed_runs import mean_regret
from jaxonline.results import Result
from jaxonline.results.report.plotting import COLOURS, plot_band, set_log_scales, style_axes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLES = {FIRST: (COLOURS[0], "-"), TUNED: (COLOURS[1], "-"), SECOND: (COLOURS[3], "-")}
BEST, WORST = ("black", "-"), ("0.55", "--")


def plot_experiments(results: dict[int, Result]) -> "Figure":
    """Draw a column of two panels for each distribution: share of pulls of the best arm, and regret with 95 % bands."""
    from matplotlib.figure import Figure

    columns = len(results)
    figure = Figure(figsize=(max(2.15 * columns, 5.0), 5.6), layout="constrained")
    panels = np.atleast_2d(figure.subplots(2, columns, sharex=True, sharey="row", squeeze=False))
    for column, (number, result) in enumerate(results.items()):
        shares, regret = best_arm_shares(result), mean_regret(result)
        for i, (colour, style) in _drawn(result).items():
            panels[0, column].plot(result.rounds, 100 * shares[i], color=colour, ls=style, lw=1.4)
            plot_band(panels[1, column], result.rounds, regret, i, color=colour, ls=style, lw=1.4)
        for row, name in enumerate(("% best arm", "regret")):
            axes = panels[row, column]
            style_axes(axes, "" if row == 0 else "round", name if column == 0 else "")
            set_log_scales(axes, linear_y=row == 0)
        panels[0, column].set_title(f"distribution {number}", fontsize=10)
        panels[0, column].set_ylim(0, 100)
    panels[1, 0].set_ylim(bottom=0.5)
    names = (FIRST, TUNED, SECOND, "epsilon-greedy, best c", "epsilon-greedy, worst c")
    styles = (*STYLES.values(), BEST, WORST)
    handles = [
        panels[0, 0].plot([], [], color=colour, ls=style, lw=1.6, label=name)[0]
        for name, (colour, style) in zip(names, styles, strict=True)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=5, frameon=False, fontsize=10)
    figure.suptitle("Auer, Cesa-Bianchi and Fischer (2002), section 4")
    return figure


def _drawn(result: Result) -> dict[int, tuple[str, str]]:
    """Return the colour and the line style of the drawn learners: of epsilon-greedy, only the best and worst c."""
    regrets = final_regrets(result)
    greedy = sorted((name for name in regrets if name not in STYLES), key=lambda name: regrets[name].mean())
    styles = {**STYLES, greedy[-1]: WORST, greedy[0]: BEST}
    return {result.learners.index(name): style for name, style in styles.items()}
