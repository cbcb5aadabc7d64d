"""Noise that is large and rare, such as wrong entries in a table."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Positive, Probability
from jaxonline.random.threefry import word_pairs


@struct
class RareErrors:
    """Noise with independent coordinates that are `size` or -`size`, each with probability `rate` / 2, otherwise 0.

    Args:
        size: absolute value of an error.
        rate: probability of an error in one coordinate of one copy. The variance is rate size^2.

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> noise = jo.noise.RareErrors(size=5.0, rate=0.5)
        >>> keys = jax.random.split(jax.random.key(0), 20)
        >>> sorted({noise.sample(key, jnp.int32(1), jnp.float32(1.0)).item() for key in keys})
        [-5.0, 0.0, 5.0]
    """

    size: Positive
    rate: Probability

    def sample(self, key: Key[Array, ""], t: Int[Array, ""], x: Float[Array, "..."]) -> Float[Array, "..."]:
        """Return one draw of the noise, with the shape and dtype of `x`."""
        u = word_pairs(key, x.shape, x.dtype)
        half, size = jnp.asarray(self.rate, x.dtype) / 2, jnp.asarray(self.size, x.dtype)
        return size * (u.below(half).astype(x.dtype) - u.mirrored().below(half).astype(x.dtype))

    def covariance_at(self, t: Int[Array, ""], x: Float[Array, "d"]) -> Float[Array, "d d"]:
        """Return the covariance rate size^2 I [d, d] of the noise, which is the same in every round."""
        del t
        variance = jnp.asarray(self.rate, x.dtype) * jnp.asarray(self.size, x.dtype) ** 2
        return variance * jnp.eye(x.shape[0], dtype=x.dtype)
