"""Bandits whose means change: UCB and Thompson sampling that forget, EXP3.S, and restarts."""

import math
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from jaxonline.game.roles import Draw, Learner, LearnerWrapper, Specs
from jaxonline.learners.bandits.exponential import draw_arm, mix_uniform
from jaxonline.learners.bandits.index_policies import ArmLearner, arm_indicator, draw_order
from jaxonline.learners.bandits.thompson import BetaThompson, OfArms, toss
from jaxonline.learners.experts.weights import check_prescribed_number, softmax_weights, vector_length
from jaxonline.learners.wrappers import AnyLearner
from jaxonline.numerics.elementwise import Compensated, Order, first_argmin
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import (
    Count,
    CountFrom2,
    Ge,
    Interval,
    NonNegative,
    NonNegativeInt,
    Number,
    PositiveFloat,
    PyTree,
    Rounds,
)


def check_fewer_changes(n_changes: int, n_rounds: int) -> None:
    """Raise a ValueError unless there are fewer changes than rounds."""
    if n_changes >= n_rounds:
        raise ArgumentError("n_changes", f"must be below n_rounds, {n_rounds} (got {n_changes})")


# ---------------------------------------------------------------------------------------------------------------------
# Discounted losses: Garivier and Moulines (2011), section 2, with losses; Raj and Kalyani (2017).


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


class _Discounting(ArmLearner):
    """Base class of learners with a discounted tally; `observed` may replace the loss by a random one."""

    discount: Any

    off_policy, restricts_arms = "loss", True

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> DiscountedTally:
        """Return the state before the first pull; raise a ValueError if outcomes are not vectors."""
        n_arms, dtype = vector_length("outcomes", specs.outcome), specs.outcome.dtype
        zeros = jnp.zeros(n_arms, dtype)
        return DiscountedTally(zeros, zeros, draw_order(self.ties, key, n_arms, dtype))

    def update(self, key: Key[Array, ""] | None, state: DiscountedTally, oracle: Any) -> tuple[DiscountedTally, tuple]:
        """Discount the tally and add the pull and its loss."""
        pulled, discount = arm_indicator(oracle.move, len(state.pulls)), jnp.asarray(self.discount, state.pulls.dtype)
        pulls = discount * state.pulls + jnp.where(pulled, 1.0, 0.0)
        totals = discount * state.totals + jnp.where(pulled, self.observed(key, oracle.loss()), 0.0)
        return DiscountedTally(pulls, totals, state.order), ()

    def observed(self, key: Key[Array, ""] | None, loss: Float[Array, ""]) -> Float[Array, ""]:
        """Return the loss that enters the tally."""
        return loss


@cites("garivier2011upper")
@struct
class DiscountedUCB(_Discounting):
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

    @classmethod
    @validate_arguments
    def over_horizon(cls, n_rounds: Rounds) -> "DiscountedUCB":
        """Set discount = 1 - 1 / (4 sqrt(T)), from memory of the paper (not checked), for few changes in T rounds."""
        return cls(1.0 - 0.25 / float(n_rounds) ** 0.5)

    def predict(self, key: Key[Array, ""] | None, state: DiscountedTally, x: Any) -> Int[Array, ""]:
        """Return the arm with the smallest lower confidence bound."""
        pulls = jnp.maximum(state.pulls, jnp.finfo(state.pulls.dtype).tiny)
        growth = jnp.log(jnp.maximum(jnp.sum(state.pulls), 1.0))
        width = 2.0 * jnp.sqrt(jnp.asarray(self.exploration, pulls.dtype) * growth / pulls)
        return first_argmin(jnp.where(state.pulls > 0, state.totals / pulls - width, -jnp.inf), state.order)


