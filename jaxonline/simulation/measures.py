"""What is counted during a run: small pure objects, in the result under their names.

Cumulative loss and queries are always there; others are asked for: `simulate(..., measures=[Mistakes(), Pulls()])`. One
of your own is a struct with a `name`, `init`, `add` and `read` (`game.protocols.Measure`).
"""

from collections.abc import Callable, Iterable
from typing import Annotated, Any, ClassVar, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PyTree

from jaxonline.game import Draw, Round
from jaxonline.game.protocols import Measure
from jaxonline.linalg.compensated import Compensated
from jaxonline.losses import ZeroOne
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Component, Takes, Text
from jaxonline.results.statistics.variance_reduction import CONTROL, HALF_DIFFERENCE


@struct
class CumulativeLoss:
    """The sum of the losses, compensated."""

    name: ClassVar[str] = "cumulative_loss"

    def init(self, record: Round) -> Compensated:
        """An empty sum, in the dtype of the loss."""
        floating = jnp.issubdtype(record.loss.dtype, jnp.floating)
        return Compensated.zeros(jax.ShapeDtypeStruct((), record.loss.dtype if floating else jnp.result_type(float)))

    def add(self, carry: Compensated, t: Int[Array, ""], record: Round) -> Compensated:
        """With the loss of round t."""
        return carry.add(record.loss.astype(carry.total.dtype))

    def read(self, carry: Compensated) -> Compensated:
        """The sum."""
        return carry


@struct
class Queries:
    """The number of queries that the oracles charged."""

    name: ClassVar[str] = "queries"

    def init(self, record: Round) -> Int[Array, ""]:
        """None."""
        return jnp.int32(0)

    def add(self, carry: Int[Array, ""], t: Int[Array, ""], record: Round) -> Int[Array, ""]:
        """With those of round t."""
        return carry + record.queries

    def read(self, carry: Int[Array, ""]) -> Int[Array, ""]:
        """The number."""
        return carry


@struct
class Mistakes:
    """The number of rounds in which the move was wrong: those with a loss above 0.

    Args:
        loss: which loss, `ZeroOne()` by default: the sign of the move is not that of the label.

    Example:
        >>> import numpy as np
        >>> import jaxonline as jo
        >>> game = jo.Game(jo.environments.DataStream(np.eye(2), np.array([1.0, -1.0])), jo.FullInformation())
        >>> perceptron = jo.learners.Perceptron()
        >>> result = jo.simulate(game, perceptron, n_runs=1, n_rounds=6, record_at=1, measures=[jo.Mistakes()])
        >>> result.measures["mistakes"].tolist()
        [[[2.0]]]
    """

    loss: Annotated[Callable, Takes("(y_hat, y) (jaxonline.losses)"), Component("loss")] = ZeroOne()
    name: ClassVar[str] = "mistakes"

    def init(self, record: Round) -> Int[Array, ""]:
        """None."""
        return jnp.int32(0)

    def add(self, carry: Int[Array, ""], t: Int[Array, ""], record: Round) -> Int[Array, ""]:
        """One more where round t has a loss above 0."""
        return carry + (self.loss(record.y_hat, record.y) > 0).astype(jnp.int32)

    def read(self, carry: Int[Array, ""]) -> Int[Array, ""]:
        """The number."""
        return carry


