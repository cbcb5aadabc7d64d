"""Simulation of as many runs as are needed for confidence intervals of a given width."""

import dataclasses
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxonline.parameters.types import CountFrom2, OpenUnitFloat, PositiveFloat, Text
from jaxonline.parameters.validation import check_fields
from jaxonline.parameters.warning_classes import PrecisionWarning
from jaxonline.results import Result
from jaxonline.results.statistics.intervals import Anytime

INTERVAL = Anytime()


@dataclass(frozen=True)
class Precision:
    """Stopping rule: a study ends when every learner's interval at the horizon is narrow enough.

    The rule checks the intervals repeatedly. The intervals are `jo.intervals.Anytime`, which hold for all numbers of
    runs at once; `Result.mean` uses this interval too. The intervals rely on the central limit theorem, so the first
    check needs `least_runs` runs.

    Args:
        half_width: largest allowed half-width of the intervals.
        relative: whether `half_width` is relative to the mean.
        quantity: the quantity whose intervals are checked: "regret", or the name of a measure.
        level: probability with which an interval covers its quantity.
        least_runs: number of runs before the first check.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> arms = jo.environments.BernoulliArms([0.2, 0.8])
        >>> game = jo.Game(arms, jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> precision = jo.Precision(0.05, relative=True, quantity="cumulative_loss")
        >>> options = dict(n_rounds=50, n_runs=10_000, block_size=64, precision=precision)
        >>> result = jo.simulate(game, jo.learners.UCB1(), **options)
        >>> of = result.mean("cumulative_loss")
        >>> bool(((of.high - of.mean)[:, -1] <= 0.05 * of.mean[:, -1]).all()), len(result.runs) < 2000
        (True, True)
    """

    half_width: PositiveFloat
    relative: bool = False
    quantity: Text = "regret"
    level: OpenUnitFloat = 0.95
    least_runs: CountFrom2 = 100

    def __post_init__(self):
        check_fields(self)

    def attributes(self, reached: bool, runs: int) -> dict[str, Any]:
        """Return attributes of a store: the requested precision, whether it is reached, and the kind of interval."""
        return {"precision": self.summary(reached, runs), "interval": INTERVAL.to_json()}

    def summary(self, reached: bool, runs: int) -> dict[str, Any]:
        """Return the requested precision and whether it is reached, for `Result.meta`."""
        requested = {name: getattr(self, name) for name in ("half_width", "relative", "quantity", "level")}
        return requested | {"reached": reached, "runs": runs}

    def excess(self, result: Result) -> float:
        """Return the widest half-width at the horizon divided by the requested one; at most 1 means reached."""
        estimate = result.mean(self.quantity, self.level, INTERVAL)
        mean = estimate.mean[:, -1]
        requested = self.half_width * (np.abs(mean) if self.relative else np.ones(len(result.learners)))
        half = estimate.high[:, -1] - mean
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(half == 0, 0.0, half / requested)
        return float(np.max(np.where(np.isnan(ratios), np.inf, ratios)))


def until_precise(
    play: Callable[[range, Result | None], Result], precision: Precision, most_runs: int, step: int
) -> Result:  # fmt: skip
    """Simulate runs 0, 1, 2, ... until the precision is reached; `PrecisionWarning` if `most_runs` do not suffice.

    `play` maps a range of runs and the result of earlier runs to the result of all these runs. The number of runs is a
    multiple of `step`, or `most_runs`.
    """
    result, n = None, 0
    until = _round_up(precision.least_runs, step, most_runs)
    while True:
        result, n = play(range(n, until), result), until
        excess = precision.excess(result)
        if excess <= 1.0 or n == most_runs:
            break
        estimated = n * min(4.0, max(1.0, excess**2)) if math.isfinite(excess) else 2 * n
        until = _round_up(max(int(estimated), n + 1), step, most_runs)
    if excess > 1.0:
        warnings.warn(
            f"precision: not reached in n_runs={most_runs:,}; the widest interval of the {precision.quantity} has "
            f"{excess:.3g} times the requested half-width {precision.half_width:g}"
            f"{' of the mean' if precision.relative else ''}",
            PrecisionWarning, stacklevel=3,
        )  # fmt: skip
    meta = result.meta | {"precision": precision.summary(excess <= 1.0, n)}
    return dataclasses.replace(result, meta=meta, interval=INTERVAL)


def _round_up(runs: int, step: int, most: int) -> int:
    return min(most, -(-runs // step) * step)
