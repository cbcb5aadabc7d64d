"""CUCB: Chen, Wang and Yuan (2013), Algorithm 1, with losses in place of rewards."""

from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Specs
from jaxonline.game.traits import LearnerTraits
from jaxonline.learners.bandits.tally import Tally
from jaxonline.losses.sets import Select, set_size
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import NonNegative


class CUCBState(NamedTuple):
    """State of `CUCB`.

    Attributes:
        t: number of rounds so far.
        tally: pulls and losses of the arms.
    """

    t: Int[Array, ""]
    tally: Tally


@cites("chen2013combinatorial")
@struct
class CUCB(LearnerDefaults):
    """Combinatorial upper confidence bound policy (CUCB): plays the set with the smallest sum of optimistic losses.

    The optimistic loss of an arm is mean - sqrt(3 ln t / (2 n)), where n is the number of pulls of the arm. As long as
    an arm has no pull, the learner plays a set with as many arms without a pull as possible; every arm must be in some
    set. The game needs the feedback `SemiBandit` and the loss `losses.SumOfArms`. The theorem (`bounds.cucb`) assumes
    losses of arms in [0, 1]; losses known before the game must lie in [0, 1] (otherwise a ValueError).

    Args:
        select: a function that maps numbers [K] to the set of arms [m] with the smallest sum, such as
            `losses.SmallestArms(m)`.
        exploration: factor of ln t / n under the root; 3/2 in the theorem.

    Example:
        >>> import jax, jaxonline as jo
        >>> arms = jo.environments.BernoulliArms([1.0, 0.0, 0.0])
        >>> game = jo.Game(arms, jo.SemiBandit(), loss=jo.losses.SumOfArms())
        >>> learner = jo.learners.CUCB(jo.losses.SmallestArms(2))
        >>> jo.play(game, learner, jax.random.key(0), n_rounds=4)[1].y_hat.tolist()
        [[0, 1], [0, 2], [1, 2], [1, 2]]
    """

    select: Select
    exploration: NonNegative = 1.5

    traits: ClassVar[LearnerTraits] = LearnerTraits(loss_range=(0.0, 1.0))

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> CUCBState:
        """Return the state before round 1; raise a ValueError for outcomes other than vectors, or a wrong `select`."""
        del key
        tally = Tally.empty(specs)
        set_size(self.select, len(tally.pulls), tally.totals.dtype)
        return CUCBState(jnp.int32(0), tally)

    def predict(self, key: Key[Array, ""] | None, state: CUCBState, x: Any) -> Int[Array, "m"]:
        """Return the set with the smallest sum of optimistic losses."""
        del key, x
        tally, t = state.tally, (state.t + 1).astype(state.tally.totals.dtype)
        unpulled = tally.pulls == 0
        radius = jnp.sqrt(jnp.asarray(self.exploration, t.dtype) * jnp.log(t) / tally.positive_pulls)
        return self.select(jnp.where(jnp.any(unpulled), -unpulled.astype(t.dtype), tally.means - radius))

    def update(self, key: Key[Array, ""] | None, state: CUCBState, oracle: Any) -> tuple[CUCBState, tuple[()]]:
        """Add the losses of the arms in the set."""
        del key
        return CUCBState(state.t + 1, state.tally.add_set(oracle.move, oracle.losses())), ()
