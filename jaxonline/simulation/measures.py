"""Measures: quantities that are counted during a run and recorded, also of thresholds and of learners that stop."""

import abc
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jaxonline.game import Draw, Round
from jaxonline.game.roles import Measure
from jaxonline.losses import ZeroOne
from jaxonline.numerics.elementwise import Compensated
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Component, Count, Interval, Number, PyTree, Takes, Text
from jaxonline.results.quantities import LOSS_OF_REWARD, ROUNDS_PLAYED

# ---------------------------------------------------------------------------------------------------------------------
# Measures: quantities that are updated in each round of a run, and appear in the result by name.
#
# Cumulative loss and queries are always measured. Request other measures with `simulate(..., measures=[Mistakes(),
# Pulls()])`. To write your own measure, define a struct with a `name` and the methods `init`, `add` and `read`
# (`game.protocols.Measure`).


@struct
class CumulativeLoss:
    """Cumulative loss, as a compensated sum."""

    name = "cumulative_loss"

    def init(self, record: Round) -> Compensated:
        """Return the sum before round 1, which is 0 in the dtype of the loss."""
        floating = jnp.issubdtype(record.loss.dtype, jnp.floating)
        return Compensated.zeros(jax.ShapeDtypeStruct((), record.loss.dtype if floating else jnp.result_type(float)))

    def add(self, carry: Compensated, t: Int[Array, ""], record: Round) -> Compensated:
        """Add the loss of round t."""
        return carry.add(record.loss.astype(carry.total.dtype))

    def read(self, carry: Compensated) -> Compensated:
        """Return the sum."""
        return carry


@struct
class Queries:
    """Number of queries charged by the oracles."""

    name = "queries"

    def init(self, record: Round) -> Int[Array, ""]:
        """Return 0."""
        return jnp.int32(0)

    def add(self, carry: Int[Array, ""], t: Int[Array, ""], record: Round) -> Int[Array, ""]:
        """Add the queries of round t."""
        return carry + record.queries

    def read(self, carry: Int[Array, ""]) -> Int[Array, ""]:
        """Return the number."""
        return carry


@struct
class RoundsPlayed:
    """Number of played rounds, which is smaller than the round in a run that has stopped.

    Studies of arms with rewards have this measure if a learner can stop, as no reward is earned after the stop.

    Example:
        >>> import jaxonline as jo
        >>> game, learner = jo.bandit_game([0.2, 0.8]), jo.learners.SequentialHalving(6)
        >>> measures = [jo.measures.RoundsPlayed()]
        >>> result = jo.simulate(game, learner, n_runs=1, n_rounds=20, record_at=2, measures=measures)
        >>> result.measures["rounds_played"].tolist()
        [[[6.0, 6.0]]]
    """

    name = ROUNDS_PLAYED

    def init(self, record: Round) -> Int[Array, ""]:
        """Return 0."""
        return jnp.int32(0)

    def add(self, carry: Int[Array, ""], t: Int[Array, ""], record: Round) -> Int[Array, ""]:
        """Return t; the simulator adds no round after the run has stopped."""
        return t

    def read(self, carry: Int[Array, ""]) -> Int[Array, ""]:
        """Return the number."""
        return carry


@struct
class Mistakes:
    """Number of mistakes: rounds with a loss above 0.

    Args:
        loss: the loss that counts; the default `ZeroOne()` is above 0 if prediction and label differ in sign.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> game = jo.Game(jo.environments.DataStream(np.eye(2), np.array([1.0, -1.0])), jo.FullInformation())
        >>> perceptron = jo.learners.Perceptron()
        >>> result = jo.simulate(game, perceptron, n_runs=1, n_rounds=6, record_at=1, measures=[jo.Mistakes()])
        >>> result.measures["mistakes"].tolist()
        [[[2.0]]]
    """

    loss: Annotated[Callable[..., Any], Takes("(y_hat, y) (jaxonline.losses)"), Component("loss")] = ZeroOne()
    name = "mistakes"

    def init(self, record: Round) -> Int[Array, ""]:
        """Return 0."""
        return jnp.int32(0)

    def add(self, carry: Int[Array, ""], t: Int[Array, ""], record: Round) -> Int[Array, ""]:
        """Add 1 if round t has a loss above 0."""
        return carry + (self.loss(record.y_hat, record.y) > 0).astype(jnp.int32)

    def read(self, carry: Int[Array, ""]) -> Int[Array, ""]:
        """Return the number."""
        return carry


