"""The roles of a game: environment, feedback, oracle and learner, and what measures a run.

A class inherits from the base class of its role, as in gymnasium and scikit-learn. Methods are pure functions whose
arguments are passed by position. Facts about an object are attributes with defaults, which a class overrides. A class
that lacks a method of its role cannot be instantiated (TypeError).
"""

import abc
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from jaxonline.parameters.struct import replace
from jaxonline.parameters.types import PyTree


class Specs(NamedTuple):
    """Shapes and dtypes of instances and outcomes: pytrees of `jax.ShapeDtypeStruct`.

    Attributes:
        instance: shape and dtype of the instance x.
        outcome: shape and dtype of the outcome y: a scalar for a label or a target, a vector for the losses of all
            arms, or any pytree.
    """

    instance: PyTree
    outcome: PyTree

    @classmethod
    def of_vectors(cls, dimension: int | tuple[int, ...], dtype: Any = np.float32) -> "Specs":
        """Return the specs of vectors of `dimension` numbers (or arrays of that shape) with a scalar outcome."""
        shape = (dimension,) if isinstance(dimension, int) else dimension
        return cls(jax.ShapeDtypeStruct(shape, dtype), jax.ShapeDtypeStruct((), dtype))


class Draw(NamedTuple):
    """The move of a learner that draws an arm at random.

    Attributes:
        arm: the arm, 0, 1, ..., K - 1.
        probabilities: the probabilities of all arms [K], for importance weights and expected losses.
    """

    arm: Int[Array, ""]
    probabilities: Float[Array, "K"]

    def __index__(self) -> int:
        return int(self.arm)


class Environment(abc.ABC):
    """Base class of environments, which generate instances and outcomes.

    The simulator relies on `oblivious` and `deterministic` without a check.

    Attributes:
        instance_spec: shape and dtype of an instance (`jax.ShapeDtypeStruct`).
        outcome_spec: shape and dtype of an outcome.
        oblivious: whether instances and outcomes do not depend on the learner's moves. If true, the best predictor in
            hindsight is computed once for all learners.
        deterministic: whether instances and outcomes are also identical in every run.
        rewards: whether an outcome is 1 minus the rewards of the arms, so that results show rewards.
        outcomes: all outcomes (of arms: all losses) that can occur, or the smallest and the largest of them, checked
            against the assumptions of losses and learners; None if unknown.
        n_rows: the number of rows of a data set, which is also that of measured copies; None if there are no rows.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> jo.environments.DataStream(np.eye(3), np.ones(3)).deterministic
        True
    """

    instance_spec: PyTree
    outcome_spec: PyTree
    oblivious: bool = False
    deterministic: bool = False
    rewards: bool = False
    outcomes: PyTree = None
    n_rows: int | None = None

    def init(self, key: Key[Array, ""], /) -> PyTree:
        """Return the state before round 1; by default an environment has no state."""
        return ()

    @abc.abstractmethod
    def instance(self, key: Key[Array, ""], state: PyTree, t: Int[Array, ""], /) -> tuple[PyTree, PyTree]:
        """Return the instance of round t = 1, 2, ..., before the learner's move, and the next state."""

    @abc.abstractmethod
    def outcome(
        self, key: Key[Array, ""], state: PyTree, t: Int[Array, ""], x: PyTree, y_hat: PyTree, /
    ) -> tuple[PyTree, PyTree]:
        """Return the outcome of round t, after the learner's move, and the next state."""

    def mean_outcome(self, state: PyTree, t: Int[Array, ""], x: PyTree, y: PyTree, /) -> PyTree:
        """The mean of y given past and move, for the pseudo-regret; None if unknown. `state` follows the round."""
        return None


