"""float64 where it is needed, and float32 that is float32, without touching JAX's configuration."""

import contextlib
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

from jaxonline._util import check

ENABLE_X64_HINT = "put the call in `with jax.enable_x64(True):`, or set JAX_ENABLE_X64=1 before Python starts"


def working_dtype(dtype: str) -> np.dtype:
    """The dtype "float64" or "float32".

    Raises:
        ValueError: it is neither, or it is "float64" and JAX has float64 disabled.
    """
    check.choice("dtype", dtype, ("float64", "float32"))
    if dtype == "float64" and jnp.result_type(float) != jnp.float64:
        raise ValueError(
            f"float64 is needed here, and JAX has it disabled: {ENABLE_X64_HINT}; or ask for dtype='float32'"
        )
    return np.dtype(dtype)


def need_float64(name: str, dtype: np.dtype, allow_float32: bool) -> None:
    """Check the dtype of a learner's instances.

    Raises:
        ValueError: it is less than float64, and `allow_float32` is False.
    """
    if dtype != np.float64 and not allow_float32:
        raise ValueError(
            f"{name} needs float64 instances, got {dtype}: {ENABLE_X64_HINT}, and build the environment there; "
            f"or accept the drift of float32 with allow_float32=True"
        )


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
        >>> from jaxonline._util.precision import exact_products
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
