"""Arms with rewards, arms whose losses depend on a context, pairs of arms, and bandit games."""

from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Key

from jaxonline import random
from jaxonline.environments.arms import (
    ZERO_OR_ONE,
    BernoulliArms,
    ContextFreeArms,
    DriftingArms,
    GaussianArms,
    HiddenBestArm,
    RestedArms,
    RestlessArms,
    SwitchingArms,
    lazy_bernoulli,
)
from jaxonline.environments.data import ClassificationArms
from jaxonline.feedback import Bandit
from jaxonline.game import Game
from jaxonline.game.roles import Environment, EnvironmentWrapper, Feedback
from jaxonline.losses import ArmLoss
from jaxonline.losses.arms import LazyOutcome
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import check_fields, set_field, static, struct
from jaxonline.parameters.types import (
    Component,
    Convert,
    Count,
    Interval,
    NonNegative,
    NonNegativeFloat,
    Positive,
    PyTree,
    Shape,
    jax_array,
)
from jaxonline.random.threefry import word_pair_entry

# ---------------------------------------------------------------------------------------------------------------------
# Arms with rewards: outcomes are the losses 1 - reward, and results show rewards.


ARMS_WITH_MEANS = (BernoulliArms, GaussianArms, DriftingArms, SwitchingArms, RestlessArms, RestedArms)


@struct
class Rewards(EnvironmentWrapper):
    """Arms with rewards: the outcomes of `environment` are rewards, and results show rewards.

    Results, tables, figures and messages of a game with this environment show rewards: the cumulative reward in place
    of the cumulative loss, and the reward of the best arm. The regret is the reward of the best arm minus the reward of
    the learner. The oracle of a learner still answers with losses: 1 - reward for learners that assume losses in
    [0, 1], and -reward for linear and Gaussian models (`LinUCB`, `LinThompson`, `GaussianThompson`, `EpsilonGreedy`)
    and bandits with a regressor (`SquareCB`, `EpsilonGreedyCB`, `ExploreFirstCB`, `BaggingCB`), as the attribute
    `loss_at_zero_reward` of a learner says. Priors of learners are given in rewards.

    If `environment` has mean rewards (`BernoulliArms`, `GaussianArms`, `DriftingArms`, `SwitchingArms`, `RestlessArms`,
    `RestedArms`), the losses are those of the same arms with the mean losses 1 - means (in the dtype of the game),
    drawn from the same random numbers. Otherwise a loss is 1 minus the outcome, for example for a table of rewards
    (`DataStream(None, rewards)`), `ContextualLinearArms`, or an environment of your own.

    Many learners assume losses in [0, 1], so rewards in [0, 1]. Convert rewards in another range [low, high] first:
    (reward - low) / (high - low). The regret is then in units of high - low. Linear and Gaussian models need no range.

    Args:
        environment: an environment whose outcomes are the rewards of K arms.

    Raises:
        TypeError: `environment` is no environment.
        ValueError: outcomes are not vectors, `environment` has rewards already, or it is a `HiddenBestArm` or
            `ClassificationArms`, whose best arm has the smallest outcome. (For rewards of labels, use `DataStream`.)

    Example:
        >>> import jaxonline as jo
        >>> arms = jo.environments.Rewards(jo.environments.BernoulliArms([0.8, 0.3]))
        >>> game = jo.Game(arms, jo.Bandit(), loss=jo.losses.ArmLoss(), pseudo=True)
        >>> result = jo.simulate(game, jo.learners.UCB1(), n_runs=2, n_rounds=10, record_at=1, comparator=jo.BestArm())
        >>> result.quantities
        ('regret', 'comparator_reward', 'cumulative_reward', 'queries')
        >>> result.values("comparator_reward")[0, :, -1].round(4).tolist()
        [8.0, 8.0]
    """

    rewards = True
    environment: Annotated[Any, Component("environment")]

    def __post_init__(self):
        inner = check.instance("environment", self.environment, Environment, "an environment")
        if inner.rewards:
            raise ArgumentError("environment", f"must not have rewards already (got {type(inner).__name__})")
        if isinstance(inner, HiddenBestArm | ClassificationArms):
            own = f"{type(inner).__name__}, whose best arm has the smallest outcome"
            raise ArgumentError("environment", f"must have rewards as outcomes (got {own})")
        shape = getattr(inner.outcome_spec, "shape", None)
        if shape is None or len(shape) != 1:
            raise ArgumentError("environment", f"must have vectors of rewards as outcomes (got {shape})")

    @property
    def outcomes(self) -> Any:
        """The losses that can occur: 1 - reward."""
        rewards = self.environment.outcomes
        return rewards if rewards is None or check.is_abstract(rewards) else 1.0 - np.asarray(rewards)

    def init(self, key: Array) -> PyTree:
        """Return the state of the arms."""
        return self._arms.init(key)

    def instance(self, key: Array, state: PyTree, t: Int[Array, ""]) -> tuple[PyTree, PyTree]:
        """Return the instance of `environment`."""
        return self._arms.instance(key, state, t)

    def outcome(
        self, key: Array, state: PyTree, t: Int[Array, ""], x: PyTree, y_hat: PyTree
    ) -> tuple[Float[Array, "K"] | LazyOutcome, PyTree]:
        """Return the losses of all arms: 1 - reward."""
        outcome, state = self._arms.outcome(key, state, t, x, y_hat)
        return outcome if self._has_means else _one_minus(outcome), state

    def mean_outcome(self, state: PyTree, t: Int[Array, ""], x: PyTree, y: PyTree) -> Float[Array, "K"] | None:
        """Return the mean losses of all arms; None if they are unknown."""
        if self._has_means:
            return self._arms.mean_outcome(state, t, x, y)
        rewards = self.environment.mean_outcome(state, t, x, 1.0 - y)
        return None if rewards is None else 1.0 - rewards

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
    return 1.0 - rewards.offset - rewards.entry_function(k, *rewards.arguments)


