"""What the parts of a game must offer: environments, feedbacks, learners.

Nobody inherits from these classes. Whatever has the methods is one, and every method is a pure function.
"""

from typing import Any, Protocol, runtime_checkable

import jax
from jaxtyping import Array, Int, Key, PyTree


@runtime_checkable
class Environment(Protocol):
    """Where instances and answers come from.

    Attributes:
        oblivious: True when neither instances nor answers depend on the predictions.
        deterministic: True when, moreover, they are the same in every run.
        instance_spec: shape and dtype of an instance.

    Example:
        >>> import numpy as np
        >>> from jaxonline.environments import DataStream
        >>> from jaxonline.game.protocols import Environment
        >>> isinstance(DataStream(np.eye(3), np.ones(3)), Environment)
        True
    """

    @property
    def oblivious(self) -> bool: ...

    @property
    def deterministic(self) -> bool: ...

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct: ...

    def init(self, key: Key[Array, ""]) -> PyTree:
        """The state before round 1."""
        ...

    def instance(self, key: Key[Array, ""], state: PyTree, t: Int[Array, ""]) -> tuple[Array, PyTree]:
        """The instance of round t = 1, 2, ..., before the learner moves."""
        ...

    def answer(
        self, key: Key[Array, ""], state: PyTree, t: Int[Array, ""], x: Array, y_hat: Array
    ) -> tuple[Array, PyTree]:
        """The target of round t, after the learner has moved."""
        ...


@runtime_checkable
class Feedback(Protocol):
    """What a learner may ask about a round: opens one oracle a round. One that remembers is an `AdaptiveFeedback`.

    Example:
        >>> from jaxonline.game.protocols import Feedback
        >>> from jaxonline.feedback import FullInformation
        >>> isinstance(FullInformation(), Feedback)
        True
    """

    def open(self, key: Key[Array, ""], t: Int[Array, ""], x: Array, y: Array, y_hat: Array) -> Any:
        """The oracle of round t; `oracle.queries()` is the number of queries charged."""
        ...


@runtime_checkable
class AdaptiveFeedback(Protocol):
    """A feedback that remembers: what it answers in a round may depend on everything that the learner did before.

    The state is one of the run's states. It has seen the predictions of the rounds before, and not the present one.

    Example:
        >>> from jaxonline.environments.adversaries import ChasingNoise
        >>> from jaxonline.feedback import AdversarialCopies, FullInformation
        >>> from jaxonline.game.protocols import AdaptiveFeedback
        >>> [isinstance(c, AdaptiveFeedback) for c in (AdversarialCopies(ChasingNoise(1.0)), FullInformation())]
        [True, False]
    """

    def init(self, key: Key[Array, ""], instance: jax.ShapeDtypeStruct) -> PyTree:
        """The state before round 1, for instances of the given shape and dtype."""
        ...

    def open(self, key: Key[Array, ""], t: Int[Array, ""], x: Array, y: Array, y_hat: Array, state: PyTree) -> Any:
        """The oracle of round t, from what the feedback has seen in the rounds before."""
        ...

    def observe(self, state: PyTree, t: Int[Array, ""], x: Array, y: Array, y_hat: Array) -> PyTree:
        """The next state, at the end of round t: the feedback sees everything, the prediction included."""
        ...


@runtime_checkable
class Learner(Protocol):
    """A learner as three pure functions. State holds what the next round needs, info holds diagnostics.

    Example:
        >>> from jaxonline.estimators import TwoCopies
        >>> from jaxonline.game.protocols import Learner
        >>> from jaxonline.learners import GradientLearner
        >>> isinstance(GradientLearner(TwoCopies(), step_size=0.1), Learner)
        True
    """

    def init(self, key: Key[Array, ""], instance: jax.ShapeDtypeStruct) -> PyTree:
        """The state before round 1, for instances of the given shape and dtype."""
        ...

    def predict(self, key: Key[Array, ""], state: PyTree, x: Array) -> Array:
        """The prediction of the current hypothesis on `x`."""
        ...

    def update(self, key: Key[Array, ""], state: PyTree, oracle: Any) -> tuple[PyTree, PyTree]:
        """The next state and the round's info, from what the oracle answers."""
        ...
