"""ML-Prod with adaptive rates: Gaillard, Stoltz and van Erven (2014), as in the `opera` package."""

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from jaxonline.learners.experts.second_order import INITIAL_RATE, SecondOrderCombiner, SecondOrderState
from jaxonline.learners.experts.weights import softmax_weights
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Positive


@cites("gaillard2014second")
@struct
class MLProd(SecondOrderCombiner):
    """ML-Prod: weights proportional to n exp(R), where R is the sum of ln(1 + n r), rescaled when n changes.

    Args:
        initial: initial value of the rates, of the ranges B and of the sums of squares V.

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> rule = jo.learners.MLProd()
        >>> state = rule.update(rule.init(2, jnp.float32), jnp.array([1.0, 0.0]), 0.25)
        >>> bool(rule.weights(state)[1] > 0.5)
        True
    """

    initial: Positive = INITIAL_RATE

    def weights(self, state: SecondOrderState) -> Float[Array, "K"]:
        """Return the weights of the next round."""
        return softmax_weights(jnp.log(state.rates) + state.regrets)

    def update(self, state: SecondOrderState, losses: Float[Array, "K"], own_loss: ArrayLike) -> SecondOrderState:
        """Update V += r^2; B = max(B, |r|); n' = min(1/(2B), sqrt(ln K / V)); R = (n'/n) R + ln(1 + n' r); n = n'."""
        r = own_loss - losses
        squares = state.squares + r**2
        largest = jnp.maximum(state.largest, jnp.abs(r))
        rates = jnp.minimum(0.5 / largest, jnp.sqrt(jnp.log(jnp.asarray(len(r), r.dtype)) / squares))
        scale = rates / jnp.where(state.rates > 0, state.rates, 1.0)  # a rate is 0 only if there is one expert
        return SecondOrderState(scale * state.regrets + jnp.log1p(rates * r), rates, squares, largest)
