"""SIMEX: add more noise, observe the trend of the estimate, and extrapolate to no noise (Cook and Stefanski 1994)."""

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import numpy as np
from annotated_types import Interval
from jaxtyping import ArrayLike, Float
from numpy.polynomial import polynomial

from jaxonline.comparators.measurement_error.noisy_rows import Fit, checked_fit, least_squares, noise_factor
from jaxonline.feedback.noise import Covariance
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.types import Count, Seed, Shape, Vector
from jaxonline.parameters.validation import validate_arguments

LEVELS = 0.5, 1.0, 1.5, 2.0  # variance of the added noise, as a multiple of the variance of the noise of a row
Degree = Annotated[int, Interval(ge=1, le=4)]


class SimexEstimate(NamedTuple):
    """Result of `simex` and `mc_simex`.

    Attributes:
        w: the extrapolated estimate [d].
        levels: amounts of added noise [G], relative to the noise of the data, from 0.
        estimates: mean estimate at each level [G, d]; the first is the naive estimate.
    """

    w: Float[np.ndarray, "d"]
    levels: Float[np.ndarray, "G"]
    estimates: Float[np.ndarray, "G d"]


@validate_arguments
def extrapolate(levels: Vector, estimates: Annotated[Any, Shape("G", "d")], degree: Degree) -> Float[np.ndarray, "d"]:
    """Fit a polynomial to the estimates by least squares, and return its value at the level -1, which has no noise.

    Args:
        levels: amounts of added noise.
        estimates: the estimate at each level.
        degree: degree of the polynomial.

    Raises:
        ValueError: the degree is not below the number of distinct levels, or a level has no estimate.

    Example:
        >>> from jaxonline.comparators import extrapolate
        >>> extrapolate([0.0, 1.0, 2.0], [[3.0], [2.0], [1.0]], degree=1).round(12).tolist()
        [4.0]
    """
    if len(np.unique(levels)) <= degree:
        raise ArgumentError("degree", f"must be below the number of levels, {len(np.unique(levels))} (got {degree})")
    if len(levels) != len(estimates):
        raise ArgumentError("estimates", f"must have a row for each of {len(levels)} levels (got {len(estimates)})")
    coefficients = polynomial.polyfit(np.asarray(levels, float), np.asarray(estimates, float), degree)
    return np.asarray(polynomial.polyval(-1.0, coefficients))


def resampling_generator(seed: int) -> np.random.Generator:
    """Return a generator that differs from `np.random.default_rng(seed)`.

    A user may have drawn the rows with that generator. Then the added noise would be the rows' own random numbers.
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1994,)))


def extrapolate_resamples(
    naive: np.ndarray, resample: Callable[[float], np.ndarray], n_resamples: int, degree: int
) -> SimexEstimate:
    """Average `resample(level)` over resamples at each level above 0, and extrapolate."""
    means = [np.mean([resample(level) for _ in range(n_resamples)], axis=0) for level in LEVELS]
    levels, estimates = np.array([0.0, *LEVELS]), np.stack([naive, *means])
    return SimexEstimate(extrapolate(levels, estimates, degree), levels, estimates)


@cites("cook1994simulation")
@validate_arguments
def simex(
    X: Float[ArrayLike, "n d"],
    y: Float[ArrayLike, "n"],
    covariance: Covariance,
    fit: Fit = least_squares,
    degree: Degree = 2,
    n_resamples: Count = 100,
    seed: Seed = 0,
) -> SimexEstimate:
    """Estimate a model from noisy rows by simulation and extrapolation (SIMEX).

    At the levels 0.5, 1, 1.5 and 2, Gaussian noise of covariance level * Sigma is added to the rows. So their noise
    has the covariance (1 + level) Sigma. A polynomial of the level is fitted to the mean estimates. Its value at the
    level -1 is the estimate. The extrapolation is exact only if the mean estimate is such a polynomial; for least
    squares it is not, and a bias remains. In one dimension the mean estimate is w S / (S + (1 + level) Sigma).

    Args:
        X: noisy rows.
        y: targets.
        covariance: covariance Sigma of the noise of a row: a variance, a vector of variances, or a matrix.
        fit: `fit(X, y)` returns the estimate of the model from clean rows; by default least squares.
        degree: degree of the polynomial: 1 is linear extrapolation, 2 quadratic.
        n_resamples: number of simulated data sets at each level.
        seed: seed of the added noise.

    Raises:
        ValueError: the shapes do not match, or an entry or an estimate is not finite.
        TypeError: `fit` returns something other than a vector.

    Example:
        >>> import numpy as np
        >>> from jaxonline.comparators import least_squares, simex
        >>> rng = np.random.default_rng(0)
        >>> x = rng.normal(size=(4000, 1))
        >>> noisy, y = x + 0.5 * rng.normal(size=x.shape), x[:, 0]
        >>> estimate = simex(noisy, y, covariance=0.25, n_resamples=20)
        >>> estimate.estimates[0].round(2).tolist(), estimate.w.round(2).tolist()
        ([0.8], [0.97])
    """
    X, y = check.rows("X", X, "y", y)
    rng, factor, fit = resampling_generator(seed), noise_factor(covariance, X.shape[1]), checked_fit(fit)

    def resample(level: float) -> np.ndarray:
        return fit(X + np.sqrt(level) * rng.standard_normal(X.shape) @ factor.T, y)

    return extrapolate_resamples(fit(X, y), resample, n_resamples, degree)
