"""Late start, as in Rokhlin and Gurtovaya (2025): the learner predicts 0 in round 1 and ignores that round's losses."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


def initial_flag(late_start: bool) -> Bool[Array, ""] | None:
    """Return the flag `started` before round 1; None without a late start."""
    return jnp.asarray(False) if late_start else None


def zero_before_start(started: Bool[Array, ""] | None, value: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return `value`, or 0 in round 1 with a late start."""
    return value if started is None else jnp.where(started, value, 0.0)


def next_flag(started: Bool[Array, ""] | None) -> Bool[Array, ""] | None:
    """Return the flag `started` after a round; None without a late start."""
    return None if started is None else jnp.asarray(True)


def include_zero(limits: tuple[float, float] | None, late_start: bool) -> tuple[float, float] | None:
    """Return the limits of predictions, widened to contain 0 with a late start."""
    return (min(limits[0], 0.0), max(limits[1], 0.0)) if limits is not None and late_start else limits
