"""Comparators that are linear predictors: the best in a Euclidean ball or an L1 ball."""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Annotated, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy import linalg

from jaxonline.losses import Loss, Squared
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import OrInfinity, Positive, PositiveFloat

# ---------------------------------------------------------------------------------------------------------------------
# Solver for smooth convex losses over the ball |f| <= radius of an RKHS, with a duality gap; float64 on the host.
#
# With the Gram matrix K = L L' the best f = sum a_i k(x_i, .) has the coordinates w = L' a, the values f(x_i) = (L w)_i
# and the norm |w|. A proximal Newton step minimises a quadratic model of the loss over the ball, with slopes g and
# curvatures D at the current f. The minimiser of the model is w = (mu + L'DL)^-1 L'(Df - g). The multiplier mu is 0 if
# this w is inside the ball; otherwise mu > 0 is such that |w| = radius. A line search from the current w to this
# minimiser follows. Since the loss is convex, every h in the ball has a loss of at least loss + <L'g, h - w>. So the
# loss exceeds its minimum by at most the gap <L'g, w> + radius |L'g|.


MAX_NEWTON_STEPS = 200
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
    for _ in range(MAX_NEWTON_STEPS):
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


# ---------------------------------------------------------------------------------------------------------------------
# Comparator: the best linear predictor in an l2 ball for the squared loss, exactly, from sums over rounds.


class QuadraticSums(NamedTuple):
    """Statistics of the squared loss of linear predictors: the sums of x x' [..., d, d], y x [..., d] and y^2 [...]."""

    xx: Float[Array, "... d d"]
    xy: Float[Array, "... d"]
    yy: Float[Array, "..."]


@struct
class L2Ball:
    """Best linear predictor <w, x> with |w|_2 <= radius for the squared loss, exactly (`best_in_l2_ball`).

    Args:
        radius: radius of the ball; inf for unconstrained least squares. Sums in float32 determine the least-squares
            predictor badly if instances are (nearly) linearly dependent; enable float64 for such data.

    Example:
        >>> import numpy as np
        >>> from jaxonline.comparators import L2Ball, QuadraticSums
        >>> sums = QuadraticSums(np.eye(2), np.array([3.0, 4.0]), np.float64(25.0))
        >>> float(L2Ball(np.inf).best_loss(sums)), round(float(L2Ball(1.0).best_loss(sums)), 12)
        (0.0, 16.0)
    """

    radius: Annotated[Positive, OrInfinity()]
    loss: ClassVar[Loss] = Squared()

    def statistic(self, x: Float[Array, "d"], y: Float[Array, ""]) -> QuadraticSums:
        """Statistics x x', y x and y^2 of one round."""
        return QuadraticSums(jnp.outer(x, x), y * x, y * y)

    def best_loss(self, sums: QuadraticSums) -> np.ndarray:
        """Smallest cumulative squared loss in the ball [...]."""
        return best_in_l2_ball(sums, float(np.asarray(self.radius)))[0]

    def best_predictor(self, sums: QuadraticSums) -> np.ndarray:
        """Best predictor [..., d] in the ball by cumulative loss; the one of smallest norm if several are best."""
        return best_in_l2_ball(sums, float(np.asarray(self.radius)))[1]


