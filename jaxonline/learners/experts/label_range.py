"""Ranges of labels, and of losses, that a learner was promised."""

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError


def in_range(y: Array, low: Array, high: Array) -> Array:
    """`y` where it is in [low, high], NaN elsewhere."""
    return jnp.where((y >= low) & (y <= high), y, jnp.nan)


def unit_losses(y: Array) -> Array:
    """Losses from 0 to 1 as they are, others as NaN."""
    return in_range(y, jnp.zeros((), y.dtype), jnp.ones((), y.dtype))


def check_range(low: ArrayLike, high: ArrayLike) -> None:
    """Check that `high` is above `low`."""
    ends = check.concrete_array(low), check.concrete_array(high)
    if ends[0] is not None and ends[1] is not None and not (ends[1] > ends[0]).all():
        raise ArgumentError("high", f"must be above low (got low={ends[0]:g} and high={ends[1]:g})")


def width(low: float, high: float) -> float:
    """The width of a range."""
    check_range(low, high)
    return float(high - low)
