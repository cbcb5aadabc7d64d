"""Random numbers of 64 bits, for events that are too unlikely for the 23 bits of a uniform float32 number.

A uniform float32 number u is a multiple of 2^-23, so u < 1e-8 has probability 2^-23 = 1.2e-7. The functions of this
module compare and convert 64 bits: two words of 32 bits, which one call of threefry makes. The leading bits are those
from which `jax.random.uniform` makes its number, so a decision differs from that of jax's number only where the bits of
jax's number do not decide: with probability 2^-23 (float32) or 2^-52 (float64).
"""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, UInt

from jaxonline.random.threefry import counts_words, threefry


class WordPairs(NamedTuple):
    """Uniform numbers (high + low 2^-32) 2^-32 in [0, 1), as two arrays of 32-bit words."""

    high: UInt[Array, "..."]
    low: UInt[Array, "..."]

    def mirrored(self) -> "WordPairs":
        """Return the numbers 1 - u - 2^-64."""
        return WordPairs(~self.high, ~self.low)

    def below(self, p: Float[Array, "..."]) -> Bool[Array, "..."]:
        """Return whether u < p: an event of probability p, up to 2^-64; never for NaN."""
        p = at_least_float32(p)
        scaled = jnp.where((p > 0) & (p < 1), p, 0.0) * 2.0**32
        high = jnp.floor(scaled)
        low = ((scaled - high) * 2.0**32).astype(jnp.uint32)
        high = high.astype(jnp.uint32)
        return (self.high < high) | ((self.high == high) & (self.low < low)) | (p >= 1)

    def exponential(self, dtype: Any) -> Float[Array, "..."]:
        """Return -log(1 - u), with the relative precision of the dtype both near 0 and for large numbers."""
        is_small = self.high < jnp.uint32(2**31)
        u = jnp.where(is_small, self.to_float(dtype), 0.25)
        rest = jnp.where(is_small, 0.25, self.mirrored().to_float(dtype))
        return jnp.where(is_small, -jnp.log1p(-u), -jnp.log(rest))

    def gumbel(self, dtype: Any) -> Float[Array, "..."]:
        """Return -log(-log(u)), so that exp(-gumbel) is fine-grained near 0."""
        return -jnp.log(self.mirrored().exponential(dtype))

    def to_float(self, dtype: Any) -> Float[Array, "..."]:
        """Return u + 2^-65 rounded to a floating dtype, in (0, 1], with its relative precision near 0."""
        return self.high.astype(dtype) * 2.0**-32 + (self.low.astype(dtype) + 0.5) * 2.0**-64


def at_least_float32(values: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return numbers of half precision, whose range is too small for 2^64, as float32."""
    return values if jnp.finfo(values.dtype).bits >= 32 else values.astype(jnp.float32)


def word_pairs(key: Key[Array, ""], shape: tuple[int, ...], dtype: Any) -> WordPairs:
    """Return 64 bits for each number of `jax.random.uniform(key, shape, dtype)`, which has the leading bits."""
    if counts_words(key) and math.prod(shape) < 2**32:
        return _at_places(key, jax.lax.iota(jnp.uint32, math.prod(shape)).reshape(shape), dtype)
    if dtype == jnp.float64:
        bits = jax.random.bits(key, shape, jnp.uint64)
        return WordPairs((bits >> jnp.uint64(32)).astype(jnp.uint32), bits.astype(jnp.uint32))
    return WordPairs(
        jax.random.bits(key, shape, jnp.uint32), jax.random.bits(jax.random.fold_in(key, 1), shape, jnp.uint32)
    )


def word_pair_entry(key: Key[Array, ""], index: Int[Array, "*n"], length: int, dtype: Any) -> WordPairs:
    """Return the entries `index` of `word_pairs(key, (length,), dtype)`, at the cost of these entries."""
    if counts_words(key) and length < 2**32:
        return _at_places(key, index.astype(jnp.uint32), dtype)
    return WordPairs(*(words[index] for words in word_pairs(key, (length,), dtype)))


def _at_places(key: Key[Array, ""], places: UInt[Array, "..."], dtype: Any) -> WordPairs:
    high, low = threefry(jax.random.key_data(key), jnp.zeros_like(places), places)
    return WordPairs(high, low) if dtype == jnp.float64 else WordPairs(high ^ low, low)
