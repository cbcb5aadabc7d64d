"""Best-arm identification with a fixed budget, successive elimination, and thresholding: learners that stop.

Other learners with a fixed confidence are in `fixed_confidence`.
"""

import abc
from fractions import Fraction
from typing import Annotated, Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from jaxonline.game.roles import Specs
from jaxonline.learners.bandits.index_policies import ArmLearner, Tally
from jaxonline.numerics.elementwise import Order
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import replace, static, struct
from jaxonline.parameters.types import Count, Interval, NonNegative, Number

# ---------------------------------------------------------------------------------------------------------------------
# State and diagnostics of learners that identify the best arm.


class ActiveArms(NamedTuple):
    """State of a learner that identifies the best arm.

    Attributes:
        tally: pulls and losses of the arms; for `SequentialHalving`, those of the current phase.
        active: whether each arm can still be the best arm [K].
    """

    tally: Tally
    active: Bool[Array, "K"]


class Recommendation(NamedTuple):
    """Diagnostics of a learner that stops. The simulator freezes a run after the round in which `stopped` is True.

    Attributes:
        stopped: whether the learner has stopped.
        recommendation: the arm that the learner recommends now.
    """

    stopped: Bool[Array, ""]
    recommendation: Int[Array, ""]


class BestArmLearner(ArmLearner):
    """Base class of learners that pull the active arms in turn; a subclass implements `update`, which drops arms."""

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> ActiveArms:
        """Return the state in which all arms are active."""
        tally = Tally.empty(specs, self.ties, key)
        return ActiveArms(tally, jnp.ones(len(tally.pulls), bool))

    def predict(self, key: Key[Array, ""] | None, state: ActiveArms, x: Any) -> Int[Array, ""]:
        """Return the active arm with the fewest pulls."""
        return state.tally.fewest_pulls(state.active)


# ---------------------------------------------------------------------------------------------------------------------
# Sequential halving: Karnin, Koren and Somekh (2013), Algorithm 3, with losses in place of rewards.


