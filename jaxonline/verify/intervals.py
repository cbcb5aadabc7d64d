"""Confidence intervals for means, and sequential tests that may stop at any time."""

import dataclasses
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from jaxonline.verify.result import BIASED, UNDECIDED, decide, describe_kurtosis, samples_to_decide
from jaxonline.verify.sampling import Moments, Sampler, Settings, Summary

# ---------------------------------------------------------------------------------------------------------------------
# Confidence intervals for a mean that hold for every number of samples, from the moments of the samples.
#
# No interval uses the central limit theorem: estimators that divide by small probabilities are skewed and heavy-tailed,
# and the normal approximation then raises far more false alarms than stated. Instead, each interval needs knowledge: a
# range, a second moment, or a bound on the kurtosis. All functions act entry by entry and broadcast.
#
# * `Bernstein`: values in [low, high]. Maurer and Pontil 2009, Theorem 4 (empirical Bernstein). * `KnownVariance`: Var
# X <= v, no other moment. With S the sum of the deviations from the mean and V^2 the sum of their
#   squares, exp(x - x^2/6) <= 1 + x + x^2/3 gives E exp(l S - l^2 U/2) <= 1 for U = V^2/3 + 2 n v/3 (Delyon 2009), and
#   averaging over a normal distribution of l gives (de la Pena, Klass and Lai 2004) P( S^2 >= (U + r) (2 ln(1/level) +
#   ln((U + r)/r)) ) <= level for any fixed r > 0.
# * `BoundedKurtosis`: E (X-EX)^4 <= k (Var X)^2. The squares are not negative, so that P( V^2/n <= (1 - e) Var X ) <=
#   exp(-n e^2 / (2 k)); this bounds the variance from the sample variance at a tenth of the level, and then the
#   inequality above applies.
#
# The average is over supermartingales in n. With r fixed for the number of samples `planned`, the second interval holds
# for all n at once (Ville's inequality). The third interval also holds for all n at once: exp(-l sum Z + l n EZ - l^2 n
# E Z^2/2) is a supermartingale for Z >= 0 and l > 0, and the l that is best at `planned` gives the shortfall e(n) = (1
# + planned/n)/2 e(planned). The first interval holds for one n only, so its tests before `planned` share a tenth of the
# level.


_VARIANCE_SHARE = 0.1
# Share of the level for all looks before the planned number of samples: at most 32, one for each power of two of
# blocks.
_EARLY_SHARE, _EARLY_LOOKS = 0.1, 32
_SMALLEST = np.finfo(float).tiny
_TINY = _SMALLEST**0.5


def _self_normalised_bound(n, fixed, slope, r, log_inverse_level):
    """Return the half-width of the interval of the mixture bound, whose variance term depends on this half-width."""
    distance = np.zeros(np.broadcast_shapes(np.shape(fixed), np.shape(r)))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for _ in range(200):
            u = fixed + slope * n * distance**2 + r
            new = np.sqrt(u * (2 * log_inverse_level + np.log(u / r))) / n
            if np.all(new <= distance * (1 + 1e-12)):
                return new
            distance = new
    return np.where(new <= distance * (1 + 1e-9), new, np.inf)


def _mixture_constant(n, scale, log_inverse_level):
    """Return the constant r of the mixture, near its best value if `scale` is near the variance."""
    return np.maximum(n * scale / (2 * log_inverse_level), _TINY)


@dataclasses.dataclass(frozen=True)
class Bernstein:
    """Interval for values between `low` and `high`."""

    low: np.ndarray
    high: np.ndarray
    planned: int | None = None
    method: ClassVar[str] = "bernstein"

    @property
    def assumption(self) -> str:
        """The assumption under which the interval holds."""
        low, high = float(np.min(self.low)), float(np.max(self.high))
        return f"every value is in [{low:.6g}, {high:.6g}]"

    def least_samples(self, level: float) -> int:
        """Return the minimum number of samples that gives a finite half-width."""
        return 2

    def half_width(self, moments: Moments, level: float) -> np.ndarray:
        """Return the half-width; the true mean is further away with probability at most `level`, entry by entry."""
        n = moments.n
        if self.planned is not None:
            level = level * (_EARLY_SHARE / _EARLY_LOOKS if n < self.planned else 1 - _EARLY_SHARE)
        log = np.log(4 / level)
        if n < 2:
            return np.full(np.shape(moments.mean), np.inf)
        return np.sqrt(2 * moments.variance * log / n) + 7 * (self.high - self.low) * log / (3 * (n - 1))


