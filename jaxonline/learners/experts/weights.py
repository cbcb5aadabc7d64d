"""Normalised weights of experts."""

import jax.numpy as jnp
from jaxtyping import Array, Float


def softmax_weights(log_weights: Float[Array, "K"]) -> Float[Array, "K"]:
    """Return weights proportional to exp(log_weights), without overflow; uniform weights if all weights are zero."""
    top = jnp.max(log_weights)
    weights = jnp.exp(log_weights - jnp.where(jnp.isfinite(top), top, 0.0))
    return _divide_or_uniform(weights)


def divide_by_sum(weights: Float[Array, "K"]) -> Float[Array, "K"]:
    """Return non-negative weights divided by their sum; uniform weights if all weights are zero."""
    return _divide_or_uniform(weights / jnp.where(jnp.max(weights) > 0, jnp.max(weights), 1.0))


def _divide_or_uniform(weights: Float[Array, "K"]) -> Float[Array, "K"]:
    total = jnp.sum(weights)
    return jnp.where(
        total == 0, jnp.full_like(weights, 1.0 / len(weights)), weights / jnp.where(total == 0, 1.0, total)
    )
