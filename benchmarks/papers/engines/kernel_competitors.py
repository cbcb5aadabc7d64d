"""Kernel least squares without random features, and gradient descent at two levels, over known sequences.

Rivals of the learners of Rokhlin and Gurtovaya. `exact_forecasts` needs T^2 numbers and T^3 / 3 operations.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy import linalg

from benchmarks.papers.engines.vaw_blocks import Forecasts, forecast
from jaxonline.learners.kernels.raker import descend_each_kernel
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites

MAX_EXACT_ROUNDS = 10_000


@cites("vovk2001competitive", "azoury2001relative")
def exact_forecasts(gram: Float[np.ndarray, "T T"], y: Float[np.ndarray, "T"], regularizer: float = 1.0) -> Forecasts:
    """Return online kernel ridge regression and VAW with an exact kernel, from one Cholesky factor of all rounds.

    Let L L' = K + lambda I. The leading minor of round t gives the residual of kernel ridge regression on the rounds
    before: y_t - ridge_t = L_tt (L^-1 y)_t. The leverage of VAW is L_tt^2 / lambda. Raises a ValueError above
    `MAX_EXACT_ROUNDS` rounds.

    Args:
        gram: the kernel's values K between all instances.
        y: targets.
        regularizer: lambda.

    Example:
        >>> import numpy as np
        >>> from benchmarks.papers.engines.kernel_competitors import exact_forecasts
        >>> [np.round(part, 3).tolist() for part in exact_forecasts(np.ones((3, 3)), np.ones(3))]
        [[0.0, 0.5, 0.667], [0.0, 0.333, 0.5]]
    """
    check.count("rounds", len(y), le=MAX_EXACT_ROUNDS)
    L = linalg.cholesky(gram + regularizer * np.eye(len(y)), lower=True)
    diagonal = np.diagonal(L)
    ridge: Any = y - diagonal * linalg.solve_triangular(L, y, lower=True)
    return Forecasts(ridge, ridge * regularizer / diagonal**2)


def nystroem_forecasts(
    gram_rows: Float[np.ndarray, "T m"], y: Float[np.ndarray, "T"], regularizer: float = 1.0
) -> Forecasts:
    """Return online ridge and VAW on Nystroem features K_mm^(-1/2) k_m(x), whose landmarks are the first m instances.

    The landmarks are known from round 1 on, as random features are. Eigenvalues of K_mm below 1e-12 of the largest one
    are left out. float64 must be enabled.

    Args:
        gram_rows: kernel values between all instances and the first m instances.
        y: targets.
        regularizer: lambda.
    """
    m = gram_rows.shape[1]
    values, vectors = np.linalg.eigh(gram_rows[:m])
    is_kept = values > 1e-12 * values.max()
    features = gram_rows @ (vectors[:, is_kept] / np.sqrt(values[is_kept]))
    return forecast(features, y, regularizer=regularizer)[0]


@cites("kivinen2004online")
def budgeted_forecasts(
    gram: Float[np.ndarray, "T T"], y: Float[np.ndarray, "T"], step: float, budget: int, penalty: float = 0.0
) -> Float[np.ndarray, "T"]:
    """Return the predictions of NORMA with a budget: kernel gradient descent that drops its oldest point.

    The update for half squared losses is w <- (1 - step penalty) w + step (y - w(x)) k(x, .). Only the last `budget`
    points are kept: Kivinen, Smola and Williamson (2004), section III.

    Args:
        gram: the kernel's values between all instances.
        y: targets.
        step: step size.
        budget: largest number of points.
        penalty: lambda of the regularised loss.
    """
    coefficients, predictions = np.zeros(len(y)), np.zeros(len(y))
    for t in range(len(y)):
        kept = slice(max(0, t - budget), t)
        predictions[t] = coefficients[kept] @ gram[t, kept]
        coefficients[kept] *= 1.0 - step * penalty
        coefficients[t] = step * (y[t] - predictions[t])
    return predictions


@jax.jit
def two_level_descent(
    dictionary: Any, X: Float[Array, "T d"], y: Float[Array, "T"], step: float, outer_step: float, penalty: float
) -> Float[Array, "T"]:
    """Return the predictions of gradient descent over the kernels' gradient descents (OGD-OGD), squared losses.

    Kernels' weights theta are those of `Raker`, with steps step / sqrt(t). The combination w of the predictions
    z starts at 1 / N, and w <- w - outer_step / (N sqrt(t)) 2 (<w, z> - y) z.
    """

    def play_round(state, row):
        (theta, w), (x, target, t) = state, row
        features, root = dictionary(x), jnp.sqrt(t)
        z = jnp.sum(theta * features, axis=1)
        prediction = w @ z
        theta, _ = descend_each_kernel(theta, features, target, jnp.full(len(z), step / root, z.dtype), penalty)
        w = w - outer_step / (len(z) * root) * 2.0 * (prediction - target) * z
        return (theta, w), prediction

    shape = jax.eval_shape(dictionary, X[0]).shape
    first = jnp.zeros(shape, X.dtype), jnp.full(shape[0], 1.0 / shape[0], X.dtype)
    return jax.lax.scan(play_round, first, (X, y, jnp.arange(1, len(y) + 1, dtype=X.dtype)))[1]
