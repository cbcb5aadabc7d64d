"""Bandits whose means change: UCB on discounted losses, and on a sliding window."""

import math
from typing import Annotated, Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from jaxonline.game.roles import Specs
from jaxonline.learners.bandits.index_policies import ArmLearner, arm_indicator, draw_order
from jaxonline.learners.experts.weights import vector_length
from jaxonline.numerics.elementwise import Compensated, Order, first_argmin
from jaxonline.parameters.citations import cites
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Count, Interval, NonNegative, Number, Rounds

# ---------------------------------------------------------------------------------------------------------------------
# Discounted UCB: Garivier and Moulines (2011), section 2, with losses.


class DiscountedTally(NamedTuple):
    """Discounted numbers of pulls and discounted sums of losses of K arms.

    Attributes:
        pulls: discounted numbers of pulls [K].
        totals: discounted sums of the losses [K].
        order: the order of arms that are equal; None for that of the game.
    """

    pulls: Float[Array, "K"]
    totals: Float[Array, "K"]
    order: Order | None


@cites("garivier2011upper")
@struct
class DiscountedUCB(ArmLearner):
    """Discounted UCB policy (D-UCB) for arms that change: a pull s rounds ago has the weight discount^s.

    N is the discounted number of pulls of an arm, and M is the sum of N over all arms. The learner pulls the arm with
    the smallest discounted mean loss - 2 sqrt(exploration ln M / N). It first pulls each of the K arms once. The
    theorem assumes losses in [0, 1]; losses known before the game must lie in [0, 1] (otherwise a ValueError).

    Args:
        discount: the weight of a pull after one round.
        exploration: xi, the factor of ln M / N under the root.

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.BernoulliArms([1.0, 0.0]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> learner = jo.learners.DiscountedUCB(discount=0.9, exploration=0.1)
        >>> jo.play(game, learner, jax.random.key(0), n_rounds=12)[1].y_hat.tolist()
        [1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0]
    """

    discount: Annotated[Number, Interval(gt=0, lt=1)]
    exploration: NonNegative = 0.5

    loss_range = (0.0, 1.0)
    off_policy, restricts_arms = "loss", True

    @classmethod
    @validate_arguments
    def over_horizon(cls, n_rounds: Rounds) -> "DiscountedUCB":
        """Set discount = 1 - 1 / (4 sqrt(T)), the number of the paper for few changes in T rounds."""
        return cls(1.0 - 0.25 / float(n_rounds) ** 0.5)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> DiscountedTally:
        """Return the state before the first pull; raise a ValueError if outcomes are not vectors."""
        n_arms, dtype = vector_length("outcomes", specs.outcome), specs.outcome.dtype
        zeros = jnp.zeros(n_arms, dtype)
        return DiscountedTally(zeros, zeros, draw_order(self.ties, key, n_arms, dtype))

    def predict(self, key: Key[Array, ""] | None, state: DiscountedTally, x: Any) -> Int[Array, ""]:
        """Return the arm with the smallest lower confidence bound."""
        pulls = jnp.maximum(state.pulls, jnp.finfo(state.pulls.dtype).tiny)
        growth = jnp.log(jnp.maximum(jnp.sum(state.pulls), 1.0))
        width = 2.0 * jnp.sqrt(jnp.asarray(self.exploration, pulls.dtype) * growth / pulls)
        return first_argmin(jnp.where(state.pulls > 0, state.totals / pulls - width, -jnp.inf), state.order)

    def update(self, key: Key[Array, ""] | None, state: DiscountedTally, oracle: Any) -> tuple[DiscountedTally, tuple]:
        """Discount the tally and add the pull and its loss."""
        pulled, discount = arm_indicator(oracle.move, len(state.pulls)), jnp.asarray(self.discount, state.pulls.dtype)
        pulls = discount * state.pulls + jnp.where(pulled, 1.0, 0.0)
        totals = discount * state.totals + jnp.where(pulled, oracle.loss(), 0.0)
        return DiscountedTally(pulls, totals, state.order), ()


