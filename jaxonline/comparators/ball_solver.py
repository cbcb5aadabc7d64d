"""Smooth convex losses over the ball |f| <= radius of an RKHS, on the host, in float64, with a certificate.

The best f is sum a_i k(x_i, .). With K = L L' it has the coordinates w = L' a, the values f(x_i) = (L w)_i and the norm
|w|. Each step minimises over the ball the quadratic model of the loss, with slopes g and curvatures D at f: that is
w = (mu + L'DL)^-1 L'(Df - g) for the multiplier mu >= 0 which makes |w| = radius, or for mu = 0 where that w is inside.
Then it goes along the segment to that w as far as the loss falls (proximal Newton method).

The loss is convex, so no h of the ball has a loss below loss + <L'g, h - w>: the loss is above its minimum by at most
the gap <L'g, w> + radius |L'g|.
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
Parts = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]
"""The losses of the first predictions, as many as there are, their slopes and their curvatures."""


class Factor(NamedTuple):
    """L with K = L L' up to rounding; the rows of the first blocks need the first `columns` of it only."""

    matrix: Float[np.ndarray, "n m"]
    columns: list[int]


class Solution(NamedTuple):
    """The coordinates w of the best f, its values and their loss, the gap, and the multiplier."""

    coordinates: Float[np.ndarray, "m"]
    values: Float[np.ndarray, "n"]
    loss: float
    gap: float
    multiplier: float


def loss_terms(loss: Loss, y: Float[np.ndarray, "n"]) -> Parts:
    """The losses for targets y, as one program for every number of rows."""

    def parts(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        padded = np.zeros(len(y))
        padded[: len(values)] = values
        with jax.enable_x64(True):
            value, slope, curvature = (np.asarray(part)[: len(values)] for part in _parts(loss, padded, y))
        return value, slope, curvature

    return parts


@jax.jit
def _parts(loss: Loss, values: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    return loss(values, y), loss.gradient(values, y), jax.vmap(jax.grad(loss.gradient))(values, y)


def factorise(gram: Float[np.ndarray, "n n"], ends: Sequence[int]) -> Factor:
    """Choose instances whose k(x_i, .) span all others, block by block, and write all others in them.

    A block of rows ends before each of `ends`, which rise to n. An instance is left out where it is further from the
    span of those chosen by no more than rounding; in a block, the furthest is chosen first (pivoted Cholesky).
    """
    tolerance = 20 * len(gram) * np.finfo(float).eps * gram.diagonal().max(initial=0.0)
    chosen, columns, triangle = np.zeros(0, int), [], np.zeros((0, 0))
    for begin, end in itertools.pairwise([0, *ends]):
        known = _forward(triangle, gram[chosen, begin:end])
        rest = gram[begin:end, begin:end] - known.T @ known
        (pivoted_cholesky,) = linalg.get_lapack_funcs(("pstrf",), (rest,))
        upper, order, rank, _ = pivoted_cholesky(rest, tol=tolerance)
        rank = rank if rest.diagonal().max() > tolerance else 0  # LAPACK takes the first row whatever its size
        order = order[:rank] - 1
        corner = np.zeros((len(chosen), rank))
        triangle = np.block([[triangle, corner], [known[:, order].T, np.triu(upper[:rank, :rank]).T]])
        chosen = np.concatenate([chosen, begin + order])
        columns.append(len(chosen))
    return Factor(_forward(triangle, gram[chosen]).T, columns)


def _forward(triangle: np.ndarray, right: np.ndarray) -> np.ndarray:
    return linalg.solve_triangular(triangle, right, lower=True) if len(triangle) else right  # SciPy 1.13: not empty


def minimise(
    matrix: Float[np.ndarray, "n m"], parts: Parts, radius: float, tolerance: float, start: Solution | None = None
) -> Solution:
    """Minimise until the gap is `tolerance` times the loss of f = 0 or less, or float64 sees nothing left to gain.

    Args:
        matrix: L.
        parts: of the loss.
        radius: of the ball.
        tolerance: .
        start: a solution in the first coordinates, from which the search begins.
    """
    w, multiplier = np.zeros(matrix.shape[1]), 0.0
    if start is not None:
        w[: len(start.coordinates)], multiplier = start.coordinates, start.multiplier
    scale = parts(np.zeros(len(matrix)))[0].sum()
    rounding, quiet = 10 * np.finfo(float).eps * scale, 0
    values, lower = matrix @ w, -np.inf
    losses, slopes, curvatures = parts(values)
    for _ in range(MAX_STEPS):
        loss, force = losses.sum(), matrix.T @ slopes
        lower = max(lower, loss - force @ w - radius * np.linalg.norm(force))
        if loss - lower <= tolerance * scale or quiet == 3:
            break
        scaled = np.sqrt(np.maximum(curvatures, 0.0))[:, None] * matrix
        hessian = scaled.T @ scaled
        target, multiplier = _in_ball(hessian, hessian @ w - force, radius, multiplier, tolerance * scale / radius**2)
        w = w + _step(parts, loss, values, matrix @ (target - w), slopes, rounding) * (target - w)
        values = matrix @ w
        losses, slopes, curvatures = parts(values)
        quiet = quiet + 1 if loss - losses.sum() <= rounding else 0
    loss = float(losses.sum())
    return Solution(w, values, loss, max(loss - float(lower), 0.0), multiplier)


def _in_ball(
    hessian: Float[np.ndarray, "m m"], pull: Float[np.ndarray, "m"], radius: float, mu: float, least: float
) -> tuple[np.ndarray, float]:
    """w = (mu + H)^-1 pull with |w| = radius, or with mu = `least` where that is inside; and mu.

    Newton's method on 1/|w(mu)| = 1/radius.
    """
    least = max(least, 8 * np.finfo(float).eps * np.linalg.norm(hessian))
    mu, w, norm = max(mu, least), pull, math.inf
    for _ in range(50):
        matrix = hessian.copy()
        matrix.flat[:: len(matrix) + 1] += mu
        try:
            factor = linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:  # rounding has made it indefinite
            mu = least = 10 * mu
            continue
        w = linalg.cho_solve(factor, pull, check_finite=False)
        norm = float(np.linalg.norm(w))
        if abs(norm - radius) <= 1e-12 * radius or (norm < radius and mu <= least):
            break
        fall = float(w @ linalg.cho_solve(factor, w, check_finite=False)) / max(norm, 1e-300)  # -d|w| / d mu
        mu = max(mu + norm * (norm - radius) / max(radius * fall, 1e-300), least)
    return w * min(1.0, radius / max(norm, 1e-300)), mu


def _step(
    parts: Parts, loss: float, values: np.ndarray, direction: np.ndarray, slopes: np.ndarray, rounding: float
) -> float:
    """The first of 1, 1/2, 1/4, ... with which the loss falls enough (Armijo), up to rounding."""
    slope, step = float(slopes @ direction), 1.0
    while parts(values + step * direction)[0].sum() > loss + 1e-4 * step * slope + rounding and step > 1e-12:
        step /= 2
    return step
