"""Measures: quantities that are updated in each round of a run, and appear in the result by name.

Cumulative loss and queries are always measured. Request other measures with `simulate(..., measures=[Mistakes(),
Pulls()])`. To write your own measure, define a struct with a `name` and the methods `init`, `add` and `read`
(`game.protocols.Measure`).
"""

from collections.abc import Callable, Iterable
from typing import Annotated, Any, ClassVar, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from jaxonline.game import Draw, Round
from jaxonline.game.roles import Measure
from jaxonline.losses import ZeroOne
from jaxonline.numerics.elementwise import Compensated
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Component, PyTree, Takes, Text
from jaxonline.results.quantities import LOSS_OF_REWARD, ROUNDS_PLAYED


@struct
class CumulativeLoss:
    """Cumulative loss, as a compensated sum."""

    name: ClassVar[str] = "cumulative_loss"

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

    name: ClassVar[str] = "queries"

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

    name: ClassVar[str] = ROUNDS_PLAYED

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
    name: ClassVar[str] = "mistakes"

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

    name: ClassVar[str] = "pulls"

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

    name: ClassVar[str] = "switches"

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

    name: ClassVar[str] = "unanswered"

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
    "regret", "comparator_loss", "first_nonfinite", "first_overflow", "learner", "run", "round", "blocks",
    *LOSS_OF_REWARD,
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
