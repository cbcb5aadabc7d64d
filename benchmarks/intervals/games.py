"""Coverage of the statistics across games."""

from collections.abc import Iterable

import numpy as np

from benchmarks.intervals.laws import LAWS, Row, coverage_table
from jaxonline.results import AcrossGames
from jaxonline.results.report.tables import Table
from jaxonline.results.statistics.across_games import AGGREGATES

TITLE = "Statistics across games"
SCALES = {"a": 0.6, "b": 0.9, "c": 1.1, "d": 1.6}  # of the mean loss in four games
DEVIATION, STUDIES, LARGE = 0.5, 200, 400_000
CHOSEN = (
    "normal", "bimodal", "exponential", "lognormal", "Pareto",
    "spikes 5%",
)  # fmt: skip


def draw_losses(rng: np.random.Generator, law: str, n: int) -> dict[str, np.ndarray]:
    """Return losses [2, n] of two learners in four games, divided by the losses that become 1."""
    own = LAWS[law]
    return {
        game: scale * (1.0 + DEVIATION / own.deviation * own.centred(rng, (2, n))) for game, scale in SCALES.items()
    }


def coverage_across_games(laws: Iterable[str] = CHOSEN, numbers_of_runs: Iterable[int] = (10, 20, 50)) -> Table:
    """Coverage of the aggregates of one learner, and of the probability that it is better than an equal learner."""
    rows, ones = [], dict.fromkeys(SCALES, 1.0)
    for law in laws:
        large = [losses[0] for losses in draw_losses(np.random.default_rng(9), law, LARGE).values()]
        pooled = np.sort(np.concatenate(large))
        middle = pooled[len(pooled) // 4 : 3 * len(pooled) // 4].mean()
        scales = list(SCALES.values())
        true = (middle, np.median(scales), np.mean(scales), np.maximum(pooled - 1.0, 0.0).mean())
        for n in numbers_of_runs:
            rng, covers = np.random.default_rng([9, n]), np.zeros(5)
            for _ in range(STUDIES):
                losses = draw_losses(rng, law, n)
                one = AcrossGames(("a",), {game: own[:1] for game, own in losses.items()}, ones).aggregates.values()
                covers[:4] += [bool(of.low <= t <= of.high) for of, t in zip(one, true, strict=True)]
                chance = AcrossGames(("a", "b"), losses, ones).probability_of_improvement("a", "b")
                covers[4] += bool(chance.low <= 0.5 <= chance.high)
            names = (*AGGREGATES, "P(better)")
            percentages: Row = {name: 100 * own / STUDIES for name, own in zip(names, covers.tolist(), strict=True)}
            rows.append({"law": law, "runs": str(n)} | percentages)
    return coverage_table(rows, *AGGREGATES, "P(better)")


def section() -> str:
    """Return the section about statistics across games."""
    scales = ", ".join(f"{scale:g}" for scale in SCALES.values())
    return f"""\
Percentage of {STUDIES} studies in which the interval of `AcrossGames` contains the true value, in {len(SCALES)} games
with the mean losses {scales} and the standard deviation {DEVIATION:g} times the mean. The losses that become 0 and 1
are the numbers 0 and 1. Aggregates that use the mean of a learner as such a number have no intervals. `AcrossGames`
emits no warning of skewed runs. 95 % within chance is at least 91.9 %.

{coverage_across_games().markdown()}"""