@dataclasses.dataclass(frozen=True)
class KnownVariance:
    """Interval for a variance of at most `variance`; `level` and `planned` affect only its width."""

    variance: np.ndarray
    level: float
    planned: int | None = None
    method: ClassVar[str] = "second moment"

    @property
    def assumption(self) -> str:
        """The assumption under which the interval holds."""
        return "the second moment is at most the stated one"

    def least_samples(self, level: float) -> int:
        """Return the minimum number of samples that gives a finite half-width."""
        return int(np.ceil(4 * np.log(1 / level)))

    def half_width(self, moments: Moments, level: float) -> np.ndarray:
        """Return the half-width; the true mean is further away with probability at most `level`, entry by entry."""
        n = max(moments.n, 1)
        r = _mixture_constant(n if self.planned is None else self.planned, self.variance, np.log(1 / self.level))
        return _self_normalised_bound(n, moments.m2 / 3 + 2 * n * self.variance / 3, 1 / 3, r, np.log(1 / level))


@dataclasses.dataclass(frozen=True)
class BoundedKurtosis:
    """Interval for a kurtosis of at most `kurtosis`; `scale` is a guess of the variance from other samples."""

    kurtosis: float
    scale: np.ndarray
    level: float
    planned: int | None = None
    method: ClassVar[str] = "kurtosis"

    @property
    def assumption(self) -> str:
        """The assumption under which the interval holds."""
        return f"kurtosis <= {self.kurtosis:.4g}"

    def shortfall(self, n: int, level: float) -> float:
        """Return the share by which the mean squared deviation may fall below the variance."""
        planned = n if self.planned is None else self.planned
        return mean_shortfall(self.kurtosis, planned, _VARIANCE_SHARE * level) * (1 + planned / n) / 2

    def least_samples(self, level: float) -> int:
        """Return the minimum number of samples that gives a finite half-width."""
        return int(np.ceil(8 * self.kurtosis * np.log(1 / (_VARIANCE_SHARE * level))))

    def half_width(self, moments: Moments, level: float) -> np.ndarray:
        """Return the half-width; the true mean is further away with probability at most `level`, entry by entry."""
        n, shortfall = moments.n, self.shortfall(max(moments.n, 1), level)
        if shortfall >= 1:
            return np.full(np.shape(moments.mean), np.inf)
        slope = 1 / 3 + 2 / (3 * (1 - shortfall))
        r = _mixture_constant(n if self.planned is None else self.planned, self.scale, np.log(1 / self.level))
        return _self_normalised_bound(n, slope * moments.m2, slope, r, -np.log((1 - _VARIANCE_SHARE) * level))


# With `planned`, the intervals for all numbers of samples up to this one hold together.
IntervalMethod = Bernstein | KnownVariance | BoundedKurtosis


def mean_shortfall(kurtosis: float, n: int, level: float) -> float:
    """Return the relative shortfall of the mean of n numbers Z >= 0 below E Z, if E Z^2 <= kurtosis (E Z)^2."""
    return float(np.sqrt(2 * kurtosis * np.log(1 / level) / n))


def bernstein_lower(moments: Moments, top: float, level: float) -> np.ndarray:
    """Return the lower confidence limit of the mean of numbers in [0, top] (Maurer and Pontil 2009, one side)."""
    n, log = moments.n, np.log(2 / level)
    if n < 2:
        return np.zeros(np.shape(moments.mean))
    return moments.mean - np.sqrt(2 * moments.variance * log / n) - 7 * top * log / (3 * (n - 1))


def detectable(interval: IntervalMethod, moments: Moments, level: float, power: float) -> np.ndarray:
    """Return the minimum detectable bias: the bias that is found with at least this power, entry by entry."""
    return interval.half_width(moments, level) + interval.half_width(moments, 1 - power)


