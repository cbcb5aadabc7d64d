"""MOSS, minimax optimal strategy in the stochastic case: Audibert and Bubeck (2009), with losses."""

from typing import Annotated, Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Specs
from jaxonline.game.traits import LearnerTraits
from jaxonline.learners.bandits.tally import Tally
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Ge, Horizon, Number


@cites("audibert2009minimax")
@struct
class MOSS(LearnerDefaults):
    """Pulls the arm with the smallest mean - sqrt(max(0, ln(T / (K n))) / n), n the number of its pulls so far.

    Each arm is pulled once at first; of several with the smallest index it is the first. For losses in [0, 1]
    (`bounds.moss`); losses known beforehand are held to that.

    Args:
        n_rounds: the horizon T.

    Example:
        >>> import jax
        >>> import jaxonline as jo
        >>> game = jo.Game(jo.environments.BernoulliArms([1.0, 0.0]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> jo.play(game, jo.learners.MOSS(n_rounds=8), jax.random.key(0), n_rounds=8)[1].y_hat.tolist()
        [0, 1, 1, 1, 1, 0, 1, 1]
    """

    n_rounds: Annotated[Number, Ge(1), Horizon()]

    traits: ClassVar[LearnerTraits] = LearnerTraits(loss_range=(0.0, 1.0))

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> Tally:
        """No pulls, the state.

        Raises:
            ValueError: outcomes are not vectors.
        """
        del key
        return Tally.empty(specs)

    def predict(self, key: Key[Array, ""] | None, state: Tally, x: Any) -> Int[Array, ""]:
        """The arm with the smallest index."""
        del key, x
        share = jnp.asarray(self.n_rounds).astype(state.totals.dtype) / len(state.pulls)
        surplus = jnp.maximum(jnp.log(share / state.counts), 0.0)
        return state.smallest(state.means - jnp.sqrt(surplus / state.counts))

    def update(self, key: Key[Array, ""] | None, state: Tally, oracle: Any) -> tuple[Tally, tuple]:
        """One more pull."""
        del key
        return state.add(oracle.move, oracle.loss()), ()
