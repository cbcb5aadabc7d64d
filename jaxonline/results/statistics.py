"""Every interval of the package: means over runs, differences of means, exponents of growth.

scipy.stats, which takes a second to import, is imported when an interval is asked for.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import ArrayLike, Float, Int

from jaxonline._util import check


class Estimate(NamedTuple):
    """A mean over runs with its standard error and confidence interval; fields share one shape."""

    mean: np.ndarray
    standard_error: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n_runs: np.ndarray


class Growth(NamedTuple):
    """An exponent with its confidence interval; NaN where it is not known."""

    exponent: float
    low: float
    high: float


class Difference(NamedTuple):
    """A difference of two means with its confidence interval."""

    mean: float
    low: float
    high: float


def mean_over_runs(values: Float[np.ndarray, "L R *rest"], level: float = 0.95, together: int = 1) -> Estimate:
    """Means over the second axis with two-sided Student intervals; fields have the shape [L, *rest].

    Args:
        values: of L learners in R runs; runs with a NaN are left out.
        level: of the intervals, between 0 and 1.
        together: of so many intervals all hold with probability `level` at least (Bonferroni's correction).

    Returns:
        NaN for the mean where no run is left, and for the interval where fewer than two are.

    Raises:
        ValueError: a level out of its range, `together` below 1.

    Example:
        >>> import numpy as np
        >>> from jaxonline.results.statistics import mean_over_runs
        >>> found = mean_over_runs(np.array([[1.0, 3.0, np.nan]]))
        >>> found.mean.tolist(), found.n_runs.tolist(), found.high.round(1).tolist()
        ([2.0], [2], [14.7])
    """
    check.number("level", level, gt=0.0, lt=1.0)
    if check.count("together", together) > 1:
        level = 1.0 - (1.0 - level) / together
    n_runs = (~np.isnan(values)).sum(axis=1)
    some = np.maximum(n_runs, 1)
    mean = np.where(n_runs > 0, np.nansum(values, axis=1) / some, np.nan)
    squares = np.nansum((values - mean[:, None]) ** 2, axis=1)
    error = np.where(n_runs > 1, np.sqrt(squares / np.maximum(n_runs - 1, 1) / some), np.nan)
    half = _t_quantile(level, np.maximum(n_runs - 1, 1)) * error
    return Estimate(mean, error, mean - half, mean + half, n_runs)


def difference_of_means(
    first: Float[np.ndarray, "m"], second: Float[np.ndarray, "n"], level: float = 0.95
) -> Difference:
    """The mean of `first` minus that of `second`, of independent samples, with Welch's interval.

    Example:
        >>> import numpy as np
        >>> from jaxonline.results.statistics import difference_of_means
        >>> difference_of_means(np.array([3.0, 5.0]), np.array([0.0, 2.0])).mean
        3.0
    """
    from scipy import stats

    interval = stats.ttest_ind(first, second, equal_var=False).confidence_interval(level)
    return Difference(float(first.mean() - second.mean()), float(interval.low), float(interval.high))


def growth(rounds: Int[ArrayLike, "G"], values: Float[ArrayLike, "R G"], level: float = 0.95) -> Growth:
    """The log-log slope of the mean over runs: least squares of log mean(values) against log(rounds).

    The slope is a smooth function of the means, so its error is that of the mean over runs of its linearisation
    sum_g c_g values[r, g] / mean_g, with c_g the weights of least squares: runs are independent, recorded rounds of
    a run need not be. The interval is Student's, for many runs and means that are well above their errors.

    Args:
        rounds: at least two, above 0.
        values: of every run at these rounds; runs with a NaN are left out.
        level: of the interval, between 0 and 1.

    Returns:
        NaN where fewer than two runs are left or a mean is not above 0: there is no power law then.

    Raises:
        ValueError: fewer than two rounds, rounds not above 0, shapes that do not match, a level out of its range.

    Example:
        >>> import numpy as np
        >>> from jaxonline.results.statistics import growth
        >>> rounds = np.array([10, 100, 1000])
        >>> found = growth(rounds, np.array([[2.0], [4.0], [3.0]]) * rounds**0.5)
        >>> round(found.exponent, 9), round(found.high - found.low, 9)  # all runs grow alike
        (0.5, 0.0)
    """
    rounds, values = check.finite_array("rounds", rounds).astype(float), np.asarray(values, float)
    if rounds.ndim != 1 or len(set(rounds.tolist())) < 2 or (rounds <= 0).any():
        raise ValueError(f"rounds must be at least two numbers above 0, got {check.shown(rounds)}")
    if values.ndim != 2 or values.shape[1] != len(rounds):
        raise ValueError(f"values must have the shape (runs, {len(rounds)}), got {values.shape}")
    check.number("level", level, gt=0.0, lt=1.0)
    values = values[~np.isnan(values).any(axis=1)]
    if len(values) < 2 or (values.mean(axis=0) <= 0).any():
        return Growth(np.nan, np.nan, np.nan)
    x = np.log(rounds) - np.log(rounds).mean()
    weights, mean = x / (x @ x), values.mean(axis=0)
    exponent = float(weights @ np.log(mean))
    error = float(np.std((values / mean) @ weights, ddof=1) / np.sqrt(len(values)))
    half = float(_t_quantile(level, len(values) - 1)) * error
    return Growth(exponent, exponent - half, exponent + half)


def _t_quantile(level: float, degrees: ArrayLike) -> np.ndarray:
    """How many standard errors the interval of a level reaches, by Student's law."""
    from scipy import stats

    return stats.t.ppf(0.5 + level / 2, degrees)
