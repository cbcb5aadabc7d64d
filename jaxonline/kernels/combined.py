"""Sums and multiples of kernels, with a power series or a spectrum if all of their kernels have one.

`Sum` and `Scaled` select the class of the result: `Sum([Linear(), ExponentialKernel()])` is a `DotProductSum`.
"""

import functools
import math
from collections.abc import Sequence
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Key

from jaxonline import random
from jaxonline.kernels.base import AnyKernel, Kernel, require_kernel
from jaxonline.kernels.dot_product import DotProductKernel, require_dot_product
from jaxonline.kernels.shift_invariant import ShiftInvariantKernel, require_shift_invariant
from jaxonline.parameters import check
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Convert, NonNegative, host_float


def as_kernels(kernels: Any, name: str) -> tuple[Kernel, ...]:
    """Return a sequence of kernels as a tuple."""
    return tuple(require_kernel(name, kernel) for kernel in check.sequence(name, kernels, "kernel"))


@struct
class Sum(Kernel):
    """Sum of kernels; it has a power series if all its kernels have one, and a spectrum if all its kernels have one.

    Args:
        kernels: a sequence of at least one kernel.

    Example:
        >>> from jaxonline.kernels import DotProductKernel, ExponentialKernel, Gaussian, Linear, Sum
        >>> Sum([ExponentialKernel(), Linear()]).coefficients(3).tolist()
        [1.0, 2.0, 0.5]
        >>> isinstance(Sum([Gaussian(1.0), Linear()]), DotProductKernel)
        False
    """

    kernels: Annotated[Sequence[Kernel], Convert(as_kernels)]

    def __new__(cls, kernels: Sequence[Kernel] = ()) -> Any:
        return object.__new__(select_class(cls, Sum, DotProductSum, ShiftInvariantSum, kernels))

    def __call__(self, x: Float[ArrayLike, "d"], x2: Float[ArrayLike, "d"]) -> Float[Array, ""]:
        return sum(kernel(x, x2) for kernel in self.kernels)  # type: ignore[return-value]


@struct
class DotProductSum(Sum, DotProductKernel):
    """Sum of dot-product kernels, made by `Sum([...])`."""

    kernels: Annotated[Sequence[DotProductKernel], Convert(as_kernels)]

    def __post_init__(self) -> None:
        for kernel in self.kernels:
            require_dot_product("kernels", kernel)

    @property
    def degree(self) -> int | None:  # type: ignore[override]
        """The largest degree of the kernels; None if a kernel has an infinite series."""
        degrees = [kernel.degree for kernel in self.kernels]
        return None if None in degrees else max(degrees)  # type: ignore[type-var]

    def radius(self) -> float:
        return min(kernel.radius() for kernel in self.kernels)

    def series(self, a: ArrayLike) -> Array:
        return sum(kernel.series(a) for kernel in self.kernels)  # type: ignore[return-value]

    def log_coefficient(self, n: Int[Array, "..."]) -> Float[Array, "..."]:
        return functools.reduce(jnp.logaddexp, [kernel.log_coefficient(n) for kernel in self.kernels])

    def tail_bound(self, n_terms: int, a: float) -> float:
        return math.fsum(kernel.tail_bound(n_terms, a) for kernel in self.kernels)

    def _coefficients(self, n: np.ndarray) -> np.ndarray:
        return np.sum([kernel.coefficients(len(n)) for kernel in self.kernels], axis=0)


