"""Bernstein online aggregation with adaptive rates: Wintenberger (2017), as in the `opera` package."""

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from jaxonline.learners.experts.second_order import INITIAL_RATE, SecondOrderCombiner, SecondOrderState
from jaxonline.learners.experts.weights import softmax_weights
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Positive


@cites("wintenberger2017optimal")
@struct
class BOA(SecondOrderCombiner):
    """Bernstein online aggregation (BOA): weights proportional to n exp(n G), with rates n and penalised regrets G.

    Args:
        initial: initial value of the rates, of the ranges B and of the sums of squares V.

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> boa = jo.learners.BOA()
        >>> state = boa.update(boa.init(2, jnp.float32), jnp.array([1.0, 0.0]), 0.25)
        >>> bool(boa.weights(state)[1] > 0.5)
        True
    """

    initial: Positive = INITIAL_RATE

    def weights(self, state: SecondOrderState) -> Float[Array, "K"]:
        """Return the weights of the next round."""
        return softmax_weights(jnp.log(state.rates) + state.rates * state.regrets)

    def update(self, state: SecondOrderState, losses: Float[Array, "K"], own_loss: ArrayLike) -> SecondOrderState:
        """Update B = max(B, |r|); V += r^2; n = min(1/B2, sqrt(ln K / V)); G += (r - n r^2 + B2 [n r > 1/2]) / 2."""
        r = own_loss - losses
        largest = jnp.maximum(state.largest, jnp.abs(r))
        mantissa, exponent = jnp.frexp(largest)  # exact: B2 = 2^ceil(log2 B)
        power = jnp.ldexp(jnp.ones_like(r), exponent - (mantissa == 0.5).astype(exponent.dtype))
        squares = state.squares + r**2
        rates = jnp.minimum(1.0 / power, jnp.sqrt(jnp.log(jnp.asarray(len(r), r.dtype)) / squares))
        gain = 0.5 * (r - rates * r**2 + jnp.where(rates * r > 0.5, power, 0.0))
        return SecondOrderState(state.regrets + gain, rates, squares, largest)
