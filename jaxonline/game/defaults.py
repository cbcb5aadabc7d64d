"""Optional methods of learners, environments and feedbacks, with their default implementations.

A class may inherit from `LearnerDefaults`, `EnvironmentDefaults` or `FeedbackDefaults`, but need not: the library calls
optional methods through `method_of`, which uses the default if the class has no such method. A learner that wraps
another learner inherits from `ForwardsToLearner`.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from jaxonline.game.protocols import Specs
from jaxonline.game.traits import EnvironmentTraits, FeedbackTraits, LearnerTraits, traits_of
from jaxonline.parameters.types import PyTree


class LearnerDefaults:
    """Optional methods of a learner."""

    @property
    def traits(self) -> LearnerTraits:
        """Facts about the learner."""
        return LearnerTraits()

    def check_feedback(self, feedback: FeedbackTraits) -> None:
        """Raise a ValueError if the learner does not suit a feedback; called before the first round."""

    def overflow_probability(self, n_rounds: int) -> float | None:
        """The probability, or a bound on it, that a run of `n_rounds` rounds runs out of storage; None if unknown."""
        return None


class EnvironmentDefaults:
    """Optional methods of an environment."""

    @property
    def traits(self) -> EnvironmentTraits:
        """Facts about the environment."""
        return EnvironmentTraits()

    def expected_outcome(self, state: PyTree, t: Int[Array, ""], x: PyTree, y: PyTree) -> PyTree:
        """Return the mean of y given past and move, for the pseudo-regret; `state` is the state after the round."""
        raise NotImplementedError


class ForwardsToEnvironment(EnvironmentDefaults):
    """Base of an environment that wraps `self.environment`; it forwards the methods that it does not define."""

    environment: Any

    @property
    def traits(self) -> EnvironmentTraits:
        """The traits of the wrapped environment."""
        return traits_of(self.environment, EnvironmentTraits)

    @property
    def outcome_spec(self) -> PyTree:
        """Shape and dtype of an outcome of the wrapped environment."""
        return self.environment.outcome_spec

    def init(self, key: Key[Array, ""]) -> PyTree:
        """Return the state of the wrapped environment."""
        return self.environment.init(key)


class FeedbackDefaults:
    """Optional methods of a feedback.

    A feedback with its own method `observe` is *adaptive*: its answers may depend on earlier rounds. The state of an
    adaptive feedback is part of the run's states, and its method `open` has the further argument `state`.
    """

    @property
    def traits(self) -> FeedbackTraits:
        """Facts about the feedback."""
        return FeedbackTraits()

    def init(self, key: Key[Array, ""], specs: Specs, move: PyTree) -> PyTree:
        """Return the state before round 1, for instances, outcomes and moves of these specs; by default empty."""
        return ()

    def observe(
        self, key: Key[Array, ""], state: PyTree, t: Int[Array, ""], x: PyTree, y: PyTree, y_hat: PyTree
    ) -> PyTree:
        """Return the state after a round, computed from everything that happened in it; by default unchanged."""
        return state

    def check_specs(self, specs: Specs) -> None:
        """Raise a ValueError, when a game is made, if the feedback does not suit these instances and outcomes."""


class OracleDefaults:
    """Optional methods of an oracle."""

    def answers(self) -> Int[Array, ""]:
        """The number of answers that arrive in this round; by default 1, for an oracle that answers only this round."""
        return jnp.int32(1)


class ForwardsToLearner(LearnerDefaults):
    """Base of a learner that wraps `self.learner` and has the traits and optional methods of this wrapped learner.

    The subclass has `init`, `predict` and `update`, and overrides what differs from the wrapped learner.
    """

    learner: Any

    @property
    def traits(self) -> LearnerTraits:
        """Facts about the wrapped learner."""
        return traits_of(self.learner, LearnerTraits)

    def check_feedback(self, feedback: FeedbackTraits) -> None:
        """Run the method `check_feedback` of the wrapped learner."""
        method_of(self.learner, LearnerDefaults.check_feedback)(feedback)

    def overflow_probability(self, n_rounds: int) -> float | None:
        """Return the probability that a run of the wrapped learner runs out of storage."""
        return method_of(self.learner, LearnerDefaults.overflow_probability)(n_rounds)

    def weights(self, state: PyTree) -> Float[Array, "K"]:
        """Return the weights that the wrapped learner gives to its experts, if it has such a method."""
        return self.learner.weights(state)


def method_of(item: Any, default: Callable[..., Any]) -> Callable[..., Any]:
    """Return the object's own method with the name of a default implementation, or else this default.

    Example:
        >>> import jaxonline as jo
        >>> from jaxonline.game.defaults import FeedbackDefaults, method_of
        >>> method_of(jo.FullInformation(), FeedbackDefaults.init)(None, None, None)
        ()
    """
    return getattr(item, default.__name__) if overrides(item, default) else functools.partial(default, item)


def overrides(item: Any, default: Callable[..., Any]) -> bool:
    """Whether an object has its own method in place of a default implementation."""
    return getattr(type(item), default.__name__, default) is not default


def has_expected_outcomes(environment: Any) -> bool:
    """Whether the means of an environment's outcomes are known; a wrapper has those of the wrapped environment."""
    if isinstance(environment, ForwardsToEnvironment):
        return has_expected_outcomes(environment.environment)
    return overrides(environment, EnvironmentDefaults.expected_outcome)


def is_adaptive(feedback: Any) -> bool:
    """Whether the answers of a feedback may depend on earlier rounds (`FeedbackDefaults`)."""
    return overrides(feedback, FeedbackDefaults.observe)
