"""The start of the experiments published by Rokhlin and Gurtovaya (2025): predict 0 in round 1, leave its losses out.

A learner that may start so carries whether it has started, None where it starts at once.
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


def before_round_1(late_start: bool) -> Bool[Array, ""] | None:
    """Nothing has been played."""
    return jnp.asarray(False) if late_start else None


def unless_first(started: Bool[Array, ""] | None, value: Float[Array, "..."]) -> Float[Array, "..."]:
    """`value`, and 0 in the first round of a late start."""
    return value if started is None else jnp.where(started, value, 0.0)


def after_a_round(started: Bool[Array, ""] | None) -> Bool[Array, ""] | None:
    """Something has been played."""
    return None if started is None else jnp.asarray(True)
