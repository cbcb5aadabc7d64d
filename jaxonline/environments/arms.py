"""Environments of arms with independent losses, whose means are constant or change."""

import abc
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Key

from jaxonline import random
from jaxonline.game.roles import Draw, Environment
from jaxonline.losses.arms import LazyOutcome
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import set_field, static, struct
from jaxonline.parameters.types import (
    Convert,
    Count,
    Gt,
    Interval,
    JaxVector,
    NonNegative,
    Number,
    PyTree,
    Rounds,
    Shape,
    jax_array,
)
from jaxonline.random.draws import fused_entry
from jaxonline.random.threefry import word_pair_entry

# ---------------------------------------------------------------------------------------------------------------------
# Random losses of arms; a loss is drawn only when it is read.


def lazy_bernoulli(key: Key[Array, ""], means: Float[Array, "K"]) -> LazyOutcome:
    """Return losses that are 1 with the probabilities `means`, else 0, equal to `random.bernoulli(key, means)`."""
    return LazyOutcome(_bernoulli_entry, _bernoulli_vector, (key, means), len(means))


def _bernoulli_entry(k: Int[Array, "*n"], key: Key[Array, ""], means: Float[Array, "K"]) -> Float[Array, "*n"]:
    return word_pair_entry(key, k, len(means), means.dtype).below(means[k]).astype(means.dtype)


def _bernoulli_vector(key: Key[Array, ""], means: Float[Array, "K"]) -> Float[Array, "K"]:
    return random.bernoulli(key, means).astype(means.dtype)


def lazy_normal(key: Key[Array, ""], means: Float[Array, "K"], std: Float[ArrayLike, ""]) -> LazyOutcome:
    """Return normal losses with the means `means` and the standard deviation `std`."""
    return LazyOutcome(_normal_entry, _normal_vector, (key, means, jnp.asarray(std, means.dtype)), len(means))


def _normal_entry(
    k: Int[Array, "*n"], key: Key[Array, ""], means: Float[Array, "K"], std: Float[Array, ""]
) -> Float[Array, "*n"]:
    return means[k] + std * fused_entry(random.normal, key, k, len(means), means.dtype)


def _normal_vector(key: Key[Array, ""], means: Float[Array, "K"], std: Float[Array, ""]) -> Float[Array, "K"]:
    return means + std * random.normal(key, means.shape, means.dtype)


# ---------------------------------------------------------------------------------------------------------------------
# Base class of environments with a scalar outcome.


class ScalarOutcome(Environment):
    """Base class of oblivious environments with a scalar outcome; without state unless the subclass defines `init`."""

    oblivious = True

    @property
    @abc.abstractmethod
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        """Shape [d] and dtype of an instance."""

    @property
    def outcome_spec(self) -> jax.ShapeDtypeStruct:
        """Shape and dtype of an outcome: a scalar with the dtype of the instances."""
        return jax.ShapeDtypeStruct((), self.instance_spec.dtype)


# ---------------------------------------------------------------------------------------------------------------------
# Stochastic bandits: arms with random losses.


class ContextFreeArms(Environment):
    """Base class of arms with random losses: instances are empty vectors, and `means` [..., K] sets `outcome_spec`."""

    oblivious = True
    means: Any

    @property
    def outcome_spec(self) -> jax.ShapeDtypeStruct:
        """Shape and dtype of an outcome: the losses of all arms [K]."""
        return jax.ShapeDtypeStruct(self.means.shape[-1:], self.means.dtype)

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        """Shape and dtype of an instance: an empty vector."""
        return jax.ShapeDtypeStruct((0,), self.outcome_spec.dtype)

    def init(self, key: Key[Array, ""]) -> PyTree:
        """Return an empty state."""
        return ()

    def instance(self, key: Key[Array, ""], state: PyTree, t: Int[Array, ""]) -> tuple[Array, PyTree]:
        """Return an empty vector."""
        return jnp.zeros((0,), self.outcome_spec.dtype), state


def _as_probabilities(values: Any, name: str) -> Array:
    return jax_array(name, values, ge=0.0, le=1.0)


ZERO_OR_ONE = np.array([0.0, 1.0])

Probabilities = Annotated[Any, Shape("K"), Interval(ge=0, le=1), Convert(_as_probabilities)]
"""A vector of numbers from 0 to 1, such as mean losses, converted to an array of jax."""


class _BernoulliLosses(ContextFreeArms):
    """Base class of arms whose losses are 1 with the probabilities `mean_outcome`, else 0."""

    outcomes = ZERO_OR_ONE

    def outcome(
        self, key: Key[Array, ""], state: PyTree, t: Int[Array, ""], x: PyTree, y_hat: PyTree
    ) -> tuple[LazyOutcome, PyTree]:
        """Draw the losses of all arms."""
        return lazy_bernoulli(key, self.mean_outcome(state, t, x, y_hat)), state  # type: ignore[arg-type]