def _loss_vector(rewards: LazyOutcome) -> Float[Array, "K"]:
    return 1.0 - rewards.vector()


# ---------------------------------------------------------------------------------------------------------------------
# Contextual bandits with linear and logistic losses.


def _as_weights(values: Any, name: str) -> Array:
    return jax_array(name, values, ndim=max(1, min(2, check.array(name, values).ndim)))


Weights = Annotated[Any, Shape(), Convert(_as_weights)]
"""A vector of weights [d], or a row of weights for each arm [K, d]; it becomes an array of jax."""


class ContextualArms(Environment):
    """Base class of arms whose mean losses depend on <w, x_k>; a subclass implements `outcome` and `mean_outcome`."""

    weights: Any
    n_arms: Any
    radius: Any
    shared: bool
    oblivious = True

    def __post_init__(self) -> None:
        check_fields(self)
        rows = self.weights.shape[0] if self.weights.ndim == 2 else None
        if rows is None and self.n_arms is None:
            raise ArgumentError("n_arms", "must be given if weights are a vector for all arms (got None)")
        if rows is not None and self.n_arms not in (None, rows):
            raise ArgumentError("n_arms", f"must be the number of rows of weights, {rows} (got {self.n_arms})")
        if rows is None and self.shared:
            raise ArgumentError("shared", "must be False unless weights have a row for each arm (got True)")
        set_field(self, "n_arms", rows or self.n_arms)

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        """Shape and dtype of an instance: the features of all arms [K, d], or the context of all arms [d]."""
        shape = self.weights.shape[-1:] if self.shared else (self.n_arms, self.weights.shape[-1])
        return jax.ShapeDtypeStruct(shape, self.weights.dtype)

    @property
    def outcome_spec(self) -> jax.ShapeDtypeStruct:
        """Shape and dtype of an outcome: the losses of all arms [K]."""
        return jax.ShapeDtypeStruct((self.n_arms,), self.weights.dtype)

    def init(self, key: Key[Array, ""]) -> tuple[()]:
        """Return no state."""
        return ()

    def instance(self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""]) -> tuple[Array, tuple[()]]:
        """Draw the features of all arms."""
        z = random.normal(key, self.instance_spec.shape, self.weights.dtype)
        return z * (jnp.asarray(self.radius, z.dtype) / jnp.linalg.norm(z, axis=-1, keepdims=True)), state

    def products(self, x: Float[Array, "..."]) -> Float[Array, "K"]:
        """Return <w, x_k> of all arms."""
        if self.weights.ndim == 1:
            return x @ self.weights
        return self.weights @ x if self.shared else jnp.sum(self.weights * x, axis=-1)


