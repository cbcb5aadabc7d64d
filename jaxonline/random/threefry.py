"""The bits of `jax.random`, computed inside compiled loops, and keys of a run."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.random import define_prng_impl
from jaxtyping import Array, ArrayLike, Bool, Float, Int, Key, UInt

from jaxonline._xla.barriers import compute_once, opaque_one
from jaxonline.parameters.types import PyTree

# ---------------------------------------------------------------------------------------------------------------------
# Keys derived from other keys.


def fold_in(key: Key[Array, ""], data: Int[ArrayLike, ""], after: PyTree = None) -> Key[Array, ""]:
    """Derive a key from a key and an integer, the same as `jax.random.fold_in(key, data)`.

    Args:
        key: the key.
        data: the integer; an array that is not a scalar raises TypeError.
        after: arrays that are computed before the key and before the operations that use the key. A state that these
            arrays and operations read is then updated in place.

    Example:
        >>> import jax, jaxonline as jo
        >>> key, move = jax.random.key(0), jax.numpy.float32(0.5)
        >>> bool(jo.random.fold_in(key, 1, after=move) == jo.random.fold_in(key, 1) == jax.random.fold_in(key, 1))
        True
    """
    number: Any = data if after is None else (data - 1) + opaque_one(after)
    return jax.random.fold_in(key, number)


# ---------------------------------------------------------------------------------------------------------------------
# Inlined threefry: the random numbers of jax, in a form that the compiler fuses with the operations that use them.
#
# The generator is Threefry-2x32 with 20 rounds: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2,
# 3" (SC 2011). jax computes threefry by a loop (CPU) or a call (GPU), which prevents fusion. Inlined, threefry is about
# 120 integer operations for 64 bits, in registers. Streams of random numbers and `key_data` are those of jax, bit for
# bit.


ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = np.uint32(0x1BD11BDA)
_MAX_UNROLLED_KEYS = 4


def threefry(
    key: tuple[Array, Array] | Array, high: UInt[Array, "..."], low: UInt[Array, "..."]
) -> tuple[UInt[Array, "..."], UInt[Array, "..."]]:
    """Encrypt two words with a key [2]."""
    first, second = key
    return _rounds(first, second, high, low)


@jax.jit  # traced once per shape; the compiler inlines it
def _rounds(first: Array, second: Array, high: Array, low: Array) -> tuple[Array, Array]:
    parts = (first, second, first ^ second ^ PARITY)
    a, b = high + parts[0], low + parts[1]
    for group in range(5):
        for rotation in ROTATIONS[group % 2]:
            a = a + b
            b = a ^ ((b << np.uint32(rotation)) | (b >> np.uint32(32 - rotation)))
        a, b = a + parts[(group + 1) % 3], b + parts[(group + 2) % 3] + np.uint32(group + 1)
    return a, b


def inlined(key: Key[Array, "..."]) -> Key[Array, "..."]:
    """Return a threefry key as a key of the inlined generator, for the same numbers; return other keys unchanged.

    Example:
        >>> import jax, jaxonline as jo
        >>> bool(jax.random.bits(jo.random.inlined(jax.random.key(0))) == jax.random.bits(jax.random.key(0)))
        True
    """
    threefrys = jax.random.key_impl(key) == "threefry2x32" and jax.config.jax_threefry_partitionable  # type: ignore[attr-defined]
    return jax.random.wrap_key_data(jax.random.key_data(key), impl=INLINED) if threefrys else key


def is_inlined(key: Key[Array, "..."]) -> bool:
    """Whether a key is for the inlined threefry, like the keys of a run."""
    return jax.random.key_impl(key) == INLINED


def is_threefry(key: Key[Array, "..."]) -> bool:
    """Whether a key is for a threefry generator, that of jax or the inlined one."""
    return jax.random.key_impl(key) in ("threefry2x32", INLINED, FUSED)


def counts_words(key: Key[Array, "..."]) -> bool:
    """Whether word k of a key is a function of the key and k alone."""
    return is_threefry(key) and jax.config.jax_threefry_partitionable  # type: ignore[attr-defined]


def fused_key(key: Key[Array, "..."]) -> Key[Array, "..."]:
    """Return an inlined key for which the compiler fuses also single numbers with the operations that use them."""
    return jax.random.wrap_key_data(jax.random.key_data(key), impl=FUSED) if is_inlined(key) else key


def to_jax(key: Key[Array, "..."]) -> Key[Array, "..."]:
    """Return the key for jax's own generator, which some functions of `jax.random` require."""
    data = jax.random.key_data(key)
    return jax.random.wrap_key_data(data, impl="threefry2x32") if is_threefry(key) else key


def split_in_two(key: Key[Array, ""]) -> tuple[Key[Array, ""], Key[Array, ""]]:
    """Return `jax.random.split(key)` as two separate keys, so that an unused key is not computed."""
    if not is_inlined(key):
        first, second = jax.random.split(key)
        return first, second
    return jax.random.fold_in(key, 0), jax.random.fold_in(key, 1)


