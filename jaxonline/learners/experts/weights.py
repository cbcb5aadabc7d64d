"""Normalised weights of experts."""

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Float

from jaxonline.learners.experts.cumulative_losses import excess
from jaxonline.linalg.compensated import Compensated

LARGEST_EXPONENT = 80.0  # of a positive exponent, a rounding error of large sums


def softmax_weights(log_weights: Float[Array, "K"]) -> Float[Array, "K"]:
    """Return weights proportional to exp(log_weights), without overflow; uniform weights if all weights are zero."""
    top = jnp.max(log_weights)
    weights = jnp.exp(log_weights - jnp.where(jnp.isfinite(top), top, 0.0))
    return _divide_or_uniform(weights)


def weights_of_sums(sums: Compensated, eta: ArrayLike, mask: Bool[Array, "K"] | None = None) -> Float[Array, "K"]:
    """Return weights proportional to exp(-eta sums), 0 for experts that are not available."""
    differences = excess(sums, mask)  # from the smallest sum, so that exponents are at most about 0
    exponents = -jnp.asarray(eta, differences.dtype) * differences
    return _divide_or_uniform(jnp.exp(jnp.minimum(exponents, LARGEST_EXPONENT)))


def divide_by_sum(weights: Float[Array, "K"]) -> Float[Array, "K"]:
    """Return non-negative weights divided by their sum; uniform weights if all weights are zero."""
    return _divide_or_uniform(weights / jnp.where(jnp.max(weights) > 0, jnp.max(weights), 1.0))


def _divide_or_uniform(weights: Float[Array, "K"]) -> Float[Array, "K"]:
    total = jnp.sum(weights)
    return jnp.where(
        total == 0, jnp.full_like(weights, 1.0 / len(weights)), weights / jnp.where(total == 0, 1.0, total)
    )