@struct
class ShiftInvariantSum(Sum, ShiftInvariantKernel):
    """Sum of shift-invariant kernels, made by `Sum([...])`."""

    kernels: Annotated[Sequence[ShiftInvariantKernel], Convert(as_kernels)]

    def __post_init__(self) -> None:
        for kernel in self.kernels:
            require_shift_invariant("kernels", kernel)

    def at_zero(self) -> Float[Array, ""]:
        return sum(kernel.at_zero() for kernel in self.kernels)  # type: ignore[return-value]

    def frequencies(self, key: Key[Array, ""], dimension: int, n: int) -> Float[Array, "n dimension"]:
        # each frequency is drawn from kernel i with probability k_i(x, x) / k(x, x)
        choice_key, *keys = jax.random.split(key, len(self.kernels) + 1)
        choice = random.weighted_index(choice_key, jnp.stack([kernel.at_zero() for kernel in self.kernels]), (n,))
        draws = [kernel.frequencies(k, dimension, n) for kernel, k in zip(self.kernels, keys, strict=True)]
        return jnp.stack(draws)[choice, jnp.arange(n)]


@struct
class Scaled(Kernel):
    """Kernel multiplied by a number; it has a power series or a spectrum if the kernel has one.

    Args:
        kernel: the kernel.
        factor: a factor that keeps the product positive semi-definite.

    Example:
        >>> from jaxonline.kernels import ExponentialKernel, Scaled
        >>> Scaled(ExponentialKernel(), 3.0).coefficients(3).tolist()
        [3.0, 3.0, 1.5]
    """

    kernel: AnyKernel
    factor: NonNegative = 1.0

    def __new__(cls, kernel: Kernel | None = None, factor: ArrayLike = 1.0) -> Any:
        return object.__new__(select_class(cls, Scaled, ScaledDotProduct, ScaledShiftInvariant, [kernel]))

    def __call__(self, x: Float[ArrayLike, "d"], x2: Float[ArrayLike, "d"]) -> Float[Array, ""]:
        return self._scale(self.kernel(x, x2))

    def _scale(self, value: Array) -> Array:
        return jnp.asarray(self.factor, value.dtype) * value


@struct
class ScaledDotProduct(Scaled, DotProductKernel):
    """Multiple of a dot-product kernel, made by `Scaled(kernel, factor)`."""

    kernel: Annotated[DotProductKernel, Convert(lambda kernel, name: require_dot_product(name, kernel))]

    @property
    def degree(self) -> int | None:  # type: ignore[override]
        """The degree of the scaled kernel."""
        return self.kernel.degree

    def radius(self) -> float:
        return self.kernel.radius()

    def series(self, a: ArrayLike) -> Array:
        return self._scale(self.kernel.series(a))

    def log_coefficient(self, n: Int[Array, "..."]) -> Float[Array, "..."]:
        logs = self.kernel.log_coefficient(n)
        return logs + jnp.log(jnp.asarray(self.factor, logs.dtype))

    def tail_bound(self, n_terms: int, a: float) -> float:
        return host_float("factor", self.factor) * self.kernel.tail_bound(n_terms, a)

    def _coefficients(self, n: np.ndarray) -> np.ndarray:
        return host_float("factor", self.factor) * self.kernel.coefficients(len(n))


@struct
class ScaledShiftInvariant(Scaled, ShiftInvariantKernel):
    """Multiple of a shift-invariant kernel, made by `Scaled(kernel, factor)`."""

    kernel: Annotated[ShiftInvariantKernel, Convert(lambda kernel, name: require_shift_invariant(name, kernel))]

    def at_zero(self) -> Float[Array, ""]:
        return self._scale(self.kernel.at_zero())

    def frequencies(self, key: Key[Array, ""], dimension: int, n: int) -> Float[Array, "n dimension"]:
        return self.kernel.frequencies(key, dimension, n)


def select_class(cls: type, plain: type, dot_product: type, shift_invariant: type, kernels: Any) -> type:
    """Return the class for `kernels` if `cls` is `plain`, else `cls`; pickle calls this method without kernels."""
    if cls is not plain or not isinstance(kernels, Sequence):
        return cls
    if kernels and all(isinstance(kernel, DotProductKernel) for kernel in kernels):
        return dot_product
    if kernels and all(isinstance(kernel, ShiftInvariantKernel) for kernel in kernels):
        return shift_invariant
    return cls
