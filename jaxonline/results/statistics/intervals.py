"""Confidence intervals for a mean over runs (`jo.intervals`), for runs that are normal, skewed, bounded, or 0 and 1.

Student's distribution comes from scipy.special: scipy.stats returns the same numbers, but takes a second to import.
`docs/intervals.md` reports the simulated coverage of each interval.
"""

import abc
import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from jaxtyping import ArrayLike, Float
from scipy import special

from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.types import Numbers

SHORTEST_AT = 1000  # runs
RARE_COST = 10.0  # of a rare event that the runs may have missed, in standard deviations
RARE_SHARE = 0.025  # of means that such an event changes
ROUNDING = 1e-5  # relative; float32 sums may exceed the limits of a quantity by rounding
CHUNK_ENTRIES = 2**20
STAKES = 2.0 ** -np.arange(12)  # of the largest stake


class Estimate(NamedTuple):
    """A mean over runs with its standard error and confidence interval; all fields have the same shape."""

    mean: np.ndarray
    standard_error: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n_runs: np.ndarray


class ConfidenceInterval(abc.ABC):
    """A two-sided confidence interval for a mean over independent runs."""

    test: ClassVar[str] = ""  # the name of its paired test
    holds_for_any_runs: ClassVar[bool] = False  # whether it covers for any number of runs with any distribution
    quantity: str | None = None  # the quantity that the interval suits; None for any

    @abc.abstractmethod
    def ends(self, values: Float[np.ndarray, "L R *rest"], estimate: Estimate, level: float) -> tuple[Any, Any]:
        """Return the ends of the intervals [L, *rest]; `estimate` has the means and standard errors of `values`."""

    @abc.abstractmethod
    def p_values(self, values: Float[np.ndarray, "L R"], estimate: Estimate) -> Float[np.ndarray, "L"]:
        """Return p-values: the smallest alpha for which the interval of level 1 - alpha excludes 0; NaN if unknown."""

    def after(self, rounds: ArrayLike) -> "ConfidenceInterval":
        """Return the kind of interval for sums over `rounds` rounds."""
        return self

    def of_difference(self) -> "ConfidenceInterval":
        """Return the kind of interval for the difference of two quantities that each have this kind of interval."""
        return self

    def to_json(self) -> dict[str, Any]:
        """Return the interval as a dictionary, which `interval_from_json` reads."""
        return {"type": type(self).__name__} | {name: np.asarray(value).tolist() for name, value in vars(self).items()}


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
class SkewCorrected(ConfidenceInterval):
    """Interval for few or skewed runs: Student's interval, lengthened where the runs cannot justify it.

    `Result.ranking` and `benchmark` use its paired test by default. The interval has three parts, and its p-value is
    the largest of three:

    * It contains Student's interval and Hall's, which corrects for the skewness of the runs.
    * It is unknown (NaN) if 1 - level is below 2^(1 - runs), the smallest p-value of a test that exchanges signs. So
      an interval of level 95 % requires 6 runs, and the corrected level of a comparison of many pairs requires more.
    * Its half-width is at least 10 log(0.025 / (1 - level)) standard deviations / runs. An event of probability q that
      costs 10 standard deviations moves the mean by 10 q standard deviations, and is missing from all runs with
      probability exp(-q runs) at most. The numbers 10 and 0.025, the share of means that such an event changes, are
      chosen by simulated benchmarks of bandits. This part matters only for corrected levels.

    Error rate: approximately 1 - level under the skewness that the runs show; simulated in `docs/intervals.md`. Nothing
    protects a single comparison from costly events that no run shows; see `Ranking.missing`.

    References:
        Hall (1992), "On the removal of skewness by transformation", Journal of the Royal Statistical Society B 54:
        the monotone cubic transformation.

    Example:
        >>> import jaxonline as jo
        >>> from jaxonline.results.statistics import mean_over_runs
        >>> runs = np.random.default_rng(0).exponential(size=(1, 30))
        >>> longer, student = mean_over_runs(runs), mean_over_runs(runs, interval=jo.intervals.Student())
        >>> bool((longer.high > student.high).all()), bool((longer.low == student.low).all())
        (True, True)
    """

    test: ClassVar[str] = "paired t-tests for few or skewed runs"

    def ends(self, values: np.ndarray, estimate: Estimate, level: float) -> tuple[Any, Any]:
        """Return the ends of the interval; see `ConfidenceInterval.ends`."""
        mean, error, n_runs = estimate.mean, estimate.standard_error, np.maximum(estimate.n_runs, 2)
        quantile = special.stdtrit(n_runs - 1, 0.5 + level / 2)
        factor = np.maximum(quantile, RARE_COST * np.log(RARE_SHARE / (1.0 - level)) / np.sqrt(n_runs))
        half = np.where(2.0 ** (1 - n_runs) > 1.0 - level, np.nan, factor * error)
        kappa = skewness(values) / np.sqrt(n_runs)
        below, above = (error * inverse_of_hall(sign * quantile, kappa) for sign in (1, -1))
        with np.errstate(invalid="ignore"):  # an infinite mean
            return np.minimum(mean - half, mean - below), np.maximum(mean + half, mean - above)

    def p_values(self, values: np.ndarray, estimate: Estimate) -> np.ndarray:
        """Return the p-values of the test that this interval inverts."""
        n_runs = np.maximum(estimate.n_runs, 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = estimate.mean / estimate.standard_error
            corrected = np.where(np.isinf(t), t, hall_transform(t, skewness(values) / np.sqrt(n_runs)))
            largest = np.maximum(
                2.0 * special.stdtr(n_runs - 1, -np.minimum(np.abs(t), np.abs(corrected))),
                np.maximum(2.0 ** (1 - n_runs), RARE_SHARE * np.exp(-np.abs(t) * np.sqrt(n_runs) / RARE_COST)),
            )
        agree = np.sign(corrected) == np.sign(t)
        return np.where(np.isnan(t), np.nan, np.where(agree, largest, 1.0))


def skewness(values: Float[np.ndarray, "L R *rest"]) -> Float[np.ndarray, "L *rest"]:
    """Return the skewness of each learner's runs, 0 if the runs do not vary; NaN are left out."""
    n_runs = np.maximum((~np.isnan(values)).sum(axis=1, keepdims=True), 1)
    with np.errstate(invalid="ignore"):
        centred = values - np.nansum(values, axis=1, keepdims=True) / n_runs
    second, third = ((np.nansum(centred**power, axis=1, keepdims=True) / n_runs)[:, 0] for power in (2, 3))
    with np.errstate(invalid="ignore"):
        return np.where(second > 0, third / np.where(second > 0, second, 1.0) ** 1.5, 0.0)


def hall_transform(t: ArrayLike, kappa: ArrayLike) -> np.ndarray:
    """Return Hall's transformation of t = (mean - expectation) / standard error, whose distribution is less skewed.

    `kappa` is the skewness of the runs divided by the root of their number.
    """
    t, kappa = np.asarray(t), np.asarray(kappa)
    return t + kappa * t**2 / 3 + kappa**2 * t**3 / 27 + kappa / 6


def inverse_of_hall(transformed: ArrayLike, kappa: ArrayLike) -> np.ndarray:
    """Return the t whose transformation is `transformed`."""
    shifted = np.asarray(transformed) - np.asarray(kappa) / 6
    root = np.cbrt(1.0 + kappa * shifted)
    return 3.0 * shifted / (root**2 + root + 1.0)


@dataclasses.dataclass(frozen=True)
class ClopperPearson(ConfidenceInterval):
    """Exact interval for a probability (Clopper and Pearson), for quantities that are 0 or 1 in each run.

    Error rate: at most 1 - level, for any number of runs. Values other than 0 and 1 raise an error. The difference of
    two quantities with this interval has the interval `Betting(-1, 1)`.

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

    test: ClassVar[str] = "paired betting tests"
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

    def of_difference(self) -> "Betting":
        """The interval with the limits of a difference."""
        return Betting(-1.0, 1.0)


@dataclasses.dataclass(frozen=True)
class Anytime(ConfidenceInterval):
    """Confidence sequence, valid for all numbers of runs at once: check it at any time, and stop when it is narrow.

    Error rate: 1 - level for all numbers of runs together. The error rate is asymptotic, as for Student's interval: it
    holds from some hundred runs of finite variance on. `simulate(stop=Precision(...))` uses this interval.

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


@cites("waudbysmith2024estimating")
@dataclasses.dataclass(frozen=True)
class Betting(ConfidenceInterval):
    """Betting interval, for bounded quantities: valid for any distribution, and for all numbers of runs at once.

    Error rate: at most 1 - level for all numbers of runs together, if the values of all runs lie between the limits. So
    you can look at the interval at any time, and stop when it is narrow. Values outside the limits raise an error.

    The interval contains the means m under which no gambler becomes rich. The gamblers bet that the mean is above m,
    with the stakes 1, 1/2, 1/4, ..., 2^-11 of the largest stake that cannot lose more than the capital, and others bet
    that it is below m. If m is the mean, then the average capital of both sides is a martingale, which exceeds 1 / (1 -
    level) with probability 1 - level at most (Ville's inequality). The order of the runs does not matter.

    Args:
        low: the smallest value that the quantity can have in one round.
        high: the largest value that the quantity can have in one round.
        quantity: the quantity with these limits, such as "regret"; None for any. A result with this interval uses
            `Anytime` for its other quantities.

    Raises:
        ValueError: a limit is not finite, or `low` is above `high`.

    References:
        Waudby-Smith and Ramdas (2024), "Estimating means of bounded random variables by betting", Journal of the Royal
        Statistical Society B 86: the hedged capital process, with a mixture of fixed bets.

    Example:
        >>> import jaxonline as jo
        >>> from jaxonline.results.statistics import mean_over_runs
        >>> estimate = mean_over_runs(np.zeros((1, 100)), interval=jo.intervals.Betting(0.0, 1.0))
        >>> estimate.low.tolist(), estimate.high.round(2).tolist()
        ([0.0], [0.06])
    """

    test: ClassVar[str] = "paired betting tests"
    holds_for_any_runs: ClassVar[bool] = True

    low: Numbers
    high: Numbers
    quantity: str | None = None

    def __post_init__(self) -> None:
        low, high = (np.asarray(check.array(name, getattr(self, name))) for name in ("low", "high"))
        if self.quantity is not None:
            check.text("quantity", self.quantity)
        if np.any(low > high):
            raise ArgumentError(
                "low", f"must be at most high (got {check.quote(self.low)} and {check.quote(self.high)})"
            )

    def after(self, rounds: ArrayLike) -> Self:
        """Return the interval for sums over `rounds` rounds, whose limits are `rounds` times as large."""
        return type(self)(np.asarray(self.low) * rounds, np.asarray(self.high) * rounds)

    def of_difference(self) -> Self:
        """The interval with the limits of a difference."""
        width = np.asarray(self.high) - np.asarray(self.low)
        return type(self)(-width, width)

    def _limits(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the limits [L, *rest] of `values`; raises an error if a value lies outside by more than rounding."""
        shape = (len(values), *values.shape[2:])
        low, high = (np.broadcast_to(np.asarray(limit, float), shape) for limit in (self.low, self.high))
        rounding = ROUNDING * np.maximum(np.abs(low), np.abs(high))
        outside = (values < (low - rounding)[:, None]) | (values > (high + rounding)[:, None])
        if outside.any():
            limits = f"{type(self).__name__} over {check.quote(self.low)} to {check.quote(self.high)}"
            raise ArgumentError("interval", f"must enclose all values (got {limits}, {values[outside][0]:.6g})")
        return low, high

    def fewest_runs(self, half_width: float, level: float) -> int:
        """Return a number of runs below which no interval is this narrow, for any values of the runs."""
        width = float(np.max(np.asarray(self.high) - np.asarray(self.low)))
        if half_width >= width / 2:
            return 1
        return int(np.ceil(np.log(2.0 / (1.0 - level)) / -np.log1p(-2.0 * half_width / width)))

    def ends(self, values: np.ndarray, estimate: Estimate, level: float) -> tuple[Any, Any]:
        """Return the ends of the interval; see `ConfidenceInterval.ends`."""
        low, high = self._limits(values)
        runs, known = _columns(values, low, high), estimate.n_runs > 0
        threshold = np.log(2.0 / (1.0 - level))
        first = _lower_end(runs, threshold).reshape(low.shape)
        last = 1.0 - _lower_end(1.0 - runs, threshold).reshape(low.shape)
        first, last = (low + end * (high - low) for end in (first, last))
        return np.where(known, first, np.nan), np.where(known, last, np.nan)

    def p_values(self, values: np.ndarray, estimate: Estimate) -> np.ndarray:
        """Return p-values: 1 divided by the capital of the gamblers who bet that the mean is not 0."""
        low, high = self._limits(values)
        runs, zero = _columns(values, low, high), (0.0 - low) / np.where(high > low, high - low, 1.0)
        capital = np.maximum(_log_capital(runs, zero), _log_capital(1.0 - runs, 1.0 - zero))
        p = np.where((zero < 0) | (zero > 1), 0.0, np.minimum(2.0 * np.exp(-capital), 1.0))
        return np.where(estimate.n_runs > 0, p, np.nan)


def _columns(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> Float[np.ndarray, "R S"]:
    """Return the values [L, R, *rest] as columns of runs, between 0 and 1 for the limits [L, *rest]; NaN stay."""
    width = np.where(high > low, high - low, 1.0)
    scaled = np.clip((values - low[:, None]) / width[:, None], 0.0, 1.0)
    return np.moveaxis(scaled, 1, 0).reshape(values.shape[1], low.size)


def _lower_end(runs: Float[np.ndarray, "R S"], threshold: float) -> Float[np.ndarray, "S"]:
    """Return for each column the largest m (up to 2^-30 of the mean) at which log capital reaches the threshold."""
    step = max(1, CHUNK_ENTRIES // max(1, len(runs)))
    parts = [_bisect(runs[:, i : i + step], threshold) for i in range(0, runs.shape[1], step)]
    return np.concatenate([np.empty(0), *parts])


def _bisect(runs: Float[np.ndarray, "R S"], threshold: float) -> Float[np.ndarray, "S"]:
    n_runs = np.maximum((~np.isnan(runs)).sum(axis=0), 1)
    low, high = np.zeros(runs.shape[1]), np.nansum(runs, axis=0) / n_runs  # no bet gains at the mean of the runs
    for _ in range(30):
        middle = (low + high) / 2
        reached = _log_capital(runs, middle) >= threshold
        low, high = np.where(reached, middle, low), np.where(reached, high, middle)
    return low


def _log_capital(runs: Float[np.ndarray, "R S"], m: Float[np.ndarray, "S"]) -> Float[np.ndarray, "S"]:
    """Return log of the mean over the stakes c of the products of 1 + c (run / m - 1) over the runs; NaN are left out.

    The products of 8 factors stay within the range of float64, and need one logarithm.
    """
    padded = np.pad(runs, ((0, -len(runs) % 8), (0, 0)), constant_values=np.nan).reshape(8, -1, runs.shape[1])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        gains = padded / m - 1.0
        gains = np.where(np.isnan(gains), 0.0, gains)
        logs = [np.log((1.0 + stake * gains).prod(axis=0)).sum(axis=0) for stake in STAKES]
        return np.logaddexp.reduce(logs) - np.log(len(STAKES))


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
    kinds = (Student, SkewCorrected, Betting, ClopperPearson, Anytime)
    classes = {kind.__name__: kind for kind in kinds}
    known = isinstance(stored, Mapping) and stored.get("type") in classes
    check.instance("stored", stored, known, "a dictionary with the type of an interval")
    return classes[stored["type"]](**{name: value for name, value in stored.items() if name != "type"})


def _symmetric(estimate: Estimate, factor: ArrayLike) -> tuple[Any, Any]:
    with np.errstate(invalid="ignore"):  # an infinite mean
        half_width = factor * estimate.standard_error
        return estimate.mean - half_width, estimate.mean + half_width
