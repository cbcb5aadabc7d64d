"""Optional methods of learners, environments and feedbacks, with their default implementations.

A class may inherit from `LearnerDefaults`, `EnvironmentDefaults` or `FeedbackDefaults`, but need not: the library calls
optional methods through `method_of`, which uses the default where a class has no method of that name. A learner that
wraps one other learner inherits from `ForwardsToLearner`.
"""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from jaxtyping import Array, ArrayLike, Float, Int, Key, PyTree

from jaxonline.game.protocols import Specs
from jaxonline.game.traits import EnvironmentTraits, FeedbackTraits, LearnerTraits, traits_of
from jaxonline.parameters.errors import ArgumentError

Self = TypeVar("Self")


class LearnerDefaults:
    """Optional methods of a learner."""

    @property
    def traits(self) -> LearnerTraits:
        """Facts about the learner."""
        return LearnerTraits()

    def check_feedback(self, feedback: FeedbackTraits) -> None:
        """Raise a ValueError that names the argument of the feedback with which the learner would be wrong.

        It is called before the first round. By default every feedback is accepted.
        """

    def overflow_probability(self, n_rounds: int) -> float | None:
        """The probability, or a bound on it, that a run of `n_rounds` rounds runs out of storage. None: unknown."""
        return None


class EnvironmentDefaults:
    """Optional methods of an environment."""

    @property
    def traits(self) -> EnvironmentTraits:
        """Facts about the environment."""
        return EnvironmentTraits()

    def expected_outcome(self, state: PyTree, t: Int[Array, ""], x: PyTree, y: PyTree) -> PyTree:
        """The mean of the outcome of round t given the past and the move, for the pseudo-regret (`game.regret`).

        `state` is the state after the round. A game with the pseudo-regret requires a method of the environment's own.
        """
        raise NotImplementedError


class FeedbackDefaults:
    """Optional methods of a feedback.

    A feedback with a method `observe` of its own is *adaptive*: its answers may depend on the rounds before. Its state
    is one of the run's states, and its `open` has `state` as one more argument.
    """

    @property
    def traits(self) -> FeedbackTraits:
        """Facts about the feedback."""
        return FeedbackTraits()

    def init(self, key: Key[Array, ""], instance: PyTree) -> PyTree:
        """The state before round 1, for instances of the given shape and dtype. By default there is none."""
        return ()

    def observe(self, state: PyTree, t: Int[Array, ""], x: PyTree, y: PyTree, y_hat: PyTree) -> PyTree:
        """The next state, at the end of round t, from everything that happened in it. By default it is the same."""
        return state

    def check_specs(self, specs: Specs) -> None:
        """Raise a ValueError that names the argument of the feedback which does not suit these instances and outcomes.

        It is called when a game is made. By default all instances and outcomes are accepted.
        """

    def mirrored(self: Self, sign: Float[ArrayLike, ""]) -> Self:
        """The feedback with all noise times 1 or -1, for pairs of plays with opposite noise (`simulate(antithetic=)`).

        By default the feedback itself, which has no noise.

        Raises:
            ValueError: the feedback makes noisy copies; mirroring them would change the law of the noise.
        """
        if traits_of(self, FeedbackTraits).makes_copies:
            problem = f"must have noise that can be mirrored, such as NoisyCopies (got {type(self).__name__})"
            raise ArgumentError("feedback", problem)
        return self


class ForwardsToLearner(LearnerDefaults):
    """Base of a learner that wraps one other learner, `self.learner`: traits and optional methods are that learner's.

    The subclass has `init`, `predict` and `update`, and overrides what is not the same as for the learner that it
    wraps.
    """

    learner: Any

    @property
    def traits(self) -> LearnerTraits:
        """Those of the learner."""
        return traits_of(self.learner, LearnerTraits)

    def check_feedback(self, feedback: FeedbackTraits) -> None:
        """The check of the learner."""
        method_of(self.learner, LearnerDefaults.check_feedback)(feedback)

    def overflow_probability(self, n_rounds: int) -> float | None:
        """The probability of the learner."""
        return method_of(self.learner, LearnerDefaults.overflow_probability)(n_rounds)

    def weights(self, state: PyTree) -> Float[Array, "K"]:
        """The weights that the learner gives to its experts; a learner without such weights has no such method."""
        return self.learner.weights(state)


def method_of(item: Any, default: Callable[..., Any]) -> Callable[..., Any]:
    """The method of an object with the name of a default implementation, or else that implementation.

    Example:
        >>> import jaxonline as jo
        >>> from jaxonline.game.defaults import FeedbackDefaults, method_of
        >>> method_of(jo.FullInformation(), FeedbackDefaults.mirrored)(-1.0)
        FullInformation()
    """
    return getattr(item, default.__name__) if overrides(item, default) else functools.partial(default, item)


def overrides(item: Any, default: Callable[..., Any]) -> bool:
    """Whether an object has a method of its own in place of a default implementation."""
    return getattr(type(item), default.__name__, default) is not default


def is_adaptive(feedback: Any) -> bool:
    """Whether the answers of a feedback may depend on the rounds before (`FeedbackDefaults`)."""
    return overrides(feedback, FeedbackDefaults.observe)
