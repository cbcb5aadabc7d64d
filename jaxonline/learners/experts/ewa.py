"""Exponential weights.

Cesa-Bianchi and Lugosi (2006), Proposition 3.1; Rokhlin and Gurtovaya (2025), Eq. 29 (which is printed with the loss
of round t in the weights of round t; the loss of round t-1 is meant).
"""

from typing import Annotated, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from jaxonline.game.traits import LearnerTraits
from jaxonline.learners.experts.combiner import require_combiner
from jaxonline.learners.experts.label_range import width
from jaxonline.learners.experts.weights import softmax_weights
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Component, Convert, FiniteFloat, Gt, Positive
from jaxonline.parameters.validation import validate_arguments


@cites("cesabianchi2006prediction")
@struct
class EWA:
    """Weights proportional to exp(-eta cumulative loss). The state is the vector of cumulative losses [K].

    Args:
        eta: the rate. Where the loss is eta-exp-concave the regret of the weighted mean is at most ln(K) / eta: for the
            squared loss see `over_range`. For losses in [0, 1] see `Hedge.over_horizon`.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.learners import EWA
        >>> ewa = EWA.over_range(0.0, 1.0)
        >>> state = ewa.update(ewa.init(2, jnp.float32), jnp.array([1.0, 0.0]), 0.25)
        >>> round(float(ewa.weights(state)[1]), 4)  # 1 / (1 + e^-1/2)
        0.6225
    """

    eta: Positive
    traits: ClassVar[LearnerTraits] = LearnerTraits(loss_range=(0.0, 1.0))

    @classmethod
    @validate_arguments
    def over_range(cls, low: FiniteFloat, high: FiniteFloat) -> "EWA":
        """The largest rate for the squared loss of predictions and labels in [low, high]: 1 / (2 (high - low)^2).

        It is 1/2 on [0, 1] and 1/(8 Y^2) on [-Y, Y].

        Raises:
            ValueError: `high` is not above `low`.
        """
        return cls(0.5 / width(low, high) ** 2)

    def init(self, n_experts: int, dtype: Any) -> Float[Array, "K"]:
        """No losses."""
        return jnp.zeros(n_experts, dtype)

    def weights(self, state: Float[Array, "K"]) -> Float[Array, "K"]:
        """The weights of the next round."""
        return softmax_weights(-jnp.asarray(self.eta, state.dtype) * state)

    def update(self, state: Float[Array, "K"], losses: Float[Array, "K"], own_loss: ArrayLike) -> Float[Array, "K"]:
        """L += losses."""
        del own_loss
        return state + losses


def _as_combiner(rate_or_combiner: Any, name: str) -> Any:
    if isinstance(rate_or_combiner, int | float | np.ndarray | np.generic | jax.Array):
        return EWA(rate_or_combiner)  # type: ignore[arg-type]
    return require_combiner(rate_or_combiner, name, "eta, or a combiner (init, weights, update)")


RateOrCombiner = Annotated[Any, Component("combiner", number=True), Gt(0), Convert(_as_combiner)]
"""A combiner, or the rate eta of exponential weights."""
