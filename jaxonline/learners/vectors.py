"""The check that instances or outcomes are vectors, and the limits of linear predictions from vectors."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from jaxonline.parameters.errors import ArgumentError


def zeros_like_vector(learner: Any, spec: jax.ShapeDtypeStruct, argument: str = "instance") -> Float[Array, "d"]:
    """Return zeros of the shape and dtype `spec`, or raise a ValueError if the shape is no vector's shape."""
    if len(spec.shape) != 1:
        raise ArgumentError(argument, f"must be a vector for {type(learner).__name__} (got shape {spec.shape})")
    return jnp.zeros(spec.shape, spec.dtype)


def linear_range(
    instances: Float[np.ndarray, "n d"] | None, radius: ArrayLike | None, order: float
) -> tuple[float, float] | None:
    """Return the limits of <w, x> for the rows x of `instances` and |w|_order <= radius, by Hoelder's inequality.

    `order` is 1, 2 or infinity. The limits are unknown (None) if `instances` or `radius` is None.
    """
    if instances is None or radius is None:
        return None
    dual = {1.0: np.inf, 2.0: 2.0, np.inf: 1.0}[order]
    reach = float(np.asarray(radius)) * float(np.linalg.norm(instances, dual, axis=1).max())
    return -reach, reach


def entry_range(instances: Float[np.ndarray, "n d"] | None) -> tuple[float, float] | None:
    """Return the smallest and the largest entry, the limits of means of entries; None if instances are unknown."""
    return None if instances is None else (float(instances.min()), float(instances.max()))
