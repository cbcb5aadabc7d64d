"""Sums over the coordinates of many lanes, and draws in proportion to weights, of [coordinates, lanes]."""

import jax
import jax.numpy as jnp

EXACT = jax.lax.Precision.HIGHEST


def as_columns(subset):
    """Coordinates [half, 1] or [half, lanes]."""
    return subset[:, None] if subset.ndim == 1 else subset


def block_sums(values, a, size):
    """Sums of `values(part)` over blocks of coordinates [blocks, lanes], in one loop: of `sum` XLA makes two."""
    blocks = a.reshape(-1, size, a.shape[-1])
    sums = [values(blocks[:, i]) for i in range(size)]
    while len(sums) > 1:
        sums = [sum(sums[i + 1 : i + 2], sums[i]) for i in range(0, len(sums), 2)]
    return sums[0]


def draw_coordinate(a, sums, point, weight):
    """The first coordinate up to which the weights sum to `point` of their sum, in every lane, and its number in a."""
    n, lanes = round(len(sums) ** 0.5), jnp.arange(a.shape[1], dtype=jnp.int32)
    size = len(a) // len(sums)
    tops = jnp.sum(sums.reshape(n, n, -1), axis=1)
    top, rest = _search(tops, point * sum_rows(tops))
    of_top = jnp.where(_rows(n)[..., None] == top[None], sums.reshape(n, n, -1), 0.0)
    middle, rest = _search(jnp.sum(of_top, axis=0), rest)
    block = top * n + middle
    part = a[block * size + _rows(size), lanes[None]]
    low, _ = _search(weight(part), rest)
    return block * size + low, sum_rows(jnp.where(_rows(size) == low, part, 0.0))


def _search(weights, point):
    """The first row up to which the weights sum to `point`, in every lane, and what of `point` is left for that row.

    The sums are a product with a matrix: XLA makes many small operations of `cumsum`.
    """
    up_to = jnp.matmul(jnp.tri(len(weights), dtype=weights.dtype), weights, precision=EXACT)
    below = up_to < jnp.minimum(point, up_to[-1:])
    row = jnp.sum(below, axis=0, dtype=jnp.int32, keepdims=True)
    return row, point - jnp.max(jnp.where(below, up_to, 0.0), axis=0, keepdims=True)


def sum_rows(values):
    """The sum over coordinates [1, lanes]."""
    return jnp.sum(values, axis=0, keepdims=True)


def _rows(n):
    return jnp.arange(n, dtype=jnp.int32)[:, None]