@struct
class ContextualLinearArms(ContextualArms):
    """Linear contextual bandit: arm k has features x_k and the loss <weights, x_k> + noise_std z, z standard normal.

    An instance is the matrix of features [K, d]. The rows x_k are uniform on a sphere; the rows and the noise are
    independent. If the context is shared, an instance is one vector x [d], and arm k has the loss <weights[k], x> +
    noise_std z.

    Args:
        weights: the true parameter [d], or one for each arm [K, d].
        n_arms: K; by default the number of rows of the weights.
        noise_std: standard deviation of the noise of the losses.
        radius: length of the feature vectors.
        shared: whether all arms have the same features.

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> arms = jo.environments.ContextualLinearArms([1.0, -1.0], n_arms=3)
        >>> x, state = arms.instance(jax.random.key(0), (), jnp.int32(1))
        >>> losses, _ = arms.outcome(jax.random.key(1), state, jnp.int32(1), x, jnp.int32(0))
        >>> x.shape, bool(jnp.allclose(losses, x[:, 0] - x[:, 1]))
        ((3, 2), True)
    """

    weights: Weights
    n_arms: Count | None = static(default=None)
    noise_std: NonNegative = 0.0
    radius: Positive = 1.0
    shared: bool = static(default=False)

    def outcome(
        self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""], x: Float[Array, "..."], y_hat: Any
    ) -> tuple[Float[Array, "K"], tuple[()]]:
        """Draw the losses of all arms."""
        noise = random.normal(key, self.outcome_spec.shape, x.dtype)
        return self.products(x) + jnp.asarray(self.noise_std, x.dtype) * noise, state

    def mean_outcome(self, state: tuple[()], t: Int[Array, ""], x: Float[Array, "..."], y: Any) -> Array:
        return self.products(x)


@struct
class ContextualLogisticArms(ContextualArms):
    """Logistic contextual bandit: arm k has the loss 1 with probability 1 / (1 + e^-<weights, x_k>), else 0.

    Instances are those of `ContextualLinearArms`.

    Args:
        weights: the true parameter [d], or one for each arm [K, d].
        n_arms: K; by default the number of rows of the weights.
        radius: length of the feature vectors.
        shared: whether all arms have the same features.

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> arms = jo.environments.ContextualLogisticArms([[90.0, 0.0], [-90.0, 0.0]], shared=True)
        >>> losses, _ = arms.outcome(jax.random.key(0), (), jnp.int32(1), jnp.array([1.0, 0.0]), jnp.int32(0))
        >>> losses.vector().tolist()
        [1.0, 0.0]
    """

    outcomes = ZERO_OR_ONE
    weights: Weights
    n_arms: Count | None = static(default=None)
    radius: Positive = 1.0
    shared: bool = static(default=False)

    def outcome(
        self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""], x: Float[Array, "..."], y_hat: Any
    ) -> tuple[LazyOutcome, tuple[()]]:
        """Draw the losses of all arms."""
        return lazy_bernoulli(key, self.mean_outcome(state, t, x, None)), state

    def mean_outcome(self, state: tuple[()], t: Int[Array, ""], x: Float[Array, "..."], y: Any) -> Array:
        return jax.nn.sigmoid(self.products(x))