class Feedback(abc.ABC):
    """Base class of feedbacks, which say what a learner may ask.

    A feedback that depends on earlier rounds has a state, which `init` and `observe` return.

    Attributes:
        makes_copies: whether its oracles have `copy(j)`.
        noise: the distribution of the instances' noise; None without noise, or without a single distribution.
        label_noise: the distribution of the labels' noise; None for clean labels.
        reads_entries: whether `open` accepts an outcome of which single entries are drawn (`losses.arms.LazyOutcome`).
        max_delay: the largest delay of an answer, in rounds.
        max_rounds: the number of rounds that a measured feedback can answer, in an environment that is the same in
            every run; None for any number of rounds.
        max_copies: the number of measured copies of an instance; None for any number. A round that is charged more has
            the loss NaN, so that the run is a failed run.

    Example:
        >>> import jaxonline as jo
        >>> jo.NoisyCopies(jo.noise.gaussian(0.1)).makes_copies, jo.Bandit().makes_copies
        (True, False)
    """

    makes_copies: bool = False
    noise: Any = None
    label_noise: Any = None
    reads_entries: bool = False
    max_delay: int = 0
    max_rounds: int | None = None
    max_copies: int | None = None

    def init(self, key: Key[Array, ""], specs: Specs, move: PyTree, /) -> PyTree:
        """Return the state before round 1, for instances, outcomes and moves of these specs."""
        return ()

    @abc.abstractmethod
    def open(
        self, key: Key[Array, ""], t: Int[Array, ""], x: PyTree, y: PyTree, y_hat: PyTree, state: PyTree, /
    ) -> Any:
        """Return the oracle of round t, which answers the learner."""

    def observe(
        self, key: Key[Array, ""], state: PyTree, t: Int[Array, ""], x: PyTree, y: PyTree, y_hat: PyTree, /
    ) -> PyTree:
        """Return the state after round t, computed from everything that happened in it; by default unchanged."""
        return state

    def check_specs(self, specs: Specs, /) -> None:  # noqa: B027 (by default, no check)
        """Raise a ValueError, when a game is made, if the feedback does not suit these instances and outcomes."""


class Oracle(abc.ABC):
    """Base class of the oracle of one round: it answers the learner and counts the queries.

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> int(jo.feedback.FullOracle(x=jnp.ones(2), y=jnp.ones(())).queries())
        1
    """

    @abc.abstractmethod
    def queries(self) -> Int[Array, ""]:
        """The number of queries charged so far in this round."""

    def answers(self) -> Int[Array, ""]:
        """The number of answers that arrive in this round; by default 1."""
        return jnp.int32(1)


class Learner(abc.ABC):
    """Base class of learners: three pure functions. The state holds what the next round needs, info diagnostics.

    An info with a boolean field `overflow` reports that the learner ran out of storage in this round. The simulator
    counts runs out of storage and excludes these runs from the means.

    Attributes:
        loss: the loss that the learner minimises; None if unknown. A game with another loss causes a warning.
        loss_range: the range (low, high) of the losses of arms in the learner's theorem; None for any losses. Losses
            known in advance are checked to lie in this range.
        loss_at_zero_reward: in a game of rewards, the learner observes the loss `loss_at_zero_reward` - reward: 1 suits
            losses in [0, 1], and 0 suits linear and Gaussian models.
        capacity_hint: how to give the learner more storage, for warnings about runs that ran out of storage; without
            full stop.
        off_policy: of a bandit, the numbers that an update needs for an arm that another policy chose (`Live.update`):
            "loss", also the "probability" of that arm, or the "probabilities" of all arms. None if the learner learns
            only from its own arm, and before its next update.
        restricts_arms: of a bandit, whether its arm is the `first_argmin` of one number for each arm, so that `Live`
            can restrict the choice to the available arms.

    Example:
        >>> import jaxonline as jo
        >>> jo.learners.UCB1().loss_range
        (0.0, 1.0)
    """

    loss: Any = None
    loss_range: tuple[float, float] | None = None
    loss_at_zero_reward: float = 1.0
    capacity_hint: str = "give it more capacity"
    off_policy: Literal["loss", "probability", "probabilities"] | None = None
    restricts_arms: bool = False

    @abc.abstractmethod
    def init(self, key: Key[Array, ""], specs: Specs, /) -> PyTree:
        """Return the state before round 1, for instances and outcomes of the given shapes and dtypes."""

    @abc.abstractmethod
    def predict(self, key: Key[Array, ""], state: PyTree, x: PyTree, /) -> PyTree:
        """Return the move on the instance `x`: a prediction, a vector of weights, an arm, a `Draw`, or any pytree."""

    @abc.abstractmethod
    def update(self, key: Key[Array, ""], state: PyTree, oracle: Any, /) -> tuple[PyTree, PyTree]:
        """Return the next state and the info of the round, computed from the oracle's answers."""

    def check_feedback(self, feedback: Feedback, /) -> None:  # noqa: B027 (by default, no check)
        """Raise a ValueError if the learner does not suit a feedback; called before the first round."""

    def check_environment(self, environment: Environment, /) -> None:  # noqa: B027 (by default, no check)
        """Raise a ValueError or warn if the learner does not suit an environment; called before the first round."""

    def for_rewards(self) -> "Learner":
        """Return the learner of losses that plays a game of rewards: parameters in rewards become those in losses."""
        return self

    def overflow_probability(self, n_rounds: int, /) -> float | None:
        """The probability, or a bound on it, that a run of `n_rounds` rounds runs out of storage; None if unknown."""
        return None


