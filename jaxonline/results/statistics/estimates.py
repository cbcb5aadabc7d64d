"""What is estimated from the runs of a `Result`: of numbers that are left in a store, a part after the other."""

import warnings
from collections.abc import Callable
from itertools import groupby
from typing import Any

import numpy as np

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.results.quantities import label_of
from jaxonline.results.statistics import intervals as statistics
from jaxonline.results.statistics.intervals import Estimate
from jaxonline.results.statistics.ranking import Ranking, rank
from jaxonline.results.statistics.variance_reduction import (
    CONTROL,
    HALF_DIFFERENCE,
    adjusted,
    variance_reduction,
)
from jaxonline.store.lazy_arrays import portions

ALL, LAST = slice(None), slice(-1, None)


def recorded_of(result: Any, quantity: str) -> Any:
    """The array of a quantity [L, R, G, ...], of the regret that of the losses.

    Raises:
        ValueError: the study does not have the quantity.
    """
    if quantity in ("regret", "comparator_loss") and result.comparator_loss is None:
        raise ValueError(f"{quantity} needs a comparator: simulate(..., comparator=jo.L2Ball(radius))")
    check.choice("quantity", quantity, result.quantities)
    if quantity in result.measures:
        return result.measures[quantity]
    return result.cumulative_loss if quantity == "regret" else result.comparator_loss


def check_number(result: Any, quantity: str) -> None:
    """Check that a quantity is a number in each round.

    Raises:
        ValueError: it is a vector, or the study does not have it.
    """
    if recorded_of(result, quantity).ndim > 3:
        raise ArgumentError("quantity", f"must be a number in each round, got {quantity!r}, which is a vector")


def values(result: Any, quantity: str, learners: slice = ALL, rounds: slice = ALL) -> np.ndarray:
    """A part of `Result.values`."""
    array = recorded_of(result, quantity)[learners, :, rounds]
    if quantity == "regret" and quantity not in result.measures:
        array = array - result.comparator_loss[learners, :, rounds]
    left_out = (result.first_nonfinite[learners] > 0) | (result.first_overflow[learners] > 0)
    return np.where(left_out.reshape(left_out.shape + (1,) * (array.ndim - 2)), np.nan, array)


def controls(result: Any, quantity: str) -> Any:
    """The control variates [L, R, G] of a quantity, None where it has none."""
    return result.measures.get(CONTROL) if quantity in ("regret", "cumulative_loss") else None


def adjusted_values(result: Any, quantity: str, learners: slice = ALL, rounds: slice = ALL) -> np.ndarray:
    """A part of `Result.adjusted`."""
    found, taken_out = values(result, quantity, learners, rounds), controls(result, quantity)
    if taken_out is None:
        return found
    own = taken_out[learners, :, rounds]
    return np.stack([adjusted(*each) for each in zip(found, own[:, None], strict=True)])


def mean(result: Any, quantity: str, level: float, interval: str | None, limits: Any) -> Estimate:
    """See `Result.mean`."""
    if interval is None:
        interval = "anytime" if "precision" in result.meta else "student"
    read, axes = values if interval == "bounded" else adjusted_values, recorded_of(result, quantity).ndim
    if interval == "student" and axes == 3:
        last = read(result, quantity, rounds=LAST)[:, :, 0]
        statistics.warn_of_skewness(last, result.learners, label_of(quantity))

    def of(learners: slice, rounds: slice) -> Estimate:
        within = limits
        if limits is not None:
            at = result.rounds[rounds].reshape(-1, *(1,) * (axes - 3))
            within = statistics.limits_of_sums(limits, at)
        runs = read(result, quantity, learners, rounds)
        return statistics.mean_over_runs(runs, level, interval=interval, limits=within)

    return _estimate(result, quantity, of)


def bands(result: Any, quantity: str, level: float) -> Estimate:
    """See `Result.bands`. A figure and a page ask for the same ones, which take long: they are kept with the result."""
    check_number(result, quantity)
    check.number("level", level, gt=0.0, lt=1.0)
    kept = vars(result).setdefault("_bands", {})
    if (quantity, level) not in kept:
        kept[quantity, level] = _bands(result, quantity, level)
    return kept[quantity, level]


