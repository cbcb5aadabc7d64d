"""Losses of a point in R^d, with a point as outcome. The linear loss <w, y> is `ExpectedLoss`."""

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from jaxonline.parameters.numbers import as_floating
from jaxonline.parameters.struct import struct


@struct
class SquaredDistance:
    """Squared Euclidean distance |y_hat - y|^2 of two points.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.losses import SquaredDistance
        >>> w, y = jnp.array([1.0, 0.0]), jnp.array([0.0, 2.0])
        >>> float(SquaredDistance()(w, y)), SquaredDistance().gradient(w, y).tolist()
        (5.0, [2.0, -4.0])
    """

    def __call__(self, y_hat: Float[ArrayLike, "d"], y: Float[ArrayLike, "d"]) -> Float[Array, ""]:
        """Return |y_hat - y|^2."""
        difference = as_floating(y_hat) - as_floating(y)
        return jnp.vdot(difference, difference)

    def gradient(self, y_hat: Float[ArrayLike, "d"], y: Float[ArrayLike, "d"]) -> Float[Array, "d"]:
        """Return 2 (y_hat - y)."""
        return 2.0 * (as_floating(y_hat) - as_floating(y))
