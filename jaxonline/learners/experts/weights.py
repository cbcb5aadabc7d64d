"""Weights of experts: the base class of combiners, cumulative losses, and functions of vectors of weights."""

from typing import Annotated, Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Key

from jaxonline.game.roles import Learner, Specs
from jaxonline.numerics.elementwise import Compensated
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.types import Component, Convert, PyTree

# ---------------------------------------------------------------------------------------------------------------------
# Ranges of labels and losses that a learner assumes.


def nan_outside(y: Array, low: ArrayLike, high: ArrayLike) -> Array:
    """Return `y`, with NaN for values outside [low, high]."""
    return jnp.where((y >= low) & (y <= high), y, jnp.nan)


def check_range(low: ArrayLike, high: ArrayLike) -> None:
    """Raise a ValueError if `high` is not above `low`."""
    least, most = check.concrete_array(low), check.concrete_array(high)
    if least is not None and most is not None and not (most > least).all():
        raise ArgumentError("high", f"must be above low (got low={least:g} and high={most:g})")


# ---------------------------------------------------------------------------------------------------------------------
# Base classes of learners whose outcomes are vectors with one entry for each expert or arm.


def vector_length(name: str, spec: PyTree) -> int:
    """Return the number of entries; raise a ValueError if the `name` (instances or outcomes) are not vectors."""
    shape = getattr(spec, "shape", None)
    if shape is None or len(shape) != 1:
        raise ArgumentError(name, f"must be vectors with an entry for each expert or arm (got shape {shape})")
    return shape[0]


def check_prescribed_number(name: str, prescribed: int | None, number: int) -> None:
    """Check that the game has the number of experts or arms for which a rate was chosen; None for any number."""
    if prescribed not in (None, number):
        raise ArgumentError(name, f"must be {number}, the number of experts or arms in this game (got {prescribed})")


class CombinerLearner(Learner):
    """Base of a learner that passes losses or estimates to a combiner; a subclass implements `update`."""

    combiner: Any

    @property
    def loss_range(self) -> tuple[float, float] | None:
        """The range of losses that the combiner's theorem needs."""
        return getattr(self.combiner, "loss_range", None)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> PyTree:
        """Return the combiner's state for vectors of losses; raise a ValueError if outcomes are not vectors."""
        return self.combiner.init(vector_length("outcomes", specs.outcome), specs.outcome.dtype)

    def predict(self, key: Key[Array, ""] | None, state: PyTree, x: Any) -> Any:
        """Return the weights of the experts."""
        return self.weights(state)

    def weights(self, state: PyTree) -> Float[Array, "K"]:
        """Return the combiner's weights of the next round."""
        return self.combiner.weights(state)


# ---------------------------------------------------------------------------------------------------------------------
# Normalised weights of experts.


LARGEST_EXPONENT = 80.0  # of a positive exponent, a rounding error of large sums


def softmax_weights(log_weights: Float[Array, "K"]) -> Float[Array, "K"]:
    """Return weights proportional to exp(log_weights), without overflow; uniform weights if all weights are zero."""
    top = jnp.max(log_weights)
    weights = jnp.exp(log_weights - jnp.where(jnp.isfinite(top), top, 0.0))
    return _divide_or_uniform(weights)


def weights_of_sums(sums: Compensated, eta: ArrayLike) -> Float[Array, "K"]:
    """Return weights proportional to exp(-eta sums)."""
    differences = excess(sums)  # from the smallest sum, so that exponents are at most about 0
    exponents = -jnp.asarray(eta, differences.dtype) * differences
    return _divide_or_uniform(jnp.exp(jnp.minimum(exponents, LARGEST_EXPONENT)))


def divide_by_sum(weights: Float[Array, "K"]) -> Float[Array, "K"]:
    """Return non-negative weights divided by their sum; uniform weights if all weights are zero."""
    return _divide_or_uniform(weights / jnp.where(jnp.max(weights) > 0, jnp.max(weights), 1.0))


def _divide_or_uniform(weights: Float[Array, "K"]) -> Float[Array, "K"]:
    total = jnp.sum(weights)
    return jnp.where(
        total == 0, jnp.full_like(weights, 1.0 / len(weights)), weights / jnp.where(total == 0, 1.0, total)
    )


# ---------------------------------------------------------------------------------------------------------------------
# Long sums of the losses of K experts: compensated, so that millions of rounds do not lose the small losses.


def zero_sums(n_experts: int, dtype: Any) -> Compensated:
    """Return the sums [K] before round 1."""
    return Compensated.zeros(jax.ShapeDtypeStruct((n_experts,), dtype))


def add_losses(sums: Compensated, losses: Float[Array, "K"]) -> Compensated:
    """Return the sums after one more round; an infinite sum stays infinite."""
    total, correction = sums.add(losses)
    return Compensated(total, jnp.where(jnp.isinf(total), 0.0, correction))


def excess(sums: Compensated) -> Float[Array, "K"]:
    """Return the sums minus a number close to the smallest sum: the differences of the sums lose no digits."""
    least = jnp.min(sums.total)
    return (sums.total - jnp.where(least == jnp.inf, 0.0, least)) - sums.correction


# ---------------------------------------------------------------------------------------------------------------------
# Combiners: weights of K experts from their losses, for learners such as `OverAdvice`, `Hedge` and `EXP3`.


@runtime_checkable
class Combiner(Protocol):
    """Protocol of combiners: three functions give weights of experts; `loss_range` declares the range of the losses."""

    def init(self, n_experts: int, dtype: Any) -> PyTree:
        """Return the state before round 1."""
        ...

    def weights(self, state: PyTree) -> Float[Array, "K"]:
        """Return the weights of the next round, which are not negative and have the sum 1."""
        ...

    def update(self, state: PyTree, losses: Float[Array, "K"], own_loss: Float[Array, ""]) -> PyTree:
        """Return the next state, from the losses of the experts and the loss of the move."""
        ...


class SumsCombiner:
    """Base class of combiners with compensated sums of the losses [K] as state; a subclass implements `weights`."""

    def init(self, n_experts: int, dtype: Any) -> Compensated:
        """Return zeros."""
        return zero_sums(n_experts, dtype)

    def update(self, state: Compensated, losses: Float[Array, "K"], own_loss: ArrayLike) -> Compensated:
        """Add the losses to the state."""
        return add_losses(state, losses)


def require_combiner(combiner: Any, name: str, wanted: str = "a combiner (init, weights, update)") -> Any:
    """Return the combiner; raise a TypeError for any other object, also for a learner that is built on a combiner."""
    return check.instance(name, combiner, isinstance(combiner, Combiner) and not isinstance(combiner, Learner), wanted)


AnyCombiner = Annotated[Any, Component("combiner"), Convert(require_combiner)]


def arm_unless_nan(arm: Array, scores: Float[Array, "K"]) -> Array:
    """Return the arm; if a score is NaN, return K, an arm that does not exist and has the loss NaN."""
    return jnp.where(jnp.any(jnp.isnan(scores)), len(scores), arm).astype(jnp.int32)