@struct
class Pulls:
    """Number of pulls of each arm [K], for games with K arms; a move is an arm, a set of arms, or a pair of arms.

    Example:
        >>> import jaxonline as jo
        >>> game = jo.Game(jo.environments.BernoulliArms([0.2, 0.8]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> learner = jo.learners.EXP3(0.1)
        >>> result = jo.simulate(game, learner, n_runs=2, n_rounds=50, record_at=1, measures=[jo.Pulls()])
        >>> result.measures["pulls"].shape, result.measures["pulls"].sum(axis=-1).tolist()
        ((1, 2, 1, 2), [[[50.0], [50.0]]])
    """

    name = "pulls"

    def init(self, record: Round) -> Int[Array, "K"]:
        """Return zeros; TypeError unless moves are arms, and outcomes are vectors or matrices with an entry per arm."""
        arm, outcome = _arm_of(record.y_hat), record.y
        if getattr(outcome, "ndim", None) not in (1, 2) or getattr(arm, "ndim", None) not in (0, 1):
            raise ArgumentTypeError(
                "measures", f"Pulls must have arms as moves and vectors as outcomes (got {record.y_hat} and {outcome})"
            )
        if not jnp.issubdtype(arm.dtype, jnp.integer):
            raise ArgumentTypeError("measures", f"Pulls must have integers as arms (got {arm.dtype})")
        return jnp.zeros(outcome.shape[:1], jnp.int32)

    def add(self, carry: Int[Array, "K"], t: Int[Array, ""], record: Round) -> Int[Array, "K"]:
        """Count the arm, or all arms, that the learner pulls in round t."""
        return carry.at[_arm_of(record.y_hat)].add(1)

    def read(self, carry: Int[Array, "K"]) -> Int[Array, "K"]:
        """Return the numbers."""
        return carry


@struct
class Switches:
    """Number of switches: rounds whose move (the arm of a `Draw`) differs from the move of the previous round.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> game = jo.Game(jo.environments.DataStream(np.eye(2), np.ones(2)), jo.FullInformation())
        >>> learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5)
        >>> result = jo.simulate(game, learner, n_runs=1, n_rounds=6, record_at=1, measures=[jo.Switches()])
        >>> result.measures["switches"].tolist()  # predictions are 0, 0, 1, 1, 1, 1
        [[[1.0]]]
    """

    name = "switches"

    def init(self, record: Round) -> tuple[PyTree, Int[Array, ""]]:
        """Return the initial state: a placeholder for the previous move, and 0 switches."""
        last = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), _arm_of(record.y_hat))
        return last, jnp.int32(0)

    def add(
        self, carry: tuple[PyTree, Int[Array, ""]], t: Int[Array, ""], record: Round
    ) -> tuple[PyTree, Int[Array, ""]]:
        """Add 1 if the move of round t differs from the move of round t - 1."""
        last, number = carry
        move = _arm_of(record.y_hat)
        differs = jax.tree.map(lambda a, b: jnp.any(a != b), move, last)
        changed = jnp.any(jnp.stack(jax.tree.leaves(differs))) & (t > 1)
        return move, number + changed.astype(jnp.int32)

    def read(self, carry: tuple[PyTree, Int[Array, ""]]) -> Int[Array, ""]:
        """Return the number."""
        return carry[1]


