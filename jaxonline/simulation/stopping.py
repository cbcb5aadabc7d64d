"""Measures for learners that stop and recommend an arm (`learners.bandits.best_arm.Recommendation`)."""

import abc
from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxonline.game import Round
from jaxonline.parameters.struct import struct


class _LastRecommendation(abc.ABC):
    """Base class of measures of the recommended arm; they need the arms' mean losses (`Game(pseudo=True)`)."""

    def init(self, record: Round) -> Float[Array, ""]:
        """Return NaN, the value before the first recommendation.

        Raises:
            TypeError: the learner recommends no arm, or outcomes are not vectors of losses.
        """
        _field(self, record, "recommendation")
        if getattr(record.y_comparator, "ndim", None) != 1:
            raise TypeError(f"{type(self).__name__} needs losses of arms as outcomes (got {record.y_comparator})")
        return jnp.float32(jnp.nan)

    def add(self, carry: Float[Array, ""], t: Int[Array, ""], record: Round) -> Float[Array, ""]:
        """Return the measure's value for the arm that is recommended in round t."""
        return self.of_excess(_excess_loss(record)).astype(jnp.float32)

    def read(self, carry: Float[Array, ""]) -> Float[Array, ""]:
        """The value."""
        return carry

    @abc.abstractmethod
    def of_excess(self, excess: Float[Array, ""]) -> Array:
        """Return the measure's value for an arm whose mean loss exceeds the smallest mean loss by `excess`."""


@struct
class SimpleRegret(_LastRecommendation):
    """Mean loss of the recommended arm minus the mean loss of the best arm, in games with `pseudo=True`.

    Example:
        >>> import jaxonline as jo
        >>> arms = jo.environments.BernoulliArms([0.9, 0.1])
        >>> game = jo.Game(arms, jo.Bandit(), loss=jo.losses.ArmLoss(), pseudo=True)
        >>> learner, measures = jo.learners.SequentialHalving(20), [jo.SimpleRegret()]
        >>> result = jo.simulate(game, learner, n_runs=1, n_rounds=20, record_at=[20], measures=measures)
        >>> result.measures["simple_regret"].tolist()
        [[[0.0]]]
    """

    name: ClassVar[str] = "simple_regret"

    def of_excess(self, excess: Float[Array, ""]) -> Array:
        """Return the excess mean loss itself."""
        return excess


@struct
class WrongRecommendation(_LastRecommendation):
    """Whether the recommended arm is wrong: 1 if it is not a best arm, otherwise 0, in games with `pseudo=True`.

    The mean of this measure over runs estimates a probability, for which `jo.intervals.ClopperPearson()` gives the
    exact interval.

    Example:
        >>> import jaxonline as jo
        >>> arms = jo.environments.BernoulliArms([0.9, 0.1])
        >>> game = jo.Game(arms, jo.Bandit(), loss=jo.losses.ArmLoss(), pseudo=True)
        >>> learner, measures = jo.learners.SequentialHalving(20), [jo.WrongRecommendation()]
        >>> result = jo.simulate(game, learner, n_runs=1, n_rounds=20, record_at=[20], measures=measures)
        >>> result.measures["wrong_recommendation"].tolist()
        [[[0.0]]]
    """

    name: ClassVar[str] = "wrong_recommendation"

    def of_excess(self, excess: Float[Array, ""]) -> Array:
        """Return whether the excess mean loss is above 0."""
        return excess > 0


@struct
class StoppingRound:
    """Round after which a run stopped; infinity for a run that has not stopped (a censored run).

    If a run is censored, the mean over runs is infinite, so that censored runs are never averaged silently.

    Example:
        >>> import jaxonline as jo
        >>> game = jo.Game(jo.environments.BernoulliArms([0.9, 0.1]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> learner, measures = jo.learners.SequentialHalving(20), [jo.StoppingRound()]
        >>> result = jo.simulate(game, learner, n_runs=1, n_rounds=30, record_at=[10, 30], measures=measures)
        >>> result.measures["stopping_round"].tolist()
        [[[inf, 20.0]]]
    """

    name: ClassVar[str] = "stopping_round"

    def init(self, record: Round) -> Float[Array, ""]:
        """Return infinity, the value of a run that has not stopped.

        Raises:
            TypeError: the learner never stops.
        """
        _field(self, record, "stopped")
        return jnp.float32(jnp.inf)

    def add(self, carry: Float[Array, ""], t: Int[Array, ""], record: Round) -> Float[Array, ""]:
        """Return t if the run stops in round t, and otherwise the earlier value."""
        return jnp.where(record.info.stopped & jnp.isinf(carry), t.astype(jnp.float32), carry)

    def read(self, carry: Float[Array, ""]) -> Float[Array, ""]:
        """The round."""
        return carry


def _excess_loss(record: Round) -> Float[Array, ""]:
    means = record.y_comparator
    return means[record.info.recommendation] - jnp.min(means)


def _field(measure: Any, record: Round, name: str) -> None:
    if not hasattr(record.info, name):
        raise TypeError(f"{type(measure).__name__} needs a learner with {name!r} in its info (got {record.info})")
