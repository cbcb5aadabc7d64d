"""Confidence intervals for a mean over runs (`jo.intervals`): Student, bootstrap-t, binomial and anytime.

The intervals for bounded quantities, `Bounded` and `Betting`, are in `bounded.py`; `SkewCorrected` is in
`skew_corrected.py`.

Student's distribution comes from scipy.special: scipy.stats returns the same numbers, but takes a second to import.
`docs/intervals.md` reports the simulated coverage of each interval.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from jaxtyping import ArrayLike
from scipy import special

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.results.statistics import bootstrap
from jaxonline.results.statistics.bounded import Betting, Bounded
from jaxonline.results.statistics.confidence_interval import ConfidenceInterval, Estimate
from jaxonline.results.statistics.skew_corrected import SkewCorrected

SHORTEST_AT = 1000  # runs


@dataclasses.dataclass(frozen=True)
class Student(ConfidenceInterval):
    """Student's t interval, for many runs or for nearly normal runs.

    Error rate: 1 - level if the runs are normal, and approximately 1 - level for many runs of finite variance. For
    skewed runs, the longer side of the interval is too short; `Result.mean` warns of skewed runs (`SkewedRunsWarning`).

    References:
        Student (1908), "The probable error of a mean", Biometrika 6.

    Example:
        >>> import jaxonline as jo
        >>> from jaxonline.results.statistics import mean_over_runs
        >>> estimate = mean_over_runs(np.array([[1.0, 3.0]]), interval=jo.intervals.Student())
        >>> estimate.mean.tolist(), estimate.high.round(1).tolist()
        ([2.0], [14.7])
    """

    test: ClassVar[str] = "paired t-tests"

    def ends(self, values: np.ndarray, estimate: Estimate, level: float) -> tuple[Any, Any]:
        """Return the ends of the interval; see `ConfidenceInterval.ends`."""
        return _symmetric(estimate, special.stdtrit(np.maximum(estimate.n_runs - 1, 1), 0.5 + level / 2))

    def p_values(self, values: np.ndarray, estimate: Estimate) -> np.ndarray:
        """Return the p-values of paired t-tests."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return 2.0 * special.stdtr(
                np.maximum(estimate.n_runs - 1, 1), -np.abs(estimate.mean / estimate.standard_error)
            )


