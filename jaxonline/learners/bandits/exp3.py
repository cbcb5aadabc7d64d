"""EXP3: Auer, Cesa-Bianchi, Freund and Schapire (2002); with losses, Bubeck and Cesa-Bianchi (2012), Theorem 3.1."""

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from jaxonline.game.masks import mask_of, observed_mask
from jaxonline.game.protocols import Draw
from jaxonline.learners.bandits.arm_sampling import draw_arm, mix_uniform
from jaxonline.learners.bandits.tally import arm_indicator
from jaxonline.learners.experts.ewa import EWA, RateOrCombiner
from jaxonline.learners.experts.vectors import CombinerLearner
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import CountFrom2, Probability, PyTree, Rounds
from jaxonline.parameters.validation import validate_arguments


@cites("auer2002nonstochastic", "bubeck2012regret")
@struct
class EXP3(CombinerLearner):
    """EXP3: exponential weights for adversarial bandits, on importance-weighted estimates of the losses of K arms.

    The estimated loss is loss / p_k for the drawn arm k, where p_k is its probability, and 0 for the other arms. The
    mean of the estimate is the vector of losses. A combiner of experts updates from these estimates in place of the
    losses. Instances are ignored. If the combiner's theorem assumes losses in [0, 1], losses known before the game must
    lie in [0, 1] (otherwise a ValueError).

    With masks (`environments.Sleeping`) p is a distribution over the available arms, with the weights that `Hedge`
    gives to awake experts. The regret against each arm is bounded over the rounds in which this arm is available
    (`bounds.sleeping_exp3`).

    Args:
        combiner: the rate eta of exponential weights (EXP3 itself), or another `Combiner`.
        exploration: gamma in p = (1 - gamma) weights + gamma / K, where K counts the available arms.

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> exp3 = jo.learners.EXP3.over_horizon(3, n_rounds=1000)
        >>> state = exp3.init(None, jo.game.Specs((), jnp.zeros(3)))
        >>> draw = exp3.predict(jax.random.key(0), state, ())
        >>> int(draw.arm) in range(3), [round(float(p), 3) for p in draw.probabilities]
        (True, [0.333, 0.333, 0.333])
    """

    combiner: RateOrCombiner
    exploration: Probability = 0.0
    uses_masks: ClassVar[bool] = True

    @classmethod
    @validate_arguments
    def over_horizon(cls, n_arms: CountFrom2, n_rounds: Rounds) -> "EXP3":
        """Set eta = sqrt(2 ln K / (T K)): for losses in [0, 1] the pseudo-regret is at most sqrt(2 T K ln K)."""
        return cls(EWA(float(np.sqrt(2.0 * np.log(n_arms) / (n_rounds * n_arms))), n_arms))

    def predict(self, key: Key[Array, ""], state: PyTree, x: Any) -> Draw:
        """Draw an arm from (1 - gamma) weights + gamma / K."""
        mask = mask_of(x)
        return draw_arm(key, mix_uniform(self.weights(state, mask), self.exploration, mask))

    def update(self, key: Key[Array, ""] | None, state: PyTree, oracle: Any) -> tuple[PyTree, tuple[()]]:
        """Pass to the combiner the estimated losses and their mean under p, which is the loss of the drawn arm."""
        del key
        (arm, p), loss = oracle.move, oracle.loss()
        estimates = jnp.where(arm_indicator(arm, len(p)), loss / p[arm], 0.0)
        return self.update_combiner(state, estimates, loss, observed_mask(oracle)), ()
