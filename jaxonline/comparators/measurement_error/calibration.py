"""Regression calibration: noisy rows are replaced by predictions of the clean rows (Carroll and coauthors 2006)."""

import numpy as np
from jaxtyping import ArrayLike, Float

from jaxonline.comparators.measurement_error.noisy_rows import Fit, least_squares, noise_factor
from jaxonline.feedback.noise import Covariance
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.types import Matrix
from jaxonline.parameters.validation import validate_arguments


@cites("carroll2006measurement")
@validate_arguments
def calibrate_rows(X: Matrix, covariance: Covariance) -> Float[np.ndarray, "n d"]:
    """Return the best linear predictions of the clean rows: m + (C - Sigma) C^-1 (x~ - m).

    Here m and C are the mean and the covariance of the noisy rows. If the instances and the noise are Gaussian,
    the prediction is E[x | x~]; in general E[x | x~] is not linear in x~.

    Args:
        X: noisy rows.
        covariance: covariance of the noise of a row: a variance, a vector of variances, or a matrix.

    Raises:
        ValueError: C - Sigma has a negative eigenvalue, so Sigma is not the covariance of the noise of these rows.

    Example:
        >>> import numpy as np
        >>> from jaxonline.comparators import calibrate_rows
        >>> calibrate_rows(np.array([[3.0], [1.0], [-1.0]]), covariance=4 / 3).ravel().round(12).tolist()
        [2.0, 1.0, 0.0]
    """
    X = np.asarray(X, float)
    factor, centred = noise_factor(covariance, X.shape[1]), X - X.mean(axis=0)
    total = centred.T @ centred / len(X)
    clean = total - factor @ factor.T
    least = np.linalg.eigvalsh(clean)[0]
    if least < -1e-9 * np.trace(total):
        raise ArgumentError(
            "covariance", "must be below the covariance of the rows, since the rows contain the noise (got a "
            f"difference with the eigenvalue {least:.3g}); check its units, or use more rows",
        )  # fmt: skip
    return X.mean(axis=0) + centred @ np.linalg.pinv(total, hermitian=True) @ clean


@cites("carroll2006measurement")
@validate_arguments
def regression_calibration(
    X: Float[ArrayLike, "n d"], y: Float[ArrayLike, "n"], covariance: Covariance, fit: Fit = least_squares
) -> Float[np.ndarray, "d"]:
    """Fit a model to calibrated rows (`calibrate_rows`).

    For a linear model the estimate is consistent for every distribution of the instances: the error of the best linear
    prediction is uncorrelated with the prediction. If the rows have the mean 0, the estimate equals `corrected_score`.
    For other models it is approximate, and exact calibration requires E[x | x~] to be linear.

    Args:
        X: noisy rows. A column of ones whose noise has the variance 0 is an intercept.
        y: targets.
        covariance: covariance of the noise of a row: a variance, a vector of variances, or a matrix.
        fit: `fit(X, y)` returns the estimate of the model from clean rows; by default least squares.

    Raises:
        ValueError: the shapes do not match, an entry is not finite, or the covariance is not below that of the rows.

    Example:
        >>> import numpy as np
        >>> from jaxonline.comparators import regression_calibration
        >>> x = np.array([[1.0], [-1.0], [2.0], [-2.0]])
        >>> regression_calibration(x, [1.2, -0.8, 1.0, -1.0], covariance=0.5).round(12).tolist()
        [0.75]
    """
    X, y = check.rows("X", X, "y", y)
    return fit(calibrate_rows(X, covariance), y)
