"""Base class of surrogate kernels under noise with independent coordinates."""

import abc
import dataclasses
from typing import ClassVar, Protocol

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from jaxonline.feedback.noise import Covariance
from jaxonline.kernels import Gaussian
from jaxonline.kernels.base import Kernel
from jaxonline.kernels.radial import GaussianMixture
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import set_field, static, struct
from jaxonline.parameters.types import Count, as_floating


@struct
class NoiseSurrogate(Kernel):
    """Surrogate kernel k^ of a mixture of Gaussian kernels, under noise with independent coordinates.

    The coordinates are those of the eigenvectors of the covariance. A subclass declares the distribution `law` of the
    noise (as in `jaxonline.feedback.noise.Noise`), and implements `in_eigenvectors`.
    """

    kernel: Gaussian | GaussianMixture
    covariance: Covariance
    dimension: Count | None = static(default=None)
    variances: Float[ArrayLike, "d"] = dataclasses.field(init=False)
    """The eigenvalues of the covariance."""
    rotation: Float[ArrayLike, "d d"] | None = dataclasses.field(init=False)
    """The eigenvectors of the covariance, in columns; None if it is diagonal."""

    law: ClassVar[str]

    def __post_init__(self) -> None:
        variances, rotation = covariance_eigenvectors(self.covariance, self.dimension)  # type: ignore[arg-type]
        set_field(self, "dimension", int(np.shape(variances)[0]))
        set_field(self, "variances", variances)
        set_field(self, "rotation", rotation)

    @abc.abstractmethod
    def in_eigenvectors(self, dtype: jnp.dtype) -> "RotatedKernel":
        """Return k^ as a kernel of instances in the coordinates of the eigenvectors."""

    def rotate(self, x: Float[Array, "d"]) -> Float[Array, "d"]:
        """Return x in the coordinates of the eigenvectors."""
        return x if self.rotation is None else x @ jnp.asarray(self.rotation, x.dtype)

    def at_zero(self) -> Float[Array, ""]:
        """Return k^(x, x), which is the same for all x."""
        return self.in_eigenvectors(jnp.result_type(float)).at_zero()

    def constant(self) -> Float[Array, ""]:
        """Return R = sqrt(k^(x, x)), the norm of every feature vector of k^; R is at least sqrt(k(x, x))."""
        return jnp.sqrt(self.at_zero())

    def mixture(self) -> GaussianMixture:
        """Return the original kernel as a mixture."""
        if isinstance(self.kernel, GaussianMixture):
            return self.kernel
        rate = as_floating(self.kernel.width) ** -2
        return GaussianMixture(rate[None], jnp.ones_like(rate)[None])


class RotatedKernel(Protocol):
    """A surrogate kernel in the coordinates of the eigenvectors of the noise."""

    def __call__(self, x: Float[Array, "d"], x2: Float[Array, "d"]) -> Float[Array, ""]:
        """Return k^ at two rotated instances."""
        ...

    def at_zero(self) -> Float[Array, ""]:
        """Return k^(x, x)."""
        ...


def covariance_eigenvectors(covariance: ArrayLike, dimension: int | None) -> tuple[ArrayLike, ArrayLike | None]:
    """Return eigenvalues [d] and eigenvectors [d, d] of a covariance; None as eigenvectors if it is diagonal."""
    ndim = np.ndim(covariance)
    if ndim == 0 and dimension is None:
        raise ArgumentError("dimension", "must be given if covariance is a number (got None)")
    if dimension is not None and ndim > 0 and np.shape(covariance)[0] != dimension:
        raise ArgumentError(
            "dimension", f"must match covariance, of dimension {np.shape(covariance)[0]} (got {dimension})"
        )
    known_covariance = check.concrete_array(covariance)
    if known_covariance is not None:
        covariance = known_covariance.astype(float)
    xp = jnp if known_covariance is None else np
    if ndim == 0:
        return xp.broadcast_to(covariance, (dimension,)), None  # type: ignore[arg-type]
    if ndim == 1:
        return covariance, None
    return xp.linalg.eigh(covariance)
