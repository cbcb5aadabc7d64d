"""Arms with rewards: learners receive the losses 1 - reward, and results show rewards."""

from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from jaxonline.environments.arms import BernoulliArms, GaussianArms, HiddenBestArm
from jaxonline.environments.moving_arms import DriftingArms, SwitchingArms
from jaxonline.game.defaults import ForwardsToEnvironment
from jaxonline.game.masks import Available
from jaxonline.game.protocols import Environment
from jaxonline.game.traits import EnvironmentTraits, traits_of
from jaxonline.losses.lazy import LazyOutcome
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import set_field, struct
from jaxonline.parameters.types import Component

ARMS_WITH_MEANS = (BernoulliArms, GaussianArms, DriftingArms, SwitchingArms)


@struct
class Rewards(ForwardsToEnvironment):
    """Arms with rewards: the outcomes of `environment` are rewards, and learners receive the losses 1 - reward.

    Results, tables, figures and messages of a game with this environment show rewards: the cumulative reward in place
    of the cumulative loss, and the reward of the best arm. The regret is the same number for rewards and losses, as the
    constant 1 cancels: the reward of the best arm minus the reward of the learner. The oracle of a learner still
    answers with losses, so all learners and theorems of jaxonline apply.

    If `environment` has mean rewards (`BernoulliArms`, `GaussianArms`, `DriftingArms`, `SwitchingArms`), the losses are
    those of the same arms with the mean losses 1 - means (in the dtype of the game), drawn from the same random
    numbers. Otherwise a loss is 1 minus the outcome, for example for a table of rewards (`DataStream(None, rewards)`),
    `ContextualLinearArms`, or an environment of your own.

    Many learners assume losses in [0, 1], so rewards in [0, 1]. Convert rewards in another range [low, high] first:
    (reward - low) / (high - low). The regret is then in units of high - low. `LinUCB` and `LinThompson` assume losses
    that are linear in the features, without the constant 1; use losses with negated weights for them.

    Args:
        environment: an environment whose outcomes are the rewards of K arms. To hide arms, put the rewards inside:
            `Sleeping(Rewards(environment), availability)`.

    Raises:
        TypeError: `environment` is no environment.
        ValueError: outcomes are not vectors, `environment` has masks or rewards already, or it is a `HiddenBestArm`,
            whose best arm has the smallest outcome.

    Example:
        >>> import jaxonline as jo
        >>> arms = jo.environments.Rewards(jo.environments.BernoulliArms([0.8, 0.3]))
        >>> game = jo.Game(arms, jo.Bandit(), loss=jo.losses.ArmLoss(), regret=jo.game.PseudoRegret())
        >>> result = jo.simulate(game, jo.learners.UCB1(), n_runs=2, n_rounds=10, record_at=1, comparator=jo.BestArm())
        >>> result.quantities
        ('regret', 'comparator_reward', 'cumulative_reward', 'queries')
        >>> result.values("comparator_reward")[0, :, -1].round(4).tolist()
        [8.0, 8.0]
    """

    environment: Annotated[Any, Component("environment")]

    def __post_init__(self):
        inner = check.instance("environment", self.environment, Environment, "an environment")
        if traits_of(inner, EnvironmentTraits).rewards:
            raise ArgumentError("environment", f"must not have rewards already (got {type(inner).__name__})")
        if isinstance(inner.instance_spec, Available):
            problem = f"must not have masks (got {type(inner).__name__}); use Sleeping(Rewards(...), availability)"
            raise ArgumentError("environment", problem)
        if isinstance(inner, HiddenBestArm):
            problem = "must have rewards as outcomes (got HiddenBestArm, whose best arm has the smallest outcome)"
            raise ArgumentError("environment", problem)
        shape = getattr(inner.outcome_spec, "shape", None)
        if shape is None or len(shape) != 1:
            raise ArgumentError("environment", f"must have vectors of rewards as outcomes (got {shape})")

    @property
    def traits(self) -> EnvironmentTraits:
        """Traits of `environment`, with losses as outcomes."""
        traits = super().traits
        known = traits.outcomes is not None and not check.is_abstract(traits.outcomes)
        return traits._replace(rewards=True, outcomes=1.0 - np.asarray(traits.outcomes) if known else traits.outcomes)

    @property
    def instance_spec(self) -> PyTree:
        """Shape and dtype of an instance of `environment`."""
        return self.environment.instance_spec

    def init(self, key: Array) -> PyTree:
        """Return the state of the arms."""
        return self._arms.init(key)

    def instance(self, key: Array, state: PyTree, t: Int[Array, ""]) -> tuple[PyTree, PyTree]:
        """Return the instance of `environment`."""
        return self._arms.instance(key, state, t)

    def answer(
        self, key: Array, state: PyTree, t: Int[Array, ""], x: PyTree, y_hat: PyTree
    ) -> tuple[Float[Array, "K"] | LazyOutcome, PyTree]:
        """Return the losses of all arms: 1 - reward."""
        outcome, state = self._arms.answer(key, state, t, x, y_hat)
        return outcome if self._has_means else _one_minus(outcome), state

    def expected_outcome(self, state: PyTree, t: Int[Array, ""], x: PyTree, y: PyTree) -> Float[Array, "K"]:
        """Return the mean losses of all arms."""
        if self._has_means:
            return self._arms.expected_outcome(state, t, x, y)
        return 1.0 - self.environment.expected_outcome(state, t, x, 1.0 - y)

    @property
    def _has_means(self) -> bool:
        return isinstance(self.environment, ARMS_WITH_MEANS)

    @property
    def _arms(self) -> Any:
        """The arms with the mean losses 1 - means; the environment itself if it has no means."""
        if not self._has_means:
            return self.environment
        arms = jax.tree.map(lambda leaf: leaf, self.environment)  # a copy without checks, as numbers may be traced
        set_field(arms, "means", 1.0 - arms.means)
        return arms


def _one_minus(rewards: Any) -> Any:
    """Return 1 - reward; losses of a lazy outcome stay lazy."""
    if isinstance(rewards, LazyOutcome):
        return LazyOutcome(_loss_entry, _loss_vector, (rewards,), rewards.length)
    return 1.0 - jnp.asarray(rewards)


def _loss_entry(k: Int[Array, "*n"], rewards: LazyOutcome) -> Float[Array, "*n"]:
    return 1.0 - rewards.entry_function(k, *rewards.arguments)


def _loss_vector(rewards: LazyOutcome) -> Float[Array, "K"]:
    return 1.0 - rewards.vector()
