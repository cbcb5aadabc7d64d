"""Products of kernels, with a power series or a spectrum if all of their kernels have one.

`Product` selects the class of the result: `Product([Linear(), ExponentialKernel()])` is a `DotProductProduct`. A
product of positive semi-definite functions is positive semi-definite (Schur).
"""

import functools
import math
from collections.abc import Sequence
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Key

from jaxonline.kernels.base import Kernel
from jaxonline.kernels.combined import as_kernels, select_class
from jaxonline.kernels.dot_product import DotProductKernel, require_dot_product
from jaxonline.kernels.shift_invariant import ShiftInvariantKernel, require_shift_invariant
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Convert

N_LEVELS = 512  # of an infinite series in a product: later coefficients are read as 0 inside compiled programs


@struct
class Product(Kernel):
    """Product of kernels; it has a power series if all its kernels have one, a spectrum if all its kernels have one.

    Args:
        kernels: a sequence of at least one kernel.

    Example:
        >>> from jaxonline.kernels import ExponentialKernel, Gaussian, Linear, Product
        >>> Product([ExponentialKernel(), Linear()]).coefficients(4).tolist()
        [0.0, 1.0, 1.0, 0.5]
        >>> round(float(Product([Gaussian(1.0), Linear()])([1.0, 0.0], [1.0, 1.0])), 4)  # e^-1
        0.3679
    """

    kernels: Annotated[Sequence[Kernel], Convert(as_kernels)]

    def __new__(cls, kernels: Sequence[Kernel] = ()) -> Any:
        return object.__new__(select_class(cls, Product, DotProductProduct, ShiftInvariantProduct, kernels))

    def __call__(self, x: Float[ArrayLike, "d"], x2: Float[ArrayLike, "d"]) -> Float[Array, ""]:
        return math.prod(kernel(x, x2) for kernel in self.kernels)  # type: ignore[return-value]


@struct
class DotProductProduct(Product, DotProductKernel):
    """Product of dot-product kernels, made by `Product([...])`: its coefficients are a convolution."""

    kernels: Annotated[Sequence[DotProductKernel], Convert(as_kernels)]

    def __post_init__(self) -> None:
        for kernel in self.kernels:
            require_dot_product("kernels", kernel)

    @property
    def degree(self) -> int | None:  # type: ignore[override]
        """The sum of the degrees of the kernels; None if a kernel has an infinite series."""
        degrees = [kernel.degree for kernel in self.kernels]
        return None if None in degrees else sum(degrees)  # type: ignore[arg-type]

    def radius(self) -> float:
        return min(kernel.radius() for kernel in self.kernels)

    def series(self, a: ArrayLike) -> Array:
        return math.prod(kernel.series(a) for kernel in self.kernels)  # type: ignore[return-value]

    def log_coefficient(self, n: Int[Array, "..."]) -> Float[Array, "..."]:
        first, *others = self.kernels
        return functools.reduce(convolve_logs, [(kernel.log_coefficient, kernel.degree) for kernel in others],
                                (first.log_coefficient, first.degree))[0](jnp.asarray(n))  # fmt: skip

    def tail_bound(self, n_terms: int, a: float) -> float:
        first, *others = self.kernels
        if not others:
            return first.tail_bound(n_terms, a)
        # each pair of terms i + j >= n_terms once: by i < n_terms, and all j if i >= n_terms
        rest, i = DotProductProduct(others), np.arange(n_terms)
        terms = first.coefficients(n_terms) * a**i if n_terms else np.zeros(0)
        tails = [term * rest.tail_bound(n_terms - k, a) for k, term in enumerate(terms) if term > 0.0]
        last = first.tail_bound(n_terms, a)
        return math.fsum(tails) + (last * rest.tail_bound(0, a) if last > 0.0 else 0.0)

    def _coefficients(self, n: np.ndarray) -> np.ndarray:
        tables = [kernel.coefficients(len(n)) for kernel in self.kernels]
        return functools.reduce(np.convolve, tables)[: len(n)]


LogSeries = tuple[Any, int | None]
"""A function n -> log beta_n, and the degree of the series (None if it is infinite)."""


def convolve_logs(series: LogSeries, series2: LogSeries) -> LogSeries:
    """Return the logarithms of the coefficients of a product of two power series, as JAX code."""
    (log, degree), (log2, degree2) = series, series2
    if degree is None or (degree2 is not None and degree2 < degree):
        (log, degree), (log2, degree2) = series2, series
    size = N_LEVELS if degree is None else degree + 1

    def log_coefficient(n: Int[Array, "..."]) -> Float[Array, "..."]:
        i = jnp.arange(size, dtype=n.dtype)
        rest = n[..., None] - jnp.expand_dims(i, range(n.ndim))
        logs = jnp.expand_dims(log(i), range(n.ndim)) + log2(jnp.maximum(rest, 0))
        return jax.scipy.special.logsumexp(jnp.where(rest >= 0, logs, -jnp.inf), axis=-1)

    return log_coefficient, None if degree is None or degree2 is None else degree + degree2


@struct
class ShiftInvariantProduct(Product, ShiftInvariantKernel):
    """Product of shift-invariant kernels, made by `Product([...])`: its frequencies are sums."""

    kernels: Annotated[Sequence[ShiftInvariantKernel], Convert(as_kernels)]

    def __post_init__(self) -> None:
        for kernel in self.kernels:
            require_shift_invariant("kernels", kernel)

    def at_zero(self) -> Float[Array, ""]:
        return math.prod(kernel.at_zero() for kernel in self.kernels)  # type: ignore[return-value]

    def frequencies(self, key: Key[Array, ""], dimension: int, n: int) -> Float[Array, "n dimension"]:
        keys = jax.random.split(key, len(self.kernels))
        draws = [kernel.frequencies(k, dimension, n) for kernel, k in zip(self.kernels, keys, strict=True)]
        return functools.reduce(jnp.add, draws)
