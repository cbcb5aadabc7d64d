"""Kernels of a scalar product, and what all kernels have."""

import abc
import math
from typing import Annotated, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int
from scipy import special

from jaxonline.parameters import check
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Convert, Count, Ge, Positive, Vector, as_floating, host_float

# ---------------------------------------------------------------------------------------------------------------------
# Abstract class of kernels, and the check that an argument is a kernel.


class Kernel(abc.ABC):
    """A positive semi-definite function of two vectors. A subclass implements `__call__` for one pair of vectors.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.kernels import Kernel
        >>> class Minimum(Kernel):
        ...     def __call__(self, x, x2):
        ...         return jnp.minimum(x, x2).prod()
        >>> Minimum().gram(jnp.array([[1.0], [2.0]])).tolist()
        [[1.0, 1.0], [1.0, 2.0]]
    """

    @abc.abstractmethod
    def __call__(self, x: Float[ArrayLike, "d"], x2: Float[ArrayLike, "d"]) -> Float[Array, ""]:
        """Return the value of the kernel at one pair of vectors."""

    def gram(self, X: Float[ArrayLike, "n d"], X2: Float[ArrayLike, "m d"] | None = None) -> Float[Array, "n m"]:
        """Return the matrix of the kernel's values at every row of `X` and every row of `X2` (of `X` if None)."""
        X = as_floating(X)
        X2 = X if X2 is None else as_floating(X2)
        return jax.vmap(lambda x: jax.vmap(lambda x2: self(x, x2))(X2))(X)


def require_kernel(name: str, kernel: Any) -> Kernel:
    """Return the argument if it is a kernel; raise a TypeError otherwise."""
    return check.instance(name, kernel, Kernel, "a kernel")


AnyKernel = Annotated[Kernel, Convert(lambda kernel, name: require_kernel(name, kernel))]
"""A kernel as an argument."""


# ---------------------------------------------------------------------------------------------------------------------
# Dot-product kernels k(x, x') = Q(<x, x'>), with the power series of Q.
#
# Q(<x, x'>) is a kernel since the Taylor coefficients beta_n of Q are not negative; estimators of the feature map use
# these coefficients. Source: Cesa-Bianchi et al. (2010a), "Online learning of noisy data with kernels" (COLT 2010),
# section 2, with erratum E5.


class DotProductKernel(Kernel):
    """A kernel Q(<x, x'>) of the inner product, with the power series Q(a) = sum_n beta_n a^n.

    A subclass implements `series`, `_coefficients`, `log_coefficient` and `tail_bound`, and `radius` if the radius of
    convergence is finite. A subclass of `PolynomialKernel` implements only `series`,
    `_coefficients` and `degree`.

    Example:
        >>> from jaxonline.kernels import DotProductKernel, Gaussian, Linear
        >>> isinstance(Linear(), DotProductKernel), isinstance(Gaussian(1.0), DotProductKernel)
        (True, False)
    """

    degree: ClassVar[int | None] = None
    """The degree of Q if it is a polynomial, None if its series is infinite."""

    def __call__(self, x: Float[ArrayLike, "d"], x2: Float[ArrayLike, "d"]) -> Float[Array, ""]:
        return self.series(jnp.sum(as_floating(x) * as_floating(x2)))

    def radius(self) -> float:
        """Return the radius of convergence of Q, inf by default."""
        return math.inf

    @abc.abstractmethod
    def series(self, a: ArrayLike) -> Array:
        """Return Q(a), entry by entry; outside the disc of convergence it is NaN, or an error if `a` is known."""

    @validate_arguments
    def coefficients(self, n_terms: Count) -> np.ndarray:
        """Return the coefficients beta_0 .. beta_(n_terms - 1), in float64, on the host.

        Example:
            >>> from jaxonline.kernels import Inhomogeneous
            >>> Inhomogeneous(2).coefficients(4).tolist()
            [1.0, 2.0, 1.0, 0.0]
        """
        return self._coefficients(np.arange(n_terms))

    @abc.abstractmethod
    def _coefficients(self, n: np.ndarray) -> np.ndarray:
        """Return beta_n for n = 0, 1, 2, ..., as many as `n` has entries, in float64, on the host."""

    @abc.abstractmethod
    def log_coefficient(self, n: Int[Array, "..."]) -> Float[Array, "..."]:
        """Return log beta_n (-inf if beta_n = 0), as JAX code; `n` may be random."""

    @abc.abstractmethod
    def tail_bound(self, n_terms: int, a: float) -> float:
        """Return the sum over n >= `n_terms` of beta_n a^n, for a >= 0; inf outside the disc of convergence."""


