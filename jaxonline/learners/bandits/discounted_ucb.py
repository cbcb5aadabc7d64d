"""Discounted UCB: Garivier and Moulines (2011), section 2, with losses."""

from typing import Annotated, Any, ClassVar, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Specs
from jaxonline.game.traits import LearnerTraits
from jaxonline.learners.bandits.tally import arm_indicator
from jaxonline.learners.experts.vectors import vector_length
from jaxonline.linalg.argmin import first_argmin
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Interval, NonNegative, Number, Rounds
from jaxonline.parameters.validation import validate_arguments


class DiscountedTally(NamedTuple):
    """Discounted numbers of pulls and discounted sums of losses of K arms.

    Attributes:
        pulls: discounted numbers of pulls [K].
        totals: discounted sums of the losses [K].
    """

    pulls: Float[Array, "K"]
    totals: Float[Array, "K"]


@cites("garivier2011upper")
@struct
class DiscountedUCB(LearnerDefaults):
    """Discounted UCB policy (D-UCB) for arms that change: a pull s rounds ago has the weight discount^s.

    N is the discounted number of pulls of an arm, and M is the sum of N over all arms. The learner pulls the arm with
    the smallest discounted mean loss - 2 sqrt(exploration ln M / N). It first pulls each of the K arms once; ties go to
    the first arm. The theorem assumes losses in [0, 1]; losses known before the game must lie in [0, 1] (otherwise a
    ValueError).

    Args:
        discount: the weight of a pull after one round.
        exploration: xi, the factor of ln M / N under the root.

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.BernoulliArms([1.0, 0.0]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> learner = jo.learners.DiscountedUCB(discount=0.9, exploration=0.1)
        >>> jo.play(game, learner, jax.random.key(0), n_rounds=12)[1].y_hat.tolist()
        [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1]
    """

    discount: Annotated[Number, Interval(gt=0, lt=1)]
    exploration: NonNegative = 0.5

    traits: ClassVar[LearnerTraits] = LearnerTraits(loss_range=(0.0, 1.0))

    @classmethod
    @validate_arguments
    def over_horizon(cls, n_rounds: Rounds) -> "DiscountedUCB":
        """Set discount = 1 - 1 / (4 sqrt(T)), the number of the paper for few changes in T rounds."""
        return cls(1.0 - 0.25 / float(n_rounds) ** 0.5)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> DiscountedTally:
        """Return the state before the first pull; raise a ValueError if outcomes are not vectors."""
        del key
        zeros = jnp.zeros(vector_length("outcomes", specs.outcome), specs.outcome.dtype)
        return DiscountedTally(zeros, zeros)

    def predict(self, key: Key[Array, ""] | None, state: DiscountedTally, x: Any) -> Int[Array, ""]:
        """Return the arm with the smallest lower confidence bound."""
        del key, x
        pulls = jnp.maximum(state.pulls, jnp.finfo(state.pulls.dtype).tiny)
        growth = jnp.log(jnp.maximum(jnp.sum(state.pulls), 1.0))
        width = 2.0 * jnp.sqrt(jnp.asarray(self.exploration, pulls.dtype) * growth / pulls)
        return first_argmin(jnp.where(state.pulls > 0, state.totals / pulls - width, -jnp.inf))

    def update(self, key: Key[Array, ""] | None, state: DiscountedTally, oracle: Any) -> tuple[DiscountedTally, tuple]:
        """Discount the tally and add the pull and its loss."""
        del key
        pulled, discount = arm_indicator(oracle.move, len(state.pulls)), jnp.asarray(self.discount, state.pulls.dtype)
        pulls = discount * state.pulls + jnp.where(pulled, 1.0, 0.0)
        return DiscountedTally(pulls, discount * state.totals + jnp.where(pulled, oracle.loss(), 0.0)), ()
