"""Weights over experts, from logarithms."""

import jax.numpy as jnp
from jaxtyping import Array, Float


def softmax_weights(log_weights: Float[Array, "K"]) -> Float[Array, "K"]:
    """Weights proportional to exp(log_weights), without overflow; uniform where all are zero."""
    top = jnp.max(log_weights)
    weights = jnp.exp(log_weights - jnp.where(jnp.isfinite(top), top, 0.0))
    return _ratio(weights)


def divide_by_sum(weights: Float[Array, "K"]) -> Float[Array, "K"]:
    """Non-negative weights divided by their sum; uniform where all are zero."""
    return _ratio(weights / jnp.where(jnp.max(weights) > 0, jnp.max(weights), 1.0))


def _ratio(weights: Float[Array, "K"]) -> Float[Array, "K"]:
    total = jnp.sum(weights)
    return jnp.where(
        total == 0, jnp.full_like(weights, 1.0 / len(weights)), weights / jnp.where(total == 0, 1.0, total)
    )
