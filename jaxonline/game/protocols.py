"""What the parts of a game must offer, and what some of them offer beyond that.

Nobody inherits from these classes. Whatever has the methods is one, and every method is a pure function. The first
half is what every environment, feedback and learner has; the second half, from `MakesCopies` on, is what only some
have, each asked for by the part of the library that its docstring names.
"""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int, Key, PyTree


class Specs(NamedTuple):
    """Shapes and dtypes of what a round is made of: pytrees of `jax.ShapeDtypeStruct`.

    Attributes:
        instance: of the instance x.
        outcome: of the outcome y: a scalar for a label or a target, a vector for the losses of all arms, any pytree.
    """

    instance: PyTree
    outcome: PyTree

    @classmethod
    def of_vectors(cls, dimension: int | tuple[int, ...], dtype: Any = np.float32) -> "Specs":
        """Vectors of `dimension` numbers (or arrays of that shape) with a number as outcome."""
        shape = (dimension,) if isinstance(dimension, int) else dimension
        return cls(jax.ShapeDtypeStruct(shape, dtype), jax.ShapeDtypeStruct((), dtype))


@runtime_checkable
class Environment(Protocol):
    """Where instances and outcomes come from.

    Attributes:
        oblivious: True when neither instances nor outcomes depend on the learner's moves.
        deterministic: True when, moreover, every run sees the same instances and outcomes.
        instance_spec: shape and dtype of an instance.
        outcome_spec: shape and dtype of an outcome.
    """

    @property
    def oblivious(self) -> bool: ...

    @property
    def deterministic(self) -> bool: ...

    @property
    def instance_spec(self) -> PyTree: ...

    @property
    def outcome_spec(self) -> PyTree: ...

    def init(self, key: Key[Array, ""]) -> PyTree:
        """The state before round 1."""
        ...

    def instance(self, key: Key[Array, ""], state: PyTree, t: Int[Array, ""]) -> tuple[PyTree, PyTree]:
        """The instance of round t = 1, 2, ..., before the learner moves, and the next state."""
        ...

    def answer(
        self, key: Key[Array, ""], state: PyTree, t: Int[Array, ""], x: PyTree, y_hat: PyTree
    ) -> tuple[PyTree, PyTree]:
        """The outcome of round t, after the learner has moved, and the next state."""
        ...


@runtime_checkable
class Feedback(Protocol):
    """What a learner may ask about a round: opens one oracle a round. One that remembers is an `AdaptiveFeedback`."""

    def open(self, key: Key[Array, ""], t: Int[Array, ""], x: PyTree, y: PyTree, y_hat: PyTree) -> Any:
        """The oracle of round t; `oracle.queries()` is the number of queries charged."""
        ...


@runtime_checkable
class Oracle(Protocol):
    """What a feedback opens for a round: it answers what it answers, and keeps the meter."""

    def queries(self) -> Int[Array, ""]:
        """The number of queries charged so far in this round."""
        ...


@runtime_checkable
class AdaptiveFeedback(Protocol):
    """A feedback that remembers: what it answers in a round may depend on everything that the learner did before.

    The state is one of the run's states. It has seen the moves of the rounds before, and not the present one.
    """

    def init(self, key: Key[Array, ""], instance: PyTree) -> PyTree:
        """The state before round 1, for instances of the given shape and dtype."""
        ...

    def open(self, key: Key[Array, ""], t: Int[Array, ""], x: PyTree, y: PyTree, y_hat: PyTree, state: PyTree) -> Any:
        """The oracle of round t, from what the feedback has seen in the rounds before."""
        ...

    def observe(self, state: PyTree, t: Int[Array, ""], x: PyTree, y: PyTree, y_hat: PyTree) -> PyTree:
        """The next state, at the end of round t: the feedback sees everything, the move included."""
        ...


@runtime_checkable
class Learner(Protocol):
    """A learner as three pure functions. State holds what the next round needs, info holds diagnostics."""

    def init(self, key: Key[Array, ""], specs: Specs) -> PyTree:
        """The state before round 1, for instances and outcomes of the given shapes and dtypes."""
        ...

    def predict(self, key: Key[Array, ""], state: PyTree, x: PyTree) -> PyTree:
        """The move on the instance `x`: a prediction, a vector of weights, an arm, a `Draw`: any pytree."""
        ...

    def update(self, key: Key[Array, ""], state: PyTree, oracle: Any) -> tuple[PyTree, PyTree]:
        """The next state and the round's info, from what the oracle answers."""
        ...


class Draw(NamedTuple):
    """The move of a learner that draws an arm at random.

    Attributes:
        arm: the arm drawn, 0, 1, ..., K - 1.
        probabilities: those it was drawn with [K], for importance weights and expected losses.
    """

    arm: Int[Array, ""]
    probabilities: Float[Array, "K"]


@runtime_checkable
class MakesCopies(Protocol):
    """A feedback whose oracles have `copy(j)`, so that noisy notions of regret (`game.regret`) can take copy 0."""

    @property
    def makes_copies(self) -> bool: ...


@runtime_checkable
class MirrorsNoise(Protocol):
    """A feedback whose noise may be turned round, for pairs of plays with opposite noise (`simulate(antithetic=)`)."""

    def mirrored(self, sign: Float[ArrayLike, ""]) -> Any:
        """The feedback with all noise times 1 or -1; raises a ValueError where that changes the noise's law."""
        ...


