"""Conversion of the leaves of a learner's state, including JAX keys, to plain arrays and back."""

import jax
import numpy as np


def plain_leaf(leaf: jax.Array) -> jax.Array:
    """Return a leaf unchanged, or the key data of a leaf that is a JAX key."""
    return jax.random.key_data(leaf) if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf


def leaf_like(leaf: jax.Array, numbers: np.ndarray) -> jax.Array:
    """Convert numbers from a file to an array (or JAX key) with the type and devices of `leaf`."""
    target = plain_leaf(leaf)
    if numbers.dtype.kind == "V":  # a dtype unknown to NumPy (bfloat16)
        numbers = numbers.view(target.dtype)
    array = jax.device_put(numbers, target.sharding)
    return array if target is leaf else jax.random.wrap_key_data(array, impl=jax.random.key_impl(leaf))