@struct
class Unanswered:
    """Number of rounds whose answers have not arrived yet, under delayed feedback (`feedback.Delayed`).

    Example:
        >>> import jaxonline as jo
        >>> arms = jo.environments.BernoulliArms([0.2, 0.8])
        >>> game = jo.Game(arms, jo.Delayed(jo.Bandit(), delay=3), loss=jo.losses.ArmLoss())
        >>> learner = jo.learners.UpdateOnArrival(jo.learners.UCB1())
        >>> measures = [jo.Unanswered()]
        >>> result = jo.simulate(game, learner, n_runs=1, n_rounds=9, record_at=[1, 9], measures=measures)
        >>> result.measures["unanswered"].tolist()
        [[[1.0, 3.0]]]
    """

    name = "unanswered"

    def init(self, record: Round) -> Int[Array, ""]:
        """Zero."""
        return jnp.int32(0)

    def add(self, carry: Int[Array, ""], t: Int[Array, ""], record: Round) -> Int[Array, ""]:
        """Add 1 for round t, and subtract the answers that arrive in it."""
        return carry + 1 - record.answers

    def read(self, carry: Int[Array, ""]) -> Int[Array, ""]:
        """The number."""
        return carry


@struct
class OfInfo:
    """An entry of the learner's info (its diagnostics), aggregated over the rounds played so far.

    Args:
        field: name of the entry, e.g. "gradient_norm".
        over_rounds: how to aggregate the entry over the rounds.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> game = jo.Game(jo.environments.DataStream(np.eye(2), np.ones(2)), jo.FullInformation())
        >>> learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5)
        >>> measures = [jo.OfInfo("gradient_norm", "sum")]
        >>> result = jo.simulate(game, learner, n_runs=1, n_rounds=6, record_at=1, measures=measures)
        >>> result.measures["gradient_norm, sum"].tolist()
        [[[4.0]]]
    """

    field: Text = static()
    over_rounds: Literal["last", "sum", "mean", "max"] = static(default="mean")

    @property
    def name(self) -> str:
        """The name of the measure: the field and the aggregation, such as "gradient_norm, mean"."""
        return f"{self.field}, {self.over_rounds}"

    def init(self, record: Round) -> PyTree:
        """Return the aggregate before round 1; raise ValueError if the learner's info has no array of this name."""
        known = getattr(record.info, "_fields", None)
        if known is None or self.field not in known:
            raise ArgumentError(
                "field", f"must be an entry of the learner's info, {known or record.info} (got {self.field!r})"
            )
        spec = getattr(record.info, self.field)
        if not isinstance(spec, jax.ShapeDtypeStruct):
            raise ArgumentError(
                "field", f"must be an array in the learner's info (got {self.field!r}, which is {spec})"
            )
        exact = spec.dtype if jnp.issubdtype(spec.dtype, jnp.floating) else jnp.result_type(float)
        if self.over_rounds in ("sum", "mean"):
            return Compensated.zeros(jax.ShapeDtypeStruct(spec.shape, exact)), jnp.int32(0)
        return jnp.full(spec.shape, -jnp.inf if self.over_rounds == "max" else 0, exact)

    def add(self, carry: PyTree, t: Int[Array, ""], record: Round) -> PyTree:
        """Include the entry of round t in the aggregate."""
        value = getattr(record.info, self.field)
        if self.over_rounds in ("sum", "mean"):
            total, _ = carry
            return total.add(value.astype(total.total.dtype)), t
        value = value.astype(carry.dtype)
        return jnp.maximum(carry, value) if self.over_rounds == "max" else value

    def read(self, carry: PyTree) -> Any:
        """Return the aggregate."""
        if self.over_rounds not in ("sum", "mean"):
            return carry
        total, t = carry
        if self.over_rounds == "sum":
            return total
        return jax.tree.map(lambda leaf: leaf / jnp.maximum(t, 1).astype(leaf.dtype), total)


def _arm_of(move: Any) -> Any:
    return move.arm if isinstance(move, Draw) else move


RESERVED_NAMES = (  # other entries of a result
    "regret", "comparator_loss", "first_nonfinite", "first_overflow", "first_out_of_range", "learner", "run", "round",
    "blocks", *LOSS_OF_REWARD,
)  # fmt: skip
_NUMBERS = int | float | np.ndarray | np.generic | jax.Array


