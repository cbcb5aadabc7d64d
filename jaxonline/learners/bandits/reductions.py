"""Contextual bandits by regression: any online regressor predicts the loss of each arm, and a rule explores."""

import abc
import math
from typing import Annotated, Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from jaxonline import random
from jaxonline.feedback.moves import FullInformation, FullOracle
from jaxonline.game.roles import Draw, Specs
from jaxonline.learners.bandits.contextual import feature_shape, features_of_arms
from jaxonline.learners.bandits.exponential import draw_arm
from jaxonline.learners.bandits.index_policies import ArmLearner, arm_indicator, draw_order
from jaxonline.learners.linear.classifiers import Perceptron
from jaxonline.learners.wrappers import require_learner
from jaxonline.losses import Squared
from jaxonline.numerics.elementwise import Order, compute_once, first_argmin
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import (
    Component,
    Convert,
    Count,
    Ge,
    NonNegative,
    Number,
    Positive,
    Probability,
    PyTree,
)

# ---------------------------------------------------------------------------------------------------------------------
# The reduction: one regressor for all arms, or one for each arm; it learns the loss of the arm pulled.


class RegressionState(NamedTuple):
    """State of contextual bandits by regression.

    Attributes:
        regressors: the state of the regressor; of K regressors if the model is disjoint, of n_models copies in
            `BaggingCB`.
        t: the number of rounds so far.
        order: the order of arms that are equal; None for that of the game.
    """

    regressors: PyTree
    t: Int[Array, ""]
    order: Order | None


def _as_regressor(learner: Any, name: str) -> Any:
    """Return a learner that estimates mean losses from full information; one without a declared loss may."""
    require_learner(learner, name)
    if isinstance(learner, Perceptron) or not isinstance(learner.loss, Squared | None):
        of = "" if learner.loss is None else f" with the loss {learner.loss!r}"
        raise ArgumentError(name, f"must minimise the squared loss (got {type(learner).__name__}{of})")
    try:
        learner.check_feedback(FullInformation())
    except ValueError as error:
        raise ArgumentError(name, f"must learn from full information ({error})") from error
    return learner


AnyRegressor = Annotated[Any, Component("learner"), Convert(_as_regressor)]
Whole = Annotated[Number, Ge(0), Convert(lambda value, name: check.whole_number(name, value, ge=0))]


