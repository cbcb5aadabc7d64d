"""Checks and second moments of rows with noise, shared by the methods of this package."""

from collections.abc import Callable
from typing import Annotated

import numpy as np
from jaxtyping import ArrayLike, Float
from scipy import linalg

from jaxonline.feedback.noise import Covariance, gaussian
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.parameters.types import Takes
from jaxonline.parameters.validation import validate_arguments

Fit = Annotated[Callable[[np.ndarray, np.ndarray], np.ndarray], Takes("(X, y)")]


def checked_fit(fit: Fit) -> Fit:
    """Return `fit` with a check of its results: vectors of finite numbers, all of the length of the first one."""
    lengths: list[int] = []

    def call(X: np.ndarray, y: np.ndarray) -> np.ndarray:
        w = fit(X, y)
        if isinstance(w, tuple) or w is None:
            raise ArgumentTypeError("fit", f"must return a vector, the estimate (got {check.quote(w)})")
        w = check.vector("fit", w)
        lengths.append(len(w))
        if len(w) != lengths[0]:
            raise ArgumentError("fit", f"must return vectors of one length (got the lengths {lengths[0]} and {len(w)})")
        return w

    return call


@validate_arguments
def least_squares(X: Float[ArrayLike, "n d"], y: Float[ArrayLike, "n"]) -> Float[np.ndarray, "d"]:
    """Fit the linear predictor <w, x> by least squares, without an intercept.

    If the rows have independent noise of covariance Sigma, the estimate converges to (S + Sigma)^-1 S w, where S = E x
    x'. In one dimension w is multiplied by S / (S + Sigma), the attenuation factor (Fuller 1987).

    Args:
        X: rows.
        y: targets.

    Raises:
        ValueError: the shapes do not match, or an entry is not finite.

    Example:
        >>> from jaxonline.comparators import least_squares
        >>> least_squares([[1.0, 0.0], [0.0, 2.0]], [3.0, 4.0]).round(12).tolist()
        [3.0, 2.0]
    """
    X, y = check.rows("X", X, "y", y)
    return np.linalg.lstsq(X.astype(float), y.astype(float), rcond=None)[0]


def noise_factor(covariance: Covariance, dimension: int) -> Float[np.ndarray, "d d"]:
    """Return F with F F' = covariance; raises a ValueError if the size of the covariance is not `dimension`."""
    shape = np.shape(covariance)
    if shape and shape[0] != dimension:
        raise ArgumentError("covariance", f"must fit rows of {dimension} numbers (got shape {shape})")
    return gaussian(covariance).factor_matrix(dimension)


def joint_moments(
    X: Float[np.ndarray, "n d"], y: Float[np.ndarray, "n"], covariance: Covariance, label_variance: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of z z' for the rows z = (x, y), and the covariance of their noise, both [d + 1, d + 1]."""
    rows, factor = np.column_stack([X, y]).astype(float), noise_factor(covariance, X.shape[1])
    return rows.T @ rows / len(rows), np.asarray(linalg.block_diag(factor @ factor.T, label_variance))


def largest_noise_share(
    moments: Float[np.ndarray, "k k"], noise: Float[np.ndarray, "k k"]
) -> tuple[float, Float[np.ndarray, "k"]]:
    """Return the largest s for which moments - s noise is positive semi-definite, and its null vector.

    Without noise s is infinite. The moments must be positive definite (ValueError).
    """
    try:
        values, vectors = linalg.eigh(noise, moments)
    except linalg.LinAlgError:
        raise ArgumentError(
            "X", "must have linearly independent columns, which do not determine y (got a singular moment matrix)"
        ) from None
    with np.errstate(divide="ignore"):
        return float(1 / np.maximum(values[-1], 0.0)), vectors[:, -1]
