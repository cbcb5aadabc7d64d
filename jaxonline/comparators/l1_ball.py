"""Comparator: the best linear predictor in an l1 ball for the squared loss, with a duality gap."""

from typing import ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxonline.comparators.l2_ball import QuadraticSums
from jaxonline.losses import Loss, Squared
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Positive, PositiveFloat
from jaxonline.parameters.validation import validate_arguments

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
    contains_zero: ClassVar[bool] = True

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
