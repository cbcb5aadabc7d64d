"""Total least squares with a known covariance of the noise (Golub and Van Loan 1980; Fuller 1987)."""

import numpy as np
from jaxtyping import ArrayLike, Float

from jaxonline.comparators.measurement_error.noisy_rows import joint_moments, largest_noise_share
from jaxonline.feedback.noise import Covariance
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.types import NonNegativeFloat
from jaxonline.parameters.validation import validate_arguments


@cites("golub1980analysis", "fuller1987measurement", "carroll1996use")
@validate_arguments
def total_least_squares(
    X: Float[ArrayLike, "n d"], y: Float[ArrayLike, "n"], covariance: Covariance, label_variance: NonNegativeFloat
) -> Float[np.ndarray, "d"]:
    """Minimise sum (y - <w, x>)^2 / (label_variance + w' Sigma w): total least squares.

    With Gaussian noise this w is the maximum-likelihood estimate for unknown instances. Only the ratio of the noise in
    x and y matters: the same factor on `covariance` and `label_variance` does not change w. With a number as
    `covariance` this is the classical method with a known noise ratio; a matrix is its generalisation.

    The method assumes that y = <w, x> up to the noise of the measured label. If the clean y also deviates from <w, x>,
    and `label_variance` does not contain the variance of this deviation, the estimate is too long and does not converge
    to the least-squares predictor of clean rows (Carroll and Ruppert 1996).

    Args:
        X: noisy rows. A column of ones whose noise has the variance 0 is an intercept.
        y: noisy targets.
        covariance: covariance of the noise of a row: a variance, a vector of variances, or a matrix.
        label_variance: variance of the noise of a target; not 0 if the covariance is 0.

    Raises:
        ValueError: the shapes do not match, there is no noise, or no finite w is the minimiser.

    Example:
        >>> import numpy as np
        >>> from jaxonline.comparators import total_least_squares
        >>> x, y = np.array([[1.0], [-1.0], [2.0], [-2.0]]), [1.2, -0.8, 1.0, -1.0]
        >>> total_least_squares(x, y, covariance=1.0, label_variance=1.0).round(4).tolist()
        [0.6217]
    """
    X, y = check.rows("X", X, "y", y)
    moments, noise = joint_moments(X, y, covariance, label_variance)
    if not noise.any():
        raise ArgumentError("label_variance", "must be above 0 if the covariance is 0 (got 0)")
    _, direction = largest_noise_share(moments, noise)
    if abs(direction[-1]) <= 1e-9 * np.abs(direction).max():
        raise ArgumentError("X", "must have a minimiser of the sum (got rows for which y does not matter)")
    return -direction[:-1] / direction[-1]
