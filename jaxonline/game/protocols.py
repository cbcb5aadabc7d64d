"""Required methods of every environment, feedback, oracle, learner, comparator and measure.

These classes describe interfaces; a class with the methods need not inherit from them. Every method of these classes is
a pure function, whose arguments are passed by position. Optional methods are in `game.defaults`, optional facts in
`game.traits`.
"""

from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias, runtime_checkable

import jax
import numpy as np
from jaxtyping import Array, Float, Int, Key

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


@runtime_checkable
class Environment(Protocol):
    """An environment: it generates instances and outcomes.

    Attributes:
        instance_spec: shape and dtype of an instance.
        outcome_spec: shape and dtype of an outcome.
    """

    @property
    def instance_spec(self) -> PyTree: ...

    @property
    def outcome_spec(self) -> PyTree: ...

    def init(self, key: Key[Array, ""], /) -> PyTree:
        """Return the state before round 1."""
        ...

    def instance(self, key: Key[Array, ""], state: PyTree, t: Int[Array, ""], /) -> tuple[PyTree, PyTree]:
        """Return the instance of round t = 1, 2, ..., before the learner's move, and the next state."""
        ...

    def answer(
        self, key: Key[Array, ""], state: PyTree, t: Int[Array, ""], x: PyTree, y_hat: PyTree, /
    ) -> tuple[PyTree, PyTree]:
        """Return the outcome of round t, after the learner's move, and the next state."""
        ...


@runtime_checkable
class Feedback(Protocol):
    """A feedback: it opens one oracle per round, which answers the learner."""

    def open(self, key: Key[Array, ""], t: Int[Array, ""], x: PyTree, y: PyTree, y_hat: PyTree, /) -> Any:
        """The oracle of round t; an adaptive feedback (`game.defaults.FeedbackDefaults`) also receives its `state`."""
        ...


class AdaptiveFeedback(Protocol):
    """A feedback with a state (`game.defaults.FeedbackDefaults`), which its method `open` receives."""

    def open(
        self, key: Key[Array, ""], t: Int[Array, ""], x: PyTree, y: PyTree, y_hat: PyTree, state: PyTree, /
    ) -> Any:
        """The oracle of round t."""
        ...

    def observe(
        self, key: Key[Array, ""], state: PyTree, t: Int[Array, ""], x: PyTree, y: PyTree, y_hat: PyTree, /
    ) -> PyTree:
        """Return the state after round t."""
        ...


AnyFeedback: TypeAlias = Feedback | AdaptiveFeedback


@runtime_checkable
class Oracle(Protocol):
    """The oracle of one round: it answers the learner and counts the queries."""

    def queries(self) -> Int[Array, ""]:
        """The number of queries charged so far in this round."""
        ...


@runtime_checkable
class Learner(Protocol):
    """A learner as three pure functions. The state holds what the next round needs, info holds diagnostics.

    An info with a boolean field `overflow` reports that the learner ran out of storage in this round. The simulator
    counts runs out of storage and excludes these runs from the means.
    """

    def init(self, key: Key[Array, ""], specs: Specs, /) -> PyTree:
        """Return the state before round 1, for instances and outcomes of the given shapes and dtypes."""
        ...

    def predict(self, key: Key[Array, ""], state: PyTree, x: PyTree, /) -> PyTree:
        """Return the move on the instance `x`: a prediction, a vector of weights, an arm, a `Draw`, or any pytree."""
        ...

    def update(self, key: Key[Array, ""], state: PyTree, oracle: Any, /) -> tuple[PyTree, PyTree]:
        """Return the next state and the info of the round, computed from the oracle's answers."""
        ...


class SweptLearners(Protocol):
    """Learners that differ only in numbers, with their labels (`jaxonline.sweep`)."""

    @property
    def labels(self) -> tuple[str, ...]: ...

    @property
    def learners(self) -> tuple[Any, ...]: ...


class Draw(NamedTuple):
    """The move of a learner that draws an arm at random.

    Attributes:
        arm: the arm, 0, 1, ..., K - 1.
        probabilities: the probabilities of all arms [K], for importance weights and expected losses.
    """

    arm: Int[Array, ""]
    probabilities: Float[Array, "K"]


@runtime_checkable
class Comparator(Protocol):
    """The best fixed predictor of a class in hindsight, computed from sums over rounds.

    A comparator for a single loss has an attribute `loss`; a game with another loss raises an error. The attribute
    `contains_zero = True` says that the class contains the predictor 0, and `follows_advice = True` that it contains
    each entry of an instance; they limit the comparator's loss (`game.comparator_range`).
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


class MeasureMethods(Protocol):
    """The methods of a measure."""

    def init(self, record: Any, /) -> PyTree:
        """Return the carry before round 1; `record` has the shapes and dtypes of a `Round`."""
        ...

    def add(self, carry: PyTree, t: Int[Array, ""], record: Any, /) -> PyTree:
        """Return the carry after round t = 1, 2, ..., whose `Round` is `record`."""
        ...

    def read(self, carry: PyTree, /) -> Any:
        """Return the recorded value: an array of any shape, or a compensated sum (`Compensated`)."""
        ...


@runtime_checkable
class Measure(MeasureMethods, Protocol):
    """A quantity that is counted during a run and recorded (`simulation.measures`). A measure must be a struct.

    Attributes:
        name: the name of the measure in the result.
    """

    @property
    def name(self) -> str: ...


class MeasureNamedByClass(MeasureMethods, Protocol):
    """A measure whose name is a class variable; type checkers distinguish it from a property or an attribute."""

    name: ClassVar[str]


AnyMeasure: TypeAlias = Measure | MeasureNamedByClass