@struct
class BernoulliArms(_BernoulliLosses):
    """Stochastic bandit with independent Bernoulli losses: arm k has the loss 1 with probability means[k], else 0.

    Args:
        means: mean losses [K].

    Example:
        >>> import jax, jaxonline as jo
        >>> losses, _ = jo.environments.BernoulliArms([0.0, 1.0]).outcome(jax.random.key(0), (), 1, None, None)
        >>> losses.vector().tolist()
        [0.0, 1.0]
    """

    means: Probabilities

    def mean_outcome(self, state: tuple[()], t: Int[Array, ""], x: PyTree, y: PyTree) -> Float[Array, "K"]:
        return self.means  # type: ignore[return-value]


@struct
class GaussianArms(ContextFreeArms):
    """Stochastic bandit with Gaussian losses: arm k has the loss means[k] + std z with independent standard normal z.

    Args:
        means: mean losses [K].
        std: standard deviation of the losses.

    Example:
        >>> import jax, jaxonline as jo
        >>> losses, _ = jo.environments.GaussianArms([0.25, 0.5], std=0.0).outcome(jax.random.key(0), (), 1, None, None)
        >>> losses.vector().tolist()
        [0.25, 0.5]
    """

    means: JaxVector
    std: NonNegative = 1.0

    def outcome(
        self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""], x: PyTree, y_hat: PyTree
    ) -> tuple[LazyOutcome, tuple[()]]:
        """Draw the losses of all arms."""
        return lazy_normal(key, self.means, self.std), state

    def mean_outcome(self, state: tuple[()], t: Int[Array, ""], x: PyTree, y: PyTree) -> Float[Array, "K"]:
        return self.means


@cites("auer2002nonstochastic")
@struct
class HiddenBestArm(_BernoulliLosses):
    """Bandit of the minimax lower bound: Bernoulli arms, of which one, drawn anew in each run, is better by `gap`.

    The other arms have mean loss 1/2. With the gap of `over_horizon`, the expected pseudo-regret of every learner is at
    least min(sqrt(K T), T) / 20 (`bounds.minimax`): Auer, Cesa-Bianchi, Freund and Schapire (2002), Theorem 5.1.

    Args:
        n_arms: the number K of arms.
        gap: the mean loss of the other arms minus the mean loss of the best arm.

    Example:
        >>> import jax, jaxonline as jo
        >>> arms = jo.environments.HiddenBestArm.over_horizon(n_arms=4, n_rounds=100)
        >>> sorted(arms.init(jax.random.key(0)).tolist())
        [0.44999998807907104, 0.5, 0.5, 0.5]
    """

    n_arms: Count = static()
    gap: Annotated[Number, Interval(gt=0, le=0.5)]

    @classmethod
    @validate_arguments
    def over_horizon(cls, n_arms: Count, n_rounds: Rounds) -> "HiddenBestArm":
        """Return the bandit whose gap is that of Theorem 5.1 for T rounds: min(sqrt(K / T), 1) / 4."""
        return cls(n_arms, 0.25 * min(1.0, float(np.sqrt(n_arms / n_rounds))))

    @property
    def outcome_spec(self) -> jax.ShapeDtypeStruct:
        gap = self.gap
        return jax.ShapeDtypeStruct((self.n_arms,), gap.dtype if isinstance(gap, jax.Array) else jnp.result_type(float))

    def init(self, key: Key[Array, ""]) -> Float[Array, "K"]:
        """Draw the best arm; the state is the vector of mean losses."""
        best = random.randint(key, (), 0, self.n_arms, dtype=jnp.int32)
        is_best = jnp.arange(self.n_arms, dtype=jnp.int32) == best
        return 0.5 - jnp.where(is_best, jnp.asarray(self.gap, self.outcome_spec.dtype), 0.0)

    def mean_outcome(self, state: Float[Array, "K"], t: Int[Array, ""], x: PyTree, y: PyTree) -> Float[Array, "K"]:
        return state


# ---------------------------------------------------------------------------------------------------------------------
# Non-stationary bandits: arms with mean losses that drift or switch.


