"""Sums and selections along short axes, unrolled so that XLA vectorises over the runs of a batch.

For one run an XLA reduction or gather is as fast as the unrolled form. For a batch of runs the reduction or gather
becomes many small operations, which are slower (selections by about three times). The benchmark is `python -m
benchmarks noisy_kernel`.
"""

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Num

_MAX_UNROLLED = 16  # entries of an axis


def contract(tensor: Float[Array, "..."], v: Float[Array, "d"], axis: int) -> Float[Array, "..."]:
    """Return the sum over an axis with the weights `v`."""
    if len(v) > _MAX_UNROLLED:
        return jnp.sum(tensor * jnp.expand_dims(v, [k for k in range(tensor.ndim) if k != axis]), axis)
    terms = [v[k] * jax.lax.index_in_dim(tensor, k, axis, keepdims=False) for k in range(len(v))]
    return functools.reduce(jnp.add, terms)


def sum_axis(values: Float[Array, "..."], axis: int) -> Float[Array, "..."]:
    """Return the sum over an axis."""
    if values.shape[axis] > _MAX_UNROLLED:
        return jnp.sum(values, axis=axis)
    terms = [jax.lax.index_in_dim(values, k, axis, keepdims=False) for k in range(values.shape[axis])]
    return functools.reduce(jnp.add, terms)


def take_columns(matrices: Float[Array, "a b n"], columns: Int[Array, "m"]) -> Float[Array, "a b m"]:
    """Return matrices[:, :, columns]."""
    if matrices.shape[2] > _MAX_UNROLLED:
        return matrices[:, :, columns]
    selected = jnp.broadcast_to(matrices[:, :, :1], (*matrices.shape[:2], len(columns)))
    for column in range(1, matrices.shape[2]):
        selected = jnp.where(columns == column, matrices[:, :, column, None], selected)
    return selected


def select_entry(values: Num[Array, "m ..."], j: Int[Array, ""]) -> Num[Array, "..."]:
    """Return values[j], computed as a sum, which XLA fuses with the operations that use it."""
    is_entry = jnp.arange(len(values), dtype=jnp.int32) == j
    is_entry = is_entry.reshape(-1, *[1] * (values.ndim - 1))
    return jnp.sum(jnp.where(is_entry, values, jnp.zeros_like(values)), axis=0, dtype=values.dtype)
