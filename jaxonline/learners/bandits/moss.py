"""MOSS (minimax optimal strategy in the stochastic case): Audibert and Bubeck (2009), with losses."""

from typing import Annotated, Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from jaxonline.game.traits import LearnerTraits
from jaxonline.learners.bandits.tally import Tally, TallyPolicy
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Ge, Horizon, NonNegative, Number


@cites("audibert2009minimax", "lattimore2020bandit")
@struct
class MOSS(TallyPolicy):
    """MOSS policy: pulls the arm with the smallest mean loss - sqrt(exploration max(0, ln(T / (K n))) / n).

    n is the number of pulls of the arm. The learner first pulls each of the K arms once; ties go to the first arm. The
    theorem (`bounds.moss`) assumes losses in [0, 1]; losses known before the game must lie in [0, 1] (otherwise a
    ValueError).

    Args:
        n_rounds: the horizon T.
        exploration: factor under the root; 1 in the theorem. For Gaussian losses of variance s^2 it is 4 s^2
            (Lattimore and Szepesvari 2020, Algorithm 7).

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.BernoulliArms([1.0, 0.0]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> jo.play(game, jo.learners.MOSS(n_rounds=8), jax.random.key(0), n_rounds=8)[1].y_hat.tolist()
        [0, 1, 1, 1, 1, 0, 1, 1]
    """

    n_rounds: Annotated[Number, Ge(1), Horizon()]
    exploration: NonNegative = 1.0

    traits: ClassVar[LearnerTraits] = LearnerTraits(loss_range=(0.0, 1.0))

    def predict(self, key: Key[Array, ""] | None, state: Tally, x: Any) -> Int[Array, ""]:
        """Return the arm with the smallest lower confidence bound."""
        del key, x
        dtype = state.totals.dtype
        share = jnp.asarray(self.n_rounds).astype(dtype) / len(state.pulls)
        surplus = jnp.asarray(self.exploration, dtype) * jnp.maximum(jnp.log(share / state.positive_pulls), 0.0)
        return state.unpulled_or_argmin(state.means - jnp.sqrt(surplus / state.positive_pulls))
