"""Follow the regularised leader on the simplex: Shalev-Shwartz (2012), section 2.3."""

from typing import ClassVar, Literal

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxonline.game.traits import LearnerTraits
from jaxonline.learners.experts.combiner import SumsCombiner
from jaxonline.learners.experts.cumulative_losses import excess
from jaxonline.learners.experts.weights import softmax_weights
from jaxonline.linalg.compensated import Compensated
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Positive


@cites("shalevshwartz2012online")
@struct
class FollowTheRegularizedLeader(SumsCombiner):
    """Follow the regularised leader (FTRL): weights w on the simplex that minimise eta <L, w> + R(w).

    The vector L holds the cumulative losses of the experts. With R = |w|^2 / 2 the weights are the projection of -eta L
    on the simplex, and many weights are exactly 0. With R = sum w ln w the weights are those of `EWA`. For losses in
    [0, 1] and the Euclidean regularizer the regret is at most (1 - 1/K) / (2 eta) + eta K T / 8
    (`bounds.regularized_leader`).

    Args:
        eta: rate, which multiplies the losses.
        regularizer: the function R: |w|^2 / 2 or sum w ln w.

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> rule = jo.learners.FollowTheRegularizedLeader(0.25)
        >>> state = rule.update(rule.init(2, jnp.float32), jnp.array([1.0, 0.0]), 0.0)
        >>> rule.weights(state).tolist()  # the projection of (-1/4, 0)
        [0.375, 0.625]
    """

    eta: Positive
    regularizer: Literal["euclidean", "entropy"] = static(default="euclidean")
    traits: ClassVar[LearnerTraits] = LearnerTraits(loss_range=(0.0, 1.0))

    def weights(self, state: Compensated) -> Float[Array, "K"]:
        """Return the minimising weights w, from differences to the smallest loss, which stay exact in long runs."""
        differences = excess(state)
        scores = -jnp.asarray(self.eta, differences.dtype) * differences
        return softmax_weights(scores) if self.regularizer == "entropy" else _project_on_simplex(scores)


def _project_on_simplex(scores: Float[Array, "K"]) -> Float[Array, "K"]:
    """Return the nearest point of the simplex: max(scores - tau, 0), where tau makes the sum 1."""
    descending = -jnp.sort(-scores)
    counts = jnp.arange(1, len(scores) + 1, dtype=scores.dtype)
    taus = (jnp.cumsum(descending) - 1.0) / counts
    tau = taus[jnp.sum(descending > taus) - 1]
    return jnp.maximum(scores - tau, 0.0)
