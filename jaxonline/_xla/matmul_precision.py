"""Products of float32 in full precision on every device, without changing the configuration of JAX."""

import contextlib
from collections.abc import Iterator

import jax


def may_round_products() -> bool:
    """Whether the default devices may multiply float32 with fewer bits."""
    return jax.default_backend() != "cpu"


@contextlib.contextmanager
def exact_products() -> Iterator[None]:
    """Context, or decorator, in which products of float32 are traced with full precision.

    By default JAX multiplies float32 matrices with fewer bits on some devices (10 of 23 on recent GPUs), which would
    change regrets. The user's `jax_default_matmul_precision` takes precedence. A CPU always uses all bits.

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