class _RegressionBandit(ArmLearner):
    """Base class of contextual bandits by regression; a subclass implements `probabilities` of the arms.

    In a game of rewards the regressor observes minus the rewards.
    """

    regressor: Any
    model: str

    loss_at_zero_reward = 0.0
    off_policy = "loss"

    @abc.abstractmethod
    def probabilities(self, state: RegressionState, losses: Float[Array, "K"]) -> Float[Array, "K"]:
        """Return the probabilities of the arms in round state.t + 1, from the predicted losses."""

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> RegressionState:
        """Return the state before round 1; raise a ValueError if the instances or the regressor do not suit."""
        n_arms, d = feature_shape(specs, self.model)
        row = Specs(*(jax.ShapeDtypeStruct(shape, specs.outcome.dtype) for shape in ((d,), ())))
        regressor = self.regressor.init(_regressor_key(key), row)
        prediction = jax.eval_shape(self.regressor.predict, key, regressor, row.instance)
        if getattr(prediction, "shape", None) != () or not jnp.issubdtype(prediction.dtype, jnp.floating):
            raise ArgumentError("regressor", f"must predict a number (got {prediction})")
        copies = _repeat(regressor, n_arms) if self.model == "disjoint" else regressor
        return RegressionState(copies, jnp.int32(0), draw_order(self.ties, key, n_arms, specs.outcome.dtype))

    def predict(self, key: Key[Array, ""], state: RegressionState, x: Float[Array, "..."]) -> Draw:
        """Draw an arm from the probabilities."""
        losses = self.predicted_losses(_regressor_key(key), state.regressors, x, state.order)
        return draw_arm(key, self.probabilities(state, losses))

    def update(self, key: Key[Array, ""], state: RegressionState, oracle: Any) -> tuple[RegressionState, tuple]:
        """Update the regressor with the features and the loss of the arm pulled."""
        arm, loss = oracle.move.arm, oracle.loss()
        regressors, x = self.at_arm(state.regressors, arm), oracle.x if oracle.x.ndim == 1 else oracle.x[arm]
        regressors = self.learn(key, regressors, FullOracle(x, loss))
        return RegressionState(self.with_arm(state.regressors, arm, regressors), state.t + 1, state.order), ()

    def learn(self, key: Key[Array, ""], regressor: PyTree, oracle: FullOracle) -> PyTree:
        """Return the regressor after one round."""
        return self.regressor.update(_regressor_key(key), regressor, oracle)[0]

    def predicted_losses(self, key: Any, regressors: PyTree, x: Array, order: Order | None) -> Float[Array, "K"]:
        """Return the predicted losses of the arms."""
        n_arms = len(order.ranks) if order is not None else self._n_arms(regressors, x)
        axes = (0, 0 if self.model == "disjoint" else None, 0)
        return jax.vmap(self.regressor.predict, axes)(_keys(key, n_arms), regressors, features_of_arms(x, n_arms))

    def _n_arms(self, regressors: PyTree, x: Array) -> int:
        return len(x) if x.ndim == 2 else len(jax.tree.leaves(regressors)[0])

    def at_arm(self, regressors: PyTree, arm: Int[Array, ""]) -> PyTree:
        """Return the regressor of an arm."""
        return jax.tree.map(lambda leaf: leaf[arm], regressors) if self.model == "disjoint" else regressors

    def with_arm(self, regressors: PyTree, arm: Int[Array, ""], regressor: PyTree) -> PyTree:
        """Return the regressors with that of an arm replaced."""
        if self.model != "disjoint":
            return regressor
        return jax.tree.map(lambda leaf, new: leaf.at[arm].set(new), regressors, regressor)


def _regressor_key(key: Key[Array, ""] | None) -> Key[Array, ""] | None:
    """Return the key of the regressor. A draw of the bandit with `key` itself reads words below 2^30."""
    return None if key is None else random.fold_in(key, 2**30)


def _keys(key: Key[Array, ""] | None, n: int) -> Key[Array, "n"] | None:
    """Return the keys of n models or arms."""
    return None if key is None else jax.vmap(random.fold_in, (None, 0))(key, jnp.arange(n, dtype=jnp.uint32))


_POISSON = np.cumsum([math.exp(-1.0) / math.factorial(n) for n in range(12)])  # P(N <= n) with mean 1


def _repeat(state: PyTree, n: int) -> PyTree:
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (n, *jnp.shape(leaf))), state)


def _round(state: RegressionState, dtype: Any) -> Float[Array, ""]:
    """Return the number of the round, 1, 2, ..."""
    return (state.t + 1).astype(dtype)


# ---------------------------------------------------------------------------------------------------------------------
# SquareCB: Foster and Rakhlin (2020), Algorithm 1; the probabilities are those of Abe and Long (1999).


@cites("foster2020beyond", "abe1999associative")
@struct
class SquareCB(_RegressionBandit):
    """SquareCB: contextual bandit by regression, with probabilities from the inverse gaps of predicted losses.

    With predicted losses f_k and their smallest entry f_b, an arm k other than b has the probability 1 / (K + gamma_t
    (f_k - f_b)), and b has the rest. In round t = 1, 2, ... gamma_t = gamma t^power. The theorem of Foster and Rakhlin
    has a constant gamma that depends on the horizon and on the regret of the regressor.

    Args:
        regressor: a learner with full information and the squared loss, such as `VAW` or `GradientLearner`.
        gamma: learning rate in round 1.
        power: exponent of t; 0 for a constant gamma.
        model: "disjoint" for one regressor for each arm, with features of each arm [K, d] or one context [d]; "shared"
            for one regressor for the features of all arms [K, d].

    Example:
        >>> import jax, jaxonline as jo
        >>> environment = jo.environments.ContextualLinearArms([[1.0, 0.0], [0.0, 1.0]], shared=True)
        >>> game = jo.Game(environment, jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> learner = jo.learners.SquareCB(jo.learners.VAW(allow_float32=True), gamma=10.0)
        >>> state, _ = jo.play(game, learner, jax.random.key(0), n_rounds=300)
        >>> state.regressors.w.round(0).astype(int).tolist()
        [[1, 0], [0, 1]]
    """

    regressor: AnyRegressor
    gamma: Positive = 10.0
    power: NonNegative = 0.5
    model: Literal["shared", "disjoint"] = static(default="disjoint")

    def probabilities(self, state: RegressionState, losses: Float[Array, "K"]) -> Float[Array, "K"]:
        """Return the probabilities by inverse gaps."""
        n_arms, dtype = len(losses), losses.dtype
        best = arm_indicator(first_argmin(losses, state.order), n_arms)
        gamma = jnp.asarray(self.gamma, dtype) * _round(state, dtype) ** jnp.asarray(self.power, dtype)
        others = jnp.where(best, 0.0, 1.0 / (n_arms + gamma * (losses - jnp.min(losses))))
        return jnp.where(best, 1.0 - jnp.sum(others), others)


