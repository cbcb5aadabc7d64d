"""Best-arm identification: learners that stop and recommend an arm."""

from typing import Annotated, Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from jaxonline.game.roles import Specs
from jaxonline.learners.bandits.index_policies import ArmLearner, Tally
from jaxonline.numerics.elementwise import Order
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Count, Interval, Number

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
        n_arms = len(state.active)
        if self.budget < n_arms * n_phases(n_arms):
            needed = f"must be at least {n_arms * n_phases(n_arms)} pulls for {n_arms} arms"
            raise ArgumentError("budget", f"{needed} (got {self.budget})")
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


def n_phases(n_arms: int) -> int:
    """Return the number of phases for K arms: ceil(log2 K), at least 1."""
    return max(1, (n_arms - 1).bit_length())


def _positions(values: Float[Array, "K"], order: Order | None) -> Int[Array, "K"]:
    """Return the position of each value, 0 for the smallest; equal values have the given order, or keep theirs."""
    keys = (values,) if order is None else (order.ranks, values)
    return jnp.argsort(jnp.lexsort(keys)).astype(jnp.int32)


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
