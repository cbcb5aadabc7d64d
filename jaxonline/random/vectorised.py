"""Random vectors drawn in whole CPU registers, and single random numbers drawn once.

A CPU computes eight float32 numbers at a time, and the remaining numbers of a vector one by one, which takes longer.
The numbers of a counter-based generator do not depend on how many are drawn. So the length of a vector is rounded up to
a multiple of eight, and the vector is cut after the draw. Several vectors are drawn as one long vector. One loop draws
the random words, and a second loop converts the words to numbers, because a processor works on as many independent
chains of operations as it has registers.

A single number, such as the noise of a label, is drawn once, not for each coordinate of a vector to which it is added.
With jax 0.11 and 0.12 the CPU compiler may otherwise not finish: its vectoriser visits all users of all users of an
operation (`onlyFirstLaneUsed`), and threefry is a chain of sixty operations that are each used twice.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from jaxonline._xla.barriers import compute_once
from jaxonline.random.threefry import concatenated_key, fused_key, is_inlined, key_from_words

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