@cites("raj2017taming")
@struct
class DiscountedThompson(_Discounting, BetaThompson):
    """Discounted Thompson sampling (dTS) for arms that change: a pull s rounds ago has the weight discount^s.

    The posterior of an arm is Beta(prior_ones + S, prior_zeros + N - S) with its discounted number of pulls N and its
    discounted number S of losses of 1. The learner pulls the arm with the smallest drawn mean. The prior is not
    discounted, so an arm that is not pulled returns to it. A loss l between 0 and 1 is replaced by 1 with probability
    l, and otherwise by 0. Losses known before the game must lie in [0, 1] (otherwise a ValueError).

    Args:
        discount: the weight of a pull after one round.
        prior_ones: number of losses of 1 in the prior, of all arms or of each arm [K]. In a game of rewards, the number
            of rewards of 1.
        prior_zeros: number of losses (or rewards) of 0 in the prior.

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.BernoulliArms([0.1, 0.9]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> learner = jo.learners.DiscountedThompson(discount=0.95)
        >>> bool(jo.play(game, learner, jax.random.key(0), n_rounds=100)[1].y_hat.mean() < 0.2)
        True
    """

    discount: Annotated[Number, Interval(gt=0, lt=1)]
    prior_ones: Annotated[OfArms, Ge(1)] = 1.0
    prior_zeros: Annotated[OfArms, Ge(1)] = 1.0

    def predict(self, key: Key[Array, ""], state: DiscountedTally, x: Any) -> Int[Array, ""]:
        """Return the arm with the smallest drawn mean loss."""
        zeros = jnp.maximum(state.pulls - state.totals, 0.0)  # a rounding error may be negative
        return first_argmin(self.draw_means(key, state.totals, zeros), state.order)

    def observed(self, key: Key[Array, ""], loss: Float[Array, ""]) -> Float[Array, ""]:
        """Return a random loss of 0 or 1 whose mean is the loss."""
        return toss(key, loss)


# ---------------------------------------------------------------------------------------------------------------------
# Sliding windows: Garivier and Moulines (2011), section 2, with losses; Trovo, Paladino, Restelli and Gatti (2020).


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


class _Windowed(ArmLearner):
    """Base class of learners with a `Window`; `observed` may replace the loss by a random one."""

    window: Any

    off_policy, restricts_arms = "loss", True

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> Window:
        """Return the state before the first pull; raise a ValueError if outcomes are not vectors."""
        n_arms, dtype = vector_length("outcomes", specs.outcome), specs.outcome.dtype
        arms, losses = jnp.full(self.window, -1, jnp.int32), jnp.zeros(self.window, dtype)
        totals = Compensated.starting_at(jnp.zeros(n_arms, dtype))
        order = draw_order(self.ties, key, n_arms, dtype)
        return Window(jnp.int32(0), arms, losses, jnp.zeros(n_arms, jnp.int32), totals, order)

    def update(self, key: Key[Array, ""] | None, state: Window, oracle: Any) -> tuple[Window, tuple]:
        """Replace the oldest pull of the window by the pull of this round."""
        arm, loss, n_arms = oracle.move, self.observed(key, oracle.loss()), len(state.pulls)
        place = state.rounds % self.window
        entered, left = arm_indicator(arm, n_arms), arm_indicator(state.arms[place], n_arms)
        change = jnp.where(entered, loss, 0.0) - jnp.where(left, state.losses[place], 0.0)
        pulls = state.pulls + entered.astype(jnp.int32) - left.astype(jnp.int32)
        arms, losses = state.arms.at[place].set(arm), state.losses.at[place].set(loss)
        return Window(state.rounds + 1, arms, losses, pulls, state.totals.add(change), state.order), ()

    observed = _Discounting.observed


@cites("garivier2011upper")
@struct
class SlidingWindowUCB(_Windowed):
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

    @classmethod
    @validate_arguments
    def over_horizon(cls, n_rounds: Rounds) -> "SlidingWindowUCB":
        """Set window = 4 sqrt(T ln T), from memory of the paper (not checked), for few changes in T rounds."""
        return cls(max(1, round(4.0 * math.sqrt(n_rounds * math.log(n_rounds)))))

    def predict(self, key: Key[Array, ""] | None, state: Window, x: Any) -> Int[Array, ""]:
        """Return the arm with the smallest lower confidence bound."""
        dtype = state.losses.dtype
        pulls = jnp.maximum(state.pulls, 1).astype(dtype)
        growth = jnp.log(jnp.clip(state.rounds, 1, self.window).astype(dtype))
        width = jnp.sqrt(jnp.asarray(self.exploration, dtype) * growth / pulls)
        return first_argmin(jnp.where(state.pulls > 0, state.totals.value / pulls - width, -jnp.inf), state.order)


