"""State and initial values of the combiners with second-order rates: BOA, ML-Prod and ML-Poly."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxonline.parameters.types import Positive

INITIAL_RATE = 2.0**-20


class SecondOrderState(NamedTuple):
    """State of `BOA` and `MLProd`, for each expert [K].

    `regrets` are the cumulative regrets, regularised (BOA) or logarithmic (ML-Prod), `rates` the learning rates,
    `squares` the sums of squared instantaneous regrets, and `largest` the largest absolute instantaneous regrets.
    """

    regrets: Float[Array, "K"]
    rates: Float[Array, "K"]
    squares: Float[Array, "K"]
    largest: Float[Array, "K"]


class SecondOrderCombiner:
    """Base of `BOA` and `MLProd`; a subclass implements `weights` and `update`."""

    initial: Positive

    def init(self, n_experts: int, dtype: Any) -> SecondOrderState:
        """Return zero regrets; rates, squares and largest regrets have the value `initial`."""
        first = jnp.full(n_experts, jnp.asarray(self.initial, dtype))
        return SecondOrderState(jnp.zeros(n_experts, dtype), first, first, first)
