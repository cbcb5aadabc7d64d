"""The place of the smallest number."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

_SHORT = 14  # `python -m benchmarks.workarounds "UCB1, K=10"` has the gain


def first_argmin(values: Float[Array, "K"]) -> Int[Array, ""]:
    """Return the index of the smallest number, int32; ties go to the first. If there is a NaN, its index may result.

    `jnp.argmin` computes one number after the other on a CPU. Two searches with one result each, first for the smallest
    number and then for its index, are vectorised, which pays for more than 14 numbers.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.linalg.argmin import first_argmin
        >>> first_argmin(jnp.array([2.0, 1.0, 1.0])).item()
        1
    """
    if len(values) <= _SHORT:
        return jnp.argmin(values).astype(jnp.int32)
    is_smallest = (values == jnp.min(values)) | jnp.isnan(values)
    return jnp.min(jnp.where(is_smallest, jnp.arange(len(values), dtype=values.dtype), jnp.inf)).astype(jnp.int32)
