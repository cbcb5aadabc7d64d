"""Long sums of the losses of K experts: compensated, so that millions of rounds do not lose the small losses."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxonline.game.masks import where_available
from jaxonline.linalg.compensated import Compensated


def zero_sums(n_experts: int, dtype: Any) -> Compensated:
    """Return the sums [K] before round 1."""
    return Compensated.zeros(jax.ShapeDtypeStruct((n_experts,), dtype))


def add_losses(sums: Compensated, losses: Float[Array, "K"]) -> Compensated:
    """Return the sums after one more round; an infinite sum stays infinite."""
    total, correction = sums.add(losses)
    return Compensated(total, jnp.where(jnp.isinf(total), 0.0, correction))


def excess(sums: Compensated, mask: Bool[Array, "K"] | None = None) -> Float[Array, "K"]:
    """Return the sums minus a number close to the smallest sum: the differences of the sums lose no digits.

    Experts that are not available have the excess infinity.
    """
    total = where_available(mask, sums.total, jnp.inf)
    least = jnp.min(total)
    return (total - jnp.where(least == jnp.inf, 0.0, least)) - sums.correction