@validate_arguments
def best_in_l2_ball(
    sums: QuadraticSums, radius: Annotated[PositiveFloat, OrInfinity()]
) -> tuple[np.ndarray, np.ndarray]:
    """Minimise yy - 2 <xy, w> + w' xx w over |w| <= radius; return the loss [...] and the predictor [..., d].

    With xx = Q diag(l) Q' and b = Q' xy, the predictor is w(mu) = Q b / (l + mu). If w(0) is inside the ball, mu = 0.
    Otherwise mu solves |w(mu)| = radius; Newton's method on 1/|w(mu)| - 1/radius increases monotonically to this root.

    Args:
        sums: float64 statistics with any leading batch dimensions.
        radius: radius of the ball; may be inf.

    Example:
        >>> import numpy as np
        >>> from jaxonline.comparators import QuadraticSums, best_in_l2_ball
        >>> loss, w = best_in_l2_ball(QuadraticSums(2 * np.eye(2), np.array([0.0, 4.0]), np.float64(9.0)), 1.0)
        >>> float(loss), w.round(12).tolist()
        (3.0, [0.0, 1.0])
    """
    xx, xy, yy = (np.asarray(array, np.float64) for array in sums)
    not_finite = ~(np.isfinite(xx).all((-2, -1)) & np.isfinite(xy).all(-1) & np.isfinite(yy))
    xx = np.where(not_finite[..., None, None], 0.0, xx)
    eigenvalues, vectors = np.linalg.eigh(xx)
    largest = np.maximum(eigenvalues[..., -1:], 0.0)
    flat = eigenvalues <= largest * xx.shape[-1] * np.finfo(np.float64).eps * 4
    eigenvalues = np.where(flat, 0.0, eigenvalues)
    b = np.where(flat, 0.0, np.einsum("...ij,...i->...j", vectors, np.where(not_finite[..., None], 0.0, xy)))

    def coordinates(mu):
        return np.divide(b, eigenvalues + mu, out=np.zeros_like(b), where=~flat)

    mu = np.zeros((*b.shape[:-1], 1))
    if np.isfinite(radius):
        outside = np.linalg.norm(coordinates(mu), axis=-1, keepdims=True) > radius
        start = np.maximum(np.linalg.norm(b, axis=-1, keepdims=True) / radius - largest, 0.0)
        mu, active = np.where(outside, start, 0.0), outside  # each stops on its own: no result depends on the batch
        for _ in range(100):
            w = coordinates(mu)
            norm = np.linalg.norm(w, axis=-1, keepdims=True)
            slope = np.sum(np.divide(w * w, eigenvalues + mu, out=np.zeros_like(w), where=~flat), -1, keepdims=True)
            step = norm**2 / np.where(slope > 0, slope, 1.0) * (norm / radius - 1.0)
            move = np.where(active & (slope > 0), np.maximum(step, 0.0), 0.0)
            mu = mu + move
            active = active & (move > 1e-14 * (mu + largest))
            if not active.any():
                break
    w = coordinates(mu)
    loss = yy - 2 * np.sum(b * w, -1) + np.sum(eigenvalues * w * w, -1)
    predictor = np.einsum("...ij,...j->...i", vectors, w)
    return np.where(not_finite, np.nan, loss), np.where(not_finite[..., None], np.nan, predictor)


# ---------------------------------------------------------------------------------------------------------------------
# Comparator: the best linear predictor in an l1 ball for the squared loss, with a duality gap.


MAX_STEPS = 20_000
STEPS_BETWEEN_SOLVES = 25  # descent steps between two solutions of the linear system on the support


class L1Solution(NamedTuple):
    """Best predictor w [..., d] of an l1 ball, its loss [...], and the duality gap [...], which bounds its error."""

    loss: Float[np.ndarray, "..."]
    w: Float[np.ndarray, "... d"]
    gap: Float[np.ndarray, "..."]


@struct
class L1Ball:
    """Best linear predictor <w, x> with |w|_1 <= radius for the squared loss (constrained Lasso).

    Accelerated descent finds the support; then a linear system gives the predictor, up to rounding (`best_in_l1_ball`).

    Args:
        radius: radius of the ball.

    Example:
        >>> import numpy as np
        >>> from jaxonline.comparators import L1Ball, QuadraticSums
        >>> sums = QuadraticSums(np.eye(2), np.array([3.0, 4.0]), np.float64(25.0))
        >>> float(L1Ball(1.0).best_loss(sums)), L1Ball(1.0).best_predictor(sums).tolist()
        (18.0, [0.0, 1.0])
    """

    radius: Positive
    loss: ClassVar[Loss] = Squared()

    def statistic(self, x: Float[Array, "d"], y: Float[Array, ""]) -> QuadraticSums:
        """Statistics x x', y x and y^2 of one round."""
        return QuadraticSums(jnp.outer(x, x), y * x, y * y)

    def best_loss(self, sums: QuadraticSums) -> np.ndarray:
        """Smallest cumulative squared loss in the ball [...]."""
        return best_in_l1_ball(sums, float(np.asarray(self.radius))).loss

    def best_predictor(self, sums: QuadraticSums) -> np.ndarray:
        """A predictor [..., d] with the smallest cumulative loss in the ball."""
        return best_in_l1_ball(sums, float(np.asarray(self.radius))).w