def with_defaults(extra: Iterable[Any]) -> dict[str, Any]:
    """Return the measures by name: cumulative loss, queries, and the given measures.

    Raises:
        TypeError: an entry is not a measure, or is a class instead of an instance.
        ValueError: two measures have the same name.
    """
    by_name: dict[str, Any] = {}
    defaults: tuple[Any, ...] = CumulativeLoss(), Queries()
    if isinstance(extra, Measure) or not isinstance(extra, Iterable) or isinstance(extra, str):
        raise ArgumentTypeError("measures", f"must be a list of measures (got {check.quote(extra)})")
    for measure in (*defaults, *extra):
        if isinstance(measure, type) or not isinstance(measure, Measure):
            raise ArgumentTypeError(
                "measures",
                f"must have name, init, add and read (jaxonline.measures) (got {check.quote(measure)})",
            )
        if not all(isinstance(leaf, _NUMBERS) for leaf in jax.tree.leaves(measure)):
            raise ArgumentTypeError("measures", f"must be structs (jaxonline.struct) (got {check.quote(measure)})")
        if measure.name in RESERVED_NAMES:
            raise ArgumentError(
                "measures", f"must have other names than the entries of a result (got {measure.name!r})"
            )
        if measure.name in by_name:
            raise ArgumentError("measures", f"must have distinct names (got {measure.name!r} twice)")
        by_name[measure.name] = measure
    return by_name


# ---------------------------------------------------------------------------------------------------------------------
# Measures of the coverage of prediction sets: the fraction of outcomes that are at most the move, a threshold.


@struct
class Coverage:
    """Coverage: the fraction of the last rounds whose outcome is at most the move, a threshold.

    `GradientLearner` with the gradient of the loss `Pinball` learns such a threshold.

    Args:
        window: number of last rounds; the name of the measure is "coverage_of_last_W" for a window W. Before round W
            the measure is the coverage of all rounds.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> scores = jo.environments.DataStream(np.ones((4, 1)), np.array([0.5, 2.0, 0.5, 0.5]))
        >>> pinball = jo.losses.Pinball(0.5)
        >>> game = jo.Game(scores, jo.FullInformation(), pinball)
        >>> learner = jo.GradientLearner(jo.estimators.FullGradient(pinball), step_size=2.0)
        >>> result = jo.simulate(game, learner, n_runs=1, n_rounds=4, record_at=[2, 4], measures=[jo.Coverage(2)])
        >>> result.measures["coverage_of_last_2"].tolist()
        [[[0.0, 1.0]]]
    """

    window: Count = static()

    @property
    def name(self) -> str:
        """The name "coverage_of_last_W"."""
        return f"coverage_of_last_{self.window}"

    def init(self, record: Round) -> tuple[Bool[Array, "W"], Int[Array, ""]]:
        """Return whether each of the last W rounds is covered (none so far), and the number of rounds."""
        return jnp.zeros(self.window, bool), jnp.int32(0)

    def add(
        self, carry: tuple[Bool[Array, "W"], Int[Array, ""]], t: Int[Array, ""], record: Round
    ) -> tuple[Bool[Array, "W"], Int[Array, ""]]:
        """Replace the oldest round."""
        return carry[0].at[(t - 1) % self.window].set(record.y <= record.y_hat), t

    def read(self, carry: tuple[Bool[Array, "W"], Int[Array, ""]]) -> Float[Array, ""]:
        """Return the fraction."""
        covered, t = carry
        dtype = jnp.result_type(float)
        return jnp.sum(covered).astype(dtype) / jnp.clip(t, 1, self.window).astype(dtype)


