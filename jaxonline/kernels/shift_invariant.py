"""Shift-invariant kernels k(x, x') = g(x - x'), with their spectral distribution.

`jaxonline.estimators.fourier` draws features from this distribution: Rokhlin and Gurtovaya (2025), section 2. Radial
kernels are in `radial`.
"""

import abc
import math
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Key

from jaxonline.kernels.base import Kernel, require_kernel
from jaxonline.parameters.errors import ArgumentTypeError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Positive, as_floating


class ShiftInvariantKernel(Kernel):
    """A kernel g(x - x') with its spectral distribution: E cos<omega, x - x'> = k(x, x') / k(x, x).

    A subclass implements `__call__`, `at_zero` and `frequencies`.

    Example:
        >>> from jaxonline.kernels import Gaussian, Linear, ShiftInvariantKernel
        >>> isinstance(Gaussian(1.0), ShiftInvariantKernel), isinstance(Linear(), ShiftInvariantKernel)
        (True, False)
    """

    @abc.abstractmethod
    def at_zero(self) -> Float[Array, ""]:
        """Return k(x, x), which is the same for every x."""

    @abc.abstractmethod
    def frequencies(self, key: Key[Array, ""], dimension: int, n: int) -> Float[Array, "n dimension"]:
        """Return independent draws omega of the spectral distribution."""


@struct
class Gaussian(ShiftInvariantKernel):
    """Gaussian kernel exp(-|x - x'|^2 / width^2), the convention of papers A and B.

    Paper D writes exp(-|x - x'|^2 / (2 sigma^2)), which is `Gaussian.from_standard_deviation(sigma)`; its width is
    sigma sqrt(2).

    Args:
        width: distance at which the kernel is 1/e.

    Example:
        >>> from jaxonline.kernels import Gaussian
        >>> round(float(Gaussian(1.0)([0.6, 0.5], [0.5, 0.7])), 3)
        0.951
    """

    width: Positive

    @classmethod
    @validate_arguments
    def from_standard_deviation(cls, sigma: Positive) -> "Gaussian":
        """Return the kernel exp(-|x - x'|^2 / (2 sigma^2)); its frequencies have the standard deviation 1 / sigma.

        Example:
            >>> from jaxonline.kernels import Gaussian
            >>> round(float(Gaussian.from_standard_deviation(1.0)([0.0], [1.0])), 4)  # e^-0.5
            0.6065
        """
        return cls(sigma * math.sqrt(2.0))  # type: ignore[operator]

    def __call__(self, x: Float[ArrayLike, "d"], x2: Float[ArrayLike, "d"]) -> Float[Array, ""]:
        scaled = (as_floating(x) - as_floating(x2)) / jnp.asarray(self.width, as_floating(x).dtype)
        return jnp.exp(-jnp.sum(scaled**2))

    def at_zero(self) -> Float[Array, ""]:
        return jnp.ones(())

    def frequencies(self, key: Key[Array, ""], dimension: int, n: int) -> Float[Array, "n dimension"]:
        z = jax.random.normal(key, (n, dimension))
        return z * math.sqrt(2.0) / jnp.asarray(self.width, z.dtype)


@struct
class Laplacian(ShiftInvariantKernel):
    """Laplacian kernel exp(-|x - x'|_1 / scale) in the l1 norm, the convention of paper D.

    The kernel is a product over coordinates and not radial; exp(-r/s) in the l2 norm is
    `kernels.radial.RadialExponential`.

    Args:
        scale: scale of distances.

    Example:
        >>> from jaxonline.kernels import Laplacian
        >>> round(float(Laplacian(2.0)([0.0, 0.0], [1.0, 1.0])), 4)  # e^-1
        0.3679
    """

    scale: Positive

    def __call__(self, x: Float[ArrayLike, "d"], x2: Float[ArrayLike, "d"]) -> Float[Array, ""]:
        distance = jnp.sum(jnp.abs(as_floating(x) - as_floating(x2)))
        return jnp.exp(-distance / jnp.asarray(self.scale, distance.dtype))

    def at_zero(self) -> Float[Array, ""]:
        return jnp.ones(())

    def frequencies(self, key: Key[Array, ""], dimension: int, n: int) -> Float[Array, "n dimension"]:
        z = jax.random.cauchy(key, (n, dimension))
        return z / jnp.asarray(self.scale, z.dtype)


def require_shift_invariant(name: str, kernel: Any) -> ShiftInvariantKernel:
    """Return the kernel; raise a TypeError if it has no spectral distribution."""
    if not isinstance(require_kernel(name, kernel), ShiftInvariantKernel):
        raise ArgumentTypeError(
            name,
            f"must be a function of the difference of its arguments to have a spectrum (got {type(kernel).__name__})",
        )
    return kernel
