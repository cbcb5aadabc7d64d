"""Threefry written out: jax's own random numbers, in a form that the compiler fuses with what uses them.

Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011): Threefry-2x32 with 20 rounds, as
jax has it. On a CPU jax compiles it as a loop that nothing is fused with, on a GPU as a call; written out it is some
120 integer operations for 64 bits, which stay in registers. Streams are the same, bit for bit, and so is `key_data`.
"""

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.random import define_prng_impl
from jaxtyping import Array, Key, UInt

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = np.uint32(0x1BD11BDA)
_FEW = 4


def threefry(
    key: tuple[Array, Array] | Array, high: UInt[Array, "..."], low: UInt[Array, "..."]
) -> tuple[UInt[Array, "..."], UInt[Array, "..."]]:
    """The two words that a key [2] makes of two words: 5 times four rounds, and a part of the key."""
    first, second = key
    return _rounds(first, second, high, low)


@jax.jit  # traced once for all calls that are alike; the compiler writes it where it is called
def _rounds(first: Array, second: Array, high: Array, low: Array) -> tuple[Array, Array]:
    parts = (first, second, first ^ second ^ PARITY)
    a, b = high + parts[0], low + parts[1]
    for group in range(5):
        for rotation in ROTATIONS[group % 2]:
            a = a + b
            b = a ^ ((b << np.uint32(rotation)) | (b >> np.uint32(32 - rotation)))
        a, b = a + parts[(group + 1) % 3], b + parts[(group + 2) % 3] + np.uint32(group + 1)
    return a, b


def written_out(key: Key[Array, "..."]) -> Key[Array, "..."]:
    """The same key with threefry written out; a key of another generator as it is."""
    threefrys = jax.random.key_impl(key) == "threefry2x32" and jax.config.jax_threefry_partitionable  # type: ignore[attr-defined]
    return jax.random.wrap_key_data(jax.random.key_data(key), impl=WRITTEN_OUT) if threefrys else key


def is_threefry(key: Key[Array, "..."]) -> bool:
    """Whether a key is one of threefry, jax's or written out."""
    return jax.random.key_impl(key) in ("threefry2x32", WRITTEN_OUT)


def split_in_two(key: Key[Array, ""]) -> tuple[Key[Array, ""], Key[Array, ""]]:
    """`jax.random.split(key)`, each key by itself: one that is not used is not made."""
    if jax.random.key_impl(key) != WRITTEN_OUT:
        first, second = jax.random.split(key)
        return first, second
    return jax.random.fold_in(key, 0), jax.random.fold_in(key, 1)


def words(key: Key[Array, ""], number: int, bit_width: int) -> list[UInt[Array, ""]]:
    """`jax.random.bits(key, (number,))`, word by word: for a few of them, which as an array are too few for a register.

    Example:
        >>> import jax
        >>> from jaxonline.random.threefry import words, written_out
        >>> key = jax.random.key(0)
        >>> [word.item() for word in words(written_out(key), 3, 32)] == jax.random.bits(key, (3,)).tolist()
        True
    """
    if jax.random.key_impl(key) != WRITTEN_OUT:
        return list(jax.random.bits(key, (number,), f"uint{bit_width}"))
    data, zero = jax.random.key_data(key), jnp.uint32(0)
    return [_word(*threefry(data, zero, jnp.uint32(place)), bit_width) for place in range(number)]


def _own(key: Array) -> Key[Array, ""]:
    """The key for jax's own generator, which counts beyond 2^32."""
    return jax.random.wrap_key_data(key, impl="threefry2x32")


def _counters(shape: tuple[int, ...]) -> tuple[Array, Array]:
    low = jax.lax.iota(jnp.uint32, math.prod(shape)).reshape(shape)
    return jnp.zeros_like(low), low


def _seed(seed: Array) -> Array:
    return jax.random.key_data(jax.random.key(seed, impl="threefry2x32"))


def _fold_in(key: Array, data: Array | int) -> Array:
    low = jnp.asarray(data, jnp.uint32)
    return _pair(*threefry(key, jnp.zeros_like(low), low))