class PolynomialKernel(DotProductKernel):
    """A dot-product kernel with a polynomial Q."""

    degree: int  # type: ignore[assignment]

    def log_coefficient(self, n: Int[Array, "..."]) -> Float[Array, "..."]:
        return _log_lookup(jnp.asarray(self.coefficients(self.degree + 1), jnp.result_type(float)), n)

    def tail_bound(self, n_terms: int, a: float) -> float:
        betas = self.coefficients(self.degree + 1)
        return math.fsum(beta * a**n for n, beta in enumerate(betas) if n >= n_terms)


@struct
class Linear(PolynomialKernel):
    """Linear kernel <x, x'>.

    Example:
        >>> from jaxonline.kernels import Linear
        >>> float(Linear()([1.0, 2.0], [3.0, 4.0]))
        11.0
    """

    degree: ClassVar[int] = 1

    def series(self, a: ArrayLike) -> Array:
        return as_floating(a)

    def _coefficients(self, n: np.ndarray) -> np.ndarray:
        return np.where(n == 1, 1.0, 0.0)


@struct
class Homogeneous(PolynomialKernel):
    """Homogeneous polynomial kernel <x, x'>^degree.

    Args:
        degree: degree of the polynomial.

    Example:
        >>> from jaxonline.kernels import Homogeneous
        >>> float(Homogeneous(3)([1.0, 1.0], [1.0, 1.0]))
        8.0
    """

    degree: Count = static()  # type: ignore[override]

    def series(self, a: ArrayLike) -> Array:
        return as_floating(a) ** self.degree

    def _coefficients(self, n: np.ndarray) -> np.ndarray:
        return np.where(n == self.degree, 1.0, 0.0)


@struct
class Inhomogeneous(PolynomialKernel):
    """Inhomogeneous polynomial kernel (1 + <x, x'>)^degree.

    Args:
        degree: degree of the polynomial.

    Example:
        >>> from jaxonline.kernels import Inhomogeneous
        >>> float(Inhomogeneous(2)([1.0, 1.0], [1.0, 1.0]))
        9.0
    """

    degree: Count = static()  # type: ignore[override]

    def series(self, a: ArrayLike) -> Array:
        return (1.0 + as_floating(a)) ** self.degree

    def _coefficients(self, n: np.ndarray) -> np.ndarray:
        return np.asarray(special.comb(self.degree, n))


@struct
class ExponentialKernel(DotProductKernel):
    """Exponential kernel e^<x, x'>, with the coefficients beta_n = 1/n!.

    Example:
        >>> from jaxonline.kernels import ExponentialKernel
        >>> float(ExponentialKernel()([0.0, 0.0], [1.0, 1.0]))
        1.0
    """

    def series(self, a: ArrayLike) -> Array:
        return jnp.exp(as_floating(a))

    def log_coefficient(self, n: Int[Array, "..."]) -> Float[Array, "..."]:
        return -jax.scipy.special.gammaln(_as_real(n) + 1.0)

    def tail_bound(self, n_terms: int, a: float) -> float:
        fraction = float(special.gammainc(n_terms, a)) if n_terms else 1.0
        return fraction * math.exp(a) if a < 709.0 else math.inf

    def _coefficients(self, n: np.ndarray) -> np.ndarray:
        return special.rgamma(n + 1.0)


