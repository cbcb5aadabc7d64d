"""Confidence intervals for a mean that hold for every number of samples, from the moments of the samples.

No interval uses the central limit theorem: estimators that divide by small probabilities are skewed and heavy-tailed,
and the normal approximation then raises far more false alarms than stated. Instead, each interval needs knowledge: a
range, a second moment, or a bound on the kurtosis. All functions act entry by entry and broadcast.

* `Bernstein`: values in [low, high]. Maurer and Pontil 2009, Theorem 4 (empirical Bernstein).
* `KnownVariance`: Var X <= v, no other moment. With S the sum of the deviations from the mean and V^2 the sum of their
  squares, exp(x - x^2/6) <= 1 + x + x^2/3 gives E exp(l S - l^2 U/2) <= 1 for U = V^2/3 + 2 n v/3 (Delyon 2009), and
  averaging over a normal distribution of l gives (de la Pena, Klass and Lai 2004) P( S^2 >= (U + r) (2 ln(1/level) +
  ln((U + r)/r)) ) <= level for any fixed r > 0.
* `BoundedKurtosis`: E (X-EX)^4 <= k (Var X)^2. The squares are not negative, so that P( V^2/n <= (1 - e) Var X ) <=
  exp(-n e^2 / (2 k)); this bounds the variance from the sample variance at a tenth of the level, and then the
  inequality above applies.

The average is over supermartingales in n. With r fixed for the number of samples `planned`, the second interval holds
for all n at once (Ville's inequality). The third interval also holds for all n at once: exp(-l sum Z + l n EZ - l^2 n E
Z^2/2) is a supermartingale for Z >= 0 and l > 0, and the l that is best at `planned` gives the shortfall e(n) = (1 +
planned/n)/2 e(planned). The first interval holds for one n only, so its tests before `planned` share a tenth of the
level.
"""

import dataclasses
from typing import ClassVar, Protocol

import numpy as np

from jaxonline.verify.sampling import Moments

_VARIANCE_SHARE = 0.1
# Share of the level for all looks before the planned number of samples: at most 32, one for each power of two of
# blocks and one at the time limit.
_EARLY_SHARE, _EARLY_LOOKS = 0.1, 32
_TINY = np.finfo(float).tiny ** 0.5


class IntervalMethod(Protocol):
    """A method that turns moments into the half-width of an interval around the sample mean."""

    method: ClassVar[str]

    @property
    def assumption(self) -> str:
        """The assumption under which the interval holds."""
        ...

    def planned_for(self, planned: int) -> "IntervalMethod":
        """Return the method for a planned number of samples; its intervals up to this number hold together."""
        ...

    def least_samples(self, level: float) -> int:
        """Return the minimum number of samples that gives a finite half-width."""
        ...

    def half_width(self, moments: Moments, level: float) -> np.ndarray:
        """Return the half-width; the true mean is further away with probability at most `level`, entry by entry."""
        ...


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
class Bernstein(IntervalMethod):
    """Interval for values between `low` and `high`."""

    low: np.ndarray
    high: np.ndarray
    planned: int | None = None
    method: ClassVar[str] = "bernstein"

    @property
    def assumption(self) -> str:
        low, high = float(np.min(self.low)), float(np.max(self.high))
        return f"every value is in [{low:.6g}, {high:.6g}]"

    def planned_for(self, planned: int) -> "Bernstein":
        return dataclasses.replace(self, planned=planned)

    def least_samples(self, level: float) -> int:
        del level
        return 2

    def half_width(self, moments: Moments, level: float) -> np.ndarray:
        n = moments.n
        if self.planned is not None:
            level = level * (_EARLY_SHARE / _EARLY_LOOKS if n < self.planned else 1 - _EARLY_SHARE)
        log = np.log(4 / level)
        if n < 2:
            return np.full(np.shape(moments.mean), np.inf)
        return np.sqrt(2 * moments.variance * log / n) + 7 * (self.high - self.low) * log / (3 * (n - 1))


@dataclasses.dataclass(frozen=True)
class KnownVariance(IntervalMethod):
    """Interval for a variance of at most `variance`; `level` and `planned` affect only its width."""

    variance: np.ndarray
    level: float
    planned: int | None = None
    method: ClassVar[str] = "second moment"

    @property
    def assumption(self) -> str:
        return "the second moment is at most the stated one"

    def planned_for(self, planned: int) -> "KnownVariance":
        return dataclasses.replace(self, planned=planned)

    def least_samples(self, level: float) -> int:
        return int(np.ceil(4 * np.log(1 / level)))

    def half_width(self, moments: Moments, level: float) -> np.ndarray:
        n = max(moments.n, 1)
        r = _mixture_constant(n if self.planned is None else self.planned, self.variance, np.log(1 / self.level))
        return _self_normalised_bound(n, moments.m2 / 3 + 2 * n * self.variance / 3, 1 / 3, r, np.log(1 / level))


@dataclasses.dataclass(frozen=True)
class BoundedKurtosis(IntervalMethod):
    """Interval for a kurtosis of at most `kurtosis`; `scale` is a guess of the variance from other samples."""

    kurtosis: float
    scale: np.ndarray
    level: float
    planned: int | None = None
    method: ClassVar[str] = "kurtosis"

    @classmethod
    def affordable(cls, kurtosis: float, n: int, scale: np.ndarray, level: float) -> "BoundedKurtosis":
        """Reduce the assumed kurtosis so that `n` samples determine the variance within a factor of four."""
        limit = 0.75**2 * n / (-2 * np.log(_VARIANCE_SHARE * level))
        return cls(max(min(kurtosis, float(limit)), 1.0), scale, level)

    @property
    def assumption(self) -> str:
        return f"kurtosis <= {self.kurtosis:.4g}"

    def planned_for(self, planned: int) -> "BoundedKurtosis":
        return dataclasses.replace(self, planned=planned)

    def shortfall(self, n: int, level: float) -> float:
        """Return the share by which the mean squared deviation may fall below the variance."""
        planned = n if self.planned is None else self.planned
        return mean_shortfall(self.kurtosis, planned, _VARIANCE_SHARE * level) * (1 + planned / n) / 2

    def least_samples(self, level: float) -> int:
        return int(np.ceil(8 * self.kurtosis * np.log(1 / (_VARIANCE_SHARE * level))))

    def half_width(self, moments: Moments, level: float) -> np.ndarray:
        n, shortfall = moments.n, self.shortfall(max(moments.n, 1), level)
        if shortfall >= 1:
            return np.full(np.shape(moments.mean), np.inf)
        slope = 1 / 3 + 2 / (3 * (1 - shortfall))
        r = _mixture_constant(n if self.planned is None else self.planned, self.scale, np.log(1 / self.level))
        return _self_normalised_bound(n, slope * moments.m2, slope, r, -np.log((1 - _VARIANCE_SHARE) * level))


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
