"""Computation in float64 if the user asks for it, without changing JAX's configuration."""

import jax.numpy as jnp
import numpy as np

from jaxonline.parameters import check

ENABLE_X64_HINT = "put the call in `with jax.enable_x64(True):`, or set JAX_ENABLE_X64=1 before Python starts"


def working_dtype(dtype: str) -> np.dtype:
    """Return the dtype "float64" or "float32"; ValueError if it is neither, or if JAX has float64 disabled."""
    check.choice("dtype", dtype, ("float64", "float32"))
    if dtype == "float64" and jnp.result_type(float) != jnp.float64:
        raise ValueError(f"dtype: float64 is disabled in JAX; {ENABLE_X64_HINT}, or pass dtype='float32'")
    return np.dtype(dtype)


def require_float64(name: str, dtype: np.dtype, allow_float32: bool) -> None:
    """Raise ValueError if the dtype of instances is not float64 and `allow_float32` is False."""
    if dtype != np.float64 and not allow_float32:
        raise ValueError(
            f"instances: must be float64 for {name} (got {dtype}); {ENABLE_X64_HINT}, and build the environment there, "
            "or accept the drift of float32 with allow_float32=True"
        )
