"""The paired test for few or skewed runs, with scipy and one difference at a time.

Hall (1992), "On the removal of skewness by transformation", Journal of the Royal Statistical Society B 54, page 225:
g_1(T) = T + n^(-1/2) a T^2 + n^(-1) a^2 T^3 / 3 + n^(-1/2) b with a = skewness / 3 and b = skewness / 6, for the ratio
T = n^(1/2) (mean - expectation) / standard deviation.
"""

import numpy as np
from scipy import optimize, stats

COST, SHARE = 10.0, 0.025


def hall(t: float, skew: float, n: int) -> float:
    a, b = skew / 3, skew / 6
    return t + a * t**2 / n**0.5 + a**2 * t**3 / (3 * n) + b / n**0.5


def p_value(runs: np.ndarray) -> float:
    n = len(runs)
    student = stats.ttest_1samp(runs, 0.0)
    corrected = hall(student.statistic, stats.skew(runs), n)
    if corrected * student.statistic <= 0:
        return 1.0
    rare = SHARE * np.exp(-abs(runs.mean()) * n / (COST * runs.std(ddof=1)))
    return max(student.pvalue, 2 * stats.t.sf(abs(corrected), n - 1), 0.5 ** (n - 1), rare)


def interval(runs: np.ndarray, level: float) -> tuple[float, float]:
    """Return the ends of the interval: the means that Student's and Hall's test do not reject, and rare events."""
    n, error, quantile = len(runs), stats.sem(runs), stats.t.ppf((1 + level) / 2, len(runs) - 1)
    if 0.5 ** (n - 1) > 1 - level:
        return np.nan, np.nan
    skew = stats.skew(runs)
    upper, lower = (
        optimize.brentq(lambda t, end=end: hall(t, skew, n) - end, -1e3, 1e3, xtol=1e-12)
        for end in (quantile, -quantile)
    )
    rare = COST * np.log(SHARE / (1 - level)) * error / n**0.5
    low = min(runs.mean() - upper * error, runs.mean() - max(quantile * error, rare))
    return low, max(runs.mean() - lower * error, runs.mean() + max(quantile * error, rare))