def of_inner(name: str, inner: str) -> Any:
    """Return an attribute of a wrapper that is the attribute of the object that it wraps."""
    return property(lambda self: getattr(getattr(self, inner), name), doc=f"As `{inner}.{name}`.")


class LearnerWrapper(Learner):
    """Base class of a learner that wraps `self.learner`: it has the facts and checks of the wrapped learner.

    The subclass has `init`, `predict` and `update`, and overrides what differs from the wrapped learner.
    """

    learner: Any

    loss, loss_range, capacity_hint = (of_inner(n, "learner") for n in ("loss", "loss_range", "capacity_hint"))
    loss_at_zero_reward = of_inner("loss_at_zero_reward", "learner")
    off_policy, restricts_arms = (of_inner(n, "learner") for n in ("off_policy", "restricts_arms"))
    check_feedback, check_environment, overflow_probability = (
        of_inner(n, "learner") for n in ("check_feedback", "check_environment", "overflow_probability")
    )
    weights = of_inner("weights", "learner")  # of its experts, if it has this method

    def for_rewards(self) -> Learner:
        """Return the wrapper of the wrapped learner for rewards."""
        return replace(self, learner=self.learner.for_rewards())


class EnvironmentWrapper(Environment):
    """Base class of an environment that wraps `self.environment`: it has the facts of the wrapped environment.

    The subclass overrides what differs from the wrapped environment.
    """

    environment: Any

    instance_spec, outcome_spec = (of_inner(n, "environment") for n in ("instance_spec", "outcome_spec"))
    oblivious, deterministic = (of_inner(n, "environment") for n in ("oblivious", "deterministic"))
    rewards, outcomes, n_rows = (of_inner(n, "environment") for n in ("rewards", "outcomes", "n_rows"))
    init, instance, outcome = (of_inner(n, "environment") for n in ("init", "instance", "outcome"))
    mean_outcome = of_inner("mean_outcome", "environment")
    means = of_inner("means", "environment")  # of its arms, if it has this attribute


@runtime_checkable
class Comparator(Protocol):
    """The best fixed predictor of a class in hindsight, computed from sums over rounds.

    A comparator for a single loss has an attribute `loss`; a game with another loss raises an error.
    """

    def statistic(self, x: PyTree, y: PyTree, /) -> PyTree:
        """Return the contribution of one round to the sums."""
        ...

    def best_loss(self, sums: PyTree, /) -> np.ndarray:
        """Return the smallest cumulative loss of the class; `sums` are float64 arrays with leading batch dimensions."""
        ...


@runtime_checkable
class HindsightComparator(Protocol):
    """The best fixed predictor of a class in hindsight, computed from all rounds."""

    def best_losses(self, X: np.ndarray, y: np.ndarray, rounds: np.ndarray, /) -> np.ndarray:
        """Return the class's smallest cumulative losses over the first t rows, for increasing t in `rounds`."""
        ...


@runtime_checkable
class Measure(Protocol):
    """A quantity that is counted during a run and recorded (`simulation.measures`). A measure must be a struct."""

    @property
    def name(self) -> str:
        """The name of the measure in the result: a field, a property or a class attribute."""
        ...

    def init(self, record: Any, /) -> PyTree:
        """Return the carry before round 1; `record` has the shapes and dtypes of a `Round`."""
        ...

    def add(self, carry: PyTree, t: Int[Array, ""], record: Any, /) -> PyTree:
        """Return the carry after round t = 1, 2, ..., whose `Round` is `record`."""
        ...

    def read(self, carry: PyTree, /) -> Any:
        """Return the recorded value: an array of any shape, or a compensated sum (`Compensated`)."""
        ...