@struct
class CoverageError:
    """Error of the coverage: |fraction of all rounds whose outcome is above the threshold - alpha|.

    Args:
        alpha: fraction of outcomes that the threshold may miss.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> scores = jo.environments.DataStream(np.ones((4, 1)), np.array([0.5, 2.0, 0.5, 0.5]))
        >>> pinball = jo.losses.Pinball(0.5)
        >>> game = jo.Game(scores, jo.FullInformation(), pinball)
        >>> learner = jo.GradientLearner(jo.estimators.FullGradient(pinball), step_size=2.0)
        >>> measures = [jo.CoverageError(0.5)]
        >>> result = jo.simulate(game, learner, n_runs=1, n_rounds=4, record_at=[1, 4], measures=measures)
        >>> result.measures["coverage_error"].tolist()
        [[[0.5, 0.0]]]
    """

    alpha: Annotated[Number, Interval(gt=0, lt=1)]
    name = "coverage_error"

    def init(self, record: Round) -> tuple[Int[Array, ""], Int[Array, ""]]:
        """Return the numbers of misses and of rounds, 0."""
        return jnp.int32(0), jnp.int32(0)

    def add(
        self, carry: tuple[Int[Array, ""], Int[Array, ""]], t: Int[Array, ""], record: Round
    ) -> tuple[Int[Array, ""], Int[Array, ""]]:
        """Add 1 if the outcome is above the threshold."""
        return carry[0] + (record.y > record.y_hat).astype(jnp.int32), t

    def read(self, carry: tuple[Int[Array, ""], Int[Array, ""]]) -> Float[Array, ""]:
        """Return the error."""
        misses, t = carry
        dtype = jnp.result_type(float)
        return jnp.abs(misses.astype(dtype) / jnp.maximum(t, 1).astype(dtype) - jnp.asarray(self.alpha, dtype))


# ---------------------------------------------------------------------------------------------------------------------
# Measures for learners that stop and recommend an arm (`learners.bandits.best_arm.Recommendation`).


class _LastRecommendation(abc.ABC):
    """Base class of measures of the recommended arm; they need the arms' mean losses (`Game(pseudo=True)`)."""

    def init(self, record: Round) -> Float[Array, ""]:
        """Return NaN, the value before the first recommendation.

        Raises:
            TypeError: the learner recommends no arm, or outcomes are not vectors of losses.
        """
        _arm_field(self, record, "recommendation")
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

    name = "simple_regret"

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

    name = "wrong_recommendation"

    def of_excess(self, excess: Float[Array, ""]) -> Array:
        """Return whether the excess mean loss is above 0."""
        return excess > 0


@struct
class WrongSides:
    """Whether an arm is on the wrong side of the threshold of `learners.APT`, in games with `pseudo=True`.

    Arms whose mean is within the learner's tolerance of the threshold are never wrong. The mean of this measure over
    runs estimates a probability, for which `jo.intervals.ClopperPearson()` gives the exact interval.

    Example:
        >>> import jaxonline as jo
        >>> arms = jo.environments.BernoulliArms([0.9, 0.1])
        >>> game = jo.Game(arms, jo.Bandit(), loss=jo.losses.ArmLoss(), pseudo=True)
        >>> learner, measures = jo.learners.APT(20, threshold=0.5), [jo.WrongSides()]
        >>> result = jo.simulate(game, learner, n_runs=1, n_rounds=20, record_at=[20], measures=measures)
        >>> result.measures["wrong_sides"].tolist()
        [[[0.0]]]
    """

    name = "wrong_sides"

    def init(self, record: Round) -> Float[Array, ""]:
        """Return NaN, the value before the first round.

        Raises:
            TypeError: the learner sorts no arms, or outcomes are not vectors of losses.
        """
        _arm_field(self, record, "above")
        return jnp.float32(jnp.nan)

    def add(self, carry: Float[Array, ""], t: Int[Array, ""], record: Round) -> Float[Array, ""]:
        """Return 1 if an arm is on the wrong side after round t."""
        distance = record.y_comparator - record.info.threshold
        sides = (distance >= 0.0) == record.info.above
        return jnp.any(~sides & (jnp.abs(distance) > record.info.tolerance)).astype(jnp.float32)

    def read(self, carry: Float[Array, ""]) -> Float[Array, ""]:
        """The value."""
        return carry


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

    name = "stopping_round"

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


def _arm_field(measure: Any, record: Round, name: str) -> None:
    _field(measure, record, name)
    if getattr(record.y_comparator, "ndim", None) != 1:
        raise TypeError(f"{type(measure).__name__} needs losses of arms as outcomes (got {record.y_comparator})")


def _field(measure: Any, record: Round, name: str) -> None:
    if not hasattr(record.info, name):
        raise TypeError(f"{type(measure).__name__} needs a learner with {name!r} in its info (got {record.info})")
