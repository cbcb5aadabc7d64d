"""One entry of a random vector, computed without the other entries."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from jaxonline._xla.barriers import compute_once
from jaxonline.random.threefry import counts_words, key_from_words, threefry


def entry(
    draw: Callable[..., Array], key: Key[Array, ""], index: Int[Array, "*n"], length: int, dtype: Any = float
) -> Array:
    """Return entry `index` of `draw(key, (length,), dtype)` at the cost of one number, as word k needs only key and k.

    Args:
        draw: a function that makes each number from one random word: `normal`, `uniform`, `laplace`, `exponential`.
        key: the key of the vector.
        index: from 0 to `length` - 1; an array of indices gives an array of entries of the same shape.
        length: the length of the vector.
        dtype: the floating dtype of the numbers.

    Example:
        >>> import jax, jaxonline as jo
        >>> key = jax.random.key(0)
        >>> bool(jo.random.entry(jo.random.normal, key, 2, 5) == jo.random.normal(key, (5,))[2])
        True
    """
    return compute_once(lambda key, index: fused_entry(draw, key, index, length, dtype), key, jnp.asarray(index))


def fused_entry(
    draw: Callable[..., Array], key: Key[Array, ""], index: Int[Array, "*n"], length: int, dtype: Any = float
) -> Array:
    """Return the number of `entry`, computed again by each use; for functions whose own result is computed once."""
    dtype = jax.dtypes.canonicalize_dtype(dtype)
    if not counts_words(key) or dtype != jnp.float32 or length >= 2**32:
        return draw(key, (length,), dtype)[index]
    place = index.reshape(-1).astype(jnp.uint32)
    high, low = threefry(jax.random.key_data(key), jnp.zeros_like(place), place)
    return draw(key_from_words(high ^ low), place.shape, dtype).reshape(index.shape)
