"""Follow the leader: Hannan (1957); Cesa-Bianchi and Lugosi (2006), section 3.2."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct


@cites("hannan1957approximation", "cesabianchi2006prediction")
@struct
class FollowTheLeader:
    """All the weight is on the expert with the smallest cumulative loss, the first of them where several have it.

    A combiner: `Hedge(FollowTheLeader())` plays its weights, `OverAdvice(FollowTheLeader())` predicts as the leader
    does. The state is the vector of cumulative losses [K].

    It fails where losses alternate: with (1/2, 0), (0, 1), (1, 0), (0, 1), ... it leads its follower to the wrong
    expert in every round but the first, and the regret is T/2. Perturbed (`FollowThePerturbedLeader`) or regularised
    (`FollowTheRegularizedLeader`) it does not. Where the loss is strongly convex in a prediction and the leader is the
    minimiser among all predictions, its regret is logarithmic.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.learners import FollowTheLeader
        >>> rule = FollowTheLeader()
        >>> state = rule.update(rule.init(2, jnp.float32), jnp.array([0.5, 0.0]), 0.0)
        >>> rule.weights(state).tolist()
        [0.0, 1.0]
    """

    def init(self, n_experts: int, dtype: Any) -> Float[Array, "K"]:
        """No losses."""
        return jnp.zeros(n_experts, dtype)

    def weights(self, state: Float[Array, "K"]) -> Float[Array, "K"]:
        """1 for the leader."""
        return jnp.where(
            jnp.any(jnp.isnan(state)), jnp.nan, jax.nn.one_hot(jnp.argmin(state), len(state), dtype=state.dtype)
        )

    def update(self, state: Float[Array, "K"], losses: Float[Array, "K"], own_loss: ArrayLike) -> Float[Array, "K"]:
        """L += losses."""
        del own_loss
        return state + losses