@struct
class DriftingArms(_BernoulliLosses):
    """Bandit with drifting Bernoulli arms: the mean losses follow Gaussian random walks, reflected at 0 and 1.

    Args:
        means: mean losses in round 1 [K].
        step: standard deviation of the step between two rounds.

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> arms = jo.environments.DriftingArms([0.2, 0.8], step=0.01)
        >>> _, first = arms.instance(jax.random.key(0), arms.init(jax.random.key(1)), jnp.int32(1))
        >>> _, second = arms.instance(jax.random.key(0), first, jnp.int32(2))
        >>> [round(mean, 3) for mean in first.tolist()], bool((abs(second - first) < 0.05).all())
        ([0.2, 0.8], True)
    """

    means: Probabilities
    step: Annotated[Number, Interval(ge=0, le=100)] = 0.01

    def init(self, key: Key[Array, ""]) -> Float[Array, "K"]:
        return self.means

    def instance(
        self, key: Key[Array, ""], state: Float[Array, "K"], t: Int[Array, ""]
    ) -> tuple[Array, Float[Array, "K"]]:
        """Return an empty instance; the next state is the vector of means of round t."""
        step = jnp.where(t > 1, jnp.asarray(self.step, state.dtype), 0.0)
        means = reflect(state + step * random.normal(key, state.shape, state.dtype))
        return jnp.zeros((0,), state.dtype), means

    def mean_outcome(self, state: Float[Array, "K"], t: Int[Array, ""], x: PyTree, y: PyTree) -> Float[Array, "K"]:
        return state


def _as_table(means: Any, name: str) -> Array:
    return jax_array(name, means, ndim=2, ge=0.0, le=1.0)


MeansOfRows = Annotated[Any, Shape("rows", "K"), Interval(ge=0, le=1), Convert(_as_table)]
"""A table of mean losses with a column for each arm, converted to an array of jax."""


def _as_integers(values: Any, name: str) -> np.ndarray:
    return check.finite_array(name, values, ndim=1).astype(int)


@struct
class SwitchingArms(_BernoulliLosses):
    """Bandit with Bernoulli arms whose mean losses change at given rounds.

    Args:
        means: mean losses, one row for each segment [S, K].
        starts: first rounds of the segments 2, ..., S [S - 1], increasing (otherwise a ValueError).

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> arms = jo.environments.SwitchingArms([[0.2, 0.8], [0.8, 0.2]], starts=[11])
        >>> [arms.mean_outcome((), jnp.int32(t), None, None)[0].round(1).item() for t in (10, 11)]
        [0.20000000298023224, 0.800000011920929]
    """

    means: MeansOfRows
    starts: Annotated[Any, Shape("S - 1"), Gt(1), Convert(_as_integers)]

    def __post_init__(self) -> None:
        starts = self.starts
        if len(starts) != len(self.means) - 1:
            raise ArgumentError(
                "starts", f"must have one entry less than means has rows, {len(self.means) - 1} (got {len(starts)})"
            )
        if (starts < 2).any() or (starts[1:] <= starts[:-1]).any():
            raise ArgumentError("starts", f"must be increasing and at least 2 (got {check.quote(starts)})")
        set_field(self, "starts", jnp.asarray(starts, jnp.int32))

    def mean_outcome(self, state: tuple[()], t: Int[Array, ""], x: PyTree, y: PyTree) -> Float[Array, "K"]:
        return self.means[jnp.sum(t >= self.starts, dtype=jnp.int32)]


def _as_transitions(values: Any, name: str) -> Array:
    table = jax_array(name, values, ndim=2, ge=0.0, le=1.0)
    sums = check.concrete_array(jnp.sum(table, axis=1))
    if table.shape[0] != table.shape[1] or (sums is not None and np.max(np.abs(sums - 1.0)) > 1e-5):
        raise ArgumentError(name, f"must be square, with rows that add up to 1 (got {check.quote(values)})")
    return table


_SQUARINGS = 20  # 2^20 steps of the chains


