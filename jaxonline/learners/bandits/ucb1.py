"""UCB1: Auer, Cesa-Bianchi and Fischer (2002), Figure 1, with losses in place of rewards."""

from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from jaxonline.game.masks import mask_of
from jaxonline.game.traits import LearnerTraits
from jaxonline.learners.bandits.tally import Tally, TallyPolicy
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import NonNegative


@cites("auer2002finite")
@struct
class UCB1(TallyPolicy):
    """Upper confidence bound policy (UCB1): pulls the arm with the smallest mean loss - sqrt(2 ln t / n).

    n is the number of pulls of the arm, and t is the number of all pulls. The learner first pulls each of the K arms
    once; ties go to the first arm. Theorem 1 (`bounds.ucb1`) assumes losses in [0, 1]; losses known before the game
    must lie in [0, 1] (otherwise a ValueError).

    With masks (`environments.Sleeping`) the learner pulls the available arm with the smallest lower confidence bound,
    like AUER of Kleinberg, Niculescu-Mizil and Sharma (2010); see `bounds.sleeping_ucb1`.

    Args:
        exploration: factor of ln t / n under the root; 2 in Theorem 1. For Gaussian losses of variance s^2 the
            equivalent factor is 8 s^2.

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.BernoulliArms([1.0, 0.0]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> jo.play(game, jo.learners.UCB1(), jax.random.key(0), n_rounds=12)[1].y_hat.tolist()
        [0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1]
    """

    exploration: NonNegative = 2.0

    traits: ClassVar[LearnerTraits] = LearnerTraits(loss_range=(0.0, 1.0), uses_masks=True)

    def predict(self, key: Key[Array, ""] | None, state: Tally, x: Any) -> Int[Array, ""]:
        """Return the arm with the smallest lower confidence bound."""
        del key
        growth = jnp.asarray(self.exploration, state.totals.dtype) * jnp.log(jnp.maximum(state.rounds, 1.0))
        return state.unpulled_or_argmin(state.means - jnp.sqrt(growth / state.positive_pulls), mask_of(x))