@cites("trovo2020sliding")
@struct
class SlidingWindowThompson(_Windowed, BetaThompson):
    """Sliding-window Thompson sampling (SW-TS) for arms that change: Thompson sampling on the pulls of the last rounds.

    The posterior of an arm is Beta(prior_ones + s, prior_zeros + n - s) with its n pulls in the last `window` rounds,
    of which s had a loss of 1. The learner pulls the arm with the smallest drawn mean. A loss l between 0 and 1 is
    replaced by 1 with probability l, and otherwise by 0. Losses known before the game must lie in [0, 1] (otherwise a
    ValueError).

    Args:
        window: number of rounds that the learner remembers.
        prior_ones: number of losses of 1 in the prior, of all arms or of each arm [K]. In a game of rewards, the number
            of rewards of 1.
        prior_zeros: number of losses (or rewards) of 0 in the prior.

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.BernoulliArms([0.1, 0.9]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> learner = jo.learners.SlidingWindowThompson(window=50)
        >>> bool(jo.play(game, learner, jax.random.key(0), n_rounds=100)[1].y_hat.mean() < 0.2)
        True
    """

    window: Count = static()
    prior_ones: Annotated[OfArms, Ge(1)] = 1.0
    prior_zeros: Annotated[OfArms, Ge(1)] = 1.0

    def predict(self, key: Key[Array, ""], state: Window, x: Any) -> Int[Array, ""]:
        """Return the arm with the smallest drawn mean loss."""
        ones = state.totals.value
        return first_argmin(self.draw_means(key, ones, state.pulls.astype(ones.dtype) - ones), state.order)

    observed = DiscountedThompson.observed


# ---------------------------------------------------------------------------------------------------------------------
# EXP3.S: Auer, Cesa-Bianchi, Freund and Schapire (2002), section 8, on the gains 1 - loss.


@cites("auer2002nonstochastic")
@struct
class EXP3S(Learner):
    """EXP3.S: exponential weights on estimated gains, with a share for all arms: competes with sequences of arms.

    The gain of an arm is 1 - loss. The estimated gain is g = gain / p for the drawn arm, where p is its probability,
    and 0 for the other arms. The learner draws an arm from p = (1 - gamma) weights + gamma / K. A weight w becomes
    w exp(gamma g / K) + (e alpha / K) times the sum of all weights; then the weights are divided by their sum. With
    alpha = 0 this is the EXP3 of the same paper, on gains. Losses known before the game must lie in [0, 1] (otherwise a
    ValueError).

    Args:
        gamma: exploration, and K times the rate of the weights.
        alpha: share of the sum of the weights that is given to all arms, divided by e.
        n_arms: the number of arms for which the numbers above were chosen; another number of arms is a ValueError. None
            for any number.

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> learner = jo.learners.EXP3S.over_horizon(3, n_rounds=1000, n_changes=4)
        >>> draw = learner.predict(jax.random.key(0), learner.init(None, jo.game.Specs((), jnp.zeros(3))), ())
        >>> [round(p, 3) for p in draw.probabilities.tolist()], round(learner.gamma, 3)
        ([0.333, 0.333, 0.333], 0.273)
    """

    gamma: Annotated[Number, Interval(gt=0, le=1)]
    alpha: NonNegative
    n_arms: Count | None = static(default=None)

    loss_range = (0.0, 1.0)
    off_policy = "probability"

    @classmethod
    @validate_arguments
    def over_horizon(cls, n_arms: CountFrom2, n_rounds: Rounds, n_changes: NonNegativeInt | None = None) -> "EXP3S":
        """Set alpha = 1 / T, and gamma for a known number of changes of the best arm, or for an unknown one.

        The numbers are from memory of Corollaries 8.2 and 8.3, and were not checked against the paper.

        Args:
            n_arms: K.
            n_rounds: T.
            n_changes: S - 1, below T: gamma = sqrt(K (S ln(K T) + e) / ((e - 1) T)), at most 1. None if it is unknown:
                gamma = sqrt(K ln(K T) / T), at most 1.
        """
        check_fewer_changes(n_changes or 0, n_rounds)
        K, T = n_arms, float(n_rounds)
        known = n_changes is not None
        square = ((n_changes + 1) * math.log(K * T) + math.e) / (math.e - 1) if known else math.log(K * T)
        return cls(min(1.0, math.sqrt(K * square / T)), 1.0 / T, n_arms)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> Float[Array, "K"]:
        """Return the logarithms of equal weights; raise a ValueError if outcomes are not vectors."""
        n_arms = vector_length("outcomes", specs.outcome)
        check_prescribed_number("n_arms", self.n_arms, n_arms)
        return jnp.full(n_arms, -math.log(n_arms), specs.outcome.dtype)

    def weights(self, state: Float[Array, "K"]) -> Float[Array, "K"]:
        """Return the weights, without exploration."""
        return softmax_weights(state)

    def predict(self, key: Key[Array, ""], state: Float[Array, "K"], x: Any) -> Draw:
        """Draw an arm from (1 - gamma) weights + gamma / K."""
        return draw_arm(key, mix_uniform(self.weights(state), self.gamma))

    def update(self, key: Key[Array, ""] | None, state: Float[Array, "K"], oracle: Any) -> tuple[Array, tuple[()]]:
        """Raise the weight of the drawn arm, add the share, and divide by the sum."""
        (arm, p), n_arms = oracle.move, len(state)
        gamma, alpha = (jnp.asarray(number, state.dtype) for number in (self.gamma, self.alpha))
        gain = jnp.where(arm_indicator(arm, n_arms), (1.0 - oracle.loss()) / p[arm], 0.0)
        log_weights = jnp.logaddexp(state + gamma / n_arms * gain, jnp.log(math.e * alpha / n_arms))
        return log_weights - jax.nn.logsumexp(log_weights), ()


