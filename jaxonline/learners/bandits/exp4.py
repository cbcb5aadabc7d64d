"""EXP4: Auer, Cesa-Bianchi, Freund and Schapire (2002); with losses, Bubeck and Cesa-Bianchi (2012), Theorem 4.2."""

from typing import Any, ClassVar

import numpy as np
from jaxtyping import Array, Float, Key

from jaxonline.game.protocols import Draw, Specs
from jaxonline.game.traits import LearnerTraits
from jaxonline.learners.bandits.arm_sampling import draw_arm, mix_uniform
from jaxonline.learners.experts.ewa import EWA, RateOrCombiner
from jaxonline.learners.experts.vectors import CombinerLearner, check_prescribed_number
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Count, CountFrom2, Probability, PyTree, Rounds
from jaxonline.parameters.validation import validate_arguments


@cites("auer2002nonstochastic", "bubeck2012regret")
@struct
class EXP4(CombinerLearner):
    """EXP4: adversarial bandits with expert advice. An instance is the advice of N experts on K arms [N, K].

    Row j of the instance is the distribution over the arms that expert j advises. The learner draws an arm from the
    mixture of the experts' distributions. The estimated loss of an arm is loss / p for the drawn arm, which had the
    probability p, and 0 for the other arms. The estimated loss of an expert is the mean of these estimates under the
    expert's advice, and is unbiased. A combiner of the experts updates from the experts' estimated losses. Losses known
    before the game must lie in [0, 1] (otherwise a ValueError).

    Args:
        combiner: the rate eta of exponential weights (EXP4 itself), or another `Combiner`.
        exploration: gamma in p = (1 - gamma) mixture + gamma / K; 0 in Theorem 4.2.
        n_arms: the number of arms for which eta was chosen; another number of arms is a ValueError. None for any
            number.

    Example:
        >>> import jax, jaxonline as jo, numpy as np
        >>> advice = np.tile([[1.0, 0.0], [0.0, 1.0]], (50, 1, 1))  # one expert for each arm
        >>> stream = jo.environments.DataStream(advice, np.tile([0.0, 1.0], (50, 1)))
        >>> game = jo.Game(stream, jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> state, history = jo.play(game, jo.learners.EXP4(0.5), jax.random.key(0), n_rounds=50)
        >>> bool(history.loss.sum() < 15)
        True
    """

    combiner: RateOrCombiner
    exploration: Probability = 0.0
    n_arms: Count | None = static(default=None)

    traits: ClassVar[LearnerTraits] = LearnerTraits(loss_range=(0.0, 1.0))

    @classmethod
    @validate_arguments
    def over_horizon(cls, n_experts: CountFrom2, n_arms: Count, n_rounds: Rounds) -> "EXP4":
        """Set eta = sqrt(2 ln N / (T K)): for losses in [0, 1] the pseudo-regret is at most sqrt(2 T K ln N)."""
        eta = float(np.sqrt(2.0 * np.log(n_experts) / (n_rounds * n_arms)))
        return cls(EWA(eta, n_experts), n_arms=n_arms)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> PyTree:
        """Return the combiner's state; raise a ValueError if instances are not matrices with a column for each arm."""
        del key
        shape, arms = getattr(specs.instance, "shape", ()), getattr(specs.outcome, "shape", None)
        if len(shape) != 2 or shape[1:] != arms:
            problem = f"must be advice [experts, arms] for outcomes of shape {arms} (got {specs.instance})"
            raise ArgumentError("instances", problem)
        check_prescribed_number("n_arms", self.n_arms, shape[1])
        return self.combiner.init(shape[0], specs.outcome.dtype)

    def predict(self, key: Key[Array, ""], state: PyTree, x: Float[Array, "N K"]) -> Draw:
        """Draw an arm from (1 - gamma) mixture + gamma / K."""
        return draw_arm(key, mix_uniform(self.weights(state) @ x, self.exploration))

    def update(self, key: Key[Array, ""] | None, state: PyTree, oracle: Any) -> tuple[PyTree, tuple[()]]:
        """Pass the estimated losses of the experts to the combiner."""
        del key
        loss = oracle.loss()
        return self.combiner.update(state, self.estimates(oracle.move, loss, oracle.x), loss), ()

    def estimates(self, move: Draw, loss: Float[Array, ""], x: Float[Array, "N K"]) -> Float[Array, "N"]:
        """Return the estimated losses of the experts [N]: each expert's advice for the drawn arm, times loss / p."""
        return x[:, move.arm] * (loss / move.probabilities[move.arm])