@struct
class RestlessArms(_BernoulliLosses):
    """Restless bandit: each Bernoulli arm has a Markov chain of its own, which moves in every round, pulled or not.

    In round 1 the states are drawn from the stationary distribution of the lazy chain, which stays with probability
    1/2, after 2^20 steps from a uniform state. If every state can be reached from every other, this is the stationary
    distribution of the chain, and an arm has the same mean loss in each round.

    Args:
        means: mean losses, one row for each state [S, K].
        transitions: probabilities of the next state, one row for each state [S, S]; rows add up to 1.

    Raises:
        ValueError: `transitions` is not square, its rows do not add up to 1, or it has not a row for each row of
            `means`.

    Example:
        >>> import jax, jaxonline as jo
        >>> arms = jo.environments.RestlessArms([[0.1, 0.4], [0.9, 0.6]], transitions=[[0.99, 0.01], [0.03, 0.97]])
        >>> [round(p, 3) for p in arms.stationary().tolist()]
        [0.75, 0.25]
    """

    means: MeansOfRows
    transitions: Annotated[Any, Shape("S", "S"), Interval(ge=0, le=1), Convert(_as_transitions)]

    def __post_init__(self) -> None:
        if len(self.transitions) != len(self.means):
            problem = f"must have a row for each row of means, {len(self.means)} (got {len(self.transitions)})"
            raise ArgumentError("transitions", problem)

    def stationary(self) -> Float[Array, "S"]:
        """Return the stationary distribution of the states."""
        power = 0.5 * self.transitions + 0.5 * jnp.eye(len(self.transitions), dtype=self.transitions.dtype)
        for _ in range(_SQUARINGS):
            power = jnp.matmul(power, power, precision="highest")
            power = power / jnp.sum(power, axis=1, keepdims=True)
        return jnp.mean(power, axis=0)

    def init(self, key: Key[Array, ""]) -> Int[Array, "K"]:
        """Draw the states of round 1."""
        n_states, n_arms = self.means.shape
        return self._draw(key, jnp.broadcast_to(self.stationary(), (n_arms, n_states)))

    def instance(self, key: Key[Array, ""], state: Int[Array, "K"], t: Int[Array, ""]) -> tuple[Array, Int[Array, "K"]]:
        """Return an empty instance; the next state holds the states of the chains in round t."""
        states = jnp.where(t > 1, self._draw(key, self.transitions[state]), state)
        return jnp.zeros((0,), self.means.dtype), states

    def mean_outcome(self, state: Int[Array, "K"], t: Int[Array, ""], x: PyTree, y: PyTree) -> Float[Array, "K"]:
        return self.means[state, jnp.arange(self.means.shape[1], dtype=jnp.int32)]

    def _draw(self, key: Key[Array, ""], p: Float[Array, "K S"]) -> Int[Array, "K"]:
        """Draw a state for each arm."""
        return jax.vmap(random.weighted_index)(jax.random.split(key, len(p)), p)


# ---------------------------------------------------------------------------------------------------------------------
# Rested bandits: arms with mean losses that change with their pulls.


class RestedState(NamedTuple):
    """The numbers of pulls of the arms before a round [K], and their mean losses in the round [K]."""

    pulls: Int[Array, "K"]
    means: Float[Array, "K"]


@struct
class RestedArms(ContextFreeArms):
    """Rested bandit (rotting or rising): the mean loss of a Bernoulli arm depends on its number of pulls.

    The comparator is `comparators.BestPulls(means)`, the best numbers of pulls in hindsight, in a game with
    `pseudo=True`.

    Args:
        means: mean losses [N, K]: row n for the pull n + 1 of an arm, and the last row for all later pulls.

    Raises:
        TypeError: the learner does not move by an arm.

    Example:
        >>> import jax, jaxonline as jo
        >>> arms = jo.environments.RestedArms([[0.0, 1.0], [1.0, 1.0]])
        >>> game = jo.Game(arms, jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> learner = jo.learners.ExploreThenCommit(2, ties="first")
        >>> jo.play(game, learner, jax.random.key(0), n_rounds=4)[1].loss.tolist()
        [0.0, 1.0, 1.0, 1.0]
    """

    oblivious = False
    outcomes = ZERO_OR_ONE
    means: MeansOfRows

    def init(self, key: Key[Array, ""]) -> RestedState:
        """Return the state before the first pull."""
        return RestedState(jnp.zeros(self.means.shape[1], jnp.int32), self.means[0])

    def instance(self, key: Key[Array, ""], state: RestedState, t: Int[Array, ""]) -> tuple[Array, RestedState]:
        """Return an empty instance; the next state has the means of the round."""
        rows, arms = jnp.minimum(state.pulls, len(self.means) - 1), jnp.arange(len(state.pulls), dtype=jnp.int32)
        return jnp.zeros((0,), self.means.dtype), RestedState(state.pulls, self.means[rows, arms])

    def outcome(
        self, key: Key[Array, ""], state: RestedState, t: Int[Array, ""], x: PyTree, y_hat: Any
    ) -> tuple[LazyOutcome, RestedState]:
        """Draw the losses of all arms, and count the pull."""
        arm = y_hat.arm if isinstance(y_hat, Draw) else y_hat
        if getattr(arm, "shape", None) != ():
            raise ArgumentTypeError("learner", f"must pull an arm for RestedArms (got {check.quote(arm)})")
        pulls = state.pulls.at[arm].add(1)
        return lazy_bernoulli(key, state.means), RestedState(pulls, state.means)

    def mean_outcome(self, state: RestedState, t: Int[Array, ""], x: PyTree, y: PyTree) -> Float[Array, "K"]:
        return state.means


def reflect(values: Float[Array, "K"]) -> Float[Array, "K"]:
    """Reflect numbers at 0 and 1 until they are in [0, 1]: a triangle wave."""
    return 1.0 - jnp.abs(1.0 - values % 2.0)
