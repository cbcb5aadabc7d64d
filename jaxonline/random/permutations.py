"""Random permutations by sorts of 64-bit numbers, several times faster than those of jax on a CPU.

`jax.random.permutation` sorts pairs of a random word and an index, with a call of a comparison function at each step.
In this module random bits and an index form one 64-bit number. The 64-bit numbers have the order of the pairs, also for
ties, and the compiler inlines their comparison.
"""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from jaxonline.random.threefry import split_in_two
from jaxonline.random.word_pairs import word_pairs

_MAX_ONE_SORT = 2**16  # indices that one sort of 64-bit numbers orders with as few ties as the sorts of jax


def permutation_indices(key: Key[Array, ""], n: int) -> Int[Array, "n"]:
    """Return `jax.random.permutation(key, n)` as int32."""
    order = jnp.arange(n, dtype=jnp.int32)
    for _ in range(_sorts_of_jax(n)):
        key, words_key = split_in_two(key)
        words = jax.random.bits(words_key, (n,), jnp.uint32)
        with jax.enable_x64(True):
            places = jnp.arange(n, dtype=jnp.uint64)
            joined = (words.astype(jnp.uint64) << jnp.uint64(32)) | places
            places = jax.lax.sort(joined, is_stable=False).astype(jnp.uint32).astype(jnp.int32)
        order = order[places]
    return order


def shuffled_indices(key: Key[Array, ""], n: int) -> Int[Array, "n"]:
    """Return a random permutation of 0, ..., n - 1 as int32, by one sort if n is at most 65,536.

    It equals `jax.random.permutation(key, n)`, except for n between 1,626 and 65,536, where jax sorts twice. For these
    n an index takes up to 16 of the 64 bits, and the other bits are random. Tied indices keep their order. The expected
    number of ties in a permutation is at most 1 / n (for jax 1 / (2 n)).
    """
    if _sorts_of_jax(n) < 2 or n > _MAX_ONE_SORT:
        return permutation_indices(key, n)
    index_bits = (n - 1).bit_length()
    high, low = word_pairs(key, (n,), jnp.float32)
    with jax.enable_x64(True):
        words = (high.astype(jnp.uint64) << jnp.uint64(32)) | low.astype(jnp.uint64)
        joined = (words << jnp.uint64(index_bits)) | jnp.arange(n, dtype=jnp.uint64)
        ordered = jax.lax.sort(joined, is_stable=False)
        return (ordered & jnp.uint64(2**index_bits - 1)).astype(jnp.uint32).astype(jnp.int32)


def _sorts_of_jax(n: int) -> int:
    """Return how many times jax sorts n indices, so that ties are unlikely."""
    return math.ceil(3 * math.log(max(1, n)) / math.log(2**32 - 1))
