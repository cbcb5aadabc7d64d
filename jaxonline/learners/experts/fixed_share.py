"""Fixed share: Herbster and Warmuth (1998); Cesa-Bianchi and Lugosi (2006), section 5.2."""

from typing import Annotated, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from jaxonline.game.traits import LearnerTraits
from jaxonline.learners.experts.cumulative_losses import add_losses
from jaxonline.learners.experts.vectors import check_prescribed_number
from jaxonline.learners.experts.weights import softmax_weights
from jaxonline.linalg.compensated import Compensated
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Count, CountFrom2, Ge, Horizon, NonNegativeInt, Positive, Probability
from jaxonline.parameters.validation import validate_arguments


@cites("herbster1998tracking", "cesabianchi2006prediction")
@struct
class FixedShare:
    """Fixed share: exponential weights that track a best expert that changes.

    The update is v = w exp(-eta loss), then w = (1 - share) v + share sum(v) / K. These weights are exponential weights
    on all sequences of experts. The prior of the sequences redraws the expert of a round uniformly with probability
    `share`. The state is the logarithms of the weights [K], as compensated sums. In the paper the share of an expert
    goes only to the K - 1 other experts, so the paper's parameter equals `share` (K - 1) / K.

    Args:
        eta: rate of the weights.
        share: fraction that is redistributed after each round; 0 for exponential weights.
        n_experts: the number of experts for which eta was chosen; another number of experts is a ValueError. None for
            any number.

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> rule = jo.learners.FixedShare(eta=1.0, share=0.1)
        >>> state = rule.update(rule.init(2, jnp.float32), jnp.array([1000.0, 0.0]), 0.0)
        >>> [f"{weight:.2f}" for weight in rule.weights(state)]  # the first expert keeps share / K
        ['0.05', '0.95']
    """

    eta: Positive
    share: Probability
    n_experts: Count | None = static(default=None)
    traits: ClassVar[LearnerTraits] = LearnerTraits(loss_range=(0.0, 1.0))

    @classmethod
    @validate_arguments
    def over_horizon(
        cls, n_experts: CountFrom2, n_rounds: Annotated[int, Ge(2), Horizon()], n_switches: NonNegativeInt
    ) -> "FixedShare":
        """Set the rate and the share of `bounds.fixed_share`, for sequences with at most m = `n_switches` < T switches.

        share = m / (T - 1) and eta = sqrt(8 ((m + 1) ln K + (T - 1) H(share)) / T), where H is the binary entropy.
        """
        if n_switches >= n_rounds:
            raise ArgumentError("n_switches", f"must be below n_rounds, {n_rounds} (got {n_switches})")
        share = n_switches / (n_rounds - 1)
        information = (n_switches + 1) * np.log(n_experts) + (n_rounds - 1) * binary_entropy(share)
        return cls(float(np.sqrt(8.0 * information / n_rounds)), share, n_experts)

    def init(self, n_experts: int, dtype: Any) -> Compensated:
        """Return equal weights; raise a ValueError for another number of experts than `n_experts`."""
        check_prescribed_number("n_experts", self.n_experts, n_experts)
        return Compensated.starting_at(jnp.full(n_experts, -jnp.log(jnp.asarray(n_experts, dtype))))

    def weights(self, state: Compensated) -> Float[Array, "K"]:
        """Return the weights of the next round."""
        return softmax_weights(state.value)

    def update(self, state: Compensated, losses: Float[Array, "K"], own_loss: ArrayLike) -> Compensated:
        """Return ln w = ln((1 - share) v + share / K) for the normalised weights v after the losses."""
        del own_loss
        log_w = state.value
        eta, share = (jnp.asarray(number, log_w.dtype) for number in (self.eta, self.share))
        log_sum = jax.nn.logsumexp(log_w - eta * losses)
        log_v = log_w - eta * losses - log_sum
        log_kept, log_share = jnp.log1p(-share), jnp.log(share / len(losses))
        # the weight is mostly the share, or mostly v; then the state changes by a small number, which is added exactly
        is_share = log_share >= log_kept + log_v
        added = add_losses(state, jnp.logaddexp(log_kept, log_share - log_v) - eta * losses - log_sum)
        total = jnp.where(is_share, jnp.logaddexp(log_kept + log_v, log_share), added.total)
        return Compensated(total, jnp.where(is_share, 0.0, added.correction))


def binary_entropy(p: float) -> float:
    """Return -p ln p - (1 - p) ln(1 - p), computed on the host."""
    return float(-sum(q * np.log(q) for q in (p, 1.0 - p) if q > 0))
