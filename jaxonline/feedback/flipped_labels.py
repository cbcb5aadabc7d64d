"""Noise of labels whose sign is flipped at a known rate."""

from typing import Annotated

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from jaxonline import random
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Ge, Lt, Number

FlipRate = Annotated[Number, Ge(0), Lt(0.5)]


@struct
class FlippedLabels:
    """Noise of labels with sign flips at a known rate q: y~ = y / (1 - 2q) with probability 1 - q, else -y / (1 - 2q).

    A label that is flipped with probability q has the mean (1 - 2q) y. So y~ has the mean y, and E y~^2 = y^2 / (1 -
    2q)^2.

    Args:
        rate: q, below 1/2; 0 for clean labels.

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> feedback = jo.NoisyCopies(jo.noise.gaussian(0.1), label_noise=jo.noise.FlippedLabels(0.25))
        >>> oracle = feedback.open(jax.random.key(0), jnp.int32(1), jnp.zeros(2), jnp.float32(1.0), 0.0)
        >>> sorted({oracle.label(j).item() for j in range(20)})
        [-2.0, 2.0]
    """

    rate: FlipRate

    def sample(self, key: Key[Array, ""], t: Int[Array, ""], x: Float[Array, "..."]) -> Float[Array, "..."]:
        """Return one draw of y~ - y, with one flip for all entries of the label `x`."""
        rate = jnp.asarray(self.rate, x.dtype)
        sign = 1 - 2 * random.bernoulli(key, rate).astype(x.dtype)
        return (sign / (1 - 2 * rate) - 1) * x

    def covariance_at(self, t: Int[Array, ""], x: Float[Array, "d"]) -> Float[Array, "d d"]:
        """Return the covariance (1 / (1 - 2q)^2 - 1) x x' of y~ for the label `x` [d]."""
        del t
        rate = jnp.asarray(self.rate, x.dtype)
        return (1 / (1 - 2 * rate) ** 2 - 1) * jnp.outer(x, x)