@cites("karnin2013almost")
@struct
class SequentialHalving(BestArmLearner):
    """Identifies the best arm with a fixed number of pulls, and stops (sequential halving).

    There are ceil(log2 K) phases. In a phase with s arms each arm is pulled floor(budget / (s ceil(log2 K))) times, and
    the learner keeps the half of the arms with the smaller mean losses in the phase. `bounds.sequential_halving` bounds
    the probability of a wrong recommendation for losses in [0, 1].

    Args:
        budget: the number of pulls; at least K ceil(log2 K).

    Raises:
        ValueError: the budget is too small for the number of arms (raised at binding to a game).

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.BernoulliArms([0.9, 0.1, 0.8, 0.9]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> info = jo.play(game, jo.learners.SequentialHalving(80), jax.random.key(0), n_rounds=80)[1].info
        >>> int(info.stopped.argmax()), int(info.recommendation[-1])
        (79, 1)
    """

    budget: Count = static()

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> ActiveArms:
        """Return the state in which all arms are active."""
        state = super().init(key, specs)
        check_budget(self.budget, len(state.active) * n_phases(len(state.active)), len(state.active))
        return state

    def update(self, key: Key[Array, ""] | None, state: ActiveArms, oracle: Any) -> tuple[ActiveArms, Recommendation]:
        """Add the pull to the tally; at the end of a phase, keep the better half of the arms and reset the tally."""
        tally, active = state.tally.add(oracle.move, oracle.loss()), state.active
        means = jnp.where(active, tally.means, jnp.inf)
        recommended = tally.argmin(jnp.where(tally.pulls > 0, means, jnp.inf))  # among the arms pulled in this phase
        n_active = jnp.sum(active, dtype=jnp.int32)
        pulls_each = self.budget // (n_active * n_phases(len(means)))
        phase_is_complete = jnp.all(~active | (tally.pulls >= pulls_each))
        kept = active & (_positions(means, tally.order) < (n_active + 1) // 2)
        active = jnp.where(phase_is_complete, kept, active)
        empty = (jnp.where(phase_is_complete, 0, leaf) for leaf in tally[:3])
        tally = Tally(*empty, order=tally.order)
        stopped = jnp.sum(active, dtype=jnp.int32) == 1
        return ActiveArms(tally, active), Recommendation(stopped, recommended)


def check_budget(budget: int, least: int, n_arms: int) -> None:
    """Raise a ValueError if the budget is smaller than `least` pulls."""
    if budget < least:
        raise ArgumentError("budget", f"must be at least {least} pulls for {n_arms} arms (got {budget})")


def n_phases(n_arms: int) -> int:
    """Return the number of phases for K arms: ceil(log2 K), at least 1."""
    return max(1, (n_arms - 1).bit_length())


def _positions(values: Float[Array, "K"], order: Order | None) -> Int[Array, "K"]:
    """Return the position of each value, 0 for the smallest; equal values have the given order, or keep theirs."""
    keys = (values,) if order is None else (order.ranks, values)
    return jnp.argsort(jnp.lexsort(keys)).astype(jnp.int32)


# ---------------------------------------------------------------------------------------------------------------------
# Successive rejects: Audibert, Bubeck and Munos (2010), Figure 3, with losses in place of rewards.


@cites("audibert2010best")
@struct
class SuccessiveRejects(BestArmLearner):
    """Identifies the best arm with a fixed number of pulls, and stops (successive rejects).

    There are K - 1 phases. At the end of phase k each active arm has n_k = ceil((budget - K) / (L (K + 1 - k))) pulls,
    where L = 1/2 + 1/2 + 1/3 + ... + 1/K, and the active arm with the largest mean loss is dropped.
    `bounds.successive_rejects` bounds the probability of a wrong recommendation for losses in [0, 1].

    Args:
        budget: the largest number of pulls; at least K + 1.

    Raises:
        ValueError: the budget is too small for the number of arms (raised at binding to a game).

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.BernoulliArms([0.9, 0.1, 0.8, 0.9]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> info = jo.play(game, jo.learners.SuccessiveRejects(80), jax.random.key(0), n_rounds=80)[1].info
        >>> int(info.stopped.argmax()), int(info.recommendation[-1])
        (75, 1)
    """

    budget: Count = static()

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> ActiveArms:
        """Return the state in which all arms are active."""
        state = super().init(key, specs)
        check_budget(self.budget, len(state.active) + 1, len(state.active))
        return state

    def update(self, key: Key[Array, ""] | None, state: ActiveArms, oracle: Any) -> tuple[ActiveArms, Recommendation]:
        """Add the pull; after a pull of the last active arm, drop the worst arm of each phase that is complete."""
        tally, active = state.tally.add(oracle.move, oracle.loss()), state.active
        means = jnp.where(active & (tally.pulls > 0), tally.means, jnp.inf)
        pulls_each = jnp.min(jnp.where(active, tally.pulls, jnp.iinfo(jnp.int32).max))
        turn_is_complete = jnp.all(~active | (tally.pulls == pulls_each))
        ends = jnp.asarray(phase_ends(self.budget, len(means)))
        n_kept = len(means) - jnp.sum(ends <= pulls_each, dtype=jnp.int32)
        active = jnp.where(turn_is_complete, active & (_positions(means, tally.order) < n_kept), active)
        stopped = jnp.sum(active, dtype=jnp.int32) == 1
        return ActiveArms(tally, active), Recommendation(stopped, tally.argmin(means))


def phase_ends(budget: int, n_arms: int) -> np.ndarray:
    """Return n_1, ..., n_(K-1): the pulls of an active arm at the end of each phase of `SuccessiveRejects`."""
    total = Fraction(1, 2) + sum(Fraction(1, i) for i in range(2, n_arms + 1))
    ends = [-((n_arms - budget) // (total * (n_arms + 1 - k))) for k in range(1, n_arms)]
    return np.array(ends, np.int32)


# ---------------------------------------------------------------------------------------------------------------------
# Uniform allocation, and thresholding: Locatelli, Gutzeit and Carpentier (2016), Algorithm 1.


@struct
class FixedBudget(ArmLearner):
    """Base class of learners with a `Tally` as state that stop after a number of pulls."""

    budget: Count = static()

    @abc.abstractmethod
    def recommend(self, tally: Tally, stopped: Bool[Array, ""]) -> Any:
        """Return the diagnostics."""

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> Tally:
        """Return the state before the first pull."""
        tally = Tally.empty(specs, self.ties, key)
        check_budget(self.budget, len(tally.pulls), len(tally.pulls))
        return tally

    def update(self, key: Key[Array, ""] | None, state: Tally, oracle: Any) -> tuple[Tally, Any]:
        """Add the pull to the tally."""
        tally = state.add(oracle.move, oracle.loss())
        return tally, self.recommend(tally, jnp.sum(tally.pulls, dtype=jnp.int32) >= self.budget)


@cites("audibert2010best")
@struct
class UniformAllocation(FixedBudget):
    """Identifies the best arm with a fixed number of pulls, and stops: it pulls all arms in turn.

    The learner recommends the arm with the smallest mean loss. It is the baseline of `SuccessiveRejects` and
    `SequentialHalving`.

    Args:
        budget: the number of pulls; at least K.

    Raises:
        ValueError: the budget is too small for the number of arms (raised at binding to a game).

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.BernoulliArms([0.9, 0.1, 0.8, 0.9]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> info = jo.play(game, jo.learners.UniformAllocation(80), jax.random.key(0), n_rounds=80)[1].info
        >>> int(info.stopped.argmax()), int(info.recommendation[-1])
        (79, 1)
    """

    def predict(self, key: Key[Array, ""] | None, state: Tally, x: Any) -> Int[Array, ""]:
        """Return the arm with the fewest pulls."""
        return state.argmin(state.pulls)

    def recommend(self, tally: Tally, stopped: Bool[Array, ""]) -> Recommendation:
        """Return the arm with the smallest mean loss."""
        return Recommendation(stopped, tally.argmin(jnp.where(tally.pulls > 0, tally.means, jnp.inf)))


class Sides(NamedTuple):
    """Diagnostics of a learner that sorts arms by a threshold (`jo.WrongSides` reads them).

    Attributes:
        stopped: whether the learner has stopped.
        above: whether the learner places the mean loss of each arm at or above the threshold [K].
        threshold: the threshold of the losses.
        tolerance: arms whose mean loss is within this distance of the threshold can be on either side.
    """

    stopped: Bool[Array, ""]
    above: Bool[Array, "K"]
    threshold: Float[Array, ""]
    tolerance: Float[Array, ""]


@cites("locatelli2016optimal")
@struct
class APT(FixedBudget):
    """Sorts arms into those with means above and below a threshold, with a fixed number of pulls (thresholding bandit).

    The learner pulls each arm once, and then the arm with the smallest sqrt(n) (|mean - threshold| + tolerance) after n
    pulls (anytime parameter-free thresholding, APT). `jo.WrongSides` measures its error.

    Args:
        budget: the number of pulls; at least K.
        threshold: the threshold of the mean losses, or of the mean rewards in a game of rewards.
        tolerance: arms within this distance of the threshold can be on either side.

    Raises:
        ValueError: the budget is too small for the number of arms (raised at binding to a game).

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.BernoulliArms([0.9, 0.1, 0.8]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> info = jo.play(game, jo.learners.APT(60, threshold=0.5), jax.random.key(0), n_rounds=60)[1].info
        >>> int(info.stopped.argmax()), info.above[-1].tolist()
        (59, [True, False, True])
    """

    threshold: Number
    tolerance: NonNegative = 0.0

    def for_rewards(self) -> "APT":
        """Return the learner of losses: the loss of a reward is 1 - reward."""
        return replace(self, threshold=1.0 - jnp.asarray(self.threshold))

    def predict(self, key: Key[Array, ""] | None, state: Tally, x: Any) -> Int[Array, ""]:
        """Return the arm with the smallest index, whose side is the least certain."""
        threshold, tolerance = (jnp.asarray(number, state.totals.dtype) for number in (self.threshold, self.tolerance))
        distance = jnp.abs(state.means - threshold) + tolerance
        return state.unpulled_or_argmin(jnp.sqrt(state.positive_pulls) * distance)

    def recommend(self, tally: Tally, stopped: Bool[Array, ""]) -> Sides:
        """Return the side of each arm."""
        threshold, tolerance = (jnp.asarray(number, tally.totals.dtype) for number in (self.threshold, self.tolerance))
        return Sides(stopped, tally.means >= threshold, threshold, tolerance)


# ---------------------------------------------------------------------------------------------------------------------
# Successive elimination: Even-Dar, Mannor and Mansour (2006), Algorithm 3, with losses in place of rewards.


@cites("evendar2006action")
@struct
class SuccessiveElimination(BestArmLearner):
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

    loss_range = (0.0, 1.0)

    def update(self, key: Key[Array, ""] | None, state: ActiveArms, oracle: Any) -> tuple[ActiveArms, Recommendation]:
        """Add the pull; after a pull of the last active arm, drop the arms worse than the best arm by 2 a(n)."""
        tally = state.tally.add(oracle.move, oracle.loss())
        pulls = jnp.where(state.active, tally.pulls, 0)
        n = jnp.max(pulls)
        means = jnp.where(state.active, tally.means, jnp.inf)
        worse = means - jnp.min(means) >= 2 * self._radius(n.astype(means.dtype), len(means))
        turn_is_complete = jnp.all(~state.active | (pulls == n))
        active = state.active & ~(worse & turn_is_complete)
        stopped = jnp.sum(active, dtype=jnp.int32) == 1
        return ActiveArms(tally, active), Recommendation(stopped, tally.argmin(means))

    def _radius(self, n: Float[Array, ""], n_arms: int) -> Float[Array, ""]:
        delta = jnp.asarray(self.delta, n.dtype)
        return jnp.sqrt((2 * jnp.log(n) + jnp.log(jnp.asarray(np.pi**2 * n_arms / 3, n.dtype) / delta)) / (2 * n))
