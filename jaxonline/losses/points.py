"""Losses of a move that is a point in R^d, where the outcome is a point as well.

The linear loss <w, y> of a point is `ExpectedLoss`.
"""

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from jaxonline.parameters.numbers import as_floating
from jaxonline.parameters.struct import struct


@struct
class SquaredDistance:
    """The squared Euclidean distance |y_hat - y|^2 of two points.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.losses import SquaredDistance
        >>> w, y = jnp.array([1.0, 0.0]), jnp.array([0.0, 2.0])
        >>> float(SquaredDistance()(w, y)), SquaredDistance().gradient(w, y).tolist()
        (5.0, [2.0, -4.0])
    """

    def __call__(self, y_hat: Float[ArrayLike, "d"], y: Float[ArrayLike, "d"]) -> Float[Array, ""]:
        """|y_hat - y|^2."""
        difference = as_floating(y_hat) - as_floating(y)
        return jnp.vdot(difference, difference)

    def gradient(self, y_hat: Float[ArrayLike, "d"], y: Float[ArrayLike, "d"]) -> Float[Array, "d"]:
        """2 (y_hat - y)."""
        return 2.0 * (as_floating(y_hat) - as_floating(y))