@struct
class Pulls:
    """How often each arm was pulled [K]; outcomes are the vectors of the losses of all arms.

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
        """No pulls.

        Raises:
            TypeError: moves are no arms, or outcomes no vectors.
        """
        arm, outcome = _arm(record.y_hat), record.y
        if getattr(outcome, "ndim", None) != 1 or getattr(arm, "shape", None) != ():
            raise ArgumentTypeError(
                "measures", f"Pulls must have arms as moves and vectors as outcomes (got {record.y_hat} and {outcome})"
            )
        if not jnp.issubdtype(arm.dtype, jnp.integer):
            raise ArgumentTypeError("measures", f"Pulls must have integers as arms (got {arm.dtype})")
        return jnp.zeros(outcome.shape, jnp.int32)

    def add(self, carry: Int[Array, "K"], t: Int[Array, ""], record: Round) -> Int[Array, "K"]:
        """With the arm of round t."""
        return carry.at[_arm(record.y_hat)].add(1)

    def read(self, carry: Int[Array, "K"]) -> Int[Array, "K"]:
        """The numbers."""
        return carry


@struct
class Switches:
    """The number of rounds in which the move (the arm, where it is a `Draw`) was not that of the round before.

    Example:
        >>> import numpy as np
        >>> import jaxonline as jo
        >>> game = jo.Game(jo.environments.DataStream(np.eye(2), np.ones(2)), jo.FullInformation())
        >>> learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5)
        >>> result = jo.simulate(game, learner, n_runs=1, n_rounds=6, record_at=1, measures=[jo.Switches()])
        >>> result.measures["switches"].tolist()  # predictions are 0, 0, 1, 1, 1, 1
        [[[1.0]]]
    """

    name: ClassVar[str] = "switches"

    def init(self, record: Round) -> tuple[PyTree, Int[Array, ""]]:
        """No move yet."""
        last = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), _arm(record.y_hat))
        return last, jnp.int32(0)

    def add(
        self, carry: tuple[PyTree, Int[Array, ""]], t: Int[Array, ""], record: Round
    ) -> tuple[PyTree, Int[Array, ""]]:
        """One more where the move is another one; none in round 1."""
        last, number = carry
        move = _arm(record.y_hat)
        other = jax.tree.map(lambda a, b: jnp.any(a != b), move, last)
        changed = jnp.any(jnp.stack(jax.tree.leaves(other))) & (t > 1)
        return move, number + changed.astype(jnp.int32)

    def read(self, carry: tuple[PyTree, Int[Array, ""]]) -> Int[Array, ""]:
        """The number."""
        return carry[1]


@struct
class OfInfo:
    """An entry of the learner's diagnostics, over the rounds up to a recorded one.

    Args:
        field: of the learner's info, e.g. "gradient_norm".
        over_rounds: how the values of the rounds become one number.

    Example:
        >>> import numpy as np
        >>> import jaxonline as jo
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
        """The field, and what was taken of it."""
        return f"{self.field}, {self.over_rounds}"

    def init(self, record: Round) -> PyTree:
        """Nothing seen.

        Raises:
            ValueError: the learner's info has no such field, or it is no array.
        """
        known = getattr(record.info, "_fields", None)
        if known is None or self.field not in known:
            raise ArgumentError(
                "field", f"must be one of the learner's info, {known or record.info} (got {self.field!r})"
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
        """With the entry of round t."""
        value = getattr(record.info, self.field)
        if self.over_rounds in ("sum", "mean"):
            total, _ = carry
            return total.add(value.astype(total.total.dtype)), t
        value = value.astype(carry.dtype)
        return jnp.maximum(carry, value) if self.over_rounds == "max" else value

    def read(self, carry: PyTree) -> Any:
        """What was taken."""
        if self.over_rounds not in ("sum", "mean"):
            return carry
        total, t = carry
        if self.over_rounds == "sum":
            return total
        return jax.tree.map(lambda part: part / jnp.maximum(t, 1).astype(part.dtype), total)


def _arm(move: Any) -> Any:
    return move.arm if isinstance(move, Draw) else move


# what else a result has under a name
RESERVED = (
    "regret", "comparator_loss", "first_nonfinite", "first_overflow", "learner", "run", "round", "blocks",
    CONTROL, HALF_DIFFERENCE,
)  # fmt: skip
_NUMBERS = int | float | np.ndarray | np.generic | jax.Array


def with_defaults(extra: Iterable[Any]) -> dict[str, Any]:
    """Cumulative loss, queries, and the measures asked for, by name.

    Raises:
        TypeError: something is no measure, or a class where a measure of it is meant.
        ValueError: two measures have one name.
    """
    found: dict[str, Any] = {}
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
        if measure.name in RESERVED:
            raise ArgumentError(
                "measures", f"must have names of their own (got {measure.name!r}, which results have already)"
            )
        if measure.name in found:
            raise ArgumentError("measures", f"must have distinct names (got {measure.name!r} twice)")
        found[measure.name] = measure
    return found
