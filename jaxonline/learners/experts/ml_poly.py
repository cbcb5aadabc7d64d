"""ML-Poly with adaptive rates: Gaillard, Stoltz and van Erven (2014), as in the `opera` package."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Key

from jaxonline._util import check
from jaxonline._util.struct import struct
from jaxonline.game.protocols import Specs
from jaxonline.learners.experts.boa import INITIAL, regrets
from jaxonline.learners.experts.weights import proportional


class MLPolyState(NamedTuple):
    """State of `MLPoly`.

    Attributes:
        regrets: cumulative regrets R [K].
        rates: the learning rates n [K].
        largest_square: M, the largest squared instantaneous regret.

    Example:
        >>> from jaxonline.learners.experts.ml_poly import MLPolyState
        >>> MLPolyState._fields
        ('regrets', 'rates', 'largest_square')
    """

    regrets: Float[Array, "K"]
    rates: Float[Array, "K"]
    largest_square: Float[Array, ""]


@struct
class MLPoly:
    """Weights proportional to n max(R, 0), uniform when all are 0. Instances are experts' predictions.

    Args:
        initial: of the rates, above 0. (R's `opera` starts at e^700.)

    Raises:
        ValueError: `initial` is not above 0.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.game import Specs
        >>> from jaxonline.learners.experts.ml_poly import MLPoly
        >>> from jaxonline.feedback import FullOracle
        >>> rule, x = MLPoly(), jnp.array([0.0, 1.0])
        >>> state, _ = rule.update(None, rule.init(None, Specs(x, x[0])), FullOracle(x, jnp.float32(1.0)))
        >>> rule.weights(state).tolist()
        [0.0, 1.0]
    """

    initial: Float[ArrayLike, ""] = INITIAL

    def __post_init__(self):
        check.positive("initial", self.initial)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> MLPolyState:
        """Equal rates, no regret."""
        del key
        zeros = jnp.zeros(specs.instance.shape, specs.instance.dtype)
        return MLPolyState(zeros, zeros + jnp.asarray(self.initial, zeros.dtype), jnp.zeros((), zeros.dtype))

    def predict(self, key: Key[Array, ""] | None, state: MLPolyState, x: Float[Array, "K"]) -> Float[Array, ""]:
        """The weighted mean of the experts."""
        del key
        return self.weights(state) @ x

    def update(self, key: Key[Array, ""] | None, state: MLPolyState, oracle: Any) -> tuple[MLPolyState, tuple]:
        """R += r; D = max(max_k r_k^2 - M, 0); n = 1/(1/n + r^2 + D); M += D."""
        r = regrets(self.predict(key, state, oracle.x), oracle)
        growth = jnp.maximum(jnp.max(r**2) - state.largest_square, 0.0)
        rates = 1.0 / (1.0 / state.rates + r**2 + growth)
        return MLPolyState(state.regrets + r, rates, state.largest_square + growth), ()

    def weights(self, state: MLPolyState) -> Float[Array, "K"]:
        """The weights of the next round."""
        return proportional(state.rates * jnp.maximum(state.regrets, 0.0))
