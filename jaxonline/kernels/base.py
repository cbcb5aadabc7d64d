"""What a kernel is, and the sums and multiples of kernels. The kernels themselves are in `jaxonline.kernels`."""

import abc
import functools
import math
from collections.abc import Sequence
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Key

from jaxonline._util import check
from jaxonline._util.numbers import floating, known
from jaxonline._util.struct import set_field, struct


class Kernel(abc.ABC):
    """A positive semi-definite function of two vectors.

    A kernel that is not a function of the inner product has no series, and one that is not a function of the
    difference has no spectrum: asking for it is a TypeError.

    Example:
        >>> from jaxonline.kernels import Gaussian, Kernel
        >>> isinstance(Gaussian(1.0), Kernel)
        True
    """

    degree: ClassVar[int | None] = None
    """The degree of Q where it is a polynomial, None where its series is infinite or there is none."""

    @abc.abstractmethod
    def __call__(self, x: Float[ArrayLike, "d"], x2: Float[ArrayLike, "d"]) -> Float[Array, ""]:
        """The kernel of one pair of vectors."""

    def gram(self, X: Float[ArrayLike, "n d"], X2: Float[ArrayLike, "m d"] | None = None) -> Float[Array, "n m"]:
        """The kernel of every row of `X` with every row of `X2` (with every row of `X` when None).

        Example:
            >>> import jax.numpy as jnp
            >>> from jaxonline.kernels import Linear
            >>> Linear().gram(jnp.eye(2)).tolist()
            [[1.0, 0.0], [0.0, 1.0]]
        """
        X = floating(X)
        X2 = X if X2 is None else floating(X2)
        return jax.vmap(lambda x: jax.vmap(lambda x2: self(x, x2))(X2))(X)

    def radius(self) -> float:
        """The radius of convergence of Q.

        Example:
            >>> from jaxonline.kernels import Binomial, Linear
            >>> Binomial(2.0).radius(), Linear().radius()
            (1.0, inf)
        """
        raise self._no("series")

    def series(self, a: ArrayLike) -> Array:
        """Q(a), entry by entry; NaN outside the disc of convergence.

        Raises:
            TypeError: the kernel is not a function of the inner product.
            ValueError: a known `a` is outside the disc.

        Example:
            >>> from jaxonline.kernels import Homogeneous
            >>> float(Homogeneous(3).series(2.0))
            8.0
        """
        raise self._no("series")

    def coefficients(self, n_terms: int) -> np.ndarray:
        """beta_0 .. beta_(n_terms - 1) of Q(a) = sum beta_n a^n, in float64, on the host.

        Raises:
            TypeError: the kernel is not a function of the inner product.
            ValueError: `n_terms` below 1.

        Example:
            >>> from jaxonline.kernels import Inhomogeneous
            >>> Inhomogeneous(2).coefficients(4).tolist()
            [1.0, 2.0, 1.0, 0.0]
        """
        return self._coefficients(np.arange(check.count("n_terms", n_terms)))

    def log_coefficient(self, n: Int[Array, "..."]) -> Float[Array, "..."]:
        """log beta_n (-inf where beta_n = 0), as JAX code, for an `n` that may be random.

        Example:
            >>> import jax.numpy as jnp
            >>> from jaxonline.kernels import Homogeneous
            >>> Homogeneous(2).log_coefficient(jnp.arange(4)).tolist()
            [-inf, -inf, 0.0, -inf]
        """
        table = jnp.asarray(self.coefficients((self.degree or 0) + 1), jnp.result_type(float))
        return log_lookup(table, n)

    def tail_bound(self, n_terms: int, a: float) -> float:
        """The rest of the series, the sum over n >= `n_terms` of beta_n a^n, for a >= 0; inf outside the disc.

        Example:
            >>> from jaxonline.kernels import ExponentialKernel
            >>> ExponentialKernel().tail_bound(30, 1.0) < 1e-32
            True
        """
        betas = self.coefficients((self.degree or 0) + 1)
        return math.fsum(beta * a**n for n, beta in enumerate(betas) if n >= n_terms)

    def at_zero(self) -> Float[Array, ""]:
        """k(x, x) of a shift-invariant kernel, the same for every x.

        Example:
            >>> from jaxonline.kernels import Gaussian, Scaled
            >>> float(Scaled(Gaussian(1.0), 3.0).at_zero())
            3.0
        """
        raise self._no("spectrum")

    def frequencies(self, key: Key[Array, ""], dimension: int, n: int) -> Float[Array, "n dimension"]:
        """Independent draws omega of the spectral law: E cos<omega, x - x'> = k(x, x') / k(x, x).

        Raises:
            TypeError: the kernel is not shift-invariant.

        Example:
            >>> import jax
            >>> from jaxonline.kernels import Laplacian
            >>> Laplacian(1.0).frequencies(jax.random.key(0), 3, 5).shape
            (5, 3)
        """
        raise self._no("spectrum")

    def _coefficients(self, n: np.ndarray) -> np.ndarray:
        raise self._no("series")

    def _no(self, what: str) -> TypeError:
        argument = "inner product" if what == "series" else "difference"
        return TypeError(
            f"kernel must be a function of the {argument} of its arguments to have a {what}, got {type(self).__name__}"
        )


