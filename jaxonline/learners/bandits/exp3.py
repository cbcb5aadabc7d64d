"""EXP3: importance weights and a combiner of experts.

Auer, Cesa-Bianchi, Freund and Schapire (2002), with losses in place of gains, as in Bubeck and Cesa-Bianchi (2012),
Theorem 3.1.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PyTree

from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Draw, Specs
from jaxonline.game.traits import LearnerTraits, traits_of
from jaxonline.learners.bandits.arm_sampling import draw_arm
from jaxonline.learners.bandits.tally import arm_indicator
from jaxonline.learners.experts.ewa import EWA, RateOrCombiner
from jaxonline.learners.experts.over_advice import n_experts
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import CountFrom2, Probability, Rounds
from jaxonline.parameters.validation import validate_arguments


@cites("auer2002nonstochastic", "bubeck2012regret")
@struct
class EXP3(LearnerDefaults):
    """Draws one of K arms, and estimates the losses of all of them by that of the arm drawn.

    The estimate is loss / p_k for the arm k that was drawn, with probability p_k, and 0 for the others: its mean is
    the vector of losses. A combiner of experts updates from the estimates as if they were losses. Instances are not
    looked at; the oracle gives back the move and the loss of its arm. Losses known beforehand are held to [0, 1] where
    the combiner's theorem wants them there.

    Args:
        combiner: eta for exponential weights (EXP3 itself), or a `Combiner`.
        exploration: gamma in p = (1 - gamma) weights + gamma / K.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.game import Specs
        >>> from jaxonline.learners import EXP3
        >>> exp3 = EXP3.over_horizon(3, n_rounds=1000)
        >>> state = exp3.init(None, Specs((), jnp.zeros(3)))
        >>> draw = exp3.predict(jax.random.key(0), state, ())
        >>> int(draw.arm) in range(3), [round(float(p), 3) for p in draw.probabilities]
        (True, [0.333, 0.333, 0.333])
    """

    combiner: RateOrCombiner
    exploration: Probability = 0.0

    @property
    def traits(self) -> LearnerTraits:
        """Those of the combiner: the losses for which its theorem holds."""
        return traits_of(self.combiner, LearnerTraits)

    @classmethod
    @validate_arguments
    def over_horizon(cls, n_arms: CountFrom2, n_rounds: Rounds) -> "EXP3":
        """eta = sqrt(2 ln K / (T K)): for losses in [0, 1] the pseudo-regret is at most sqrt(2 T K ln K)."""
        return cls(EWA(float(np.sqrt(2.0 * np.log(n_arms) / (n_rounds * n_arms)))))

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> PyTree:
        """The combiner's state, for as many arms as the outcome has entries.

        Raises:
            ValueError: outcomes are not vectors.
        """
        del key
        return self.combiner.init(n_experts("outcomes", specs.outcome), specs.outcome.dtype)

    def predict(self, key: Key[Array, ""], state: PyTree, x: Any) -> Draw:
        """An arm drawn from the probabilities."""
        del x
        return draw_arm(key, self._probabilities(state))

    def update(self, key: Key[Array, ""] | None, state: PyTree, oracle: Any) -> tuple[PyTree, tuple]:
        """The combiner sees the importance-weighted losses; their mean under p is the loss of the arm drawn."""
        del key
        (arm, p), loss = oracle.move, oracle.loss()
        estimates = jnp.where(arm_indicator(arm, len(p)), loss / p, 0.0)
        return self.combiner.update(state, estimates, loss), ()

    def weights(self, state: PyTree) -> Float[Array, "K"]:
        """The combiner's weights, without exploration."""
        return self.combiner.weights(state)

    def _probabilities(self, state: PyTree) -> Float[Array, "K"]:
        weights = self.weights(state)
        gamma = jnp.asarray(self.exploration, weights.dtype)
        return (1.0 - gamma) * weights + gamma / len(weights)
