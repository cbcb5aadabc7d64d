"""Leaves of states as plain arrays, keys of jax too, and back."""

import jax
import numpy as np


def plain_leaf(leaf: jax.Array) -> jax.Array:
    """The leaf, or the numbers of a key."""
    return jax.random.key_data(leaf) if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf


def leaf_like(leaf: jax.Array, numbers: np.ndarray) -> jax.Array:
    """Numbers from a file where this leaf is: on its devices, of its type."""
    own = plain_leaf(leaf)
    if numbers.dtype.kind == "V":  # what NumPy has no name for (bfloat16)
        numbers = numbers.view(own.dtype)
    put = jax.device_put(numbers, own.sharding)
    return put if own is leaf else jax.random.wrap_key_data(put, impl=jax.random.key_impl(leaf))
