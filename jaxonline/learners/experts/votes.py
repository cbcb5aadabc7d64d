"""What the learners that count votes share: experts predict the classes -1 and +1, and an instance is their advice."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


class VoteInfo(NamedTuple):
    """Diagnostics of one update.

    Attributes:
        mistake: whether the vote had the wrong sign, or none.
    """

    mistake: Bool[Array, ""]


def vote(weights: Float[Array, "K"], advice: Float[Array, "K"]) -> Float[Array, ""]:
    """The weighted mean of the experts' signs, from -1 to 1. Equal weights of both sides give exactly 0."""
    for_it, against = (jnp.sum(jnp.where(side, weights, 0.0)) for side in (advice > 0, advice < 0))
    return (for_it - against) / jnp.sum(weights)


def wrong(advice: Float[Array, "..."], y: Float[Array, ""]) -> Bool[Array, "..."]:
    """Where the sign of an advice is not that of the label; an advice of 0 has no sign."""
    return y * advice <= 0.0
