"""Logistic regression on labels that are flipped at a known rate: an unbiased loss, and MC-SIMEX.

The unbiased loss is that of Natarajan, Dhillon, Ravikumar and Tewari (2013). MC-SIMEX is the misclassification SIMEX of
Kuechenhoff, Mwalili and Lesaffre (2006).
"""

from typing import Annotated

import numpy as np
from jaxtyping import ArrayLike, Float
from scipy import optimize, special

from jaxonline.comparators.measurement_error.extrapolation import (
    Degree,
    SimexEstimate,
    extrapolate_resamples,
    resampling_generator,
)
from jaxonline.comparators.measurement_error.noisy_rows import Fit, checked_fit
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.types import Count, Interval, Seed
from jaxonline.parameters.validation import validate_arguments

FlipRateFloat = Annotated[float, Interval(ge=0, lt=0.5)]


@cites("natarajan2013learning")
@validate_arguments
def logistic_regression(
    X: Float[ArrayLike, "n d"], y: Float[ArrayLike, "n"], flip_rate: FlipRateFloat = 0.0
) -> Float[np.ndarray, "d"]:
    """Fit logistic regression without an intercept, with an unbiased loss if labels are flipped at a known rate q.

    For a label y the logistic loss of a = <w, x> is log(2 cosh(a / 2)) - a y / 2. It is affine in y. So y / (1 - 2q) in
    place of y gives a loss whose mean over the flips is the loss of the clean label. This loss is convex. In a small
    sample it may have no minimum, and then the function raises an error.

    Args:
        X: rows.
        y: labels, +1 and -1.
        flip_rate: probability q with which a label was flipped; 0 for plain logistic regression.

    Raises:
        ValueError: a label is not +1 or -1, columns of X are linearly dependent, or the loss has no minimum, for
            example because a hyperplane separates the labels.

    Example:
        >>> import numpy as np
        >>> from jaxonline.comparators import logistic_regression
        >>> X, y = np.ones((4, 1)), [1.0, 1.0, 1.0, -1.0]
        >>> logistic_regression(X, y).round(4).tolist()  # log 3
        [1.0986]
        >>> logistic_regression(X, y, flip_rate=0.1).round(4).tolist()  # the mean label is 0.5 / 0.8, log(13 / 3)
        [1.4663]
    """
    X, y = check.rows("X", X, "y", y)
    check.margin_labels("y", y)
    X, n, labels = X.astype(float), len(y), y / (1 - 2 * flip_rate)

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        a = X @ w
        value = np.mean(np.logaddexp(a / 2, -a / 2) - a * labels / 2)
        return float(value), X.T @ (np.tanh(a / 2) - labels) / (2 * n)

    def hessian(w: np.ndarray) -> np.ndarray:
        p = special.expit(X @ w)
        return (X.T * (p * (1 - p))) @ X / n

    solution = optimize.minimize(
        loss, np.zeros(X.shape[1]), jac=True, hess=hessian, method="trust-exact", options={"gtol": 1e-8, "maxiter": 200}
    )
    if not solution.success or np.linalg.eigvalsh(hessian(solution.x))[0] < 1e-8 * np.mean(X**2):
        if (rank := np.linalg.matrix_rank(X)) < X.shape[1]:
            raise ArgumentError(
                "X", f"must have linearly independent columns (got the rank {rank} of {X.shape[1]} columns); leave out "
                "columns of zeros and combinations of other columns",
            )  # fmt: skip
        raise ArgumentError(
            "y", "must be labels for which the loss has one minimum (got a loss that has none, for example because a "
            "hyperplane separates the labels); add rows",
        )  # fmt: skip
    return solution.x


@cites("kuchenhoff2006general")
@validate_arguments
def mc_simex(
    X: Float[ArrayLike, "n d"],
    y: Float[ArrayLike, "n"],
    flip_rate: FlipRateFloat,
    fit: Fit = logistic_regression,
    degree: Degree = 2,
    n_resamples: Count = 50,
    seed: Seed = 0,
) -> SimexEstimate:
    """Estimate a model from labels that are flipped at a known rate q, by misclassification SIMEX.

    At the levels 0.5, 1, 1.5 and 2, labels are flipped again with the probability (1 - (1 - 2q)^level) / 2, so that a
    label and the clean label have the correlation (1 - 2q)^(1 + level). A polynomial of the level is fitted to the mean
    estimates, and its value at the level -1 is the estimate. A bias remains unless the mean estimate is such a
    polynomial.

    Args:
        X: rows.
        y: labels, +1 and -1.
        flip_rate: probability q with which a label was flipped.
        fit: `fit(X, y)` returns the estimate of the model from clean labels; by default logistic regression.
        degree: degree of the polynomial: 1 is linear extrapolation, 2 quadratic.
        n_resamples: number of simulated data sets at each level.
        seed: seed of the added flips.

    Raises:
        ValueError: a label is not +1 or -1, the shapes do not match, or an estimate is not finite.
        TypeError: `fit` returns something other than a vector.

    Example:
        >>> import numpy as np
        >>> from jaxonline.comparators import mc_simex
        >>> X, y = np.ones((1000, 1)), np.repeat([1.0, -1.0], [700, 300])  # clean labels have the mean 0.5: log 3 = 1.1
        >>> estimate = mc_simex(X, y, flip_rate=0.1, n_resamples=20)
        >>> estimate.estimates[0].round(2).tolist(), estimate.w.round(1).tolist()
        ([0.85], [1.0])
    """
    X, y = check.rows("X", X, "y", y)
    check.margin_labels("y", y)
    rng, fit = resampling_generator(seed), checked_fit(fit)

    def resample(level: float) -> np.ndarray:
        flips = rng.uniform(size=len(y)) < (1 - (1 - 2 * flip_rate) ** level) / 2
        return fit(X, np.where(flips, -y, y))

    return extrapolate_resamples(fit(X, y), resample, n_resamples, degree)
