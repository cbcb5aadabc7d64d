"""Random arms: distributions over arms, and draws from them."""

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Float, Key

from jaxonline import random
from jaxonline.game.protocols import Draw


def mix_uniform(p: Float[Array, "K"], gamma: ArrayLike, mask: Bool[Array, "K"] | None = None) -> Float[Array, "K"]:
    """Return the distribution (1 - gamma) p + gamma / K, or the analogous distribution on the available arms."""
    gamma = jnp.asarray(gamma, p.dtype)
    weighted, share = (1.0 - gamma) * p, gamma / len(p)
    if mask is not None:
        share = jnp.where(mask, share * (len(p) / jnp.sum(mask, dtype=p.dtype)), 0.0)
    return weighted + share


def draw_arm(key: Key[Array, ""], p: Float[Array, "K"], mask: Bool[Array, "K"] | None = None) -> Draw:
    """Draw an arm from p by inversion of one uniform number; an arm of probability 0 is never drawn.

    With a mask, the most likely arm is drawn if rounding in the sums of p selects an arm that is not available.
    """
    cumulative = jnp.cumsum(p)
    level = random.uniform(key, (), p.dtype) * cumulative[-1]
    arm = jnp.sum(cumulative[:-1] <= level, dtype=jnp.int32)
    return Draw(arm if mask is None else jnp.where(mask[arm], arm, jnp.argmax(p).astype(jnp.int32)), p)
