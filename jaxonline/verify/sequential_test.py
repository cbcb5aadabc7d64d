"""The sequential test of a mean, during the sampling and at its end."""

import dataclasses
from collections.abc import Iterator

import numpy as np

from jaxonline.verify.intervals import Bernstein, BoundedKurtosis, IntervalMethod, KnownVariance, samples_needed
from jaxonline.verify.result import BIASED, UNDECIDED, decide, describe_kurtosis, samples_to_decide
from jaxonline.verify.sampling import Sampler, Summary
from jaxonline.verify.settings import Settings

_TINY = np.finfo(float).tiny


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

    def not_finite(self, drawn: Summary) -> str | None:
        """Return a description of the samples that are NaN or infinite, or None."""
        return self.sampler.describe_not_finite(self.pilot, drawn)

    def contradiction(self, drawn: Summary) -> str | None:
        """Return how the samples contradict the stated second moment, or None."""
        if not isinstance(self.interval, KnownVariance) or drawn.bets is None:
            return None
        wrong = drawn.bets.contradicted(self.level)
        if not np.any(wrong):
            return None
        worst = int(np.argmax(np.where(wrong, drawn.moments.second_moment / np.maximum(drawn.bets.stated, _TINY), 0.0)))
        return (
            f"the samples contradict the stated second moment {drawn.bets.stated[worst]:.6g}: theirs is "
            f"{drawn.moments.second_moment[worst]:.6g}; give a valid second_moment"
        )

    def unstated_kurtosis(self, drawn: Summary) -> str | None:
        """Return the weakest bound on the kurtosis that supports the verdict, if the caller states none; else None."""
        if not isinstance(self.interval, BoundedKurtosis) or self.settings.states(self.interval.kurtosis):
            return None
        verdict, low, high = self.verdict(drawn)[0], self.interval.kurtosis, float(max(drawn.moments.n, 1))
        while verdict != UNDECIDED and high > 1.01 * low:  # no interval is finite for a kurtosis above n
            middle = float(np.sqrt(low * high))
            weaker = dataclasses.replace(self, interval=dataclasses.replace(self.interval, kurtosis=middle))
            low, high = (middle, high) if weaker.verdict(drawn)[0] == verdict else (low, middle)
        text = f"{verdict} if the kurtosis is at most {describe_kurtosis(low)}, which no sample shows"
        return None if verdict == UNDECIDED else f"{text}; give kurtosis, second_moment or range"

    def without_second_moment(self, n: int, scale: np.ndarray) -> "SequentialTest":
        """Return the test with the samples' own variance."""
        interval = BoundedKurtosis.affordable(self.settings.kurtosis_of_intervals, n, scale, self.level)
        return dataclasses.replace(self, interval=interval)

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
        not_finite = self.not_finite(drawn)
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
    """Draw samples until all are drawn, the time limit is exceeded, or a bias or a NaN is visible.

    The intervals hold for all numbers of samples together; the test looks for a bias after 1, 2, 4, 8, ... blocks.
    """
    settings = test.settings
    drawn = Summary.empty(test.target.size, stated)
    for number, drawn in enumerate(sampler.running(n, 1, stated), 1):
        if settings.progress is not None:
            settings.progress(drawn.samples, n)
        look = settings.samples is None and number & (number - 1) == 0
        if look and test.not_finite(drawn):
            break
        if look and test.verdict(drawn)[0] == BIASED and test.contradiction(drawn) is None:
            break
        if settings.is_out_of_time():
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
