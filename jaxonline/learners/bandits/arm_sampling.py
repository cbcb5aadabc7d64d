"""An arm drawn from probabilities, by one uniform number."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from jaxonline import random
from jaxonline.game.protocols import Draw


def draw_arm(key: Key[Array, ""], p: Float[Array, "K"]) -> Draw:
    """Inversion: the first arm whose cumulative probability is above a uniform number; none of probability 0."""
    cumulative = jnp.cumsum(p)
    level = random.uniform(key, (), p.dtype) * cumulative[-1]
    return Draw(jnp.sum(cumulative[:-1] <= level, dtype=jnp.int32), p)
