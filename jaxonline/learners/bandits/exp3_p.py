"""EXP3.P: Auer, Cesa-Bianchi, Freund and Schapire (2002), in the form of Bubeck and Cesa-Bianchi (2012), Figure 3.1."""

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
from jaxonline.parameters.types import CountFrom2, Positive, PositiveProbability, Probability, Rounds
from jaxonline.parameters.validation import validate_arguments


@cites("auer2002nonstochastic", "bubeck2012regret")
@struct
class EXP3P(LearnerDefaults):
    """Exponential weights, mixed with uniform ones, on estimates of the gains that are too large on purpose.

    The gain of an arm is 1 - loss, and its estimate (gain [arm was drawn] + beta) / p. The mean of the estimate exceeds
    the gain by beta / p: an upper confidence bound of the cumulative gain, with which the regret is bounded with high
    probability (`bounds.exp3_p`). Losses known beforehand are held to [0, 1].

    Args:
        eta: the rate of the weights.
        beta: added to the gain of the estimates.
        exploration: gamma in p = (1 - gamma) weights + gamma / K.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.game import Draw
        >>> from jaxonline.learners import EXP3P
        >>> learner = EXP3P(eta=0.1, beta=0.1, exploration=0.2)
        >>> [round(g, 3) for g in learner.estimates(Draw(jnp.int32(1), jnp.full(2, 0.5)), jnp.float32(0.0)).tolist()]
        [0.2, 2.2]
    """

    eta: Positive
    beta: Probability
    exploration: Probability

    traits: ClassVar[LearnerTraits] = LearnerTraits(loss_range=(0.0, 1.0))

    @classmethod
    @validate_arguments
    def over_horizon(cls, n_arms: CountFrom2, n_rounds: Rounds, delta: PositiveProbability = 1.0) -> "EXP3P":
        """The numbers of Theorem 3.3: 0.95 sqrt(ln K / (T K)), sqrt(ln(K / delta) / (T K)), 1.05 sqrt(K ln K / T).

        Args:
            n_arms: K.
            n_rounds: T.
            delta: the probability with which the bound may fail; 1 for the bound that holds for all of them at once.
        """
        K, T = n_arms, n_rounds
        eta, beta = 0.95 * np.sqrt(np.log(K) / (T * K)), np.sqrt(np.log(K / delta) / (T * K))
        return cls(float(eta), float(min(1.0, beta)), float(min(1.0, 1.05 * np.sqrt(K * np.log(K) / T))))

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> Float[Array, "K"]:
        """The state: the sums of the estimated gains, less the largest of them [K].

        Raises:
            ValueError: outcomes are not vectors.
        """
        del key
        return jnp.zeros(n_experts("outcomes", specs.outcome), specs.outcome.dtype)

    def predict(self, key: Key[Array, ""], state: Float[Array, "K"], x: Any) -> Draw:
        """An arm drawn from (1 - gamma) weights + gamma / K."""
        del x
        weights = self.weights(state)
        gamma = jnp.asarray(self.exploration, weights.dtype)
        return draw_arm(key, (1.0 - gamma) * weights + gamma / len(weights))

    def update(
        self, key: Key[Array, ""] | None, state: Float[Array, "K"], oracle: Any
    ) -> tuple[Float[Array, "K"], tuple]:
        """G += estimates."""
        del key
        gains = state + self.estimates(oracle.move, oracle.loss())
        return gains - jnp.max(gains), ()

    def estimates(self, move: Draw, loss: Float[Array, ""]) -> Float[Array, "K"]:
        """Of the gains of all arms: (gain + beta) / p for the arm drawn, beta / p for the others."""
        p = move.probabilities
        drawn = arm_indicator(move.arm, len(p))
        return (jnp.where(drawn, 1.0 - loss, 0.0) + jnp.asarray(self.beta, p.dtype)) / p

    def weights(self, state: Float[Array, "K"]) -> Float[Array, "K"]:
        """Proportional to exp(eta G), without exploration."""
        return softmax_weights(jnp.asarray(self.eta, state.dtype) * state)
