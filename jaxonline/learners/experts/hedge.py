"""Hedge: Freund and Schapire (1997); Cesa-Bianchi and Lugosi (2006), section 2.2."""

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from jaxonline.game.masks import mask_of, observed_mask
from jaxonline.learners.experts.combiner import AnyCombiner
from jaxonline.learners.experts.ewa import EWA
from jaxonline.learners.experts.vectors import CombinerLearner
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import CountFrom2, PyTree, Rounds
from jaxonline.parameters.validation import validate_arguments


@cites("freund1997decision", "cesabianchi2006prediction", "freund1997specialize")
@struct
class Hedge(CombinerLearner):
    """Hedge: predicts the vector of weights of K experts. The learner observes the outcome, the vector of all losses.

    The loss of a round is the weighted mean of the losses. Instances are ignored. If the combiner's theorem assumes
    losses in [0, 1], losses known before the game must lie in [0, 1] (otherwise a ValueError).

    With sleeping experts (`environments.Sleeping`, with `EWA`) the experts that are not available have the weight 0,
    and keep their share of the total weight: Freund, Schapire, Singer and Warmuth (1997), section 3. The regret against
    each expert is bounded over the rounds in which this expert is awake (`bounds.sleeping_hedge`).

    Args:
        combiner: `EWA` for Hedge itself; `BOA`, `MLPoly`, `MLProd`, or another `Combiner`.

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> hedge, losses = jo.learners.Hedge.over_horizon(2, n_rounds=100), jnp.array([1.0, 0.0])
        >>> state = hedge.init(None, jo.game.Specs((), losses))
        >>> state, _ = hedge.update(None, state, jo.feedback.FullOracle((), losses))
        >>> [round(float(weight), 3) for weight in hedge.predict(None, state, ())]  # eta = sqrt(8 ln 2 / 100) = 0.235
        [0.441, 0.559]
    """

    combiner: AnyCombiner
    uses_masks: ClassVar[bool] = True

    @classmethod
    @validate_arguments
    def over_horizon(cls, n_experts: CountFrom2, n_rounds: Rounds) -> "Hedge":
        """Set eta = sqrt(8 ln K / T) in `EWA`: for losses in [0, 1] the regret is at most sqrt(T ln K / 2)."""
        return cls(EWA(float(np.sqrt(8.0 * np.log(n_experts) / n_rounds)), n_experts))

    def predict(self, key: Key[Array, ""] | None, state: PyTree, x: Any) -> Float[Array, "K"]:
        """Return the weights of the experts."""
        del key
        return self.weights(state, mask_of(x))

    def update(self, key: Key[Array, ""] | None, state: PyTree, oracle: Any) -> tuple[PyTree, tuple[()]]:
        """Pass all losses to the combiner."""
        del key
        losses, mask = oracle.y, observed_mask(oracle)
        return self.update_combiner(state, losses, jnp.vdot(self.weights(state, mask), losses), mask), ()
