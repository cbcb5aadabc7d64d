"""Loss of a set of arms, and linear optimisation over sets; the outcome y is the vector of the losses of all arms [K].

A set of m arms is a vector of m different integers, 0 to K - 1. A linear-optimisation function maps numbers [..., K] to
the set [..., m] with the smallest sum. `SmallestArms` is the linear-optimisation function for all sets of m arms; for
other sets (paths, matchings) write a struct with `__call__`, or use `jax.tree_util.Partial`.
"""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxonline.losses.lazy import LazyOutcome
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.numbers import as_floating
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Component, Count, Takes


@struct
class SumOfArms:
    """Sum of the losses of a set of arms; NaN if an arm is outside 0 to K - 1, or is in the set twice.

    The move is the set: a vector of m different arms.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.losses import SumOfArms
        >>> float(SumOfArms()(jnp.array([2, 0]), jnp.array([0.5, 0.25, 1.0])))
        1.5
    """

    reads_entries: ClassVar[bool] = True  # a lazy outcome computes the entries of the set only

    def __call__(self, y_hat: Int[Array, "m"], y: Float[Array, "K"]) -> Float[Array, ""]:
        """Return the sum of y over the set."""
        losses = y if isinstance(y, LazyOutcome) else as_floating(y)
        inside = jnp.all((y_hat >= 0) & (y_hat < losses.shape[0]))
        equal_pairs = jnp.sum(y_hat[:, None] == y_hat[None, :], dtype=jnp.int32)
        return jnp.where(inside & (equal_pairs == len(y_hat)), jnp.sum(as_floating(losses[y_hat])), jnp.nan)

    def gradient(self, y_hat: Int[Array, "m"], y: Float[Array, "K"]) -> Float[Array, "K"]:
        """Return the losses of all arms: the gradient of <e, y> in the indicator vector e, for any set."""
        del y_hat
        return as_floating(y)


@struct
class SmallestArms:
    """The set of the m arms with the smallest numbers; ties go to the first arms.

    Args:
        m: the number of arms in a set.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.losses import SmallestArms
        >>> SmallestArms(2)(jnp.array([0.3, 0.1, 0.2])).tolist()
        [1, 2]
    """

    m: Count = static()

    def __call__(self, values: Float[Array, "*n K"]) -> Int[Array, "*n m"]:
        """Return the set, in increasing order."""
        if self.m > values.shape[-1]:
            raise ArgumentError("m", f"must be at most the number of arms, {values.shape[-1]} (got {self.m})")
        return jnp.sort(jax.lax.top_k(-values, self.m)[1].astype(jnp.int32), axis=-1)


Select = Annotated[Callable[..., Any], Takes("(values [K])"), Component("`SmallestArms`")]
"""A linear-optimisation function: numbers [K] -> the set of arms [m] with the smallest sum."""


def set_size(select: Any, n_arms: int, dtype: Any) -> int:
    """Return the number m of arms in the sets of a linear-optimisation function.

    Raises:
        ValueError: the function does not return vectors of at most K integers.
    """
    arms = jax.eval_shape(select, jax.ShapeDtypeStruct((n_arms,), dtype))
    is_set = getattr(arms, "ndim", 0) == 1 and jnp.issubdtype(arms.dtype, jnp.integer)
    if not is_set or not 0 < len(arms) <= n_arms:
        raise ArgumentError("select", f"must return a set of 1 to {n_arms} arms, a vector of integers (got {arms})")
    return len(arms)
