"""Step sizes as functions of the round, and optax optimizers."""

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from annotated_types import Gt
from jaxtyping import Array, Float, Int

from jaxonline.parameters import check
from jaxonline.parameters.closures import build_cached, intern_functions
from jaxonline.parameters.errors import ArgumentTypeError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import set_field, static, struct
from jaxonline.parameters.types import Component, Convert, Positive, Rounds, Takes

# ---------------------------------------------------------------------------------------------------------------------
# Step sizes: functions of the round t = 1, 2, ... whose value multiplies the optimiser's update.


@struct
class Constant:
    """Constant step size. `Constant.over_horizon(eta, n_rounds)` is eta / sqrt(T).

    Example:
        >>> from jaxonline.learners import Constant
        >>> Constant.over_horizon(2.0, n_rounds=100).value
        0.2
    """

    value: Positive

    @classmethod
    @validate_arguments
    def over_horizon(cls, eta: Positive, n_rounds: Rounds) -> "Constant":
        """Return the step size eta / sqrt(T) of the theorems, for a horizon known in advance."""
        return cls(float(eta / np.sqrt(n_rounds)))

    def __call__(self, t: Int[Array, ""], dtype: Any) -> Float[Array, ""]:
        """Return the step size of round t."""
        return jnp.asarray(self.value, dtype)


@struct
class InverseSqrt:
    """Step size eta / sqrt(t), for an unknown horizon.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.learners import InverseSqrt
        >>> InverseSqrt(2.0)(jnp.int32(100), jnp.float32).item()
        0.20000000298023224
    """

    eta: Positive

    def __call__(self, t: Int[Array, ""], dtype: Any) -> Float[Array, ""]:
        """Return the step size of round t."""
        return jnp.asarray(self.eta, dtype) / jnp.sqrt(t.astype(dtype))


@struct
class InverseTime:
    """Step size eta / t, for strongly convex losses: 1 / (lambda t) if the loss contains lambda |w|^2 / 2.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.learners import InverseTime
        >>> InverseTime(2.0)(jnp.int32(8), jnp.float32).item()
        0.25
    """

    eta: Positive

    def __call__(self, t: Int[Array, ""], dtype: Any) -> Float[Array, ""]:
        """Return the step size of round t."""
        return jnp.asarray(self.eta, dtype) / t.astype(dtype)


@struct
class Schedule:
    """An optax schedule times a scale: the step size of round t is scale * schedule(t - 1), since optax counts from 0.

    Args:
        schedule: any optax schedule, a function of the number of earlier updates.
        scale: a factor of the schedule that a sweep can vary.

    Example:
        >>> import jax.numpy as jnp, optax
        >>> from jaxonline.learners import Schedule
        >>> Schedule(optax.exponential_decay(0.1, 100, 0.5))(jnp.int32(101), jnp.float32).item()
        0.05000000074505806
    """

    schedule: Annotated[Callable[..., Any], Takes("the step count"), Component("schedule")] = static()
    scale: Positive = 1.0

    def __post_init__(self) -> None:
        try:
            with jax.numpy_dtype_promotion("standard"):  # optax divides counts by floats
                step = jax.eval_shape(self.schedule, jax.ShapeDtypeStruct((), jnp.int32))
        except (TypeError, ValueError) as error:
            shown = check.quote(self.schedule)
            raise ArgumentTypeError(
                "schedule", f"must be a function of the step count alone (got {shown}); {error}"
            ) from error
        if getattr(step, "shape", None) != ():
            raise ArgumentTypeError("schedule", f"must return a number (got the shape {getattr(step, 'shape', None)})")
        set_field(self, "schedule", intern_functions(self.schedule))

    def __call__(self, t: Int[Array, ""], dtype: Any) -> Float[Array, ""]:
        """Return the step size of round t."""
        return jnp.asarray(self.scale, dtype) * jnp.asarray(self.schedule(t - 1), dtype)


def as_step_size(step_size: Any, name: str = "step_size") -> Any:
    """Convert a number to `Constant` and a function (an optax schedule) to `Schedule`; return a step size unchanged."""
    if isinstance(step_size, Constant | InverseSqrt | InverseTime | Schedule):
        return step_size
    if callable(step_size) or isinstance(step_size, type):
        return Schedule(check.function(name, step_size, "the step count, or a number"))
    if isinstance(step_size, optax.GradientTransformation):
        raise ArgumentTypeError(name, "must be a number or a schedule (got an optax optimiser); pass it as optimizer=")
    return Constant(check.positive(name, step_size))


StepSize = Annotated[Any, Component("step size", "schedule", number=True), Gt(0), Convert(as_step_size)]
"""A step size, a number (becomes `Constant`) or an optax schedule (becomes `Schedule`)."""


# ---------------------------------------------------------------------------------------------------------------------
# Optimisers: optax transformations of the gradient.


def as_optimizer(optimizer: Any, name: str = "optimizer") -> optax.GradientTransformation:
    """Return the optax transformation, or what a given factory returns; equal transformations become one object."""
    transformation = build_cached(optimizer) if _is_factory(optimizer) else optimizer
    is_optax = isinstance(transformation, optax.GradientTransformation)
    check.instance(name, optimizer, is_optax, "an optax GradientTransformation, or a function that returns one")
    return intern_functions(transformation)


def _is_factory(value: Any) -> bool:
    """Whether a value is a function that can be called without arguments."""
    if not inspect.isroutine(value):
        return False
    parameters = inspect.signature(value).parameters.values()
    return all(p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters)


Optimizer = Annotated[Any, Component("optimizer"), Convert(as_optimizer)]
"""An optax transformation, or a function without arguments that returns one."""
