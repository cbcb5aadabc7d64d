"""Single random numbers drawn once, and several random vectors drawn together in whole registers.

A CPU computes eight float32 numbers at a time. What is left of a short vector, 4 of 20 numbers or all of 5, it computes
one by one, which takes longer than the rest. A generator that counts gives the same numbers however many are drawn, so
a vector is drawn up to the next multiple of eight and cut. Several vectors are drawn as one.

The random words are drawn first, and the numbers are made of them in a second loop: one number is a long chain of
operations that wait for each other, and a processor works at as many chains at a time as it has registers for.

A single number, such as the noise of a label, is drawn once and not for each coordinate of the vector that it is added
to. With jax 0.11 and 0.12 the CPU compiler may not even finish in that case: its vectoriser visits all users of all
users of an operation (`onlyFirstLaneUsed`), and threefry is a chain of sixty operations that are each used twice.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from jaxonline._xla.barriers import compute_once
from jaxonline.random.threefry import concatenated_key, fused_key, is_inlined, key_from_words

_REGISTER_FLOATS = 8  # float32 numbers


def stack_draws(
    draw: Callable[..., Array], keys: Sequence[Key[Array, ""]], shape: tuple[int, ...], dtype: Any = float
) -> Array:
    """`draw(key, shape, dtype)` for each of the keys, stack_draws: the same numbers, drawn together.

    Args:
        draw: a function that makes each number of one random word, as `normal`, `uniform`, `laplace`, `exponential`.
        keys: one for each result.
        shape: of each result.
        dtype: of the numbers, floating.

    Returns:
        An array [len(keys), *shape].

    Raises:
        TypeError: `draw` takes more than one word for a number.

    Example:
        >>> import jax
        >>> import jaxonline as jo
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
    """`draw(key)`, of this shape and of any number of words: a single number is drawn once."""
    if not is_inlined(key):
        return draw(key)
    return compute_once(lambda key: draw(fused_key(key)), key) if shape == () else draw(fused_key(key))