@runtime_checkable
class ChecksSpecs(Protocol):
    """A feedback that does not suit all instances."""

    def check_specs(self, specs: "Specs") -> None:
        """Raise a ValueError that names the argument of the feedback which instances and outcomes do not allow."""
        ...


@runtime_checkable
class StatesNoise(Protocol):
    """A feedback that says which laws its noise has, to learners that rely on them (`ChecksFeedback`).

    Attributes:
        noise: the law of the instances' noise, None where there is no one law.
        label_noise: the law of the labels' noise, None for clean labels.
    """

    @property
    def noise(self) -> Any: ...

    @property
    def label_noise(self) -> Any: ...


@runtime_checkable
class ChecksFeedback(Protocol):
    """A learner that is right under some noise only: it is asked before the first round is played (`game.bind`)."""

    def check_feedback(self, feedback: Any) -> None:
        """Raise a ValueError that names the argument of the feedback with which the learner would be wrong."""
        ...


@runtime_checkable
class ListsOutcomes(Protocol):
    """An environment all of whose outcomes are known beforehand; the loss of a margin wants them to be -1 and +1."""

    @property
    def outcomes(self) -> PyTree: ...


@runtime_checkable
class StatesExpectedOutcomes(Protocol):
    """An environment that knows the mean of each outcome, for the pseudo-regret (`game.regret`)."""

    def expected_outcome(self, state: PyTree, t: Int[Array, ""], x: PyTree, y: PyTree) -> PyTree:
        """The mean of the outcome of round t given the past and the move; `state` is the one after the round."""
        ...


@runtime_checkable
class ReportsOverflow(Protocol):
    """The info of a learner that may run out of storage: the simulator counts such runs, and no mean has them."""

    @property
    def overflow(self) -> Bool[Array, ""]: ...


@runtime_checkable
class PredictsOverflow(Protocol):
    """A learner that knows how likely it is to run out of storage (`simulation.overflow` warns before the run)."""

    def overflow_probability(self, n_rounds: int) -> float:
        """The probability, or a bound on it, that a run of `n_rounds` runs out of storage."""
        ...


@runtime_checkable
class HintsAtCapacity(Protocol):
    """A learner that can say how to give it more storage; the warnings of `simulation.overflow` end with it."""

    def capacity_hint(self) -> str:
        """How to raise the capacity, in a sentence without a full stop."""
        ...


@runtime_checkable
class Weighs(Protocol):
    """A learner or a combiner with weights of its experts, which `learners.aggregate` returns."""

    def weights(self, state: PyTree) -> Float[Array, "K"]:
        """The weights of the next round."""
        ...


@runtime_checkable
class DeclaresRange(Protocol):
    """A learner that was promised labels in a range; `learners.aggregate` checks the promise beforehand."""

    @property
    def label_range(self) -> tuple[ArrayLike, ArrayLike]: ...


@runtime_checkable
class DeclaresLossRange(Protocol):
    """A learner of arms whose theorem wants losses in a range: those known beforehand are held to it (`game.bind`)."""

    @property
    def loss_range(self) -> tuple[float, float]: ...


@runtime_checkable
class HasLongRounds(Protocol):
    """A learner whose rounds are so long that its programs are compiled for speed."""

    @property
    def long_rounds(self) -> bool: ...


@runtime_checkable
class Comparator(Protocol):
    """The best fixed predictor of a class in hindsight, from sums over rounds."""

    def statistic(self, x: PyTree, y: PyTree) -> PyTree:
        """What one round adds to the sums."""
        ...

    def best_loss(self, sums: PyTree) -> np.ndarray:
        """The smallest cumulative loss of the class; `sums` are float64 arrays with leading batch dimensions."""
        ...


@runtime_checkable
class HindsightComparator(Protocol):
    """The best fixed predictor of a class for which no sums over rounds are enough."""

    def best_losses(self, X: np.ndarray, y: np.ndarray, rounds: np.ndarray) -> np.ndarray:
        """The smallest cumulative loss of the class over the first t rows, for each t of the rising `rounds`."""
        ...


@runtime_checkable
class ForLoss(Protocol):
    """What is made for one loss: a comparator, which is refused in a game with another one, or a learner.

    A learner (or an estimator) that descends on another loss than the game's may be meant, and is warned of. None says
    that it is not known.
    """

    @property
    def loss(self) -> Any: ...


@runtime_checkable
class Measure(Protocol):
    """What is counted during a run, and recorded (`simulation.measures`). A struct, like everything in a simulation.

    Attributes:
        name: under which it is in the result.
    """

    @property
    def name(self) -> str: ...

    def init(self, record: Any) -> PyTree:
        """The carry before round 1; `record` has the shapes and dtypes of a `Round`."""
        ...

    def add(self, carry: PyTree, t: Int[Array, ""], record: Any) -> PyTree:
        """The carry after round t = 1, 2, ..., whose `Round` is `record`."""
        ...

    def read(self, carry: PyTree) -> Any:
        """What is recorded: an array of any shape, or a compensated sum (`linalg.compensated.Compensated`)."""
        ...
