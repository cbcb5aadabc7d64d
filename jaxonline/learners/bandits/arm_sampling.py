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


def draw_arm(key: Key[Array, ""], p: Float[Array, "K"]) -> Draw:
    """Draw an arm from p, also an unlikely arm with its probability; an arm of probability 0 is never drawn."""
    return Draw(random.weighted_index(key, p), p)
