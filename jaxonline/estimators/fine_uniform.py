"""Uniform random numbers with extra resolution near 0, for distributions that are sampled by inversion."""

import functools
from typing import Any

import jax
import jax.numpy as jnp

from jaxonline import random


@functools.partial(jax.jit, static_argnames="dtype")  # traced once for all calls of the same shapes
def fine_uniform(key: jax.Array, dtype: Any) -> jax.Array:
    """Draw a uniform number in (0, 1] with extra resolution near 0; three draws give successive groups of its bits."""
    info = jnp.finfo(dtype)
    first, second, third = (_uniform(word, dtype) for word in random.words(key, 3, info.bits))
    return first + info.eps * (second + info.eps * (third + 0.5 * info.eps))


def _uniform(word: jax.Array, dtype: Any) -> jax.Array:
    """Convert random bits to a uniform number in [0, 1) as `jax.random.uniform` does."""
    info, one = jnp.finfo(dtype), jnp.ones((), dtype)
    bits = (word >> (info.bits - info.nmant)) | jax.lax.bitcast_convert_type(one, word.dtype)
    return jax.lax.bitcast_convert_type(bits, dtype) - one
