"""Random permutations equal to the permutations of jax, several times faster on a CPU.

`jax.random.permutation` sorts pairs of a random word and an index, with a call of a comparison function at each step.
In this module a random word and an index form one 64-bit number. The 64-bit numbers have the order of the pairs, also
for ties, and the compiler inlines their comparison.
"""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from jaxonline.random.threefry import split_in_two


def permutation_indices(key: Key[Array, ""], n: int) -> Int[Array, "n"]:
    """Return `jax.random.permutation(key, n)` as int32."""
    order = jnp.arange(n, dtype=jnp.int32)
    for _ in range(math.ceil(3 * math.log(max(1, n)) / math.log(2**32 - 1))):  # repeated until ties are unlikely
        key, words_key = split_in_two(key)
        words = jax.random.bits(words_key, (n,), jnp.uint32)
        with jax.enable_x64(True):
            places = jnp.arange(n, dtype=jnp.uint64)
            joined = (words.astype(jnp.uint64) << jnp.uint64(32)) | places
            places = jax.lax.sort(joined, is_stable=False).astype(jnp.uint32).astype(jnp.int32)
        order = order[places]
    return order
