"""Random arms: distributions over arms, and draws from them."""

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Key

from jaxonline import random
from jaxonline.game.protocols import Draw


def mix_uniform(p: Float[Array, "K"], gamma: ArrayLike) -> Float[Array, "K"]:
    """Return the distribution (1 - gamma) p + gamma / K."""
    gamma = jnp.asarray(gamma, p.dtype)
    return (1.0 - gamma) * p + gamma / len(p)


def draw_arm(key: Key[Array, ""], p: Float[Array, "K"]) -> Draw:
    """Draw an arm from p by inversion of one uniform number; an arm of probability 0 is never drawn."""
    cumulative = jnp.cumsum(p)
    level = random.uniform(key, (), p.dtype) * cumulative[-1]
    return Draw(jnp.sum(cumulative[:-1] <= level, dtype=jnp.int32), p)
