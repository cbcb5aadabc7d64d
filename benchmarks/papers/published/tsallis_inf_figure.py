"""Figure of the experiments of Zimmert and Seldin (2021): regret on stochastic and on adversarial losses."""

from typing import TYPE_CHECKING

from benchmarks.papers.published.skewed_runs import mean_regret
from benchmarks.papers.published.tsallis_inf_games import (
    ADVERSARIAL,
    EXPONENTIAL,
    REDUCED,
    STOCHASTIC,
    THOMPSON,
    UCB,
    WEIGHTED,
)
from jaxonline.results import Result
from jaxonline.results.report.plotting import COLOURS, plot_band, set_log_scales, style_axes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLES = {
    REDUCED: (COLOURS[0], "-"), WEIGHTED: (COLOURS[2], "--"), EXPONENTIAL: (COLOURS[4], "-"), UCB: (COLOURS[3], "-"),
    THOMPSON: (COLOURS[1], "-"),
}  # fmt: skip
TITLES = {STOCHASTIC: "Stochastic losses", ADVERSARIAL: "Means that an adversary changes, with a constant gap"}


def plot_tsallis(title: str, starts: list[int], results: dict[str, Result]) -> "Figure":
    """Draw the regrets with 95 % bands on logarithmic axes; dotted lines mark the `starts` of the phases."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.5, 4.4), layout="constrained")
    panels = dict(zip(results, figure.subplots(1, 2, sharey=True), strict=True))
    for losses, axes in panels.items():
        result = results[losses]
        estimate = mean_regret(result)
        for i, name in enumerate(result.learners):
            colour, style = STYLES[name]
            plot_band(axes, result.rounds, estimate, i, color=colour, ls=style, lw=1.6, label=name)
        style_axes(axes, "round", "regret" if losses == STOCHASTIC else "", TITLES[losses])
        set_log_scales(axes)
    for start in starts:
        if start >= results[ADVERSARIAL].rounds[0]:
            panels[ADVERSARIAL].axvline(start, color="0.6", lw=0.8, ls=":")
    panels[STOCHASTIC].legend(frameon=False, fontsize=9, loc="upper left")
    figure.suptitle(title)
    return figure
