"""Randomised exponential weights: Littlestone and Warmuth (1994); Cesa-Bianchi and Lugosi (2006), section 4.2."""

from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from jaxonline import random
from jaxonline.game.protocols import Draw
from jaxonline.game.traits import LearnerTraits
from jaxonline.learners.experts.combiner import AnyCombiner
from jaxonline.learners.experts.hedge import Hedge
from jaxonline.learners.experts.label_range import nan_outside_unit
from jaxonline.learners.experts.vectors import CombinerLearner
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import CountFrom2, PyTree, Rounds


@cites("littlestone1994weighted", "freund1997decision", "cesabianchi2006prediction")
@struct
class DrawnExpert(CombinerLearner):
    """Randomised exponential weights: follows one of K experts, drawn from the weights of a combiner.

    The outcome is the vector of the losses of all experts in [0, 1]. The move is a `Draw`. The expected loss of the
    draw equals the loss of `Hedge` with the same combiner, even against an adversary that knows the weights but not the
    draw. A loss outside [0, 1], where the theorems do not hold, makes all later numbers of the run NaN; a study counts
    such runs.

    Args:
        combiner: `EWA` for exponential weights; `FixedShare`, `BOA` or another `Combiner`.

    Example:
        >>> import jax, jaxonline as jo, numpy as np
        >>> rows = jo.environments.DataStream(None, np.tile([1.0, 0.0], (50, 1)))
        >>> game = jo.Game(rows, jo.FullInformation(), loss=jo.losses.ArmLoss())
        >>> learner = jo.learners.DrawnExpert.over_horizon(2, n_rounds=50)
        >>> state, history = jo.play(game, learner, jax.random.key(0), n_rounds=50)
        >>> history.y_hat.probabilities[-1].round(3).tolist(), history.y_hat.arm[-1].item()
        ([0.0, 1.0], 1)
    """

    combiner: AnyCombiner
    traits: ClassVar[LearnerTraits] = LearnerTraits(plays_probabilities=True)

    @classmethod
    def over_horizon(cls, n_experts: CountFrom2, n_rounds: Rounds) -> "DrawnExpert":
        """Set eta = sqrt(8 ln K / T) in `EWA`: the expected regret is at most sqrt(T ln K / 2)."""
        return cls(Hedge.over_horizon(n_experts, n_rounds).combiner)

    def predict(self, key: Key[Array, ""], state: PyTree, x: Any) -> Draw:
        """Draw an expert from the weights."""
        del x
        weights = self.weights(state)
        return Draw(arm_unless_nan(random.weighted_index(key, weights), weights), weights)

    def update(self, key: Key[Array, ""] | None, state: PyTree, oracle: Any) -> tuple[PyTree, tuple[()]]:
        """Pass to the combiner all losses, and the expected loss of the draw as the loss of the move."""
        del key
        losses = nan_outside_unit(oracle.y)
        return self.combiner.update(state, losses, jnp.vdot(self.weights(state), losses)), ()


def arm_unless_nan(arm: Array, scores: Float[Array, "K"]) -> Array:
    """Return the arm; if a score is NaN, return K, an arm that does not exist and has the loss NaN."""
    return jnp.where(jnp.any(jnp.isnan(scores)), len(scores), arm).astype(jnp.int32)
