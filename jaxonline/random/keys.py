"""Keys of random numbers, derived from others."""

from typing import Any

import jax
from jaxtyping import Array, ArrayLike, Int, Key, PyTree

from jaxonline._xla.barriers import opaque_one


def fold_in(key: Key[Array, ""], data: Int[ArrayLike, ""], after: PyTree = None) -> Key[Array, ""]:
    """A new key made of a key and an integer, the same as `jax.random.fold_in(key, data)`.

    Args:
        key: the key.
        data: the integer.
        after: arrays that are computed before the key is known. Operations that need the key then come after those
            that make the arrays: a state that both read is changed in place and not copied.

    Returns:
        A key of the same generator.

    Raises:
        TypeError: `data` is not a scalar.

    Example:
        >>> import jax
        >>> import jaxonline as jo
        >>> key, move = jax.random.key(0), jax.numpy.float32(0.5)
        >>> bool(jo.random.fold_in(key, 1, after=move) == jo.random.fold_in(key, 1) == jax.random.fold_in(key, 1))
        True
    """
    number: Any = data if after is None else (data - 1) + opaque_one(after)
    return jax.random.fold_in(key, number)
