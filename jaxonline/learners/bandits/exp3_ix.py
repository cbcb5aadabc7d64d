"""EXP3-IX, implicit exploration: Neu (2015), Algorithm 1."""

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Draw, Specs
from jaxonline.game.traits import LearnerTraits
from jaxonline.learners.bandits.arm_sampling import draw_arm
from jaxonline.learners.bandits.tally import arm_indicator
from jaxonline.learners.experts.over_advice import n_experts
from jaxonline.learners.experts.weights import softmax_weights
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import CountFrom2, NonNegative, Positive, Rounds
from jaxonline.parameters.validation import validate_arguments


@cites("neu2015explore")
@struct
class EXP3IX(LearnerDefaults):
    """Exponential weights on estimates that are too small on purpose: loss / (p + gamma) for the arm that was drawn.

    The mean of the estimate of arm k is loss_k p_k / (p_k + gamma), which falls short of its loss by the part
    gamma / (p_k + gamma). That bounds the estimates by 1 / gamma, and the regret with high probability
    (`bounds.exp3_ix`). Losses known beforehand are held to [0, 1].

    Args:
        eta: the rate of the weights.
        gamma: of the estimates; 0 for EXP3.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.game import Specs
        >>> from jaxonline.learners import EXP3IX
        >>> learner = EXP3IX.over_horizon(3, n_rounds=1000)
        >>> draw = learner.predict(jax.random.key(0), learner.init(None, Specs((), jnp.zeros(3))), ())
        >>> [round(p, 3) for p in draw.probabilities.tolist()], round(learner.eta / learner.gamma, 6)
        ([0.333, 0.333, 0.333], 2.0)
    """

    eta: Positive
    gamma: NonNegative

    traits: ClassVar[LearnerTraits] = LearnerTraits(loss_range=(0.0, 1.0))

    @classmethod
    @validate_arguments
    def over_horizon(cls, n_arms: CountFrom2, n_rounds: Rounds) -> "EXP3IX":
        """eta = sqrt(2 ln K / (K T)), gamma = eta / 2: Theorem 1."""
        eta = float(np.sqrt(2.0 * np.log(n_arms) / (n_arms * n_rounds)))
        return cls(eta, eta / 2)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> Float[Array, "K"]:
        """The state: the sums of the estimated losses, less the smallest of them [K].

        Raises:
            ValueError: outcomes are not vectors.
        """
        del key
        return jnp.zeros(n_experts("outcomes", specs.outcome), specs.outcome.dtype)

    def predict(self, key: Key[Array, ""], state: Float[Array, "K"], x: Any) -> Draw:
        """An arm drawn from the weights."""
        del x
        return draw_arm(key, self.weights(state))

    def update(
        self, key: Key[Array, ""] | None, state: Float[Array, "K"], oracle: Any
    ) -> tuple[Float[Array, "K"], tuple]:
        """L += estimates."""
        del key
        losses = state + self.estimates(oracle.move, oracle.loss())
        return losses - jnp.min(losses), ()

    def estimates(self, move: Draw, loss: Float[Array, ""]) -> Float[Array, "K"]:
        """Of the losses of all arms: loss / (p + gamma) for the arm drawn, 0 for the others."""
        p = move.probabilities
        drawn = arm_indicator(move.arm, len(p))
        return jnp.where(drawn, loss / (p + jnp.asarray(self.gamma, p.dtype)), 0.0)

    def weights(self, state: Float[Array, "K"]) -> Float[Array, "K"]:
        """Proportional to exp(-eta L)."""
        return softmax_weights(-jnp.asarray(self.eta, state.dtype) * state)
