"""Losses of a predicted probability."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike

from jaxonline.parameters.numbers import as_floating
from jaxonline.parameters.struct import struct


@struct
class LogLoss:
    """Log loss -ln P(y): -ln y_hat if y = 1, -ln(1 - y_hat) if y = 0.

    `y_hat` is the predicted probability of the label 1 (NaN outside [0, 1]). A label of predicted probability 0 costs
    inf, with an infinite gradient. Source: Cesa-Bianchi and Lugosi, "Prediction, Learning, and Games" (2006), chapter
    9.

    Example:
        >>> from jaxonline.losses import LogLoss
        >>> round(float(LogLoss()(0.5, 0.0)), 4), float(LogLoss().gradient(0.25, 1.0))
        (0.6931, -4.0)
    """

    def __call__(self, y_hat: ArrayLike, y: ArrayLike) -> Array:
        """Return the loss of the predicted probability `y_hat` of 1, for labels `y` (0 or 1) of the same shape."""
        p, y = _probability(y_hat), as_floating(y)
        return -jax.scipy.special.xlogy(y, p) - jax.scipy.special.xlog1py(1.0 - y, -p)

    def gradient(self, y_hat: ArrayLike, y: ArrayLike) -> Array:
        """Return (1 - y)/(1 - y_hat) - y/y_hat, with 0/0 = 0; `y` has the same shape."""
        p, y = _probability(y_hat), as_floating(y)
        return _ratio(1.0 - y, 1.0 - p) - _ratio(y, p)


def _probability(y_hat: ArrayLike) -> Array:
    p = as_floating(y_hat)
    return jnp.where((p >= 0.0) & (p <= 1.0), p, jnp.nan)


def _ratio(y: Array, p: Array) -> Array:
    """Return y / p, with 0 / 0 = 0."""
    return y / jnp.where((y == 0.0) & (p == 0.0), 1.0, p)
