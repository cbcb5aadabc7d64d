"""Sums over coordinates and weighted draws of coordinates, for arrays [coordinates, lanes]."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from jaxonline.numerics.triangular import product


def as_columns(subset: jax.Array) -> jax.Array:
    """Return coordinates with an axis of lanes: as [half, 1] or [half, lanes]."""
    return subset[:, None] if subset.ndim == 1 else subset


def block_sums(values: Callable[[jax.Array], jax.Array], a: jax.Array, size: int) -> jax.Array:
    """Sums of `values(coordinates)` over blocks of coordinates [blocks, lanes]; XLA makes two loops of `jnp.sum`."""
    blocks = a.reshape(-1, size, a.shape[-1])
    sums: list[Any] = [values(blocks[:, i]) for i in range(size)]
    while len(sums) > 1:
        sums = [sum(sums[i + 1 : i + 2], sums[i]) for i in range(0, len(sums), 2)]
    return sums[0]


def draw_coordinate(
    a: jax.Array, sums: jax.Array, point: jax.Array, weight: Callable[[jax.Array], jax.Array]
) -> tuple[jax.Array, jax.Array]:
    """First coordinate where the cumulative weight reaches the fraction `point`, and its entry of a, for every lane."""
    n, lanes = round(len(sums) ** 0.5), jnp.arange(a.shape[1], dtype=jnp.int32)
    size = len(a) // len(sums)
    tops = jnp.sum(sums.reshape(n, n, -1), axis=1)
    top, rest = _search(tops, point * sum_rows(tops))
    sums_in_top = jnp.where(_rows(n)[..., None] == top[None], sums.reshape(n, n, -1), 0.0)
    middle, rest = _search(jnp.sum(sums_in_top, axis=0), rest)
    block = top * n + middle
    entries = a[block * size + _rows(size), lanes[None]]
    low, _ = _search(weight(entries), rest)
    return block * size + low, sum_rows(jnp.where(_rows(size) == low, entries, 0.0))


def _search(weights, point):
    """Return the first row where the cumulative weight reaches `point`, and the rest of `point` there, in every lane.

    A matrix product computes the sums, because XLA makes many small operations of `cumsum`.
    """
    up_to = product(jnp.tri(len(weights), dtype=weights.dtype), weights)
    below = up_to < jnp.minimum(point, up_to[-1:])
    row = jnp.sum(below, axis=0, dtype=jnp.int32, keepdims=True)
    return row, point - jnp.max(jnp.where(below, up_to, 0.0), axis=0, keepdims=True)


def sum_rows(values: jax.Array) -> jax.Array:
    """Sum over coordinates [1, lanes]."""
    return jnp.sum(values, axis=0, keepdims=True)


def _rows(n):
    return jnp.arange(n, dtype=jnp.int32)[:, None]
