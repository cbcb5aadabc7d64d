"""The check that instances or outcomes are vectors."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxonline.parameters.errors import ArgumentError


def zeros_like_vector(learner: Any, spec: jax.ShapeDtypeStruct, argument: str = "instance") -> Float[Array, "d"]:
    """Return zeros of the shape and dtype `spec`, or raise a ValueError if the shape is no vector's shape."""
    if len(spec.shape) != 1:
        raise ArgumentError(argument, f"must be a vector for {type(learner).__name__} (got shape {spec.shape})")
    return jnp.zeros(spec.shape, spec.dtype)
