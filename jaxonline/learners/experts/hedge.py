"""Hedge: Freund and Schapire (1997); Cesa-Bianchi and Lugosi (2006), section 2.2."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PyTree

from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Specs
from jaxonline.game.traits import LearnerTraits, traits_of
from jaxonline.learners.experts.combiner import AnyCombiner
from jaxonline.learners.experts.ewa import EWA
from jaxonline.learners.experts.over_advice import n_experts
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import CountFrom2, Rounds
from jaxonline.parameters.validation import validate_arguments


@cites("freund1997decision", "cesabianchi2006prediction")
@struct
class Hedge(LearnerDefaults):
    """Plays a vector of weights of K experts; the outcome is the vector of their losses, all of which are seen.

    The loss of a round is the weighted mean of the experts' losses. Instances are not looked at. Losses known
    beforehand are held to [0, 1] where the combiner's theorem wants them there.

    Args:
        combiner: `EWA` for Hedge itself; `BOA`, `MLPoly`, `MLProd`, or another `Combiner`.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.feedback import FullOracle
        >>> from jaxonline.game import Specs
        >>> from jaxonline.learners import Hedge
        >>> hedge, losses = Hedge.over_horizon(2, n_rounds=100), jnp.array([1.0, 0.0])
        >>> state, _ = hedge.update(None, hedge.init(None, Specs((), losses)), FullOracle((), losses))
        >>> [round(float(weight), 3) for weight in hedge.predict(None, state, ())]  # eta = sqrt(8 ln 2 / 100) = 0.235
        [0.441, 0.559]
    """

    combiner: AnyCombiner

    @property
    def traits(self) -> LearnerTraits:
        """Those of the combiner: the losses for which its theorem holds."""
        return traits_of(self.combiner, LearnerTraits)

    @classmethod
    @validate_arguments
    def over_horizon(cls, n_experts: CountFrom2, n_rounds: Rounds) -> "Hedge":
        """Exponential weights, eta = sqrt(8 ln K / T): for losses in [0, 1] the regret is at most sqrt(T ln K / 2)."""
        return cls(EWA(float(np.sqrt(8.0 * np.log(n_experts) / n_rounds))))

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> PyTree:
        """The combiner's state, for as many experts as the outcome has entries.

        Raises:
            ValueError: outcomes are not vectors.
        """
        del key
        return self.combiner.init(n_experts("outcomes", specs.outcome), specs.outcome.dtype)

    def predict(self, key: Key[Array, ""] | None, state: PyTree, x: Any) -> Float[Array, "K"]:
        """The weights of the experts."""
        del key, x
        return self.weights(state)

    def update(self, key: Key[Array, ""] | None, state: PyTree, oracle: Any) -> tuple[PyTree, tuple]:
        """The combiner sees all losses."""
        del key
        losses = oracle.y
        return self.combiner.update(state, losses, jnp.vdot(self.weights(state), losses)), ()

    def weights(self, state: PyTree) -> Float[Array, "K"]:
        """The weights of the next round."""
        return self.combiner.weights(state)
