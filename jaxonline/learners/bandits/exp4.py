"""EXP4, bandits with expert advice: Auer, Cesa-Bianchi, Freund and Schapire (2002).

With losses and without mixing, as in Bubeck and Cesa-Bianchi (2012), Theorem 4.2.
"""

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PyTree

from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Draw, Specs
from jaxonline.game.traits import LearnerTraits
from jaxonline.learners.bandits.arm_sampling import draw_arm
from jaxonline.learners.experts.ewa import RateOrCombiner
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Count, CountFrom2, Probability, Rounds
from jaxonline.parameters.validation import validate_arguments


@cites("auer2002nonstochastic", "bubeck2012regret")
@struct
class EXP4(LearnerDefaults):
    """Draws one of K arms from the mixture of what N experts advise. An instance is their advice [N, K].

    Row j of the instance is expert j's law over the arms. The estimate of the loss of an arm is loss / p for the arm
    drawn and 0 for the others; that of an expert is the mean of these under its law, which is unbiased. A combiner of
    the experts updates from the latter. Losses known beforehand are held to [0, 1].

    Args:
        combiner: eta for exponential weights (EXP4 itself), or a `Combiner`.
        exploration: gamma in p = (1 - gamma) mixture + gamma / K.

    Raises:
        ValueError: at `init`, instances that are not matrices with a column for each arm.

    Example:
        >>> import jax, numpy as np
        >>> import jaxonline as jo
        >>> advice = np.tile([[1.0, 0.0], [0.0, 1.0]], (50, 1, 1))  # one expert for each arm
        >>> stream = jo.environments.DataStream(advice, np.tile([0.0, 1.0], (50, 1)))
        >>> game = jo.Game(stream, jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> state, history = jo.play(game, jo.learners.EXP4(0.5), jax.random.key(0), n_rounds=50)
        >>> bool(history.loss.sum() < 15)
        True
    """

    combiner: RateOrCombiner
    exploration: Probability = 0.0

    traits: ClassVar[LearnerTraits] = LearnerTraits(loss_range=(0.0, 1.0))

    @classmethod
    @validate_arguments
    def over_horizon(cls, n_experts: CountFrom2, n_arms: Count, n_rounds: Rounds) -> "EXP4":
        """eta = sqrt(2 ln N / (T K)): for losses in [0, 1] the pseudo-regret is at most sqrt(2 T K ln N)."""
        return cls(float(np.sqrt(2.0 * np.log(n_experts) / (n_rounds * n_arms))))

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> PyTree:
        """The combiner's state, for as many experts as instances have rows.

        Raises:
            ValueError: instances are not matrices with a column for each arm.
        """
        del key
        shape, arms = getattr(specs.instance, "shape", ()), getattr(specs.outcome, "shape", None)
        if len(shape) != 2 or shape[1:] != arms:
            raise ArgumentError(
                "instances", f"must be advice [experts, arms] on the arms {arms} (got {specs.instance})"
            )
        return self.combiner.init(shape[0], specs.outcome.dtype)

    def predict(self, key: Key[Array, ""], state: PyTree, x: Float[Array, "N K"]) -> Draw:
        """An arm drawn from the mixture of the experts' laws."""
        mixture = self.weights(state) @ x
        gamma = jnp.asarray(self.exploration, mixture.dtype)
        return draw_arm(key, (1.0 - gamma) * mixture + gamma / len(mixture))

    def update(self, key: Key[Array, ""] | None, state: PyTree, oracle: Any) -> tuple[PyTree, tuple]:
        """The combiner sees the experts' estimated losses."""
        del key
        loss = oracle.loss()
        return self.combiner.update(state, self.estimates(oracle.move, loss, oracle.x), loss), ()

    def estimates(self, move: Draw, loss: Float[Array, ""], x: Float[Array, "N K"]) -> Float[Array, "N"]:
        """Of the experts' losses: what each of them advised for the arm drawn, times loss / p."""
        return x[:, move.arm] * (loss / move.probabilities[move.arm])

    def weights(self, state: PyTree) -> Float[Array, "N"]:
        """The combiner's weights of the experts."""
        return self.combiner.weights(state)
