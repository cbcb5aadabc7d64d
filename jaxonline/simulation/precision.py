"""As many runs as an interval needs."""

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
    """When a study has runs enough: every learner's interval at the horizon is narrow.

    Who looks at intervals and stops when he likes what he sees needs intervals that hold for all numbers of runs at
    once: it is `jo.intervals.Anytime` that is looked at, and that the result has. Like
    Student's it is one of the central limit theorem, so `least_runs` are played before the first look.

    Args:
        half_width: of the intervals.
        relative: the half-width is a part of the mean's size.
        quantity: whose interval: "regret", or a measure by its name.
        level: the probability with which an interval covers its quantity.
        least_runs: the runs that are played before the first look at the intervals.

    Example:
        >>> import numpy as np
        >>> import jaxonline as jo
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
        """Attributes of a store: what was asked for, whether it is reached, and the interval."""
        return {"precision": self.summary(reached, runs), "interval": INTERVAL.to_json()}

    def summary(self, reached: bool, runs: int) -> dict[str, Any]:
        """What was asked for and whether it is reached, for `Result.meta`."""
        asked = {name: getattr(self, name) for name in ("half_width", "relative", "quantity", "level")}
        return asked | {"reached": reached, "runs": runs}

    def excess(self, result: Result) -> float:
        """The widest interval at the horizon in units of the half-width asked for: at most 1 where it is reached."""
        of = result.mean(self.quantity, self.level, INTERVAL)
        wanted = self.half_width * (np.abs(of.mean[:, -1]) if self.relative else np.ones(len(result.learners)))
        half = of.high[:, -1] - of.mean[:, -1]
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.where(half == 0, 0.0, half / wanted)
        return float(np.max(np.where(np.isnan(found), np.inf, found)))


def until_precise(
    play: Callable[[range, Result | None], Result], precision: Precision, most_runs: int, step: int
) -> Result:  # fmt: skip
    """Play runs 0, 1, 2, ... until the precision is reached, or `most_runs` are played.

    Args:
        play: plays a range of runs, given the result of those before it; returns that of all of them.
        precision: what is wanted.
        most_runs: where to stop anyhow.
        step: runs that are played together.

    Warns:
        PrecisionWarning: the precision is not reached.
    """
    result, n = None, 0
    until = _whole(precision.least_runs, step, most_runs)
    while True:
        result, n = play(range(n, until), result), until
        excess = precision.excess(result)
        if excess <= 1.0 or n == most_runs:
            break
        wanted = n * min(4.0, max(1.0, excess**2)) if math.isfinite(excess) else 2 * n
        until = _whole(max(int(wanted), n + 1), step, most_runs)
    if excess > 1.0:
        warnings.warn(
            f"the precision is not reached in n_runs={most_runs:,}: the widest interval of the "
            f"{precision.quantity} has {excess:.3g} times the half-width asked for, {precision.half_width:g}"
            f"{' of the mean' if precision.relative else ''}",
            PrecisionWarning, stacklevel=3,
        )  # fmt: skip
    meta = result.meta | {"precision": precision.summary(excess <= 1.0, n)}
    return dataclasses.replace(result, meta=meta, interval=INTERVAL)


def _whole(runs: int, step: int, most: int) -> int:
    return min(most, -(-runs // step) * step)