def samples_needed(
    interval: IntervalMethod, variance: np.ndarray, tolerance: np.ndarray, level: float, power: float
) -> int:
    """Return the smallest number of samples (within 1 %) with which every `detectable` is at most `tolerance`."""

    def enough(n: int) -> bool:
        zero = np.zeros_like(variance)
        return bool(np.all(detectable(interval, Moments(n, zero, n * variance, zero, zero), level, power) <= tolerance))

    high = 64
    while not enough(high):
        high *= 2
        if high > 1 << 50:
            return high
    low = high // 2
    while high - low > high // 100:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


# ---------------------------------------------------------------------------------------------------------------------
# The sequential test of a mean, during the sampling and at its end.


@dataclasses.dataclass(frozen=True)
class SequentialTest:
    """Test that turns a summary of samples into a verdict; `pilot` is the separate first block."""

    sampler: Sampler
    pilot: Summary
    target: np.ndarray
    interval: IntervalMethod
    level: float
    tolerance: np.ndarray
    rounding: np.ndarray
    cap_bias: float | None
    settings: Settings

    def half_width(self, drawn: Summary) -> np.ndarray:
        """Half-width of the interval of each coordinate, including rounding."""
        return self.interval.half_width(drawn.moments, self.level) + self.rounding

    def verdict(self, drawn: Summary) -> tuple[str, list[str]]:
        """Return the verdict and its reasons."""
        bias, half_width = drawn.moments.mean - self.target, self.half_width(drawn)
        objections = list(self._objections(drawn, np.abs(bias) > half_width + (self.cap_bias or 0.0)))
        if objections:
            return UNDECIDED, objections
        verdict, reason = decide(bias, half_width, self.tolerance, self.cap_bias or 0.0)
        if reason is None:
            return verdict, []
        return verdict, [f"{reason}; {self._advise(drawn, bias, half_width)}"]

    def contradiction(self, drawn: Summary) -> str | None:
        """Return how the samples contradict the stated second moment, or None."""
        if not isinstance(self.interval, KnownVariance) or drawn.bets is None:
            return None
        wrong = drawn.bets.contradicted(self.level)
        if not np.any(wrong):
            return None
        worst = int(
            np.argmax(np.where(wrong, drawn.moments.second_moment / np.maximum(drawn.bets.stated, _SMALLEST), 0.0))
        )
        return (
            f"the samples contradict the stated second moment {drawn.bets.stated[worst]:.6g}: theirs is "
            f"{drawn.moments.second_moment[worst]:.6g}; give a valid second_moment"
        )

    def unstated_kurtosis(self, drawn: Summary) -> str | None:
        """Return the weakest bound on the kurtosis that supports the verdict, if the caller states none; else None."""
        stated = np.inf if self.settings.kurtosis is None else self.settings.kurtosis
        if not isinstance(self.interval, BoundedKurtosis) or stated <= self.interval.kurtosis:
            return None
        verdict, low, high = self.verdict(drawn)[0], self.interval.kurtosis, float(max(drawn.moments.n, 1))
        while verdict != UNDECIDED and high > 1.01 * low:  # no interval is finite for a kurtosis above n
            middle = float(np.sqrt(low * high))
            weaker = dataclasses.replace(self, interval=dataclasses.replace(self.interval, kurtosis=middle))
            low, high = (middle, high) if weaker.verdict(drawn)[0] == verdict else (low, middle)
        text = f"{verdict} if the kurtosis is at most {describe_kurtosis(low)}, which no sample shows"
        return None if verdict == UNDECIDED else f"{text}; give kurtosis, second_moment or range"

    def without_second_moment(self, n: int, scale: np.ndarray) -> "SequentialTest":
        """Return the test with the samples' own variance, which `n` samples determine within a factor of four."""
        affordable = float(0.75**2 * n / (-2 * np.log(_VARIANCE_SHARE * self.level)))
        kurtosis = max(min(self.settings.kurtosis_of_intervals, affordable), 1.0)
        return dataclasses.replace(self, interval=BoundedKurtosis(kurtosis, scale, self.level))

    def _advise(self, drawn: Summary, bias: np.ndarray, half_width: np.ndarray) -> str:
        settings = self.settings
        least = self.interval.least_samples(self.level)
        needed = max(samples_to_decide(drawn.samples, bias, half_width, self.tolerance - (self.cap_bias or 0.0)), least)
        if not np.all(np.isfinite(half_width)):
            needed = derived_samples(
                self.interval, drawn.moments.variance, self.tolerance - self.rounding, self.level, settings.power
            )
        if needed > 1 << 40:
            return "no feasible number of samples decides; give range, second_moment or support"
        return f"about {float(f'{needed:.2g}'):,.0f} samples are needed (samples, max_samples)"

    def _objections(self, drawn: Summary, outside: np.ndarray) -> Iterator[str]:
        """Yield reasons against any verdict; `outside` marks coordinates whose interval excludes the target."""
        interval = self.interval
        not_finite = self.sampler.describe_not_finite(self.pilot, drawn)
        if not_finite:
            yield f"{not_finite}; give an estimator that is always finite"
        if isinstance(interval, Bernstein):
            slack = 1e-5 * (interval.high - interval.low)
            if np.any(drawn.low < interval.low - slack) or np.any(drawn.high > interval.high + slack):
                yield (
                    f"a sample is outside the stated range: [{drawn.low.min():.6g}, {drawn.high.max():.6g}]; "
                    "give a valid range"
                )
        if isinstance(interval, BoundedKurtosis):
            yield from self._kurtosis_objections(drawn, interval.kurtosis, outside)
        if drawn.exceeded and self.cap_bias is None:
            yield f"a cap was exceeded {drawn.exceeded} times without a bound on its bias; give cap_bias"
        if self.cap_bias is not None and np.any(self.cap_bias >= self.tolerance):
            yield (
                f"the cap's bias of up to {self.cap_bias:.3g} is not below the bias to detect, "
                f"{self.tolerance.min():.3g}; raise the cap or detect"
            )

    @staticmethod
    def _kurtosis_objections(drawn: Summary, assumed: float, outside: np.ndarray) -> Iterator[str]:
        advice = "give range or second_moment, which bound rare values"
        if drawn.constant.all():
            yield f"all {drawn.samples:,} samples are identical and do not bound other values; {advice}"
        elif np.any(outside & drawn.constant) and not np.any(outside & ~drawn.constant):
            number = int(np.argmax(outside & drawn.constant))
            yield f"coordinate {number} is the same in all samples, which do not bound other values; {advice}"
        kurtosis = float(drawn.moments.kurtosis.max(initial=1.0))
        if kurtosis > assumed:
            yield (
                f"the sample's kurtosis {kurtosis:.3g} exceeds {assumed:g}; "
                "give second_moment or range, or a larger kurtosis"
            )


def draw(sampler: Sampler, n: int, stated: np.ndarray | None, test: SequentialTest) -> Summary:
    """Draw samples until all are drawn, or a bias or a NaN is visible.

    The intervals hold for all numbers of samples together; the test looks for a bias after 1, 2, 4, 8, ... blocks.
    """
    settings = test.settings
    drawn = Summary.empty(test.target.size, stated)
    for number, drawn in enumerate(sampler.running(n, 1, stated), 1):
        if settings.progress is not None:
            settings.progress(drawn.samples, n)
        look = settings.samples is None and number & (number - 1) == 0
        if look and sampler.describe_not_finite(test.pilot, drawn):
            break
        if look and test.verdict(drawn)[0] == BIASED and test.contradiction(drawn) is None:
            break
    return drawn


def derived_samples(
    interval: IntervalMethod, pilot: np.ndarray, tolerance: np.ndarray, level: float, power: float
) -> int:
    """Number of samples that the error rates require."""
    variance = interval.variance if isinstance(interval, KnownVariance) else 1.5 * pilot
    if np.any(tolerance <= 0):
        return 1 << 50
    return max(interval.least_samples(level), samples_needed(interval, variance, tolerance, level, power))