def _pair(first: Array, second: Array) -> Array:
    """The two words as a key. A concatenation would be fused with what makes them, and make both for each of them."""
    return jnp.where(jnp.arange(2) == 0, first, second)


def _split(key: Array, shape: tuple[int, ...]) -> Array:
    if math.prod(shape) >= 2**32:
        return jax.random.key_data(jax.random.split(_own(key), shape))
    if math.prod(shape) <= _FEW:  # one by one: an axis of two or three keys is too short for a register
        few = [_fold_in(key, place) for place in range(math.prod(shape))]
        return jnp.stack(few).reshape(*shape, 2) if few else jnp.zeros((*shape, 2), jnp.uint32)
    return jnp.stack(threefry(key, *_counters(tuple(shape))), axis=-1)


def _random_bits(key: Array, bit_width: int, shape: tuple[int, ...]) -> Array:
    if math.prod(shape) >= 2**32:
        return jax.random.bits(_own(key), shape, f"uint{bit_width}")
    return _word(*threefry(key, *_counters(tuple(shape))), bit_width)


def _word(high: Array, low: Array, bit_width: int) -> Array:
    if bit_width == 64:
        return (high.astype(jnp.uint64) << np.uint64(32)) | low.astype(jnp.uint64)
    return (high ^ low).astype(f"uint{bit_width}")


WRITTEN_OUT = define_prng_impl(
    key_shape=(2,), seed=_seed, split=_split, random_bits=_random_bits, fold_in=_fold_in,
    name="threefry2x32, written out", tag="fry",
)  # fmt: skip


def draws_of(keys: tuple[Key[Array, ""], ...], each: int) -> Key[Array, ""]:
    """A key whose numbers are `each` of the first key, then `each` of the second, and so on; the keys are written out.

    It draws one axis, of 32-bit numbers, which goes on with the last key where it is longer. It makes no other keys.
    """
    words = jnp.stack([jax.random.key_data(key) for key in keys])
    return jax.random.wrap_key_data(words, impl=_one_after_another(len(keys), each))


@functools.cache
def _one_after_another(number: int, each: int):
    """The generator of `draws_of`."""

    def random_bits(keys: Array, bit_width: int, shape: tuple[int, ...]) -> Array:
        if bit_width != 32 or len(shape) != 1:
            raise TypeError(f"several keys draw 32-bit numbers along one axis, got {bit_width} bits, shape {shape}")
        place = np.arange(shape[0], dtype=np.uint32)
        whose = np.minimum(place // each, number - 1)
        key = [keys[0, word] for word in range(2)]
        for k in range(1, number):
            key = [jnp.where(whose >= k, keys[k, word], others) for word, others in enumerate(key)]
        high, low = threefry((key[0], key[1]), jnp.zeros(shape, jnp.uint32), jnp.asarray(place - whose * each))
        return high ^ low

    def refused(*_: Any) -> Array:
        raise TypeError("several keys side by side draw numbers, and make no keys")

    return define_prng_impl(
        key_shape=(number, 2), seed=refused, split=refused, random_bits=random_bits, fold_in=refused,
        name=f"{each} numbers of each of {number} threefry2x32 keys", tag=f"fry{number}x{each}",
    )  # fmt: skip


def made_of(words: UInt[Array, "n"]) -> Key[Array, ""]:
    """A key whose random words are the given ones, n of 32 bits: numbers are made of words that are there."""
    return jax.random.wrap_key_data(words, impl=_given(words.shape[-1]))


@functools.cache
def _given(number: int):
    """The generator of `made_of`."""

    def random_bits(words: Array, bit_width: int, shape: tuple[int, ...]) -> Array:
        if bit_width != 32 or shape != words.shape:
            raise TypeError(f"there are {number} words of 32 bits, got {bit_width} bits, shape {shape}")
        return words

    def refused(*_: Any) -> Array:
        raise TypeError("words that are given make no keys")

    return define_prng_impl(
        key_shape=(number,), seed=refused, split=refused, random_bits=random_bits, fold_in=refused,
        name=f"{number} given words", tag=f"words{number}",
    )  # fmt: skip
