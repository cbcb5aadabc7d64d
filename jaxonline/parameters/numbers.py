"""Conversion of arguments to numbers: to floating-point arrays inside of jit, and to Python floats on the host."""

import math
from typing import Annotated, Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentTypeError
from jaxonline.parameters.types import Convert, Shape


def as_floating(a: ArrayLike) -> Array:
    """Return `a` as a floating-point array; integers get the default floating dtype."""
    a = jnp.asarray(a)
    return a if jnp.issubdtype(a.dtype, jnp.floating) else a.astype(jnp.result_type(float))


def host_float(name: str, value: ArrayLike) -> float:
    """Return an argument as a float, for computations on the host (series, quadratures)."""
    if check.concrete_array(value) is None:
        raise ArgumentTypeError(name, f"must be a known number here (computed outside jit) (got {check.quote(value)})")
    return float(check.number(name, value))


def jax_array(name: str, value: Any, *, ndim: int = 1, ge: float | None = None, le: float | None = None) -> Array:
    """Return a finite array as a JAX array; JAX arrays keep their dtype, other values get the default float dtype."""
    entries = check.array(name, value, ndim=ndim, ge=ge, le=le)
    dtype = value.dtype if isinstance(value, jax.Array) else jnp.result_type(float)
    check.fits_dtype(name, entries, dtype)
    return jnp.asarray(entries, dtype)


JaxVector = Annotated[Any, Shape("d"), Convert(lambda value, name: jax_array(name, value))]
"""A vector that becomes an array of jax."""


def exp(a: float) -> float:
    """Return e^a as a Python float; inf if e^a overflows."""
    return math.exp(a) if a < 709.0 else math.inf