@struct
class Sum(Kernel):
    """The sum of kernels: it has a series where all of them have one, a spectrum where all have one.

    Args:
        kernels: a sequence of at least one kernel.

    Raises:
        TypeError: an entry of `kernels` is not a kernel.
        ValueError: no kernel.

    Example:
        >>> from jaxonline.kernels import ExponentialKernel, Linear, Sum
        >>> Sum([ExponentialKernel(), Linear()]).coefficients(3).tolist()
        [1.0, 2.0, 0.5]
    """

    kernels: Sequence[Kernel]

    def __post_init__(self):
        set_field(self, "kernels", tuple(self.kernels))
        if not self.kernels:
            raise ValueError("kernels must hold at least one kernel, got none")
        for kernel in self.kernels:
            _check_kernel("kernels", kernel)

    @property
    def degree(self) -> int | None:  # type: ignore[override]
        """The largest degree of the kernels, None where one has an infinite series."""
        degrees = [kernel.degree for kernel in self.kernels]
        return None if None in degrees else max(degrees)  # type: ignore[type-var]

    def __call__(self, x: Float[ArrayLike, "d"], x2: Float[ArrayLike, "d"]) -> Float[Array, ""]:
        return sum(kernel(x, x2) for kernel in self.kernels)  # type: ignore[return-value]

    def radius(self) -> float:
        return min(kernel.radius() for kernel in self.kernels)

    def series(self, a: ArrayLike) -> Array:
        return sum(kernel.series(a) for kernel in self.kernels)  # type: ignore[return-value]

    def log_coefficient(self, n: Int[Array, "..."]) -> Float[Array, "..."]:
        return functools.reduce(jnp.logaddexp, [kernel.log_coefficient(n) for kernel in self.kernels])

    def tail_bound(self, n_terms: int, a: float) -> float:
        return math.fsum(kernel.tail_bound(n_terms, a) for kernel in self.kernels)

    def at_zero(self) -> Float[Array, ""]:
        return sum(kernel.at_zero() for kernel in self.kernels)  # type: ignore[return-value]

    def frequencies(self, key: Key[Array, ""], dimension: int, n: int) -> Float[Array, "n dimension"]:
        # Each frequency is drawn from one kernel, chosen with probability k_i(x, x) / k(x, x).
        choice_key, *keys = jax.random.split(key, len(self.kernels) + 1)
        shares = jnp.log(jnp.stack([kernel.at_zero() for kernel in self.kernels]))
        choice = jax.random.categorical(choice_key, shares, shape=(n,))
        draws = [kernel.frequencies(k, dimension, n) for kernel, k in zip(self.kernels, keys, strict=True)]
        return jnp.stack(draws)[choice, jnp.arange(n)]

    def _coefficients(self, n: np.ndarray) -> np.ndarray:
        return np.sum([kernel._coefficients(n) for kernel in self.kernels], axis=0)


@struct
class Scaled(Kernel):
    """A kernel multiplied by a number.

    Args:
        kernel: the kernel.
        factor: at least 0, so that the product is positive semi-definite.

    Raises:
        TypeError: `kernel` is not a kernel.
        ValueError: `factor` below 0.

    Example:
        >>> from jaxonline.kernels import ExponentialKernel, Scaled
        >>> Scaled(ExponentialKernel(), 3.0).coefficients(3).tolist()
        [3.0, 3.0, 1.5]
    """

    kernel: Kernel
    factor: ArrayLike

    def __post_init__(self):
        _check_kernel("kernel", self.kernel)
        check.not_negative("factor", self.factor)

    @property
    def degree(self) -> int | None:  # type: ignore[override]
        """The degree of the kernel."""
        return self.kernel.degree

    def __call__(self, x: Float[ArrayLike, "d"], x2: Float[ArrayLike, "d"]) -> Float[Array, ""]:
        return self._times(self.kernel(x, x2))

    def radius(self) -> float:
        return self.kernel.radius()

    def series(self, a: ArrayLike) -> Array:
        return self._times(self.kernel.series(a))

    def log_coefficient(self, n: Int[Array, "..."]) -> Float[Array, "..."]:
        logs = self.kernel.log_coefficient(n)
        return logs + jnp.log(jnp.asarray(self.factor, logs.dtype))

    def tail_bound(self, n_terms: int, a: float) -> float:
        return known("factor", self.factor) * self.kernel.tail_bound(n_terms, a)

    def at_zero(self) -> Float[Array, ""]:
        return self._times(self.kernel.at_zero())

    def frequencies(self, key: Key[Array, ""], dimension: int, n: int) -> Float[Array, "n dimension"]:
        return self.kernel.frequencies(key, dimension, n)

    def _times(self, value: Array) -> Array:
        return jnp.asarray(self.factor, value.dtype) * value

    def _coefficients(self, n: np.ndarray) -> np.ndarray:
        return known("factor", self.factor) * self.kernel._coefficients(n)


def log_lookup(table: Float[Array, "m"], n: Int[Array, "..."]) -> Float[Array, "..."]:
    """log table[n], -inf beyond the end of the table."""
    n = jnp.asarray(n)
    last = table.shape[0] - 1
    return jnp.where(n <= last, jnp.log(table)[jnp.minimum(n, last)], -jnp.inf)


def _check_kernel(name: str, kernel: Kernel) -> None:
    if not isinstance(kernel, Kernel):
        raise TypeError(f"{name} must hold kernels, got {kernel!r}")
