"""Estimates from the runs of a `Result`: the numbers of its methods."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.results.quantities import LOSS_OF_REWARD, REWARD_OF_LOSS, has_rewards, is_reward, label_of, rounds_played
from jaxonline.results.statistics import means
from jaxonline.results.statistics.intervals import (
    Anytime,
    ConfidenceInterval,
    Estimate,
    SkewCorrected,
    Student,
    check_interval,
)

NO_COMPARATOR = (
    "must be given for the regret (got None); pass simulate(..., comparator=jo.BestArm()) for arms, "
    "jo.L2Ball(radius) for vectors"
)
ALL, LAST = slice(None), slice(-1, None)


def recorded_array(result: Any, quantity: str) -> Any:
    """Return the array of a quantity [L, R, G, ...], or of losses for regret and rewards; raises if it is unknown."""
    if quantity in ("regret", "comparator_loss", "comparator_reward") and result.comparator_loss is None:
        raise ArgumentError("comparator", NO_COMPARATOR)
    if not (has_rewards(result) and quantity in REWARD_OF_LOSS):  # losses are stored, but not listed
        check.choice("quantity", quantity, result.quantities)
    if has_rewards(result):
        quantity = LOSS_OF_REWARD.get(quantity, quantity)
    if quantity in result.measures:
        return result.measures[quantity]
    return result.cumulative_loss if quantity == "regret" else result.comparator_loss


def check_number(result: Any, quantity: str) -> None:
    """Check that the study has the quantity, and that the quantity is a number, not a vector, in each round."""
    if recorded_array(result, quantity).ndim > 3:
        raise ArgumentError("quantity", f"must be a number in each round (got {quantity!r}, which is a vector)")


def values(result: Any, quantity: str, learners: slice = ALL, rounds: slice = ALL) -> np.ndarray:
    """Return the part of `Result.values` for some learners and rounds."""
    array = recorded_array(result, quantity)[learners, :, rounds]
    if quantity == "regret" and quantity not in result.measures:
        array = array - result.comparator_loss[learners, :, rounds]
    elif is_reward(result, quantity):
        played = rounds_played(result)
        array = (played[rounds] if played.ndim == 1 else played[learners, :, rounds]) - array
    left_out = (result.first_nonfinite[learners] > 0) | (result.first_overflow[learners] > 0)
    return np.where(left_out.reshape(left_out.shape + (1,) * (array.ndim - 2)), np.nan, array)


def costs(result: Any, quantity: str) -> np.ndarray:
    """Return the quantity at the horizon [L, R], or the negative reward, so that a smaller number is better."""
    last = values(result, quantity, rounds=LAST)[:, :, 0]
    return -last if is_reward(result, quantity) else last


def curves(result: Any, quantity: str, since: int = 0) -> Iterator[np.ndarray]:
    """Yield the values [R, G] of each learner, from the recorded round at position `since` on."""
    for i in range(len(result.learners)):
        yield values(result, quantity, slice(i, i + 1), slice(since, None))[0]


def mean(result: Any, quantity: str, level: float, interval: ConfidenceInterval | None) -> Estimate:
    """See `Result.mean`."""
    interval = choose_interval(result, quantity, interval)
    if isinstance(interval, Student | SkewCorrected) and recorded_array(result, quantity).ndim == 3:
        last = values(result, quantity, rounds=LAST)[:, :, 0]
        means.warn_of_skewness(last, result.learners, label_of(quantity))
    return _estimate(result, quantity, level, interval)


def at_horizon(estimate: Estimate) -> Estimate:
    """Return the estimates [L, ...] after the last round."""
    return Estimate(*(field[:, -1] for field in estimate))


def choose_interval(result: Any, quantity: str, interval: ConfidenceInterval | None) -> ConfidenceInterval:
    """Return the given interval, or by default the interval of the result, or `Anytime` if it is for another quantity.

    A result has an interval for one quantity if its number of runs was chosen by looking at this quantity.
    """
    if interval is not None:
        return check_interval(interval)
    return result.interval if result.interval.quantity in (None, quantity) else Anytime()


def learners_with_skewed_runs(result: Any, quantity: str) -> tuple[str, ...]:
    """Return the learners for which `Result.mean` warns of skewed runs at the horizon (`SkewedRunsWarning`)."""
    if not isinstance(result.interval, Student | SkewCorrected) or recorded_array(result, quantity).ndim > 3:
        return ()
    return tuple(means.skewed_names(values(result, quantity, rounds=LAST)[:, :, 0], result.learners))


def bands(result: Any, quantity: str, level: float, interval: ConfidenceInterval | None) -> Estimate:
    """See `Result.bands`."""
    check_number(result, quantity)
    if interval is not None and not isinstance(check_interval(interval), Student):
        return _estimate(result, quantity, level, interval, together=len(result.rounds))
    means.warn_of_skewed_curves(curves(result, quantity), result.learners, label_of(quantity))
    return means.make_bands(_estimate(result, quantity, level, Student()), curves(result, quantity), level)


def paired_difference(
    result: Any, first: int, second: int, quantity: str, level: float, interval: ConfidenceInterval | None
) -> Estimate:
    """See `Result.paired_difference`; here, the learners are given by position."""
    interval = choose_interval(result, quantity, interval)
    own, other = (values(result, quantity, slice(i, i + 1))[0] for i in (first, second))
    between = _interval_at_rounds(result, quantity, interval).of_difference()
    differences = (own - other)[None]
    if isinstance(interval, Student | SkewCorrected) and differences.ndim == 3:
        pair = f"{result.learners[first]} and {result.learners[second]}"
        means.warn_of_skewness(differences[:, :, -1], [pair], f"difference of the {label_of(quantity)}")
    difference = means.mean_over_runs(differences, level, interval=between)
    return Estimate(*(field[0] for field in difference))


def growth_exponents(result: Any, first_round: int | None, quantity: str, level: float) -> dict[str, means.Growth]:
    """See `Result.growth`."""
    if first_round is not None:
        check.number("first_round", first_round)
    late = result.rounds >= (result.rounds[-1] / 8 if first_round is None else first_round)
    if late.sum() < 2:
        raise ArgumentError(
            "first_round", f"must leave at least two recorded rounds (got {first_round} and {result.rounds})"
        )
    runs = curves(result, quantity, int(np.argmax(late)))
    return {
        name: means.growth(result.rounds[late], own, level, name)
        for name, own in zip(result.learners, runs, strict=True)
    }


def _interval_at_rounds(result: Any, quantity: str, interval: ConfidenceInterval) -> ConfidenceInterval:
    """Return the interval of a quantity at the recorded rounds."""
    axes = recorded_array(result, quantity).ndim
    return interval.after(result.rounds.reshape(-1, *(1,) * (axes - 3)))


def _estimate(result: Any, quantity: str, level: float, interval: ConfidenceInterval, together: int = 1) -> Estimate:
    """Return means [L, G, ...] with intervals."""
    own = _interval_at_rounds(result, quantity, interval)
    return means.mean_over_runs(values(result, quantity), level, together, own)
