"""Bernstein online aggregation, with adaptive rates: Wintenberger (2017), as in the `opera` package."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Key

from jaxonline._util import check
from jaxonline._util.struct import struct
from jaxonline.game.protocols import Specs
from jaxonline.learners.experts.weights import normalised

INITIAL = 2.0**-20


class SecondOrderState(NamedTuple):
    """State of `BOA` and `MLProd`, everything per expert [K].

    Attributes:
        regrets: the (regularised, for ML-Prod logarithmic) cumulative regrets.
        rates: the learning rates.
        squares: sums of squared instantaneous regrets.
        largest: the largest absolute instantaneous regrets.

    Example:
        >>> from jaxonline.learners.experts.boa import SecondOrderState
        >>> SecondOrderState._fields
        ('regrets', 'rates', 'squares', 'largest')
    """

    regrets: Float[Array, "K"]
    rates: Float[Array, "K"]
    squares: Float[Array, "K"]
    largest: Float[Array, "K"]


@struct
class BOA:
    """Weights proportional to n exp(n G), G the regrets less a Bernstein penalty. Instances are experts' predictions.

    Args:
        initial: of rates, ranges and sums of squares, above 0.

    Raises:
        ValueError: `initial` is not above 0.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.game import Specs
        >>> from jaxonline.learners.experts.boa import BOA
        >>> from jaxonline.feedback import FullOracle
        >>> boa, x = BOA(), jnp.array([0.0, 1.0])
        >>> state, _ = boa.update(None, boa.init(None, Specs(x, x[0])), FullOracle(x, jnp.float32(1.0)))
        >>> bool(boa.weights(state)[1] > 0.5)
        True
    """

    initial: Float[ArrayLike, ""] = INITIAL

    def __post_init__(self):
        check.positive("initial", self.initial)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> SecondOrderState:
        """Equal rates, no regret."""
        del key
        return second_order_start(specs.instance, self.initial)

    def predict(self, key: Key[Array, ""] | None, state: SecondOrderState, x: Float[Array, "K"]) -> Float[Array, ""]:
        """The weighted mean of the experts."""
        del key
        return self.weights(state) @ x

    def update(
        self, key: Key[Array, ""] | None, state: SecondOrderState, oracle: Any
    ) -> tuple[SecondOrderState, tuple]:
        """B = max(B, |r|); V += r^2; n = min(1/B2, sqrt(ln K / V)); G += (r - n r^2 + B2 [n r > 1/2]) / 2."""
        r = regrets(self.predict(key, state, oracle.x), oracle)
        largest = jnp.maximum(state.largest, jnp.abs(r))
        mantissa, exponent = jnp.frexp(largest)  # exact: 2^ceil(log2 B)
        power = jnp.ldexp(jnp.ones_like(r), exponent - (mantissa == 0.5).astype(exponent.dtype))
        squares = state.squares + r**2
        rates = jnp.minimum(1.0 / power, jnp.sqrt(jnp.log(jnp.asarray(len(r), r.dtype)) / squares))
        gain = 0.5 * (r - rates * r**2 + jnp.where(rates * r > 0.5, power, 0.0))
        return SecondOrderState(state.regrets + gain, rates, squares, largest), ()

    def weights(self, state: SecondOrderState) -> Float[Array, "K"]:
        """The weights of the next round."""
        return normalised(jnp.log(state.rates) + state.rates * state.regrets)


def second_order_start(instance: jax.ShapeDtypeStruct, initial: ArrayLike) -> SecondOrderState:
    """The state before round 1.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.learners.experts.boa import second_order_start
        >>> second_order_start(jnp.zeros(1), 0.5).rates.tolist()
        [0.5]
    """
    first = jnp.full(instance.shape, jnp.asarray(initial, instance.dtype))
    return SecondOrderState(jnp.zeros(instance.shape, instance.dtype), first, first, first)


def regrets(prediction: Float[Array, ""], oracle: Any) -> Float[Array, "K"]:
    """What each expert would have saved in this round: (f - y)^2 - (x - y)^2.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.learners.experts.boa import regrets
        >>> from jaxonline.feedback import FullOracle
        >>> regrets(jnp.float32(0.5), FullOracle(jnp.array([0.0, 1.0]), jnp.float32(1.0))).tolist()
        [-0.75, 0.25]
    """
    return (prediction - oracle.y) ** 2 - (oracle.x - oracle.y) ** 2
