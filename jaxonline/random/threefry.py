"""Threefry, inlined: the random numbers of jax, in a form that the compiler fuses with the operations that use them.

Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011): Threefry-2x32 with 20 rounds, as
jax has it. On a CPU jax compiles it as a loop that nothing is fused with, on a GPU as a call; inlined it is some 120
integer operations for 64 bits, which stay in registers. Streams are the same, bit for bit, and so is `key_data`.
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


def inlined(key: Key[Array, "..."]) -> Key[Array, "..."]:
    """The same key for the inlined threefry, whose numbers are the same; a key of another generator is returned as is.

    Example:
        >>> import jax
        >>> import jaxonline as jo
        >>> key = jax.random.key(0)
        >>> bool(jax.random.bits(jo.random.inlined(key)) == jax.random.bits(key))
        True
    """
    threefrys = jax.random.key_impl(key) == "threefry2x32" and jax.config.jax_threefry_partitionable  # type: ignore[attr-defined]
    return jax.random.wrap_key_data(jax.random.key_data(key), impl=INLINED) if threefrys else key


def is_inlined(key: Key[Array, "..."]) -> bool:
    """Whether a key is one of the inlined threefry, as the keys of a run are."""
    return jax.random.key_impl(key) == INLINED


def is_threefry(key: Key[Array, "..."]) -> bool:
    """Whether a key is one of threefry, jax's or inlined."""
    return jax.random.key_impl(key) in ("threefry2x32", INLINED, FUSED)


def fused(key: Key[Array, "..."]) -> Key[Array, "..."]:
    """An inlined key whose single numbers are fused with the operations that use them, too."""
    return jax.random.wrap_key_data(jax.random.key_data(key), impl=FUSED) if is_inlined(key) else key


def to_jax(key: Key[Array, "..."]) -> Key[Array, "..."]:
    """The same key for jax's own generator, which some functions of `jax.random` require."""
    data = jax.random.key_data(key)
    return jax.random.wrap_key_data(data, impl="threefry2x32") if is_threefry(key) else key


def split_in_two(key: Key[Array, ""]) -> tuple[Key[Array, ""], Key[Array, ""]]:
    """`jax.random.split(key)`, each key by itself: one that is not used is not made."""
    if not is_inlined(key):
        first, second = jax.random.split(key)
        return first, second
    return jax.random.fold_in(key, 0), jax.random.fold_in(key, 1)


def words(key: Key[Array, ""], number: int, bit_width: int) -> list[UInt[Array, ""]]:
    """`jax.random.bits(key, (number,))` as a list of scalars: as an array, a few words fill no register.

    Args:
        key: of the draw.
        number: how many words.
        bit_width: 32 or 64.

    Returns:
        Unsigned integers of this width, shape ().

    Raises:
        TypeError: `bit_width` of 64 where jax has no 64-bit numbers.

    Example:
        >>> import jax
        >>> import jaxonline as jo
        >>> key = jax.random.key(0)
        >>> [word.item() for word in jo.random.words(key, 3, 32)] == jax.random.bits(key, (3,)).tolist()
        True
    """
    if not is_inlined(key):
        return list(jax.random.bits(key, (number,), f"uint{bit_width}"))
    data, zero = jax.random.key_data(key), jnp.uint32(0)
    return [_word(*threefry(data, zero, jnp.uint32(place)), bit_width) for place in range(number)]


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
        return jax.random.key_data(jax.random.split(_for_jax(key), shape))
    if math.prod(shape) <= _FEW:  # one by one: an axis of two or three keys is too short for a register
        few = [_fold_in(key, place) for place in range(math.prod(shape))]
        return jnp.stack(few).reshape(*shape, 2) if few else jnp.zeros((*shape, 2), jnp.uint32)
    return jnp.stack(threefry(key, *_counters(tuple(shape))), axis=-1)


def _for_jax(key: Array) -> Key[Array, ""]:
    """The key for jax's own generator, which counts beyond 2^32."""
    return jax.random.wrap_key_data(key, impl="threefry2x32")