@dataclasses.dataclass(frozen=True)
class BootstrapT(ConfidenceInterval):
    """Bootstrap-t interval, for skewed runs: an asymmetric interval from 2,000 resamples of the runs.

    Error rate: 1 - level up to terms of order 1 / runs, for runs of finite variance. The resamples have a fixed seed.

    References:
        Efron (1982), "The jackknife, the bootstrap and other resampling plans", section 10.10.

    Example:
        >>> import jaxonline as jo
        >>> from jaxonline.results.statistics import mean_over_runs
        >>> runs = np.random.default_rng(0).exponential(size=(1, 30))
        >>> estimate = mean_over_runs(runs, interval=jo.intervals.BootstrapT())
        >>> bool((estimate.high - estimate.mean > 1.2 * (estimate.mean - estimate.low)).all())
        True
    """

    test: ClassVar[str] = "paired bootstrap-t tests"

    def ends(self, values: np.ndarray, estimate: Estimate, level: float) -> tuple[Any, Any]:
        """Return the ends of the interval; see `ConfidenceInterval.ends`."""
        low, high = bootstrap.student_quantiles(values, level)
        return estimate.mean - high * estimate.standard_error, estimate.mean - low * estimate.standard_error

    def p_values(self, values: np.ndarray, estimate: Estimate) -> np.ndarray:
        """Return p-values: twice the smaller share of resamples beyond the observed ratio (a share is >= 1 / 2,001)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return bootstrap.tail_probabilities(values, estimate.mean / estimate.standard_error)


@dataclasses.dataclass(frozen=True)
class ClopperPearson(ConfidenceInterval):
    """Exact interval for a probability (Clopper and Pearson), for quantities that are 0 or 1 in each run.

    Error rate: at most 1 - level, for any number of runs. Values other than 0 and 1 raise an error. The difference of
    two quantities with this interval has the interval `Bounded(-1, 1)`.

    References:
        Clopper and Pearson (1934), "The use of confidence or fiducial limits illustrated in the case of the binomial",
        Biometrika 26.

    Example:
        >>> import jaxonline as jo
        >>> from jaxonline.results.statistics import mean_over_runs
        >>> estimate = mean_over_runs(np.zeros((1, 100)), interval=jo.intervals.ClopperPearson())
        >>> estimate.low.tolist(), estimate.high.round(4).tolist()
        ([0.0], [0.0362])
    """

    test: ClassVar[str] = "paired tests of bounded differences"
    holds_for_any_runs: ClassVar[bool] = True

    def ends(self, values: np.ndarray, estimate: Estimate, level: float) -> tuple[Any, Any]:
        """Return the ends of the interval; see `ConfidenceInterval.ends`."""
        other = values[(values != 0) & (values != 1) & ~np.isnan(values)]
        if other.size:
            raise ArgumentError("interval", f"must suit all values: ClopperPearson needs 0 and 1 (got {other[0]:.6g})")
        n_runs, tail = estimate.n_runs, (1.0 - level) / 2
        ones = np.rint(estimate.mean * n_runs)
        with np.errstate(invalid="ignore"):
            low = special.betaincinv(ones, n_runs - ones + 1, tail)
            high = special.betaincinv(ones + 1, n_runs - ones, 1.0 - tail)
        return np.where(ones == 0, 0.0, low), np.where(ones == n_runs, 1.0, high)

    def p_values(self, values: np.ndarray, estimate: Estimate) -> np.ndarray:
        """Return the p-values: 1 if all values are 0, otherwise 0."""
        return np.where(np.isnan(estimate.mean), np.nan, (estimate.mean == 0).astype(float))

    def of_difference(self) -> "Bounded":
        """The interval with the limits of a difference."""
        return Bounded(-1.0, 1.0)


@dataclasses.dataclass(frozen=True)
class Anytime(ConfidenceInterval):
    """Confidence sequence, valid for all numbers of runs at once: check it at any time, and stop when it is narrow.

    Error rate: 1 - level for all numbers of runs together. The error rate is asymptotic, as for Student's interval: it
    holds from some hundred runs of finite variance on. `simulate(precision=...)` uses this interval.

    Args:
        shortest_at: the number of runs at which the interval is shortest.

    References:
        Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas (2024), "Time-uniform central limit theory and asymptotic
        confidence sequences", Theorem 2.2.

    Example:
        >>> import jaxonline as jo
        >>> from jaxonline.results.statistics import mean_over_runs
        >>> runs = np.random.default_rng(0).normal(size=(1, 400))
        >>> longer, student = mean_over_runs(runs, interval=jo.intervals.Anytime()), mean_over_runs(runs)
        >>> bool((longer.high > student.high).all())
        True
    """

    test: ClassVar[str] = "paired anytime tests"

    shortest_at: int = SHORTEST_AT

    def __post_init__(self) -> None:
        check.count("shortest_at", self.shortest_at)

    def ends(self, values: np.ndarray, estimate: Estimate, level: float) -> tuple[Any, Any]:
        """Return the ends of the interval; see `ConfidenceInterval.ends`."""
        return _symmetric(estimate, self._factor(np.log(1.0 / (1.0 - level)), np.maximum(estimate.n_runs, 1)))

    def p_values(self, values: np.ndarray, estimate: Estimate) -> np.ndarray:
        """Return the p-values, found by bisection, since the half-width grows with the level."""
        with np.errstate(divide="ignore", invalid="ignore"):
            reached = np.abs(estimate.mean / estimate.standard_error)
        low, high = np.full_like(reached, 1e-12), np.full_like(reached, 700.0)  # of log(1 / alpha)
        for _ in range(60):
            middle = (low + high) / 2
            excludes = self._factor(middle, np.maximum(estimate.n_runs, 1)) < reached
            low, high = np.where(excludes, middle, low), np.where(excludes, high, middle)
        return np.where(np.isnan(reached), np.nan, np.exp(-low))

    def _factor(self, log: Any, n_runs: np.ndarray) -> np.ndarray:
        """Return the half-width of the interval divided by the standard error."""
        weight = n_runs * (2.0 * log + np.log(1.0 + 2.0 * log)) / self.shortest_at
        return np.sqrt(2.0 * (weight + 1.0) / weight * (0.5 * np.log(weight + 1.0) + log))


def check_interval(interval: Any) -> ConfidenceInterval:
    """Check that the argument `interval` is a `ConfidenceInterval`, and return it."""
    return check.instance(
        "interval", interval, ConfidenceInterval, "one of jo.intervals, such as jo.intervals.Student()"
    )


def interval_from_json(stored: Mapping[str, Any]) -> ConfidenceInterval:
    """Read the interval that `ConfidenceInterval.to_json` wrote; raises TypeError for an unknown type.

    Example:
        >>> interval_from_json(Anytime().to_json())
        Anytime(shortest_at=1000)
    """
    kinds = (Student, SkewCorrected, BootstrapT, Bounded, Betting, ClopperPearson, Anytime)
    classes = {kind.__name__: kind for kind in kinds}
    known = isinstance(stored, Mapping) and stored.get("type") in classes
    check.instance("stored", stored, known, "a dictionary with the type of an interval")
    return classes[stored["type"]](**{name: value for name, value in stored.items() if name != "type"})


def _symmetric(estimate: Estimate, factor: ArrayLike) -> tuple[Any, Any]:
    with np.errstate(invalid="ignore"):  # an infinite mean
        half_width = factor * estimate.standard_error
        return estimate.mean - half_width, estimate.mean + half_width