# ---------------------------------------------------------------------------------------------------------------------
# Epsilon-greedy, bagging, and exploration before greed.


@cites("bietti2021contextual")
@struct
class EpsilonGreedyCB(_RegressionBandit):
    """Epsilon-greedy contextual bandit by regression: the arm with the smallest predicted loss, or any arm.

    In round t = 1, 2, ... an arm is drawn uniformly from all arms with probability epsilon_t = epsilon / t^power.

    Args:
        regressor: a learner with full information and the squared loss, such as `VAW` or `GradientLearner`.
        epsilon: probability of a random arm in round 1.
        power: exponent of t; 0 for a constant epsilon.
        model: "disjoint" or "shared", as in `SquareCB`.

    Example:
        >>> import jax, jaxonline as jo
        >>> environment = jo.environments.ContextualLinearArms([[1.0, 0.0], [0.0, 1.0]], shared=True)
        >>> game = jo.Game(environment, jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> learner = jo.learners.EpsilonGreedyCB(jo.learners.VAW(allow_float32=True), epsilon=0.1)
        >>> state, _ = jo.play(game, learner, jax.random.key(0), n_rounds=300)
        >>> state.regressors.w.round(0).astype(int).tolist()
        [[1, 0], [0, 1]]
    """

    regressor: AnyRegressor
    epsilon: Probability = 0.1
    power: NonNegative = 0.0
    model: Literal["shared", "disjoint"] = static(default="disjoint")

    def probabilities(self, state: RegressionState, losses: Float[Array, "K"]) -> Float[Array, "K"]:
        """Return 1 - epsilon_t + epsilon_t / K for the best arm, and epsilon_t / K for the others."""
        n_arms, dtype = len(losses), losses.dtype
        best = arm_indicator(first_argmin(losses, state.order), n_arms).astype(dtype)
        epsilon = jnp.asarray(self.epsilon, dtype) * _round(state, dtype) ** -jnp.asarray(self.power, dtype)
        return (1.0 - epsilon) * best + epsilon / n_arms


@cites("langford2007epoch")
@struct
class ExploreFirstCB(_RegressionBandit):
    """Explore-first contextual bandit by regression: uniformly random arms first, then the smallest predicted loss.

    The regressor learns in all rounds. Langford and Zhang (2007) analyse exploration in epochs, not this policy.

    Args:
        regressor: a learner with full information and the squared loss, such as `VAW` or `GradientLearner`.
        n_explore: the number of rounds with random arms.
        model: "disjoint" or "shared", as in `SquareCB`.

    Example:
        >>> import jax, jaxonline as jo
        >>> environment = jo.environments.ContextualLinearArms([[1.0, 0.0], [0.0, 1.0]], shared=True)
        >>> game = jo.Game(environment, jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> learner = jo.learners.ExploreFirstCB(jo.learners.VAW(allow_float32=True), n_explore=100)
        >>> state, _ = jo.play(game, learner, jax.random.key(0), n_rounds=300)
        >>> state.regressors.w.round(0).astype(int).tolist()
        [[1, 0], [0, 1]]
    """

    regressor: AnyRegressor
    n_explore: Whole
    model: Literal["shared", "disjoint"] = static(default="disjoint")

    def probabilities(self, state: RegressionState, losses: Float[Array, "K"]) -> Float[Array, "K"]:
        """Return 1 / K for all arms, later 1 for the best arm."""
        n_arms, dtype = len(losses), losses.dtype
        best = arm_indicator(first_argmin(losses, state.order), n_arms).astype(dtype)
        return jnp.where(_round(state, dtype) <= jnp.asarray(self.n_explore, dtype), 1.0 / n_arms, best)


