"""Confidence interval and paired test for few or skewed runs: the default test of rankings."""

import dataclasses
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from scipy import special

from jaxonline.results.statistics.confidence_interval import ConfidenceInterval, Estimate

RARE_COST = 10.0  # of a rare event that the runs may have missed, in standard deviations
RARE_SHARE = 0.025  # of means that such an event changes


@dataclasses.dataclass(frozen=True)
class SkewCorrected(ConfidenceInterval):
    """Interval for few or skewed runs: Student's interval, lengthened where the runs cannot justify it.

    `Result.ranking` and `benchmark` use its paired test by default. The interval has three parts, and its p-value is
    the largest of three:

    * It contains Student's interval and Hall's, which corrects for the skewness of the runs.
    * It is infinite if 1 - level is below 2^(1 - runs), the smallest p-value of a test that exchanges signs. So the
      corrected level of a comparison of many pairs requires a minimum number of runs.
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
        >>> longer, student = mean_over_runs(runs, interval=jo.intervals.SkewCorrected()), mean_over_runs(runs)
        >>> bool((longer.high > student.high).all()), bool((longer.low == student.low).all())
        (True, True)
    """

    test: ClassVar[str] = "paired t-tests for few or skewed runs"

    def ends(self, values: np.ndarray, estimate: Estimate, level: float) -> tuple[Any, Any]:
        """Return the ends of the interval; see `ConfidenceInterval.ends`."""
        mean, error, n_runs = estimate.mean, estimate.standard_error, np.maximum(estimate.n_runs, 2)
        quantile = special.stdtrit(n_runs - 1, 0.5 + level / 2)
        factor = np.maximum(quantile, RARE_COST * np.log(RARE_SHARE / (1.0 - level)) / np.sqrt(n_runs))
        half = np.where(2.0 ** (1 - n_runs) > 1.0 - level, np.inf, factor * error)
        half = np.where(np.isnan(error), np.nan, half)
        skew = skewness(values)
        below, above = (error * _inverse_of_hall(sign * quantile, skew, n_runs) for sign in (1, -1))
        with np.errstate(invalid="ignore"):  # an infinite mean
            return np.minimum(mean - half, mean - below), np.maximum(mean + half, mean - above)

    def p_values(self, values: np.ndarray, estimate: Estimate) -> np.ndarray:
        """Return the p-values of the test that this interval inverts."""
        n_runs = np.maximum(estimate.n_runs, 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = estimate.mean / estimate.standard_error
            corrected = np.where(np.isinf(t), t, _hall(t, skewness(values), n_runs))
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


def _hall(t: np.ndarray, skew: np.ndarray, n_runs: np.ndarray) -> np.ndarray:
    """Return Hall's transformation of t = (mean - expectation) / standard error, whose distribution is less skewed."""
    scaled = t / np.sqrt(n_runs)
    return np.sqrt(n_runs) * (scaled + skew * scaled**2 / 3 + skew**2 * scaled**3 / 27 + skew / (6 * n_runs))


def _inverse_of_hall(transformed: np.ndarray, skew: np.ndarray, n_runs: np.ndarray) -> np.ndarray:
    """Return the t whose transformation is `transformed`."""
    shifted = transformed / np.sqrt(n_runs) - skew / (6 * n_runs)
    root = np.cbrt(1.0 + skew * shifted)
    return np.sqrt(n_runs) * 3.0 * shifted / (root**2 + root + 1.0)