def _bands(result: Any, quantity: str, level: float) -> Estimate:

    def of(learners: slice, rounds: slice) -> Estimate:
        return statistics.mean_over_runs(adjusted_values(result, quantity, learners, rounds), level)

    all_curves = (curves(result, quantity, i) for i in range(len(result.learners)))
    return statistics.as_bands(_estimate(result, quantity, of), all_curves, level)


def curves(result: Any, quantity: str, learner: int, since: int = 0) -> np.ndarray:
    """The adjusted values [R, G] of a learner, from a recorded round on."""
    parts = [
        rounds for learners, rounds in portions(recorded_of(result, quantity)) if learners.start in (None, learner)
    ]
    if len(parts) == 1:
        return adjusted_values(result, quantity, slice(learner, learner + 1), slice(since, None))[0]
    found = np.empty((len(result.runs), len(result.rounds) - since))
    for part in parts:
        some = slice(max(part.start, since), max(part.stop, since))
        found[:, some.start - since : some.stop - since] = adjusted_values(
            result, quantity, slice(learner, learner + 1), some
        )[0]
    return found


def ranking(result: Any, quantity: str, level: float) -> Ranking:
    """See `Result.ranking`."""
    check_number(result, quantity)
    of, taken_out = result.mean(quantity, level), controls(result, quantity)
    last = None if taken_out is None else taken_out[:, :, -1]
    at_horizon = values(result, quantity, rounds=LAST)[:, :, 0]
    return rank(result.learners, at_horizon, label_of(quantity), level, of, last)


def paired_difference(result: Any, first: int, second: int, quantity: str, level: float) -> Estimate:
    """See `Result.paired_difference`; of learners by position."""
    taken_out = controls(result, quantity)

    def of(_: slice, rounds: slice) -> Estimate:
        own, other = (values(result, quantity, slice(i, i + 1), rounds)[0] for i in (first, second))
        found = own - other
        if taken_out is not None:
            found = adjusted(found, np.stack([taken_out[i, :, rounds] for i in (first, second)]))
        return statistics.mean_over_runs(found[None], level)

    rounds = {rounds.start: rounds for _, rounds in portions(recorded_of(result, quantity))}
    found = zip(*(of(ALL, each) for each in rounds.values()), strict=True)
    return Estimate(*(np.concatenate(parts, axis=1)[0] for parts in found))


def quantiles(result: Any, probabilities: np.ndarray, quantity: str) -> np.ndarray:
    """See `Result.quantiles`."""

    def of(learners: slice, rounds: slice) -> np.ndarray:
        return np.nanquantile(values(result, quantity, learners, rounds), probabilities, axis=1)

    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # of learners that failed in all runs
        return _joined([(at, of(*at)) for at in portions(recorded_of(result, quantity))], axis=probabilities.ndim)


def reduction(result: Any, quantity: str) -> np.ndarray:
    """See `Result.variance_reduction`."""
    check.choice("quantity", quantity, ("regret", "cumulative_loss"))
    plain, used = (read(result, quantity, rounds=LAST)[:, :, 0] for read in (values, adjusted_values))
    half = result.measures.get(HALF_DIFFERENCE)
    return variance_reduction(plain, used, None if half is None else half[:, :, -1])


def _estimate(result: Any, quantity: str, of: Callable[[slice, slice], Estimate]) -> Estimate:
    """An estimate [L, G, ...] that is made of parts."""
    found = [(at, of(*at)) for at in portions(recorded_of(result, quantity))]
    return Estimate(*(_joined([(at, each[i]) for at, each in found], axis=0) for i in range(len(Estimate._fields))))


def _joined(parts: list[tuple[tuple[slice, slice], np.ndarray]], axis: int) -> np.ndarray:
    """Parts of some learners and rounds, which are neighbouring axes, the first of them at `axis`."""
    rows = groupby(parts, lambda part: part[0][0].start)
    return np.concatenate([np.concatenate([each for _, each in row], axis + 1) for _, row in rows], axis)
