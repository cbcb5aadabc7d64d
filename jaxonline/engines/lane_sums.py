"""Sums over coordinates and weighted draws of coordinates, for arrays [coordinates, lanes]."""

import jax
import jax.numpy as jnp

from jaxonline.linalg.triangular import product


def as_columns(subset):
    """Return coordinates with an axis of lanes: as [half, 1] or [half, lanes]."""
    return subset[:, None] if subset.ndim == 1 else subset


def block_sums(values, a, size):
    """Sums of `values(coordinates)` over blocks of coordinates [blocks, lanes]; XLA makes two loops of `jnp.sum`."""
    blocks = a.reshape(-1, size, a.shape[-1])
    sums = [values(blocks[:, i]) for i in range(size)]
    while len(sums) > 1:
        sums = [sum(sums[i + 1 : i + 2], sums[i]) for i in range(0, len(sums), 2)]
    return sums[0]


def draw_coordinate(a, sums, number, weight):
    """Draw the coordinate at which a uniform number lies in the cumulative weights, and its entry of a, in every lane.

    `number` has 64 random bits (`WordPairs`). Sums in float64 make the relative error of a probability p at most 1e-6 +
    1e-15 / p; float32 sums near 1 are multiples of 6e-8, so unlikely coordinates would have wrong probabilities.
    """
    n, lanes = round(len(sums) ** 0.5), jnp.arange(a.shape[1], dtype=jnp.int32)
    size = len(a) // len(sums)
    groups = sums.reshape(n, n, -1)
    with jax.enable_x64(True):
        fraction = number.to_float(jnp.float64)
    top, fraction = _search(jnp.sum(groups, axis=1), fraction)
    sums_in_top = jnp.where(_rows(n)[..., None] == top[None], groups, 0.0)
    middle, fraction = _search(jnp.sum(sums_in_top, axis=0), fraction)
    block = top * n + middle
    entries = a[block * size + _rows(size), lanes[None]]
    low, _ = _search(weight(entries), fraction)
    return block * size + low, sum_rows(jnp.where(_rows(size) == low, entries, 0.0))


def _search(weights, fraction):
    """Return the first row where the cumulative weight reaches the fraction, and the fraction of its weight, per lane.

    The weight of a block and the sum of its entries differ by rounding, so the fraction passes from level to level. A
    matrix product computes the sums, because XLA makes many small operations of `cumsum`.
    """
    with jax.enable_x64(True):
        weights = weights.astype(jnp.float64)
        up_to = product(jnp.tri(len(weights)), weights)
        point = fraction * up_to[-1:]
        below = up_to < jnp.minimum(point, up_to[-1:])
        row = jnp.sum(below, axis=0, dtype=jnp.int32, keepdims=True)
        rest = point - jnp.max(jnp.where(below, up_to, 0.0), axis=0, keepdims=True)
        weight = sum_rows(jnp.where(_rows(len(weights)) == row, weights, 0.0))
        return row, jnp.where(weight > 0, rest / jnp.where(weight > 0, weight, 1.0), 0.0)


def sum_rows(values):
    """Sum over coordinates [1, lanes]."""
    return jnp.sum(values, axis=0, keepdims=True)


def _rows(n):
    return jnp.arange(n, dtype=jnp.int32)[:, None]