# ---------------------------------------------------------------------------------------------------------------------
# Restarts after a fixed number of rounds, such as Rexp3: Besbes, Gur and Zeevi (2014).


class RestartingState(NamedTuple):
    """The learner's state, its state before round 1, and the number of rounds since the last restart."""

    learner: PyTree
    start: PyTree
    played: Int[Array, ""]


@cites("besbes2014stochastic")
@struct
class Restarting(LearnerWrapper):
    """Learner that is restarted after every `every` rounds, and then knows nothing of earlier rounds.

    Args:
        learner: the base learner.
        every: number of rounds between two restarts.

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.BernoulliArms([1.0, 0.0]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> learner = jo.learners.Restarting(jo.learners.UCB1(), every=4)
        >>> jo.play(game, learner, jax.random.key(0), n_rounds=12)[1].y_hat.tolist()
        [1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1]
    """

    learner: AnyLearner
    every: Annotated[Number, Ge(1)]

    @classmethod
    @validate_arguments
    def rexp3(cls, n_arms: CountFrom2, n_rounds: Rounds, variation: PositiveFloat) -> "Restarting":
        """Return Rexp3: EXP3 on gains, restarted every ceil((K ln K)^(1/3) (T / V)^(2/3)) rounds.

        In each batch of n rounds gamma = sqrt(K ln K / ((e - 1) n)), at most 1. The numbers are from memory, and were
        not checked against the paper.

        Args:
            n_arms: K.
            n_rounds: T.
            variation: V, a bound on the sum over the rounds of the largest change of an arm's mean.
        """
        size = n_arms * math.log(n_arms)
        every = math.ceil(min(size ** (1 / 3) * (n_rounds / variation) ** (2 / 3), float(n_rounds)))
        gamma = min(1.0, math.sqrt(size / ((math.e - 1) * every)))
        return cls(EXP3S(gamma, 0.0, n_arms), float(every))

    def weights(self, state: RestartingState) -> Any:
        """Return the weights of the learner."""
        return self.learner.weights(state.learner)

    def init(self, key: Key[Array, ""], specs: Specs) -> RestartingState:
        """Return the state of the learner."""
        start = self.learner.init(key, specs)
        return RestartingState(start, start, jnp.int32(0))

    def predict(self, key: Key[Array, ""], state: RestartingState, x: PyTree) -> PyTree:
        """Return the move of the learner."""
        return self.learner.predict(key, state.learner, x)

    def update(self, key: Key[Array, ""], state: RestartingState, oracle: Any) -> tuple[RestartingState, PyTree]:
        """Update the learner; after the last round of a batch, return to its first state."""
        learner, info = self.learner.update(key, state.learner, oracle)
        played = state.played + 1
        is_last = played.astype(jnp.float32) >= jnp.asarray(self.every).astype(jnp.float32)
        learner = jax.tree.map(lambda new, old: jnp.where(is_last, new, old), state.start, learner)
        return RestartingState(learner, state.start, jnp.where(is_last, 0, played)), info
