"""Weighted votes of experts that predict the classes -1 and +1; an instance is the vector of these predictions."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


class VoteInfo(NamedTuple):
    """Diagnostics of one update: whether the vote has the wrong sign or is 0."""

    mistake: Bool[Array, ""]


def vote(weights: Float[Array, "K"], advice: Float[Array, "K"]) -> Float[Array, ""]:
    """Return the weighted mean of the signs, in [-1, 1]; equal weights of both signs give exactly 0."""
    positive, negative = (jnp.sum(jnp.where(side, weights, 0.0)) for side in (advice > 0, advice < 0))
    return (positive - negative) / jnp.sum(weights)


def is_mistake(advice: Float[Array, "..."], y: Float[Array, ""]) -> Bool[Array, "..."]:
    """Return whether the sign of the advice differs from the sign of the label; an advice of 0 is a mistake."""
    return y * advice <= 0.0
