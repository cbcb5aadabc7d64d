"""Exponential weights: Cesa-Bianchi and Lugosi (2006), Proposition 3.1; Rokhlin and Gurtovaya (2025), Eq. 29."""

from typing import Annotated, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float

from jaxonline.game.traits import LearnerTraits
from jaxonline.learners.experts.combiner import SumsCombiner, require_combiner
from jaxonline.learners.experts.cumulative_losses import excess
from jaxonline.learners.experts.label_range import range_width
from jaxonline.learners.experts.vectors import check_prescribed_number
from jaxonline.learners.experts.weights import exponential_weights
from jaxonline.linalg.compensated import Compensated
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Component, Convert, Count, FiniteFloat, Gt, Positive
from jaxonline.parameters.validation import validate_arguments


@cites("cesabianchi2006prediction", "freund1997specialize")
@struct
class EWA(SumsCombiner):
    """Exponentially weighted average (EWA): weights proportional to exp(-eta cumulative loss).

    Sleeping experts have the weight 0. In a round in which an expert sleeps, its cumulative loss grows by the mix loss
    of the awake experts, so that the total weight of the awake experts stays the same (Freund et al., 1997). In Eq. 29
    of Rokhlin and Gurtovaya the weights of round t contain the loss of round t instead of round t-1 (erratum E50).

    Args:
        eta: the rate. If the loss is eta-exp-concave, the regret of the weighted mean is at most ln(K) / eta;
            `over_range` sets eta for the squared loss, and `Hedge.over_horizon` for losses in [0, 1].
        n_experts: the number of experts for which eta was chosen; another number of experts is a ValueError. None for
            any number.

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> ewa = jo.learners.EWA.over_range(0.0, 1.0)
        >>> state = ewa.update(ewa.init(2, jnp.float32), jnp.array([1.0, 0.0]), 0.25)
        >>> round(float(ewa.weights(state)[1]), 4)  # 1 / (1 + e^-1/2)
        0.6225
    """

    eta: Positive
    n_experts: Count | None = static(default=None)
    traits: ClassVar[LearnerTraits] = LearnerTraits(loss_range=(0.0, 1.0), uses_masks=True)

    @classmethod
    @validate_arguments
    def over_range(cls, low: FiniteFloat, high: FiniteFloat) -> "EWA":
        """Set the largest eta for the squared loss of predictions and labels in [low, high], 1 / (2 (high - low)^2)."""
        return cls(0.5 / range_width(low, high) ** 2)

    def init(self, n_experts: int, dtype: Any) -> Compensated:
        """Return the state of no losses; raise a ValueError for another number of experts than `n_experts`."""
        check_prescribed_number("n_experts", self.n_experts, n_experts)
        return super().init(n_experts, dtype)

    def weights(self, state: Compensated, mask: Bool[Array, "K"] | None = None) -> Float[Array, "K"]:
        """Return the weights of the next round."""
        return exponential_weights(state, self.eta, mask)

    def update(
        self,
        state: Compensated,
        losses: Float[Array, "K"],
        own_loss: ArrayLike,
        mask: Bool[Array, "K"] | None = None,
    ) -> Compensated:
        """Add to each awake expert its loss, and to each sleeping expert the mix loss of the awake experts."""
        if mask is not None:
            losses = jnp.where(mask, losses, self._mix_loss(excess(state, mask), losses))
        return super().update(state, losses, own_loss)

    def _mix_loss(self, differences: Float[Array, "K"], losses: Float[Array, "K"]) -> Float[Array, ""]:
        """Return -ln(sum of weights exp(-eta losses)) / eta."""
        eta = jnp.asarray(self.eta, differences.dtype)
        return -jax.nn.logsumexp(jax.nn.log_softmax(-eta * differences) - eta * losses) / eta


def _as_combiner(rate_or_combiner: Any, name: str) -> Any:
    if isinstance(rate_or_combiner, int | float | np.ndarray | np.generic | jax.Array):
        return EWA(check.positive(name, rate_or_combiner))
    return require_combiner(rate_or_combiner, name, "eta, or a combiner (init, weights, update)")


RateOrCombiner = Annotated[Any, Component("combiner", number=True), Gt(0), Convert(_as_combiner)]
"""A combiner, or the rate eta of exponential weights."""