def words(key: Key[Array, ""], number: int, bit_width: int) -> list[UInt[Array, ""]]:
    """Return `jax.random.bits(key, (number,))` as a list of scalars, which is faster for a few words.

    Args:
        key: key of the draw.
        number: number of words.
        bit_width: 32 or 64; 64 raises TypeError if jax has 64-bit numbers disabled.

    Example:
        >>> import jax, jaxonline as jo
        >>> bool(jo.random.words(jax.random.key(0), 1, 32)[0] == jax.random.bits(jax.random.key(0), (1,))[0])
        True
    """
    if not is_inlined(key):
        return list(jax.random.bits(key, (number,), f"uint{bit_width}"))
    data, zero = jax.random.key_data(key), jnp.uint32(0)
    return [_word(*threefry(data, zero, jnp.uint32(index)), bit_width) for index in range(number)]


def _counters(shape: tuple[int, ...]) -> tuple[Array, Array]:
    low = jax.lax.iota(jnp.uint32, math.prod(shape)).reshape(shape)
    return jnp.zeros_like(low), low


def _seed(seed: Array) -> Array:
    return jax.random.key_data(jax.random.key(seed, impl="threefry2x32"))


def _fold_in(key: Array, data: Array | int) -> Array:
    low = jnp.asarray(data, jnp.uint32)
    return _pair(*threefry(key, jnp.zeros_like(low), low))


def _pair(first: Array, second: Array) -> Array:
    """Make a key of two words; the compiler would compute both words twice for a concatenation."""
    return jnp.where(jnp.arange(2) == 0, first, second)


def _split(key: Array, shape: tuple[int, ...]) -> Array:
    if math.prod(shape) >= 2**32:
        return jax.random.key_data(jax.random.split(_for_jax(key), shape))
    if math.prod(shape) <= _MAX_UNROLLED_KEYS:  # an axis of two or three keys is too short for a register
        keys = [_fold_in(key, index) for index in range(math.prod(shape))]
        return jnp.stack(keys).reshape(*shape, 2) if keys else jnp.zeros((*shape, 2), jnp.uint32)
    return jnp.stack(threefry(key, *_counters(tuple(shape))), axis=-1)


def _for_jax(key: Array) -> Key[Array, ""]:
    """Return the key for jax's generator, which can draw more than 2^32 words."""
    return jax.random.wrap_key_data(key, impl="threefry2x32")


def _fused_bits(key: Array, bit_width: int, shape: tuple[int, ...]) -> Array:
    if math.prod(shape) >= 2**32:
        return jax.random.bits(_for_jax(key), shape, f"uint{bit_width}")
    return _word(*threefry(key, *_counters(tuple(shape))), bit_width)


def _random_bits(key: Array, bit_width: int, shape: tuple[int, ...]) -> Array:
    """Random bits for the functions of `jax.random`, computed once.

    The CPU compiler of jax 0.12 may not finish if it fuses the bits of several vectors with what a user computes.
    """
    return compute_once(lambda key: _fused_bits(key, bit_width, shape), key)


def _word(high: Array, low: Array, bit_width: int) -> Array:
    if bit_width == 64:
        return (high.astype(jnp.uint64) << np.uint64(32)) | low.astype(jnp.uint64)
    return (high ^ low).astype(f"uint{bit_width}")


_generator = functools.partial(define_prng_impl, key_shape=(2,), seed=_seed, split=_split, fold_in=_fold_in)
INLINED = _generator(random_bits=_random_bits, name="threefry2x32, inlined", tag="fry")
FUSED = _generator(random_bits=_fused_bits, name="threefry2x32, inlined and fused", tag="fryf")


def concatenated_key(keys: tuple[Key[Array, ""], ...], n_each: int) -> Key[Array, ""]:
    """A key for vectors of 32-bit numbers: each inlined key in turn draws `n_each` numbers, the last key all others."""
    words = jnp.stack([jax.random.key_data(key) for key in keys])
    return jax.random.wrap_key_data(words, impl=_concatenated_generator(len(keys), n_each))


