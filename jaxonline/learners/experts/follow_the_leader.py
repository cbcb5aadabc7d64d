"""Follow the leader: Hannan (1957); Cesa-Bianchi and Lugosi (2006), section 3.2."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxonline.learners.experts.combiner import SumsCombiner
from jaxonline.learners.experts.cumulative_losses import excess
from jaxonline.linalg.compensated import Compensated
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct


@cites("hannan1957approximation", "cesabianchi2006prediction")
@struct
class FollowTheLeader(SumsCombiner):
    """Follow the leader: all weight is on the expert with the smallest cumulative loss; ties go to the first expert.

    With losses (1/2, 0), (0, 1), (1, 0), (0, 1), ... the leader is wrong in all rounds but the first, and the regret is
    T/2. `FollowThePerturbedLeader` and `FollowTheRegularizedLeader` avoid this failure. If the leader minimises a
    strongly convex loss over all predictions, the regret is logarithmic.

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> rule = jo.learners.FollowTheLeader()
        >>> state = rule.update(rule.init(2, jnp.float32), jnp.array([0.5, 0.0]), 0.0)
        >>> rule.weights(state).tolist()
        [0.0, 1.0]
    """

    def weights(self, state: Compensated) -> Float[Array, "K"]:
        """Return the weights of the next round: 1 for the leader."""
        sums = excess(state)
        leader = jax.nn.one_hot(jnp.argmin(sums), len(sums), dtype=sums.dtype)
        return jnp.where(jnp.any(jnp.isnan(sums)), jnp.nan, leader)