def _fused_bits(key: Array, bit_width: int, shape: tuple[int, ...]) -> Array:
    if math.prod(shape) >= 2**32:
        return jax.random.bits(_for_jax(key), shape, f"uint{bit_width}")
    return _word(*threefry(key, *_counters(tuple(shape))), bit_width)


def _random_bits(key: Array, bit_width: int, shape: tuple[int, ...]) -> Array:
    """The same; a single word is computed once, so that `jax.random.normal(key)` compiles on every version of jax."""
    if math.prod(shape) != 1:
        return _fused_bits(key, bit_width, shape)
    return compute_once(lambda key: _fused_bits(key, bit_width, shape), key)


def _word(high: Array, low: Array, bit_width: int) -> Array:
    if bit_width == 64:
        return (high.astype(jnp.uint64) << np.uint64(32)) | low.astype(jnp.uint64)
    return (high ^ low).astype(f"uint{bit_width}")


_generator = functools.partial(define_prng_impl, key_shape=(2,), seed=_seed, split=_split, fold_in=_fold_in)
INLINED = _generator(random_bits=_random_bits, name="threefry2x32, inlined", tag="fry")
FUSED = _generator(random_bits=_fused_bits, name="threefry2x32, inlined and fused", tag="fryf")


def concatenated_key(keys: tuple[Key[Array, ""], ...], each: int) -> Key[Array, ""]:
    """A key whose numbers are `each` of the first inlined key, then `each` of the second, and so on.

    It draws one axis of 32-bit numbers, which continues with the last key where it is longer, and makes no other keys.
    """
    words = jnp.stack([jax.random.key_data(key) for key in keys])
    return jax.random.wrap_key_data(words, impl=_concatenated(len(keys), each))


@functools.cache
def _concatenated(number: int, each: int):
    """The generator of `concatenated_key`."""

    def random_bits(keys: Array, bit_width: int, shape: tuple[int, ...]) -> Array:
        if bit_width != 32 or len(shape) != 1:
            raise TypeError(
                f"key: several keys draw 32-bit numbers along one axis only (got {bit_width} bits, shape {shape})"
            )
        place = np.arange(shape[0], dtype=np.uint32)
        whose = np.minimum(place // each, number - 1)
        key = [keys[0, word] for word in range(2)]
        for k in range(1, number):
            key = [jnp.where(whose >= k, keys[k, word], others) for word, others in enumerate(key)]
        high, low = threefry((key[0], key[1]), jnp.zeros(shape, jnp.uint32), jnp.asarray(place - whose * each))
        return high ^ low

    def refused(*_: Any) -> Array:
        raise TypeError("key: keys side by side cannot be split or folded; draw numbers from them")

    return define_prng_impl(
        key_shape=(number, 2), seed=refused, split=refused, random_bits=random_bits, fold_in=refused,
        name=f"{each} numbers of each of {number} threefry2x32 keys", tag=f"fry{number}x{each}",
    )  # fmt: skip


def key_of_words(words: UInt[Array, "n"]) -> Key[Array, ""]:
    """A key whose random words are the given ones, n of 32 bits."""
    return jax.random.wrap_key_data(words, impl=_given(words.shape[-1]))


@functools.cache
def _given(number: int):
    """The generator of `key_of_words`."""

    def random_bits(words: Array, bit_width: int, shape: tuple[int, ...]) -> Array:
        if bit_width != 32 or shape != words.shape:
            raise TypeError(f"key: must be asked for {number} words of 32 bits (got {bit_width} bits, shape {shape})")
        return words

    def refused(*_: Any) -> Array:
        raise TypeError("key: a key with given words cannot be split or folded; draw numbers from it")

    return define_prng_impl(
        key_shape=(number,), seed=refused, split=refused, random_bits=random_bits, fold_in=refused,
        name=f"{number} given words", tag=f"words{number}",
    )  # fmt: skip
