"""Ranges of labels and losses that a learner assumes."""

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError


def nan_outside(y: Array, low: Array, high: Array) -> Array:
    """Return `y`, with NaN for values outside [low, high]."""
    return jnp.where((y >= low) & (y <= high), y, jnp.nan)


def nan_outside_unit(losses: Array) -> Array:
    """Return the losses, with NaN for values outside [0, 1]."""
    return nan_outside(losses, jnp.zeros((), losses.dtype), jnp.ones((), losses.dtype))


def check_range(low: ArrayLike, high: ArrayLike) -> None:
    """Raise a ValueError if `high` is not above `low`."""
    least, most = check.concrete_array(low), check.concrete_array(high)
    if least is not None and most is not None and not (most > least).all():
        raise ArgumentError("high", f"must be above low (got low={least:g} and high={most:g})")


def range_width(low: float, high: float) -> float:
    """Return the width high - low of a range; raise a ValueError if the width is not above 0."""
    check_range(low, high)
    return float(high - low)