# ---------------------------------------------------------------------------------------------------------------------
# Arms that are compared in pairs, with given probabilities of winning: the environment of duelling bandits.


def _as_preferences(preferences: Any, name: str) -> Array:
    array = jax_array(name, preferences, ndim=2, ge=0.0, le=1.0)
    values = check.concrete_array(array)
    if array.shape[0] != array.shape[1]:
        raise ArgumentError(name, f"must be a square matrix (got shape {array.shape})")
    if values is not None and (wrong := np.argwhere(np.abs(values + values.T - 1.0) > 1e-5)).size:
        i, j = wrong[0].tolist()
        problem = f"must add up to 1 with its transpose (got {values[i, j]:g} at [{i}, {j}] and {values[j, i]:g}"
        raise ArgumentError(name, f"{problem} at [{j}, {i}]")
    return array


Preferences = Annotated[Any, Shape("K", "K"), Interval(ge=0, le=1), Convert(_as_preferences)]
"""A matrix of probabilities: arm i beats arm j with probability [i, j]; it becomes an array of jax."""


@struct
class PreferenceArms(ContextFreeArms):
    """K arms that are compared in pairs: in each round arm i beats arm j with probability `preferences[i, j]`.

    An outcome is the matrix of the duels of all pairs [K, K]: 1 at [i, j] and 0 at [j, i] if arm i beats arm j, and 1/2
    on the diagonal. Duels of different pairs and rounds are independent. There is no context: instances are empty
    vectors.

    Args:
        preferences: probabilities [K, K]; the sum of the matrix and its transpose is 1 in every entry.

    Example:
        >>> import jax
        >>> import jaxonline as jo
        >>> arms = jo.environments.PreferenceArms([[0.5, 1.0], [0.0, 0.5]])
        >>> duels, _ = arms.outcome(jax.random.key(0), (), 1, None, None)
        >>> duels.vector().tolist()
        [[0.5, 1.0], [0.0, 0.5]]
    """

    oblivious = True
    outcomes = ZERO_OR_ONE
    preferences: Preferences

    @property
    def outcome_spec(self) -> jax.ShapeDtypeStruct:
        """Shape and dtype of an outcome: the duels of all pairs [K, K]."""
        return jax.ShapeDtypeStruct(self.preferences.shape, self.preferences.dtype)

    def outcome(
        self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""], x: PyTree, y_hat: PyTree
    ) -> tuple[LazyOutcome, tuple[()]]:
        """Return the duels of all pairs."""
        n_arms = len(self.preferences)
        return LazyOutcome(_duel, _all_duels, (key, self.preferences), n_arms, width=n_arms), state

    def mean_outcome(self, state: tuple[()], t: Int[Array, ""], x: PyTree, y: PyTree) -> Float[Array, "K K"]:
        """Return the matrix of preferences, which are the means of the duels."""
        return self.preferences


def _duel(
    i: Int[Array, "*n"], j: Int[Array, "*n"], key: Key[Array, ""], preferences: Float[Array, "K K"]
) -> Float[Array, "*n"]:
    """Return 1 if arm i beats arm j, else 0 (1/2 if i = j); (i, j) and (j, i) use the same random number."""
    low, high = jnp.minimum(i, j), jnp.maximum(i, j)
    level = word_pair_entry(key, low * len(preferences) + high, preferences.size, preferences.dtype)
    low_wins = level.below(preferences[low, high]).astype(preferences.dtype)
    return jnp.where(i == j, 0.5, jnp.where(i < j, low_wins, 1.0 - low_wins))


def _all_duels(key: Key[Array, ""], preferences: Float[Array, "K K"]) -> Float[Array, "K K"]:
    upper = jnp.triu(random.bernoulli(key, preferences).astype(preferences.dtype), 1)
    return upper + jnp.tril(1.0 - upper.T, -1) + 0.5 * jnp.eye(len(preferences), dtype=preferences.dtype)


# ---------------------------------------------------------------------------------------------------------------------
# Stochastic bandits as games, from the mean losses or mean rewards of the arms.


