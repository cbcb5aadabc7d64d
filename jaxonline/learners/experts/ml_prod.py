"""ML-Prod with adaptive rates: Gaillard, Stoltz and van Erven (2014), as in the `opera` package."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Key

from jaxonline._util import check
from jaxonline._util.struct import struct
from jaxonline.game.protocols import Specs
from jaxonline.learners.experts.boa import INITIAL, SecondOrderState, regrets, second_order_start
from jaxonline.learners.experts.weights import normalised


@struct
class MLProd:
    """Weights proportional to n exp(R), R the sum of ln(1 + n r), rescaled with n. Instances are experts' predictions.

    Args:
        initial: of rates, ranges and sums of squares, above 0.

    Raises:
        ValueError: `initial` is not above 0.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.game import Specs
        >>> from jaxonline.learners.experts.ml_prod import MLProd
        >>> from jaxonline.feedback import FullOracle
        >>> rule, x = MLProd(), jnp.array([0.0, 1.0])
        >>> state, _ = rule.update(None, rule.init(None, Specs(x, x[0])), FullOracle(x, jnp.float32(1.0)))
        >>> bool(rule.weights(state)[1] > 0.5)
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
        """V += r^2; B = max(B, |r|); n' = min(1/(2B), sqrt(ln K / V)); R = (n'/n) R + ln(1 + n' r); n = n'."""
        r = regrets(self.predict(key, state, oracle.x), oracle)
        squares = state.squares + r**2
        largest = jnp.maximum(state.largest, jnp.abs(r))
        rates = jnp.minimum(0.5 / largest, jnp.sqrt(jnp.log(jnp.asarray(len(r), r.dtype)) / squares))
        scale = rates / jnp.where(state.rates > 0, state.rates, 1.0)  # rates are 0 only where there is one expert
        return SecondOrderState(scale * state.regrets + jnp.log1p(rates * r), rates, squares, largest), ()

    def weights(self, state: SecondOrderState) -> Float[Array, "K"]:
        """The weights of the next round."""
        return normalised(jnp.log(state.rates) + state.regrets)
