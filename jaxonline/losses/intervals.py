"""Losses of prediction sets that a threshold of scores describes."""

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from jaxonline.parameters.numbers import as_floating
from jaxonline.parameters.struct import struct


@struct
class Miscoverage:
    """Miscoverage: 1 if the score y is above the threshold y_hat, so that the prediction set misses the label; else 0.

    The `gradient` is 0 everywhere. A learner that follows gradients uses `Pinball(1 - alpha)`.

    Example:
        >>> from jaxonline.losses import Miscoverage
        >>> float(Miscoverage()(0.5, 0.7)), float(Miscoverage()(0.7, 0.7)), float(Miscoverage()(float("inf"), 0.7))
        (1.0, 0.0, 0.0)
    """

    limits: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def __call__(self, y_hat: Float[ArrayLike, ""], y: Float[ArrayLike, ""]) -> Float[Array, ""]:
        """Return whether the score y is above the threshold y_hat, as 0 or 1."""
        y = as_floating(y)
        return jnp.where(jnp.isnan(y_hat), jnp.nan, (y > y_hat).astype(y.dtype))

    def gradient(self, y_hat: Float[ArrayLike, ""], y: Float[ArrayLike, ""]) -> Float[Array, ""]:
        """Return 0."""
        del y
        return jnp.zeros_like(as_floating(y_hat))
