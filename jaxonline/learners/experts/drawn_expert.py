"""Exponential weights, randomised: follow an expert that is drawn from the weights.

Littlestone and Warmuth (1994), Freund and Schapire (1997); Cesa-Bianchi and Lugosi (2006), section 4.2.
"""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PyTree

from jaxonline import random
from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Draw, Specs
from jaxonline.learners.experts.combiner import AnyCombiner
from jaxonline.learners.experts.hedge import Hedge
from jaxonline.learners.experts.label_range import unit_losses
from jaxonline.learners.experts.over_advice import n_experts
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import CountFrom2, Rounds


@cites("littlestone1994weighted", "freund1997decision", "cesabianchi2006prediction")
@struct
class DrawnExpert(LearnerDefaults):
    """Follows one of K experts, drawn from the weights of a combiner; all losses are seen, each from 0 to 1.

    The outcome is the vector of the losses of all experts. The move is a `Draw`: its expected loss is the loss of
    `Hedge` with the same combiner, and an adversary that knows the weights, but not the draw, forces no more. A loss
    outside [0, 1], where the theorems do not hold, makes everything after it NaN; a study counts such runs.

    Args:
        combiner: `EWA` for the randomised exponential weights; `FixedShare`, `BOA` or another `Combiner`.

    Example:
        >>> import jax, numpy as np
        >>> import jaxonline as jo
        >>> from jaxonline.learners import DrawnExpert
        >>> losses = np.tile([1.0, 0.0], (50, 1))
        >>> game = jo.Game(jo.environments.DataStream(None, losses), jo.FullInformation(), loss=jo.losses.ArmLoss())
        >>> learner = DrawnExpert.over_horizon(2, n_rounds=50)
        >>> state, history = jo.play(game, learner, jax.random.key(0), n_rounds=50)
        >>> history.y_hat.probabilities[-1].round(3).tolist(), history.y_hat.arm[-1].item()
        ([0.0, 1.0], 1)
    """

    combiner: AnyCombiner

    @classmethod
    def over_horizon(cls, n_experts: CountFrom2, n_rounds: Rounds) -> "DrawnExpert":
        """Exponential weights with eta = sqrt(8 ln K / T): the expected regret is at most sqrt(T ln K / 2)."""
        return cls(Hedge.over_horizon(n_experts, n_rounds).combiner)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> PyTree:
        """The combiner's state, for as many experts as the outcome has entries.

        Raises:
            ValueError: outcomes are not vectors.
        """
        del key
        return self.combiner.init(n_experts("outcomes", specs.outcome), specs.outcome.dtype)

    def predict(self, key: Key[Array, ""], state: PyTree, x: Any) -> Draw:
        """An expert drawn from the weights."""
        del x
        weights = self.weights(state)
        return Draw(arm_unless_nan(random.categorical(key, jnp.log(weights)), weights), weights)

    def update(self, key: Key[Array, ""] | None, state: PyTree, oracle: Any) -> tuple[PyTree, tuple]:
        """The combiner sees all losses, and the expected one as that of the move."""
        del key
        losses = unit_losses(oracle.y)
        return self.combiner.update(state, losses, jnp.vdot(self.weights(state), losses)), ()

    def weights(self, state: PyTree) -> Float[Array, "K"]:
        """The weights of the next round."""
        return self.combiner.weights(state)


def arm_unless_nan(arm: Array, known_by: Float[Array, "K"]) -> Array:
    """The arm, or K, which is none and has the loss NaN, where what it was chosen by is NaN."""
    return jnp.where(jnp.any(jnp.isnan(known_by)), len(known_by), arm).astype(jnp.int32)
