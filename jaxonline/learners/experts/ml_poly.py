"""ML-Poly with adaptive rates: Gaillard, Stoltz and van Erven (2014), as in the `opera` package."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from jaxonline.learners.experts.second_order import INITIAL_RATE
from jaxonline.learners.experts.weights import divide_by_sum
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Positive


class MLPolyState(NamedTuple):
    """State of `MLPoly`: cumulative regrets R [K], learning rates n [K], largest squared instantaneous regret M."""

    regrets: Float[Array, "K"]
    rates: Float[Array, "K"]
    largest_square: Float[Array, ""]


@cites("gaillard2014second")
@struct
class MLPoly:
    """ML-Poly: weights proportional to n max(R, 0) with rates n and regrets R; uniform if all max(R, 0) are 0.

    Args:
        initial: initial value of the rates; e^700 in R's `opera`.

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> rule = jo.learners.MLPoly()
        >>> state = rule.update(rule.init(2, jnp.float32), jnp.array([1.0, 0.0]), 0.25)
        >>> rule.weights(state).tolist()
        [0.0, 1.0]
    """

    initial: Positive = INITIAL_RATE

    def init(self, n_experts: int, dtype: Any) -> MLPolyState:
        """Return equal rates and zero regrets."""
        zeros = jnp.zeros(n_experts, dtype)
        return MLPolyState(zeros, zeros + jnp.asarray(self.initial, dtype), jnp.zeros((), dtype))

    def weights(self, state: MLPolyState) -> Float[Array, "K"]:
        """Return the weights of the next round."""
        return divide_by_sum(state.rates * jnp.maximum(state.regrets, 0.0))

    def update(self, state: MLPolyState, losses: Float[Array, "K"], own_loss: ArrayLike) -> MLPolyState:
        """Update R += r; D = max(max_k r_k^2 - M, 0); n = 1/(1/n + r^2 + D); M += D."""
        r = own_loss - losses
        growth = jnp.maximum(jnp.max(r**2) - state.largest_square, 0.0)
        rates = 1.0 / (1.0 / state.rates + r**2 + growth)
        return MLPolyState(state.regrets + r, rates, state.largest_square + growth)
