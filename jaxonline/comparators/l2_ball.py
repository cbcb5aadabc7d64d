"""Comparator: the best linear predictor in an l2 ball for the squared loss, exactly, from sums over rounds."""

from typing import Annotated, ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxonline.losses import Loss, Squared
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import OrInfinity, Positive, PositiveFloat
from jaxonline.parameters.validation import validate_arguments


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
    contains_zero: ClassVar[bool] = True

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