@struct
class Binomial(DotProductKernel):
    """Binomial kernel (1 - <x, x'>)^-exponent on the open unit ball.

    The coefficients Gamma(n + exponent) / (Gamma(exponent) n!) of this kernel are positive. The coefficients of (1 +
    <x, x'>)^-exponent, which Cesa-Bianchi et al. (2010a) print, alternate in sign (erratum E5). If |<x, x'>| >= 1, the
    kernel raises a ValueError for known values and returns NaN for traced ones.

    Args:
        exponent: the exponent alpha.

    Example:
        >>> from jaxonline.kernels import Binomial
        >>> float(Binomial(1.0)([0.5], [1.0]))
        2.0
    """

    exponent: Positive

    def radius(self) -> float:
        return 1.0

    def series(self, a: ArrayLike) -> Array:
        a = as_floating(check.numbers("the inner product of a binomial kernel", a, gt=-1.0, lt=1.0))
        inside = jnp.abs(a) < 1.0
        value = jnp.where(inside, 1.0 - a, 1.0) ** -jnp.asarray(self.exponent, a.dtype)
        return jnp.where(inside, value, jnp.nan)

    def log_coefficient(self, n: Int[Array, "..."]) -> Float[Array, "..."]:
        n = _as_real(n)
        alpha = jnp.asarray(self.exponent, n.dtype)
        gammaln = jax.scipy.special.gammaln
        return gammaln(n + alpha) - gammaln(alpha) - gammaln(n + 1.0)

    def tail_bound(self, n_terms: int, a: float) -> float:
        # beta_n a^n (1 - a)^alpha is the negative binomial distribution; its tail is an incomplete beta function
        alpha = host_float("exponent", self.exponent)
        if a >= 1.0:
            return math.inf
        fraction = float(special.betainc(n_terms, alpha, a)) if n_terms else 1.0
        return fraction * (1.0 - a) ** -alpha

    def _coefficients(self, n: np.ndarray) -> np.ndarray:
        ratios = (n[1:] - 1 + host_float("exponent", self.exponent)) / n[1:]
        return np.concatenate([[1.0], np.cumprod(ratios)])


@struct
class PowerSeries(PolynomialKernel):
    """Kernel sum_n beta_n <x, x'>^n with given coefficients.

    Args:
        betas: beta_0, beta_1, ..., not negative (Schoenberg's condition for every dimension).

    Example:
        >>> from jaxonline.kernels import PowerSeries
        >>> float(PowerSeries([1.0, 0.0, 0.5])([2.0], [1.0]))
        3.0
    """

    betas: Annotated[Vector, Ge(0)]

    @property
    def degree(self) -> int:  # type: ignore[override]
        """The degree of the kernel's last coefficient."""
        return np.shape(self.betas)[0] - 1

    def series(self, a: ArrayLike) -> Array:
        a = as_floating(a)
        return jnp.polyval(jnp.asarray(self.betas, a.dtype)[::-1], a)

    def log_coefficient(self, n: Int[Array, "..."]) -> Float[Array, "..."]:
        return _log_lookup(jnp.asarray(self.betas, jnp.result_type(float)), n)

    def _coefficients(self, n: np.ndarray) -> np.ndarray:
        betas = np.asarray(self.betas, float)
        return np.where(n < len(betas), betas[np.minimum(n, len(betas) - 1)], 0.0)


def _log_lookup(table: Float[Array, "m"], n: Int[Array, "..."]) -> Float[Array, "..."]:
    """Return the logarithm of the entry n of a table; -inf beyond the end of the table."""
    n = jnp.asarray(n)
    last = table.shape[0] - 1
    return jnp.where(n <= last, jnp.log(table)[jnp.minimum(n, last)], -jnp.inf)


def _as_real(n: Int[Array, "..."]) -> Float[Array, "..."]:
    return jnp.asarray(n).astype(jnp.result_type(float))