# ---------------------------------------------------------------------------------------------------------------------
# Sliding-window UCB: Garivier and Moulines (2011), section 2, with losses in place of rewards.


class Window(NamedTuple):
    """The last pulls, in a ring, and their sums.

    Attributes:
        rounds: the number of rounds so far.
        arms: the arms of the last rounds [window]; -1 before the first pull.
        losses: the losses of the last rounds [window].
        pulls: numbers of pulls in the window [K].
        totals: sums of the losses in the window [K].
        order: the order of arms that are equal; None for that of the game.
    """

    rounds: Int[Array, ""]
    arms: Int[Array, "window"]
    losses: Float[Array, "window"]
    pulls: Int[Array, "K"]
    totals: Compensated
    order: Order | None


@cites("garivier2011upper")
@struct
class SlidingWindowUCB(ArmLearner):
    """Sliding-window UCB policy (SW-UCB) for arms that change: UCB1 on the pulls of the last rounds.

    The learner pulls the arm with the smallest mean loss - sqrt(exploration ln min(t, window) / n), where mean and
    number of pulls n are those of the last `window` rounds, and t is the number of all rounds so far. An arm without a
    pull in the window is pulled first. The theorem assumes losses in [0, 1]; losses known before the game must lie in
    [0, 1] (otherwise a ValueError).

    Args:
        window: number of rounds that the learner remembers.
        exploration: xi, the factor of ln min(t, window) / n under the root.

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.BernoulliArms([1.0, 0.0]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> learner = jo.learners.SlidingWindowUCB(window=5)
        >>> jo.play(game, learner, jax.random.key(0), n_rounds=12)[1].y_hat.tolist()
        [1, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1]
    """

    window: Count = static()
    exploration: NonNegative = 0.5

    loss_range = (0.0, 1.0)
    off_policy, restricts_arms = "loss", True

    @classmethod
    @validate_arguments
    def over_horizon(cls, n_rounds: Rounds) -> "SlidingWindowUCB":
        """Set window = 4 sqrt(T ln T), the number of the paper for few changes in T rounds."""
        return cls(max(1, round(4.0 * math.sqrt(n_rounds * math.log(n_rounds)))))

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> Window:
        """Return the state before the first pull; raise a ValueError if outcomes are not vectors."""
        n_arms, dtype = vector_length("outcomes", specs.outcome), specs.outcome.dtype
        arms, losses = jnp.full(self.window, -1, jnp.int32), jnp.zeros(self.window, dtype)
        totals = Compensated.starting_at(jnp.zeros(n_arms, dtype))
        order = draw_order(self.ties, key, n_arms, dtype)
        return Window(jnp.int32(0), arms, losses, jnp.zeros(n_arms, jnp.int32), totals, order)

    def predict(self, key: Key[Array, ""] | None, state: Window, x: Any) -> Int[Array, ""]:
        """Return the arm with the smallest lower confidence bound."""
        dtype = state.losses.dtype
        pulls = jnp.maximum(state.pulls, 1).astype(dtype)
        growth = jnp.log(jnp.clip(state.rounds, 1, self.window).astype(dtype))
        width = jnp.sqrt(jnp.asarray(self.exploration, dtype) * growth / pulls)
        return first_argmin(jnp.where(state.pulls > 0, state.totals.value / pulls - width, -jnp.inf), state.order)

    def update(self, key: Key[Array, ""] | None, state: Window, oracle: Any) -> tuple[Window, tuple]:
        """Replace the oldest pull of the window by the pull of this round."""
        arm, loss, n_arms = oracle.move, oracle.loss(), len(state.pulls)
        place = state.rounds % self.window
        entered, left = arm_indicator(arm, n_arms), arm_indicator(state.arms[place], n_arms)
        change = jnp.where(entered, loss, 0.0) - jnp.where(left, state.losses[place], 0.0)
        pulls = state.pulls + entered.astype(jnp.int32) - left.astype(jnp.int32)
        arms, losses = state.arms.at[place].set(arm), state.losses.at[place].set(loss)
        return Window(state.rounds + 1, arms, losses, pulls, state.totals.add(change), state.order), ()
