"""Products of float32 that are float32 on every device, without touching JAX's configuration."""

import contextlib
from collections.abc import Iterator

import jax


def may_round_products() -> bool:
    """Whether the devices on which jax plays by default may multiply float32 in fewer bits."""
    return jax.default_backend() != "cpu"


@contextlib.contextmanager
def exact_products() -> Iterator[None]:
    """In this context, or in a function that it decorates, products of float32 are traced as such on every device.

    JAX multiplies matrices and vectors of float32 in fewer bits where a device is faster so: 10 of a number's 23 on
    recent GPUs. Regrets would be others there. What a user sets as `jax_default_matmul_precision` holds, and nothing is
    asked of a CPU, which has all bits anyway.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline._xla.matmul_precision import exact_products
        >>> with exact_products():
        ...     print(jnp.float32(jnp.ones(2) @ jnp.ones(2)))
        2.0
    """
    is_set = jax.config.jax_default_matmul_precision is not None  # type: ignore[attr-defined]
    if is_set or not may_round_products():
        yield
        return
    with jax.default_matmul_precision("highest"):
        yield