@validate_arguments
def bandit_game(
    means: ArrayLike,
    rewards: bool = False,
    *,
    std: NonNegativeFloat | None = None,
    starts: ArrayLike | None = None,
    feedback: Annotated[Feedback, Component("feedback")] = Bandit(),  # noqa: B008
) -> Game:
    """Return the game of a stochastic bandit with the given means: Bernoulli arms, and the pseudo-regret.

    With `rewards=True`, the means are mean rewards, and results, tables, figures and messages show rewards. The game is
    the same as with the mean losses 1 - means: the same draws for the same key, and the same regret, as the regret is
    the reward of the best arm minus the reward of the learner. Learners still receive losses, and numbers of priors are
    those of rewards (`jo.environments.Rewards`).

    The game is `Game(arms, feedback, loss=ArmLoss(), pseudo=True)`. Build it from these parts for other arms.
    `Rewards(environment)` also accepts arms that drift (`DriftingArms`), tables (`DataStream`), contexts
    (`ContextualLinearArms`) and environments of your own. Sets of arms (`SumOfArms`) and pairs of arms (`PairLoss`)
    have losses only.

    Args:
        means: mean losses of the arms [K], or mean rewards; in [0, 1] unless `std` is given. With `starts`, one row for
            each segment [S, K].
        rewards: whether means are mean rewards, and results show rewards. Convert rewards in another range [low, high]
            first: (reward - low) / (high - low). The regret is then in units of high - low.
        std: the standard deviation of Gaussian losses (or rewards); None for Bernoulli arms, which have 0 or 1.
        starts: the first rounds of the segments 2, ..., S [S - 1], for arms whose means change (`SwitchingArms`).
        feedback: the feedback, such as `Delayed(Bandit(), delay)`.

    Raises:
        TypeError: an argument is not of the required kind.
        ValueError: a number is out of range, or both `std` and `starts` are given.

    Example:
        >>> import jaxonline as jo
        >>> game = jo.bandit_game([0.8, 0.7, 0.5], rewards=True)
        >>> result = jo.simulate(
        ...     game, {"UCB1": jo.learners.UCB1()}, n_runs=20, n_rounds=100, comparator=jo.BestArm()
        ... )
        >>> result.mean("comparator_reward").mean[0, -1].round(3).item()
        80.0
        >>> jo.bandit_game([0.2, 0.3, 0.5]).environment
        BernoulliArms(means=[0.2, 0.3, 0.5])
    """
    if std is not None and starts is not None:
        raise ArgumentError("starts", "must be None if std is given, as arms that switch are Bernoulli arms (got both)")
    if starts is not None:
        check.finite_array("starts", starts, ndim=1)
        if np.ndim(means) == 1:
            raise ArgumentError(
                "starts", "must be None if means are a vector; with starts, give one row for each segment"
            )
    _check_means(means, rewards, std, starts)
    if starts is not None:
        arms: Any = SwitchingArms(means, starts)
    elif std is not None:
        arms = GaussianArms(means, std)
    else:
        arms = BernoulliArms(means)
    return Game(Rewards(arms) if rewards else arms, feedback, loss=ArmLoss(), pseudo=True)


def _check_means(means: Any, rewards: bool, std: float | None, starts: Any) -> None:
    """Check the shape of the means, and that means of Bernoulli arms are probabilities."""
    table = check.finite_array("means", means, ndim=1 if starts is None else 2)
    outside = np.asarray(table)[(np.asarray(table) < 0) | (np.asarray(table) > 1)]
    if std is None and outside.size:
        unit = "rewards" if rewards else "losses"
        scaled = "(reward - low) / (high - low)" if rewards else "(loss - low) / (high - low)"
        raise ArgumentError(
            "means", f"must be in [0, 1] for Bernoulli arms (got {float(outside[0]):g}); give std for Gaussian "
            f"{unit}, or scale {unit} in another range: {scaled}",
        )  # fmt: skip
