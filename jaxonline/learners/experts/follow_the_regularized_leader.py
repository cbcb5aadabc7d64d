"""Follow the regularised leader on the simplex: Shalev-Shwartz (2012), section 2.3."""

from typing import Any, ClassVar, Literal

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from jaxonline.game.traits import LearnerTraits
from jaxonline.learners.experts.weights import softmax_weights
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Positive


@cites("shalevshwartz2012online")
@struct
class FollowTheRegularizedLeader:
    """The weights w on the simplex that minimise eta <L, w> + R(w), L being the cumulative losses: the state [K].

    With R = |w|^2 / 2 they are the projection of -eta L on the simplex, and many are exactly 0. With R = sum w ln w
    they are the exponential weights of `EWA`. Unlike the leader's (`FollowTheLeader`), they do not jump: for losses in
    [0, 1] and the Euclidean regularizer the regret is at most (1 - 1/K) / (2 eta) + eta K T / 2
    (`bounds.regularized_leader`).

    Args:
        eta: the rate, which multiplies the losses.
        regularizer: R: |w|^2 / 2 or sum w ln w.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.learners import FollowTheRegularizedLeader
        >>> rule = FollowTheRegularizedLeader(0.25)
        >>> state = rule.update(rule.init(2, jnp.float32), jnp.array([1.0, 0.0]), 0.0)
        >>> rule.weights(state).tolist()  # the projection of (-1/4, 0)
        [0.375, 0.625]
    """

    eta: Positive
    regularizer: Literal["euclidean", "entropy"] = static(default="euclidean")
    traits: ClassVar[LearnerTraits] = LearnerTraits(loss_range=(0.0, 1.0))

    def init(self, n_experts: int, dtype: Any) -> Float[Array, "K"]:
        """No losses."""
        return jnp.zeros(n_experts, dtype)

    def weights(self, state: Float[Array, "K"]) -> Float[Array, "K"]:
        """The minimiser. It does not change where all losses grow by the same, which keeps it exact in long runs."""
        scores = -jnp.asarray(self.eta, state.dtype) * (state - jnp.min(state))
        return softmax_weights(scores) if self.regularizer == "entropy" else _on_the_simplex(scores)

    def update(self, state: Float[Array, "K"], losses: Float[Array, "K"], own_loss: ArrayLike) -> Float[Array, "K"]:
        """L += losses."""
        del own_loss
        return state + losses


def _on_the_simplex(scores: Float[Array, "K"]) -> Float[Array, "K"]:
    """The nearest point of the simplex: max(scores - tau, 0) with the tau for which the sum is 1."""
    falling = -jnp.sort(-scores)
    numbers = jnp.arange(1, len(scores) + 1, dtype=scores.dtype)
    taus = (jnp.cumsum(falling) - 1.0) / numbers
    tau = taus[jnp.sum(falling > taus) - 1]
    return jnp.maximum(scores - tau, 0.0)
