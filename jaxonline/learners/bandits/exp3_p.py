"""EXP3.P: Auer, Cesa-Bianchi, Freund and Schapire (2002), in the form of Bubeck and Cesa-Bianchi (2012), Figure 3.1."""

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from jaxonline.game.protocols import Draw, Specs
from jaxonline.game.traits import LearnerTraits
from jaxonline.learners.bandits.arm_sampling import draw_arm, mix_uniform
from jaxonline.learners.bandits.tally import arm_indicator
from jaxonline.learners.experts.cumulative_losses import add_losses
from jaxonline.learners.experts.vectors import SumsLearner, check_prescribed_number, vector_length
from jaxonline.learners.experts.weights import weights_of_sums
from jaxonline.linalg.compensated import Compensated
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Count, CountFrom2, Positive, PositiveProbability, Probability, Rounds
from jaxonline.parameters.validation import validate_arguments


@cites("auer2002nonstochastic", "bubeck2012regret")
@struct
class EXP3P(SumsLearner):
    """EXP3.P: exponential weights with uniform exploration and a high-probability bound for adversarial bandits.

    The gain of an arm is 1 - loss. The estimated gain is (gain + beta) / p for the drawn arm, and beta / p for the
    other arms, where p is the probability of the arm. The mean of the estimate is too large by beta / p, so the sum of
    estimates is an upper confidence bound of the cumulative gain. This confidence bound is the reason for the regret
    bound with high probability (`bounds.exp3_p`). The state is the compensated sums of minus the estimated gains [K].
    Losses known before the game must lie in [0, 1] (otherwise a ValueError).

    Args:
        eta: rate of the weights.
        beta: number added to the gain in the estimates.
        exploration: gamma in p = (1 - gamma) weights + gamma / K.
        n_arms: the number of arms for which the numbers above were chosen; another number of arms is a ValueError. None
            for any number.

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> draw = jo.game.Draw(jnp.int32(1), jnp.full(2, 0.5))
        >>> estimates = jo.learners.EXP3P(eta=0.1, beta=0.1, exploration=0.2).estimates(draw, jnp.float32(0.0))
        >>> [round(gain, 3) for gain in estimates.tolist()]
        [0.2, 2.2]
    """

    eta: Positive
    beta: Probability
    exploration: Probability
    n_arms: Count | None = static(default=None)

    traits: ClassVar[LearnerTraits] = LearnerTraits(loss_range=(0.0, 1.0), plays_probabilities=True)

    @classmethod
    @validate_arguments
    def over_horizon(cls, n_arms: CountFrom2, n_rounds: Rounds, delta: PositiveProbability = 1.0) -> "EXP3P":
        """Set eta, beta, gamma of Theorem 3.3: 0.95 sqrt(ln K/(T K)), sqrt(ln(K/delta) / (T K)), 1.05 sqrt(K ln K / T).

        Args:
            n_arms: K.
            n_rounds: T.
            delta: probability with which the bound may fail; 1 for the bound that holds for all deltas at once.
        """
        K, T = n_arms, n_rounds
        eta, beta = 0.95 * np.sqrt(np.log(K) / (T * K)), np.sqrt(np.log(K / delta) / (T * K))
        exploration = min(1.0, 1.05 * np.sqrt(K * np.log(K) / T))
        return cls(float(eta), float(min(1.0, beta)), float(exploration), n_arms)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> Compensated:
        """Return zeros, one for each arm; raise a ValueError for another number of arms than `n_arms`."""
        check_prescribed_number("n_arms", self.n_arms, vector_length("outcomes", specs.outcome))
        return super().init(key, specs)

    def predict(self, key: Key[Array, ""], state: Compensated, x: Any) -> Draw:
        """Draw an arm from (1 - gamma) weights + gamma / K."""
        del x
        return draw_arm(key, mix_uniform(self.weights(state), self.exploration))

    def update(self, key: Key[Array, ""] | None, state: Compensated, oracle: Any) -> tuple[Compensated, tuple[()]]:
        """Subtract the estimated gains from the sums."""
        del key
        return add_losses(state, -self.estimates(oracle.move, oracle.loss())), ()

    def estimates(self, move: Draw, loss: Float[Array, ""]) -> Float[Array, "K"]:
        """Return the estimated gains [K]: (gain + beta) / p for the drawn arm, beta / p for the other arms."""
        p = move.probabilities
        drawn = arm_indicator(move.arm, len(p))
        return (jnp.where(drawn, 1.0 - loss, 0.0) + jnp.asarray(self.beta, p.dtype)) / p

    def weights(self, state: Compensated) -> Float[Array, "K"]:
        """Return the weights of the next round without exploration, proportional to exp(eta G) for the sums G."""
        return weights_of_sums(state, self.eta)
