"""EXP3-IX (implicit exploration): Neu (2015), Algorithm 1."""

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from jaxonline.game.protocols import Draw, Specs
from jaxonline.game.traits import LearnerTraits
from jaxonline.learners.bandits.arm_sampling import draw_arm
from jaxonline.learners.bandits.tally import arm_indicator
from jaxonline.learners.experts.cumulative_losses import add_losses
from jaxonline.learners.experts.vectors import SumsLearner, check_prescribed_number, vector_length
from jaxonline.learners.experts.weights import weights_of_sums
from jaxonline.linalg.compensated import Compensated
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Count, CountFrom2, NonNegative, Positive, Rounds
from jaxonline.parameters.validation import validate_arguments


@cites("neu2015explore")
@struct
class EXP3IX(SumsLearner):
    """EXP3-IX: exponential weights with implicit exploration and a high-probability bound for adversarial bandits.

    The estimated loss is loss / (p_k + gamma) for the drawn arm k, where p_k is its probability, and 0 for the other
    arms. The mean of this estimate is too small by the fraction gamma / (p_k + gamma). The estimates are at most 1 /
    gamma, which bounds the regret with high probability (`bounds.exp3_ix`). The state is the
    compensated sums of the estimates [K]. Losses known before the game must lie in [0, 1] (otherwise a ValueError).

    Args:
        eta: rate of the weights.
        gamma: number added to the probability in the estimates; 0 gives EXP3.
        n_arms: the number of arms for which the numbers above were chosen; another number of arms is a ValueError. None
            for any number.

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> learner = jo.learners.EXP3IX.over_horizon(3, n_rounds=1000)
        >>> draw = learner.predict(jax.random.key(0), learner.init(None, jo.game.Specs((), jnp.zeros(3))), ())
        >>> [round(p, 3) for p in draw.probabilities.tolist()], round(learner.eta / learner.gamma, 6)
        ([0.333, 0.333, 0.333], 2.0)
    """

    eta: Positive
    gamma: NonNegative
    n_arms: Count | None = static(default=None)

    traits: ClassVar[LearnerTraits] = LearnerTraits(loss_range=(0.0, 1.0), plays_probabilities=True)

    @classmethod
    @validate_arguments
    def over_horizon(cls, n_arms: CountFrom2, n_rounds: Rounds) -> "EXP3IX":
        """Set eta = sqrt(2 ln K / (K T)) and gamma = eta / 2, as in Theorem 1."""
        eta = float(np.sqrt(2.0 * np.log(n_arms) / (n_arms * n_rounds)))
        return cls(eta, eta / 2, n_arms)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> Compensated:
        """Return zeros, one for each arm; raise a ValueError for another number of arms than `n_arms`."""
        check_prescribed_number("n_arms", self.n_arms, vector_length("outcomes", specs.outcome))
        return super().init(key, specs)

    def predict(self, key: Key[Array, ""], state: Compensated, x: Any) -> Draw:
        """Draw an arm from the weights."""
        del x
        return draw_arm(key, self.weights(state))

    def update(self, key: Key[Array, ""] | None, state: Compensated, oracle: Any) -> tuple[Compensated, tuple[()]]:
        """Add the estimated losses to the sums."""
        del key
        return add_losses(state, self.estimates(oracle.move, oracle.loss())), ()

    def estimates(self, move: Draw, loss: Float[Array, ""]) -> Float[Array, "K"]:
        """Return the estimated losses [K]: loss / (p + gamma) for the drawn arm, 0 for the other arms."""
        p = move.probabilities
        drawn = arm_indicator(move.arm, len(p))
        return jnp.where(drawn, loss / (p + jnp.asarray(self.gamma, p.dtype)), 0.0)

    def weights(self, state: Compensated) -> Float[Array, "K"]:
        """Return the weights of the next round, proportional to exp(-eta L) for the sums L of the estimates."""
        return weights_of_sums(state, self.eta)
