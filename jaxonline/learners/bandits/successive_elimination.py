"""Successive elimination: Even-Dar, Mannor and Mansour (2006), Algorithm 3, with losses in place of rewards."""

from typing import Annotated, Any, ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Specs
from jaxonline.game.traits import LearnerTraits
from jaxonline.learners.bandits.best_arm import Recommendation
from jaxonline.learners.bandits.tally import Tally
from jaxonline.linalg.argmin import first_argmin
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Interval, Number


class EliminationState(NamedTuple):
    """State of `SuccessiveElimination`.

    Attributes:
        tally: pulls and losses of the arms.
        active: whether each arm can still be the best arm [K].
    """

    tally: Tally
    active: Bool[Array, "K"]


@cites("evendar2006action")
@struct
class SuccessiveElimination(LearnerDefaults):
    """Identifies the best arm with probability at least 1 - delta, and stops (successive elimination).

    The learner pulls every active arm once in turn. After n pulls of each, the learner drops an arm whose mean loss
    exceeds the smallest mean loss by at least 2 a(n), where a(n) = sqrt(ln(pi^2 K n^2 / (3 delta)) / (2 n)). The
    learner stops when one arm is left. By Hoeffding's inequality all means stay within a(n) of their expectations with
    probability at least 1 - delta (`bounds.successive_elimination`). The paper's a(n) has a larger constant. The losses
    must be in [0, 1].

    Args:
        delta: the largest probability of a wrong recommendation.

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.BernoulliArms([1.0, 0.0]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> history = jo.play(game, jo.learners.SuccessiveElimination(0.1), jax.random.key(0), n_rounds=50)[1]
        >>> int(history.info.stopped.argmax()), int(history.info.recommendation[-1])
        (41, 1)
    """

    delta: Annotated[Number, Interval(gt=0, lt=1)]

    traits: ClassVar[LearnerTraits] = LearnerTraits(loss_range=(0.0, 1.0))

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> EliminationState:
        """Return the state in which all arms are active."""
        del key
        tally = Tally.empty(specs)
        return EliminationState(tally, jnp.ones(len(tally.pulls), bool))

    def predict(self, key: Key[Array, ""] | None, state: EliminationState, x: Any) -> Int[Array, ""]:
        """Return the active arm with the fewest pulls."""
        del key, x
        return state.tally.fewest_pulls(state.active)

    def update(
        self, key: Key[Array, ""] | None, state: EliminationState, oracle: Any
    ) -> tuple[EliminationState, Recommendation]:
        """Add the pull; after a pull of the last active arm, drop the arms worse than the best arm by 2 a(n)."""
        del key
        tally = state.tally.add(oracle.move, oracle.loss())
        pulls = jnp.where(state.active, tally.pulls, 0)
        n = jnp.max(pulls)
        means = jnp.where(state.active, tally.means, jnp.inf)
        worse = means - jnp.min(means) >= 2 * self._radius(n.astype(means.dtype), len(means))
        turn_is_complete = jnp.all(~state.active | (pulls == n))
        active = state.active & ~(worse & turn_is_complete)
        stopped = jnp.sum(active, dtype=jnp.int32) == 1
        return EliminationState(tally, active), Recommendation(stopped, first_argmin(means))

    def _radius(self, n: Float[Array, ""], n_arms: int) -> Float[Array, ""]:
        delta = jnp.asarray(self.delta, n.dtype)
        return jnp.sqrt((2 * jnp.log(n) + jnp.log(np.float32(np.pi**2 * n_arms / 3) / delta)) / (2 * n))