@cites("bietti2021contextual")
@struct
class BaggingCB(_RegressionBandit):
    """Contextual bandit by online bootstrap (bagging): each model votes for an arm, and a vote is drawn.

    Each of the models is a regressor that learns from a round N times, where N has the Poisson distribution with mean
    1, independently of rounds and models. A model votes for the arm with the smallest predicted loss. The probability
    of an arm is its share of the votes.

    Args:
        regressor: a learner with full information and the squared loss, such as `VAW` or `GradientLearner`.
        n_models: the number of models.
        model: "disjoint" or "shared", as in `SquareCB`.

    Example:
        >>> import jax, jaxonline as jo
        >>> environment = jo.environments.ContextualLinearArms([[1.0, 0.0], [0.0, 1.0]], shared=True)
        >>> game = jo.Game(environment, jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> learner = jo.learners.BaggingCB(jo.learners.VAW(allow_float32=True), n_models=4)
        >>> state, _ = jo.play(game, learner, jax.random.key(0), n_rounds=300)
        >>> state.regressors.w.mean(axis=0).round(0).astype(int).tolist()
        [[1, 0], [0, 1]]
    """

    regressor: AnyRegressor
    n_models: Count = static(default=10)
    model: Literal["shared", "disjoint"] = static(default="disjoint")

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> RegressionState:
        """Return the state before round 1, with equal models."""
        state = super().init(key, specs)
        return state._replace(regressors=_repeat(state.regressors, self.n_models))

    def probabilities(self, state: RegressionState, losses: Float[Array, "K"]) -> Float[Array, "K"]:
        """Return the predicted losses, which are the shares of votes already."""
        return losses

    def predicted_losses(self, key: Any, regressors: PyTree, x: Array, order: Order | None) -> Float[Array, "K"]:
        """Return the share of votes of each arm."""
        predict = super().predicted_losses

        def vote(key, regressors):
            losses = predict(key, regressors, x, order)
            return arm_indicator(first_argmin(losses, order), len(losses)).astype(losses.dtype)

        return jnp.mean(jax.vmap(vote)(_keys(key, self.n_models), regressors), axis=0)

    def at_arm(self, regressors: PyTree, arm: Int[Array, ""]) -> PyTree:
        """Return the regressor of an arm, of all models."""
        return jax.tree.map(lambda leaf: leaf[:, arm], regressors) if self.model == "disjoint" else regressors

    def with_arm(self, regressors: PyTree, arm: Int[Array, ""], regressor: PyTree) -> PyTree:
        """Return the regressors of all models with those of an arm replaced."""
        if self.model != "disjoint":
            return regressor
        return jax.tree.map(lambda leaf, new: leaf.at[:, arm].set(new), regressors, regressor)

    def learn(self, key: Key[Array, ""], regressor: PyTree, oracle: FullOracle) -> PyTree:
        """Return all models; each learns from the round as often as its Poisson number."""
        one, keys, shape = self.regressor.update, _keys(_regressor_key(key), self.n_models), (self.n_models, 1)
        levels = compute_once(lambda key: random.uniform(key, shape, oracle.y.dtype), key)
        counts = jnp.sum(levels >= jnp.asarray(_POISSON[None, :], levels.dtype), axis=1, dtype=jnp.int32)

        def learn(key, count, regressor):
            if hasattr(self.regressor, "update_often"):
                return self.regressor.update_often(regressor, oracle, count)
            return jax.lax.fori_loop(
                0, count, lambda n, state: one(random.fold_in(key, n), state, oracle)[0], regressor
            )

        return jax.vmap(learn)(keys, counts, regressor)
