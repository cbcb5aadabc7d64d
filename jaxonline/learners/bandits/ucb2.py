"""UCB2: Auer, Cesa-Bianchi and Fischer (2002), Figure 2, with losses in place of rewards."""

from typing import Annotated, Any, ClassVar, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Specs
from jaxonline.game.traits import LearnerTraits
from jaxonline.learners.bandits.tally import Tally
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Interval, Number


class UCB2State(NamedTuple):
    """State of `UCB2`.

    Attributes:
        tally: pulls and losses of the arms. Between two epochs an arm has tau(r) pulls after r epochs.
        arm: the arm of the current epoch.
        end: the number of pulls of this arm at the end of the epoch.
    """

    tally: Tally
    arm: Int[Array, ""]
    end: Int[Array, ""]


@cites("auer2002finite")
@struct
class UCB2(LearnerDefaults):
    """UCB2 policy: pulls an arm in epochs that grow by the factor 1 + alpha.

    After r epochs an arm was pulled tau(r) = ceil((1 + alpha)^r) times. An epoch begins with the arm that has the
    smallest mean loss - sqrt((1 + alpha) ln(e t / tau) / (2 tau)), where tau is its number of pulls and t is the number
    of all pulls, and ends when the arm has tau(r + 1) pulls. An epoch without a pull, tau(r + 1) = tau(r), is passed
    over. The learner first pulls each of the K arms once; ties go to the first arm. The theorem assumes losses in
    [0, 1]; losses known before the game must lie in [0, 1] (otherwise a ValueError).

    In float32 an end of an epoch can differ by a pull from tau(r + 1), since (1 + alpha)^r is rounded.

    Args:
        alpha: growth of the epochs. The experiments of the paper have alpha = 0.001.

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.BernoulliArms([1.0, 0.0]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> jo.play(game, jo.learners.UCB2(alpha=1.0), jax.random.key(0), n_rounds=12)[1].y_hat.tolist()
        [0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1]
    """

    alpha: Annotated[Number, Interval(gt=0, le=1)] = 0.001

    traits: ClassVar[LearnerTraits] = LearnerTraits(loss_range=(0.0, 1.0))

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> UCB2State:
        """Return the state before the first pull; raise a ValueError if outcomes are not vectors."""
        del key
        return UCB2State(Tally.empty(specs), jnp.int32(0), jnp.int32(0))

    def predict(self, key: Key[Array, ""] | None, state: UCB2State, x: Any) -> Int[Array, ""]:
        """Return the arm of the current epoch; after its end, return the arm with the smallest index."""
        del key, x
        tally, tau = state.tally, state.tally.positive_pulls
        alpha = jnp.asarray(self.alpha, tau.dtype)
        share = 1.0 + jnp.log(jnp.maximum(tally.rounds, 1.0) / tau)  # ln(e t / tau)
        next_arm = tally.unpulled_or_argmin(tally.means - jnp.sqrt((1.0 + alpha) * share / (2.0 * tau)))
        return jnp.where(tally.pulls[state.arm] < state.end, state.arm, next_arm)

    def update(self, key: Key[Array, ""] | None, state: UCB2State, oracle: Any) -> tuple[UCB2State, tuple]:
        """Add the pull to the tally; at the beginning of an epoch, also set its end."""
        del key
        arm, pulls = oracle.move, state.tally.pulls
        end = jnp.where(pulls[state.arm] < state.end, state.end, self._epoch_end(pulls[arm], state.tally.totals.dtype))
        return UCB2State(state.tally.add(arm, oracle.loss()), arm, end), ()

    def _epoch_end(self, pulls: Int[Array, ""], dtype: Any) -> Int[Array, ""]:
        """Return the smallest tau(r) above `pulls`."""
        alpha, tau = jnp.asarray(self.alpha, dtype), jnp.maximum(pulls, 1).astype(dtype)
        r = jnp.floor(jnp.log(tau) / jnp.log1p(alpha)) + jnp.arange(3, dtype=dtype)
        powers = jnp.exp(r * jnp.log1p(alpha))
        ends = jnp.ceil(powers * (1.0 - 16.0 * jnp.finfo(dtype).eps))  # a power that is an integer may be rounded up
        end = jnp.min(jnp.where(ends > tau, ends, jnp.inf))
        return jnp.where(pulls == 0, 1, end.astype(jnp.int32))
