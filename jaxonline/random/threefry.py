"""Inlined threefry: the random numbers of jax, in a form that the compiler fuses with the operations that use them.

The generator is Threefry-2x32 with 20 rounds: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3"
(SC 2011). jax computes threefry by a loop (CPU) or a call (GPU), which prevents fusion. Inlined, threefry is about 120
integer operations for 64 bits, in registers. Streams of random numbers and `key_data` are those of jax, bit for bit.
"""

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.random import define_prng_impl
from jaxtyping import Array, Key, UInt

from jaxonline._xla.barriers import compute_once

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
    """A key whose random words are the given 32-bit words."""
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