@validate_arguments
def best_in_l1_ball(sums: QuadraticSums, radius: PositiveFloat, tolerance: PositiveFloat = 1e-10) -> L1Solution:
    """Minimise yy - 2 <xy, w> + w' xx w over |w|_1 <= radius.

    The loss of the returned w exceeds the minimum by at most the gap <g, w> + radius |g|_inf, where g is the gradient
    at w (Frank and Wolfe).

    Args:
        sums: float64 statistics with any leading batch dimensions.
        radius: radius of the ball.
        tolerance: gap, relative to yy, at which the search stops.

    Example:
        >>> import numpy as np
        >>> from jaxonline.comparators import QuadraticSums, best_in_l1_ball
        >>> solution = best_in_l1_ball(QuadraticSums(np.eye(2), np.array([1.0, 0.8]), np.float64(2.0)), 1.0)
        >>> solution.w.round(12).tolist(), bool(solution.gap < 1e-9)
        ([0.6, 0.4], True)
    """
    xx, xy, yy = (np.asarray(array, np.float64) for array in sums)
    batch, d = xy.shape[:-1], xy.shape[-1]
    solutions = [
        _solve(*row, radius, tolerance)
        for row in zip(xx.reshape(-1, d, d), xy.reshape(-1, d), yy.reshape(-1), strict=True)
    ]
    losses, predictors, gaps = (np.array([solution[i] for solution in solutions]) for i in range(3))
    return L1Solution(losses.reshape(batch), predictors.reshape(*batch, d), gaps.reshape(batch))


def _solve(
    xx: Float[np.ndarray, "d d"], xy: Float[np.ndarray, "d"], yy: float, radius: float, tolerance: float
) -> tuple[float, np.ndarray, float]:
    """Return loss, predictor and gap of one problem; NaN if the sums are not finite."""
    if not (np.isfinite(xx).all() and np.isfinite(xy).all() and np.isfinite(yy)):
        return np.nan, np.full_like(xy, np.nan), np.nan
    curvature = 2 * max(np.linalg.eigvalsh(xx)[-1], np.finfo(float).tiny)

    def evaluate(w: np.ndarray) -> tuple[float, np.ndarray, float]:
        product = xx @ w
        gradient = 2 * (product - xy)
        gap = gradient @ w + radius * np.abs(gradient).max(initial=0.0)
        return float(yy - 2 * xy @ w + w @ product), w, max(float(gap), 0.0)

    w = z = np.zeros_like(xy)
    momentum, best = 1.0, evaluate(w)
    for step in range(MAX_STEPS):
        if best[2] <= tolerance * max(yy, np.finfo(float).tiny):
            break
        new = project(z - 2 * (xx @ z - xy) / curvature, radius)
        if (z - new) @ (new - w) > 0:  # restart without momentum after a change of direction
            momentum = 1.0
        next_momentum = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        z, w, momentum = new + (momentum - 1) / next_momentum * (new - w), new, next_momentum
        if step % STEPS_BETWEEN_SOLVES == 0:
            candidates = [evaluate(w), evaluate(_solve_on_support(xx, xy, w, radius))]
            best = min([best, *candidates], key=lambda candidate: candidate[2])
    return best


def _solve_on_support(xx: np.ndarray, xy: np.ndarray, w: np.ndarray, radius: float) -> np.ndarray:
    """Solve a linear system for the best predictor with the support and signs of w, and project it onto the ball."""
    support = np.flatnonzero(w)
    signs, block = np.sign(w[support]), xx[np.ix_(support, support)]
    free = np.linalg.lstsq(block, xy[support], rcond=None)[0]
    if np.abs(free).sum() > radius:
        slope = np.linalg.lstsq(block, signs, rcond=None)[0]
        rate = signs @ slope
        free = free - slope * ((signs @ free - radius) / rate) if rate > 0 else free
    solution = np.zeros_like(w)
    solution[support] = free
    return project(solution, radius)


def project(w: Float[np.ndarray, "d"], radius: float) -> np.ndarray:
    """Project w onto the l1 ball (Duchi, Shalev-Shwartz, Singer and Chandra 2008)."""
    sizes = np.sort(np.abs(w))[::-1]
    if sizes.sum() <= radius:
        return w
    thresholds = (np.cumsum(sizes) - radius) / np.arange(1, len(w) + 1)
    return np.sign(w) * np.maximum(np.abs(w) - thresholds[np.flatnonzero(sizes > thresholds)[-1]], 0.0)
