"""Keys derived from other keys."""

from typing import Any

import jax
from jaxtyping import Array, ArrayLike, Int, Key

from jaxonline._xla.barriers import opaque_one
from jaxonline.parameters.types import PyTree


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
