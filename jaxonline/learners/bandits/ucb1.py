"""UCB1: Auer, Cesa-Bianchi and Fischer (2002), Figure 1, with losses in place of rewards."""

from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Specs
from jaxonline.game.traits import LearnerTraits
from jaxonline.learners.bandits.tally import Tally
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import NonNegative


@cites("auer2002finite")
@struct
class UCB1(LearnerDefaults):
    """Pulls the arm with the smallest lower confidence bound, mean - sqrt(2 ln t / n).

    n counts the pulls of the arm so far, t those of all. Each arm is pulled once at first; of several with the smallest
    bound it is the first. `bounds.ucb1` is Theorem 1, for losses in [0, 1]; losses known beforehand are held to that.

    Args:
        exploration: the 2 below the root. For Gaussian losses of variance s^2, 8 s^2 is the same.

    Example:
        >>> import jax
        >>> import jaxonline as jo
        >>> game = jo.Game(jo.environments.BernoulliArms([1.0, 0.0]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> jo.play(game, jo.learners.UCB1(), jax.random.key(0), n_rounds=12)[1].y_hat.tolist()
        [0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1]
    """

    exploration: NonNegative = 2.0

    traits: ClassVar[LearnerTraits] = LearnerTraits(loss_range=(0.0, 1.0))

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> Tally:
        """No pulls, the state.

        Raises:
            ValueError: outcomes are not vectors.
        """
        del key
        return Tally.empty(specs)

    def predict(self, key: Key[Array, ""] | None, state: Tally, x: Any) -> Int[Array, ""]:
        """The arm with the smallest bound."""
        del key, x
        growth = jnp.asarray(self.exploration, state.totals.dtype) * jnp.log(jnp.maximum(state.rounds, 1.0))
        return state.smallest(state.means - jnp.sqrt(growth / state.counts))

    def update(self, key: Key[Array, ""] | None, state: Tally, oracle: Any) -> tuple[Tally, tuple]:
        """One more pull."""
        del key
        return state.add(oracle.move, oracle.loss()), ()
