"""Step sizes: a number that multiplies the optimiser's update of round t = 1, 2, ..."""

from collections.abc import Callable
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from annotated_types import Gt
from jaxtyping import Array, Float, Int

from jaxonline.parameters import check
from jaxonline.parameters.closures import intern_functions
from jaxonline.parameters.errors import ArgumentTypeError
from jaxonline.parameters.struct import set_field, static, struct
from jaxonline.parameters.types import Component, Convert, Positive, Rounds, Takes
from jaxonline.parameters.validation import validate_arguments


@struct
class Constant:
    """The same step in every round. `Constant.over_horizon(eta, n_rounds)` is eta / sqrt(T).

    Raises:
        ValueError: if `value` is not above 0.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.learners import Constant
        >>> Constant.over_horizon(2.0, n_rounds=100).value
        0.2
    """

    value: Positive

    @classmethod
    @validate_arguments
    def over_horizon(cls, eta: Positive, n_rounds: Rounds) -> "Constant":
        """The step eta / sqrt(T) of the theorems, for a horizon known in advance."""
        return cls(float(eta / np.sqrt(n_rounds)))

    def __call__(self, t: Int[Array, ""], dtype: Any) -> Float[Array, ""]:
        """The step of round t."""
        del t
        return jnp.asarray(self.value, dtype)


@struct
class InverseSqrt:
    """The step eta / sqrt(t), for any horizon.

    Raises:
        ValueError: if `eta` is not above 0.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.learners import InverseSqrt
        >>> InverseSqrt(2.0)(jnp.int32(100), jnp.float32).item()
        0.20000000298023224
    """

    eta: Positive

    def __call__(self, t: Int[Array, ""], dtype: Any) -> Float[Array, ""]:
        """The step of round t."""
        return jnp.asarray(self.eta, dtype) / jnp.sqrt(t.astype(dtype))


@struct
class InverseTime:
    """The step eta / t, for strongly convex losses: 1 / (lambda t) where lambda |w|^2 / 2 is a part of the loss.

    Raises:
        ValueError: if `eta` is not above 0.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.learners import InverseTime
        >>> InverseTime(2.0)(jnp.int32(8), jnp.float32).item()
        0.25
    """

    eta: Positive

    def __call__(self, t: Int[Array, ""], dtype: Any) -> Float[Array, ""]:
        """The step of round t."""
        return jnp.asarray(self.eta, dtype) / t.astype(dtype)


@struct
class Schedule:
    """An optax schedule times a scale: step t = 1, 2, ... is scale * schedule(t - 1), as optax counts.

    Args:
        schedule: any optax schedule, a function of the number of updates made before.
        scale: a number above 0 that can be swept.

    Raises:
        ValueError: if `scale` is not above 0.
        TypeError: `schedule` is no function of the step count, or returns no number.

    Example:
        >>> import jax.numpy as jnp, optax
        >>> from jaxonline.learners import Schedule
        >>> Schedule(optax.exponential_decay(0.1, 100, 0.5))(jnp.int32(101), jnp.float32).item()
        0.05000000074505806
    """

    schedule: Annotated[Callable, Takes("the step count"), Component("schedule")] = static()
    scale: Positive = 1.0

    def __post_init__(self):
        try:
            with jax.numpy_dtype_promotion("standard"):  # as optax has it, which divides counts by floats
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
        """The step of round t."""
        return jnp.asarray(self.scale, dtype) * jnp.asarray(self.schedule(t - 1), dtype)


def as_step_size(step_size: Any, name: str = "step_size") -> Any:
    """A number becomes `Constant`, a function (an optax schedule) becomes `Schedule`, a step size stays itself."""
    if isinstance(step_size, Constant | InverseSqrt | InverseTime | Schedule):
        return step_size
    if callable(step_size) or isinstance(step_size, type):
        return Schedule(check.function(name, step_size, "the step count, or a number"))
    if isinstance(step_size, optax.GradientTransformation):
        raise ArgumentTypeError(name, "must be a number or a schedule (got an optax optimiser); pass it as optimizer=")
    return Constant(check.positive(name, step_size))


StepSize = Annotated[Any, Component("step size", "schedule", number=True), Gt(0), Convert(as_step_size)]
"""A step size or a number; a number becomes `Constant`, an optax schedule becomes `Schedule`."""
