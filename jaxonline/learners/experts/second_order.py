"""What the combiners with second-order rates share: BOA and ML-Prod, and the start of ML-Poly."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

INITIAL = 2.0**-20


class SecondOrderState(NamedTuple):
    """State of `BOA` and `MLProd`, everything per expert [K].

    Attributes:
        regrets: the (regularised, for ML-Prod logarithmic) cumulative regrets.
        rates: the learning rates.
        squares: sums of squared instantaneous regrets.
        largest: the largest absolute instantaneous regrets.
    """

    regrets: Float[Array, "K"]
    rates: Float[Array, "K"]
    squares: Float[Array, "K"]
    largest: Float[Array, "K"]


def second_order_start(n_experts: int, dtype: Any, initial: ArrayLike) -> SecondOrderState:
    """No regret; equal rates, squares and largest regrets."""
    first = jnp.full(n_experts, jnp.asarray(initial, dtype))
    return SecondOrderState(jnp.zeros(n_experts, dtype), first, first, first)
