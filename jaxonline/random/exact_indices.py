"""Random indices with given probabilities, exact also for small probabilities.

The weights become multiples of 2^-61 of their sum, as 64-bit integers; their sums have no rounding. A float32 sum near
1 would be a multiple of 6e-8, so that an index of probability 1e-8 would be drawn 12 times too often, or never. The
table in docs/how-it-works.md has the errors of other draws.
"""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Int, Key, UInt

from jaxonline._xla.barriers import compute_once
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.random.word_pairs import WordPairs, at_least_float32, word_pairs

_SEARCHED_AT_ONCE = 16
_SUM_BITS = 62  # the sum of the integers is within 2^62 / 1.5 and 2^62 1.5


def weighted_index(
    key: Key[Array, ""], weights: Float[ArrayLike, "K"], shape: tuple[int, ...] = ()
) -> Int[Array, "..."]:
    """Independent indices (int32) with probabilities proportional to weights, from one random word each.

    The relative error of the probability p of an index is below 1e-18 / p + 1e-7 for every index, whether first or
    last. An index of weight 0 or NaN is never drawn, unless no weight is positive: then the last index is drawn.

    Args:
        key: key of the draw.
        weights: weights [K] of a floating dtype, at least 0, with a finite sum (not checked). Another number of axes
            raises ValueError.
        shape: shape of the result.

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> jo.random.weighted_index(jax.random.key(0), jnp.array([0.0, 2.0, 0.0]), (3,)).tolist()
        [1, 1, 1]
    """
    weights = jnp.asarray(weights)
    if not jnp.issubdtype(weights.dtype, jnp.floating):
        raise ArgumentTypeError("weights", f"must be floating (got {weights.dtype})")
    if weights.ndim != 1 or not len(weights):
        raise ArgumentError("weights", f"must be a vector with an entry (got the shape {weights.shape})")
    return _search(lambda key, total: _scale(word_pairs(key, shape, weights.dtype), total), key, weights)


def index_at(number: WordPairs, weights: Float[Array, "K"]) -> Int[Array, "..."]:
    """Return the index that uniform numbers draw: the first index where the sum of weights exceeds the fraction u."""
    return _search(_scale, number, weights)


def _search(scale: Callable[..., Array], source: Any, weights: Float[Array, "K"]) -> Int[Array, "..."]:
    """Return the first index where the sum of weights exceeds `scale(source, sum of all weights)`.

    For more than 16 weights, searches in the sums of blocks of sqrt(K) weights and in one block take less time than a
    search in the sums of all.
    """
    n = len(weights)
    size = 1 if n <= _SEARCHED_AT_ONCE else math.ceil(math.sqrt(n))
    n_blocks = -(-n // size)
    with jax.enable_x64(True):
        blocks = jnp.pad(_to_integers(weights), (0, n_blocks * size - n)).reshape(n_blocks, size)
        ends = jnp.cumsum(jnp.sum(blocks, axis=1))
        level = compute_once(scale, source, ends[-1])[..., None]
        ends = jnp.expand_dims(ends[:-1], range(level.ndim - 1))
        is_before = ends <= level
        block = jnp.sum(is_before, axis=-1, dtype=jnp.int32)
        if size == 1:
            return block
        rest = level - jnp.max(jnp.where(is_before, ends, jnp.uint64(0)), axis=-1, keepdims=True)
        place = jnp.sum(jnp.cumsum(blocks[block], axis=-1)[..., :-1] <= rest, axis=-1, dtype=jnp.int32)
    return jnp.minimum(block * size + place, n - 1)


def _to_integers(weights: Float[Array, "K"]) -> UInt[Array, "K"]:
    """Return the weights times a power of 2 for which their sum is about 2^61, rounded down to 64-bit integers."""
    weights = at_least_float32(jnp.where(weights > 0, weights, 0))
    # rounded to a power of 2: the bounds between these, such as 0.75 and 1.5, are far from the usual sum 1
    power = jax.lax.reduce_precision(jnp.sum(weights), jnp.finfo(weights.dtype).nexp, 0)
    scaled = weights / power * 2.0**_SUM_BITS
    return scaled.astype(jnp.int64).astype(jnp.uint64)


def _scale(number: WordPairs, total: UInt[Array, ""]) -> UInt[Array, "..."]:
    """Return u total, rounded down, from products of 32-bit halves."""
    half, mask = jnp.uint64(32), jnp.uint64(2**32 - 1)
    a, b = (words.astype(jnp.uint64) for words in number)
    c, d = total >> half, total & mask
    first = a * d + ((b * d) >> half)
    second = b * c + (first & mask)
    return a * c + (first >> half) + (second >> half)
