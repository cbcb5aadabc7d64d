"""Solver for smooth convex losses over the ball |f| <= radius of an RKHS, with a duality gap; float64 on the host.

With the Gram matrix K = L L' the best f = sum a_i k(x_i, .) has the coordinates w = L' a, the values f(x_i) = (L w)_i
and the norm |w|. A proximal Newton step minimises a quadratic model of the loss over the ball, with slopes g and
curvatures D at the current f. The minimiser of the model is w = (mu + L'DL)^-1 L'(Df - g). The multiplier mu is 0 if
this w is inside the ball; otherwise mu > 0 is such that |w| = radius. A line search from the current w to this
minimiser follows. Since the loss is convex, every h in the ball has a loss of at least loss + <L'g, h - w>. So the loss
exceeds its minimum by at most the gap <L'g, w> + radius |L'g|.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float
from scipy import linalg

from jaxonline.losses import Loss

MAX_STEPS = 200
LossTerms = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]
"""A function of the first predictions that returns their losses, slopes and curvatures."""


class Factor(NamedTuple):
    """Factor L of the Gram matrix K = L L' up to rounding; row block i needs only the first `columns[i]` columns."""

    matrix: Float[np.ndarray, "n m"]
    columns: list[int]


class Solution(NamedTuple):
    """Coordinates w of the best f, its values f(x_i), its loss, the duality gap, and the multiplier mu."""

    coordinates: Float[np.ndarray, "m"]
    values: Float[np.ndarray, "n"]
    loss: float
    gap: float
    multiplier: float


def loss_terms(loss: Loss, y: Float[np.ndarray, "n"]) -> LossTerms:
    """Return a function for losses, slopes and curvatures, with one compiled program for all numbers of rows."""

    def terms(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        padded = np.zeros(len(y))
        padded[: len(values)] = values
        with jax.enable_x64(True):
            value, slope, curvature = (np.asarray(term)[: len(values)] for term in _terms(loss, padded, y))
        return value, slope, curvature

    return terms


@jax.jit
def _terms(loss: Loss, values: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    return loss(values, y), loss.gradient(values, y), jax.vmap(jax.grad(loss.gradient))(values, y)


def factorise(gram: Float[np.ndarray, "n n"], ends: Sequence[int]) -> Factor:
    """Factorise the Gram matrix by pivoted Cholesky, block by block.

    Block i of the rows ends before row `ends[i]`; the entries of `ends` increase to n. An instance becomes a pivot if
    the distance of k(x_i, .) to the span of the earlier pivots exceeds rounding; within a block, the furthest instance
    is the next pivot.
    """
    tolerance = 20 * len(gram) * np.finfo(float).eps * gram.diagonal().max(initial=0.0)
    chosen, columns, triangle = np.zeros(0, int), [], np.zeros((0, 0))
    for begin, end in itertools.pairwise([0, *ends]):
        known = _solve_lower(triangle, gram[chosen, begin:end])
        rest = gram[begin:end, begin:end] - known.T @ known
        (pivoted_cholesky,) = linalg.get_lapack_funcs(("pstrf",), (rest,))
        upper, order, rank, _ = pivoted_cholesky(rest, tol=tolerance)
        rank = rank if rest.diagonal().max() > tolerance else 0  # LAPACK always takes the first row
        order = order[:rank] - 1
        corner = np.zeros((len(chosen), rank))
        triangle = np.block([[triangle, corner], [known[:, order].T, np.triu(upper[:rank, :rank]).T]])
        chosen = np.concatenate([chosen, begin + order])
        columns.append(len(chosen))
    return Factor(_solve_lower(triangle, gram[chosen]).T, columns)


def _solve_lower(triangle: np.ndarray, right: np.ndarray) -> np.ndarray:
    # SciPy 1.13 rejects empty arrays.
    return linalg.solve_triangular(triangle, right, lower=True) if len(triangle) else right


def minimise(
    matrix: Float[np.ndarray, "n m"], terms: LossTerms, radius: float, tolerance: float, start: Solution | None = None
) -> Solution:
    """Minimise the loss until the duality gap is at most `tolerance` times the loss of f = 0, or rounding stops it.

    `matrix` is the factor L of the Gram matrix, and `terms` computes the loss. The search starts at `start`, a solution
    in the first coordinates, or at 0.
    """
    w, multiplier = np.zeros(matrix.shape[1]), 0.0
    if start is not None:
        w[: len(start.coordinates)], multiplier = start.coordinates, start.multiplier
    scale = terms(np.zeros(len(matrix)))[0].sum()
    rounding, stalled_steps = 10 * np.finfo(float).eps * scale, 0
    values, lower = matrix @ w, -np.inf
    losses, slopes, curvatures = terms(values)
    for _ in range(MAX_STEPS):
        loss, gradient = losses.sum(), matrix.T @ slopes
        lower = max(lower, loss - gradient @ w - radius * np.linalg.norm(gradient))
        if loss - lower <= tolerance * scale or stalled_steps == 3:
            break
        scaled = np.sqrt(np.maximum(curvatures, 0.0))[:, None] * matrix
        hessian = scaled.T @ scaled
        min_mu = tolerance * scale / radius**2
        target, multiplier = _minimise_quadratic(hessian, hessian @ w - gradient, radius, multiplier, min_mu)
        w = w + _step(terms, loss, values, matrix @ (target - w), slopes, rounding) * (target - w)
        values = matrix @ w
        losses, slopes, curvatures = terms(values)
        stalled_steps = stalled_steps + 1 if loss - losses.sum() <= rounding else 0
    loss = float(losses.sum())
    return Solution(w, values, loss, max(loss - float(lower), 0.0), multiplier)


def _minimise_quadratic(
    hessian: Float[np.ndarray, "m m"], linear: Float[np.ndarray, "m"], radius: float, mu: float, min_mu: float
) -> tuple[np.ndarray, float]:
    """Return w = (mu + H)^-1 linear and mu >= `min_mu`, by Newton's method on 1/|w(mu)| = 1/radius."""
    min_mu = max(min_mu, 8 * np.finfo(float).eps * np.linalg.norm(hessian))
    mu, w, norm = max(mu, min_mu), linear, math.inf
    for _ in range(50):
        matrix = hessian.copy()
        matrix.flat[:: len(matrix) + 1] += mu
        try:
            factor = linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:  # indefinite by rounding
            mu = min_mu = 10 * mu
            continue
        w = linalg.cho_solve(factor, linear, check_finite=False)
        norm = float(np.linalg.norm(w))
        if abs(norm - radius) <= 1e-12 * radius or (norm < radius and mu <= min_mu):
            break
        norm_slope = float(w @ linalg.cho_solve(factor, w, check_finite=False)) / max(norm, 1e-300)  # -d|w| / d mu
        mu = max(mu + norm * (norm - radius) / max(radius * norm_slope, 1e-300), min_mu)
    return w * min(1.0, radius / max(norm, 1e-300)), mu


def _step(
    terms: LossTerms, loss: float, values: np.ndarray, direction: np.ndarray, slopes: np.ndarray, rounding: float
) -> float:
    """Return the first step size of 1, 1/2, 1/4, ... that satisfies the Armijo condition, up to rounding."""
    slope, step = float(slopes @ direction), 1.0
    while terms(values + step * direction)[0].sum() > loss + 1e-4 * step * slope + rounding and step > 1e-12:
        step /= 2
    return step