@functools.cache
def _concatenated_generator(n_keys: int, n_each: int):
    """Generator of `concatenated_key`."""

    def random_bits(keys: Array, bit_width: int, shape: tuple[int, ...]) -> Array:
        if bit_width != 32 or len(shape) != 1:
            raise TypeError(
                f"key: several keys draw 32-bit numbers along one axis only (got {bit_width} bits, shape {shape})"
            )
        index = np.arange(shape[0], dtype=np.uint32)
        key_index = np.minimum(index // n_each, n_keys - 1)
        key = [keys[0, word] for word in range(2)]
        for k in range(1, n_keys):
            key = [jnp.where(key_index >= k, keys[k, word], others) for word, others in enumerate(key)]
        high, low = threefry((key[0], key[1]), jnp.zeros(shape, jnp.uint32), jnp.asarray(index - key_index * n_each))
        return high ^ low

    def raise_error(*_: Any) -> Array:
        raise TypeError("key: concatenated keys cannot be split or folded; draw numbers from them")

    return define_prng_impl(
        key_shape=(n_keys, 2), seed=raise_error, split=raise_error, random_bits=random_bits, fold_in=raise_error,
        name=f"{n_each} numbers of each of {n_keys} threefry2x32 keys", tag=f"fry{n_keys}x{n_each}",
    )  # fmt: skip


def key_from_words(words: UInt[Array, "n"]) -> Key[Array, ""]:
    """Return the key from which the generator draws the given 32-bit words."""
    return jax.random.wrap_key_data(words, impl=_given_words_generator(words.shape[-1]))


@functools.cache
def _given_words_generator(number: int):
    """Generator of `key_from_words`."""

    def random_bits(words: Array, bit_width: int, shape: tuple[int, ...]) -> Array:
        if bit_width != 32 or shape != words.shape:
            raise TypeError(f"key: must be asked for {number} words of 32 bits (got {bit_width} bits, shape {shape})")
        return words

    def raise_error(*_: Any) -> Array:
        raise TypeError("key: a key of given words cannot be split or folded; draw these words from it")

    return define_prng_impl(
        key_shape=(number,), seed=raise_error, split=raise_error, random_bits=random_bits, fold_in=raise_error,
        name=f"{number} given words", tag=f"words{number}",
    )  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------------
# Random numbers of 64 bits, for events that are too unlikely for the 23 bits of a uniform float32 number.
#
# A uniform float32 number u is a multiple of 2^-23, so u < 1e-8 has probability 2^-23 = 1.2e-7. The functions of this
# module compare and convert 64 bits: two words of 32 bits, which one call of threefry makes. The leading bits are those
# from which `jax.random.uniform` makes its number, so a decision differs from that of jax's number only where the bits
# of jax's number do not decide: with probability 2^-23 (float32) or 2^-52 (float64).


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


# ---------------------------------------------------------------------------------------------------------------------
# Random vectors drawn in whole CPU registers, and single random numbers drawn once.
#
# A CPU computes eight float32 numbers at a time, and the remaining numbers of a vector one by one, which takes longer.
# The numbers of a counter-based generator do not depend on how many are drawn. So the length of a vector is rounded up
# to a multiple of eight, and the vector is cut after the draw. Several vectors are drawn as one long vector. One loop
# draws the random words, and a second loop converts the words to numbers, because a processor works on as many
# independent chains of operations as it has registers.
#
# A single number, such as the noise of a label, is drawn once, not for each coordinate of a vector to which it is
# added. With jax 0.11 and 0.12 the CPU compiler may otherwise not finish: its vectoriser visits all users of all users
# of an operation (`onlyFirstLaneUsed`), and threefry is a chain of sixty operations that are each used twice.


_REGISTER_FLOATS = 8  # float32 numbers per register


def stack_draws(
    draw: Callable[..., Array], keys: Sequence[Key[Array, ""]], shape: tuple[int, ...], dtype: Any = float
) -> Array:
    """Stack `draw(key, shape, dtype)` of several keys to [len(keys), *shape]: the same numbers in less time.

    Args:
        draw: a function that uses one random word per number, such as `normal` and `uniform` (otherwise TypeError).
        keys: a key for each result.
        shape: shape of each result.
        dtype: floating dtype of the numbers.

    Example:
        >>> import jax, jaxonline as jo
        >>> jo.random.stack_draws(jo.random.normal, list(jax.random.split(jax.random.key(0), 2)), (3,)).shape
        (2, 3)
    """
    dtype, size = jax.dtypes.canonicalize_dtype(dtype), math.prod(shape)

    def one_by_one(*keys):
        return jnp.stack([draw(fused_key(key), shape, dtype) for key in keys])

    if not all(map(is_inlined, keys)):
        return one_by_one(*keys)
    if len(shape) == 0:
        return compute_once(one_by_one, *keys)
    if len(shape) > 1 or dtype != jnp.float32 or not 0 < len(keys) * size < 2**32 - _REGISTER_FLOATS:
        return one_by_one(*keys)
    whole = (-(-len(keys) * size // _REGISTER_FLOATS) * _REGISTER_FLOATS,)

    def in_registers(*keys):
        words = compute_once(lambda *keys: jax.random.bits(concatenated_key(keys, size), whole), *keys)
        numbers = compute_once(lambda words: draw(key_from_words(words), whole, dtype), words)
        return numbers[: len(keys) * size].reshape(len(keys), size)

    return jax.lax.platform_dependent(*keys, cpu=in_registers, default=one_by_one)


def draw_fused(draw: Callable[[Key[Array, ""]], Array], key: Key[Array, ""], shape: tuple[int, ...] | None) -> Array:
    """Return `draw(key)`, fused with the operations that use it, or computed once if the shape is ()."""
    if not is_inlined(key):
        return draw(key)
    return draw_once(draw, key) if shape == () else draw(fused_key(key))


def draw_once(draw: Callable[[Key[Array, ""]], Array], key: Key[Array, ""]) -> Array:
    """Return `draw(key)`, which the compiler does not fuse with the operations that use it."""
    return compute_once(lambda key: draw(fused_key(key)), key) if is_inlined(key) else draw(key)
