"""How fast a quantity grows with the rounds: the exponent a of t^a, with an interval."""

from typing import NamedTuple

import numpy as np
from jaxtyping import ArrayLike, Float, Int
from scipy import stats

from jaxonline._util import check


class Growth(NamedTuple):
    """An exponent with its confidence interval; NaN where it is not known.

    Example:
        >>> from jaxonline.results.growth import Growth
        >>> Growth(0.5, 0.4, 0.6).low
        0.4
    """

    exponent: float
    low: float
    high: float


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
        >>> from jaxonline.results.growth import growth
        >>> rounds = np.array([10, 100, 1000])
        >>> found = growth(rounds, np.array([[2.0], [4.0], [3.0]]) * rounds**0.5)
        >>> round(found.exponent, 9), round(found.high - found.low, 9)  # all runs grow alike
        (0.5, 0.0)
    """
    rounds, values = np.asarray(rounds, float), np.asarray(values, float)
    if rounds.ndim != 1 or len(set(rounds.tolist())) < 2 or (rounds <= 0).any():
        raise ValueError(f"rounds must be at least two numbers above 0, got {rounds}")
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
    half = float(stats.t.ppf(0.5 + level / 2, len(values) - 1)) * error
    return Growth(exponent, exponent - half, exponent + half)
