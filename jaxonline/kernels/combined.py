"""Sums and multiples of shift-invariant kernels."""

from collections.abc import Sequence
from typing import Annotated, Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Key

from jaxonline import random
from jaxonline.kernels.shift_invariant import ShiftInvariantKernel, require_shift_invariant
from jaxonline.parameters import check
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Convert, NonNegative


def _as_kernels(kernels: Any, name: str) -> tuple[ShiftInvariantKernel, ...]:
    return tuple(require_shift_invariant(name, kernel) for kernel in check.sequence(name, kernels, "kernel"))


@struct
class Sum(ShiftInvariantKernel):
    """Sum of shift-invariant kernels.

    Args:
        kernels: a sequence of at least one kernel.

    Example:
        >>> from jaxonline.kernels import Gaussian, Laplacian, Sum
        >>> float(Sum([Gaussian(1.0), Laplacian(2.0)]).at_zero())
        2.0
    """

    kernels: Annotated[Sequence[ShiftInvariantKernel], Convert(_as_kernels)]

    def __call__(self, x: Float[ArrayLike, "d"], x2: Float[ArrayLike, "d"]) -> Float[Array, ""]:
        return sum(kernel(x, x2) for kernel in self.kernels)  # type: ignore[return-value]

    def at_zero(self) -> Float[Array, ""]:
        return sum(kernel.at_zero() for kernel in self.kernels)  # type: ignore[return-value]

    def frequencies(self, key: Key[Array, ""], dimension: int, n: int) -> Float[Array, "n dimension"]:
        # each frequency is drawn from kernel i with probability k_i(x, x) / k(x, x)
        choice_key, *keys = jax.random.split(key, len(self.kernels) + 1)
        choice = random.weighted_index(choice_key, jnp.stack([kernel.at_zero() for kernel in self.kernels]), (n,))
        draws = [kernel.frequencies(k, dimension, n) for kernel, k in zip(self.kernels, keys, strict=True)]
        return jnp.stack(draws)[choice, jnp.arange(n)]


@struct
class Scaled(ShiftInvariantKernel):
    """Shift-invariant kernel multiplied by a number.

    Args:
        kernel: the kernel.
        factor: a factor that keeps the product positive semi-definite.

    Example:
        >>> from jaxonline.kernels import Gaussian, Scaled
        >>> float(Scaled(Gaussian(1.0), 3.0).at_zero())
        3.0
    """

    kernel: Annotated[ShiftInvariantKernel, Convert(lambda kernel, name: require_shift_invariant(name, kernel))]
    factor: NonNegative = 1.0

    def __call__(self, x: Float[ArrayLike, "d"], x2: Float[ArrayLike, "d"]) -> Float[Array, ""]:
        return self._scale(self.kernel(x, x2))

    def at_zero(self) -> Float[Array, ""]:
        return self._scale(self.kernel.at_zero())

    def frequencies(self, key: Key[Array, ""], dimension: int, n: int) -> Float[Array, "n dimension"]:
        return self.kernel.frequencies(key, dimension, n)

    def _scale(self, value: Array) -> Array:
        return jnp.asarray(self.factor, value.dtype) * value
