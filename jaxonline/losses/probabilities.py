"""Losses of a predicted probability."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike

from jaxonline.parameters.numbers import as_floating
from jaxonline.parameters.struct import struct


@struct
class LogLoss:
    """The log loss -ln P(y): -ln y_hat where y = 1 and -ln(1 - y_hat) where y = 0.

    `y_hat` is the predicted probability of the label 1, from 0 to 1 (NaN elsewhere). The loss is from 0 to inf: a
    label that was said to be impossible costs inf, and has an infinite gradient.

    Source: Cesa-Bianchi and Lugosi, "Prediction, Learning, and Games" (2006), chapter 9.

    Example:
        >>> from jaxonline.losses import LogLoss
        >>> round(float(LogLoss()(0.5, 0.0)), 4), float(LogLoss().gradient(0.25, 1.0))
        (0.6931, -4.0)
    """

    def __call__(self, y_hat: ArrayLike, y: ArrayLike) -> Array:
        """The loss of the probability `y_hat` of 1 where the label is `y`, 0 or 1; arguments of one shape."""
        p, y = _probability(y_hat), as_floating(y)
        return -jax.scipy.special.xlogy(y, p) - jax.scipy.special.xlog1py(1.0 - y, -p)

    def gradient(self, y_hat: ArrayLike, y: ArrayLike) -> Array:
        """(1 - y)/(1 - y_hat) - y/y_hat, without the part that does not count; arguments of one shape."""
        p, y = _probability(y_hat), as_floating(y)
        return _share(1.0 - y, 1.0 - p) - _share(y, p)


def _probability(y_hat: ArrayLike) -> Array:
    p = as_floating(y_hat)
    return jnp.where((p >= 0.0) & (p <= 1.0), p, jnp.nan)


def _share(y: Array, p: Array) -> Array:
    """y / p, with 0 / 0 = 0."""
    return y / jnp.where((y == 0.0) & (p == 0.0), 1.0, p)
