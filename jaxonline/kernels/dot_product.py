"""Dot-product kernels k(x, x') = Q(<x, x'>), which know the power series of Q.

The Taylor coefficients beta_n of Q are what makes them kernels (beta_n >= 0), and what the feature-map estimators
need.

Source: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Online learning of noisy data with kernels" (COLT 2010), section 2,
with erratum E5.
"""

import abc
import math
from typing import Annotated, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int
from scipy import special

from jaxonline.kernels.base import Kernel, require_kernel
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentTypeError
from jaxonline.parameters.numbers import as_floating, host_float
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Count, Ge, Positive, Vector
from jaxonline.parameters.validation import validate_arguments


class DotProductKernel(Kernel):
    """A kernel Q(<x, x'>) of the inner product, with the power series Q(a) = sum_n beta_n a^n.

    A subclass gives `series`, `_coefficients`, `log_coefficient` and `tail_bound`, and `radius` where it is finite; a
    `PolynomialKernel` gives `series`, `_coefficients` and `degree`.

    Example:
        >>> from jaxonline.kernels import DotProductKernel, Gaussian, Linear
        >>> isinstance(Linear(), DotProductKernel), isinstance(Gaussian(1.0), DotProductKernel)
        (True, False)
    """

    degree: ClassVar[int | None] = None
    """The degree of Q where it is a polynomial, None where its series is infinite."""

    def __call__(self, x: Float[ArrayLike, "d"], x2: Float[ArrayLike, "d"]) -> Float[Array, ""]:
        return self.series(jnp.sum(as_floating(x) * as_floating(x2)))

    def radius(self) -> float:
        """The radius of convergence of Q; inf unless a kernel says otherwise."""
        return math.inf

    @abc.abstractmethod
    def series(self, a: ArrayLike) -> Array:
        """Q(a), entry by entry; NaN outside the disc of convergence, an error for a known `a` there."""

    @validate_arguments
    def coefficients(self, n_terms: Count) -> np.ndarray:
        """beta_0 .. beta_(n_terms - 1), in float64, on the host.

        Example:
            >>> from jaxonline.kernels import Inhomogeneous
            >>> Inhomogeneous(2).coefficients(4).tolist()
            [1.0, 2.0, 1.0, 0.0]
        """
        return self._coefficients(np.arange(n_terms))

    @abc.abstractmethod
    def _coefficients(self, n: np.ndarray) -> np.ndarray:
        """beta_n for n = 0, 1, 2, ..., as many as `n` has entries, in float64, on the host."""

    @abc.abstractmethod
    def log_coefficient(self, n: Int[Array, "..."]) -> Float[Array, "..."]:
        """log beta_n (-inf where beta_n = 0), as JAX code, for an `n` that may be random."""

    @abc.abstractmethod
    def tail_bound(self, n_terms: int, a: float) -> float:
        """The rest of the series, the sum over n >= `n_terms` of beta_n a^n, for a >= 0; inf outside the disc."""


class PolynomialKernel(DotProductKernel):
    """A dot-product kernel whose Q is a polynomial."""

    degree: int  # type: ignore[assignment]

    def log_coefficient(self, n: Int[Array, "..."]) -> Float[Array, "..."]:
        return _log_lookup(jnp.asarray(self.coefficients(self.degree + 1), jnp.result_type(float)), n)

    def tail_bound(self, n_terms: int, a: float) -> float:
        betas = self.coefficients(self.degree + 1)
        return math.fsum(beta * a**n for n, beta in enumerate(betas) if n >= n_terms)


@struct
class Linear(PolynomialKernel):
    """The linear kernel <x, x'>.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.kernels import Linear
        >>> float(Linear()(jnp.array([1.0, 2.0]), jnp.array([3.0, 4.0])))
        11.0
    """

    degree: ClassVar[int] = 1

    def series(self, a: ArrayLike) -> Array:
        return as_floating(a)

    def _coefficients(self, n: np.ndarray) -> np.ndarray:
        return np.where(n == 1, 1.0, 0.0)


@struct
class Homogeneous(PolynomialKernel):
    """The homogeneous polynomial kernel <x, x'>^degree.

    Args:
        degree: of the polynomial.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.kernels import Homogeneous
        >>> float(Homogeneous(3)(jnp.array([1.0, 1.0]), jnp.array([1.0, 1.0])))
        8.0
    """

    degree: Count = static()  # type: ignore[override]

    def series(self, a: ArrayLike) -> Array:
        return as_floating(a) ** self.degree

    def _coefficients(self, n: np.ndarray) -> np.ndarray:
        return np.where(n == self.degree, 1.0, 0.0)


@struct
class Inhomogeneous(PolynomialKernel):
    """The inhomogeneous polynomial kernel (1 + <x, x'>)^degree.

    Args:
        degree: of the polynomial.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.kernels import Inhomogeneous
        >>> float(Inhomogeneous(2)(jnp.array([1.0, 1.0]), jnp.array([1.0, 1.0])))
        9.0
    """

    degree: Count = static()  # type: ignore[override]

    def series(self, a: ArrayLike) -> Array:
        return (1.0 + as_floating(a)) ** self.degree

    def _coefficients(self, n: np.ndarray) -> np.ndarray:
        return np.asarray(special.comb(self.degree, n))


@struct
class ExponentialKernel(DotProductKernel):
    """The exponential kernel e^<x, x'>, beta_n = 1/n!.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.kernels import ExponentialKernel
        >>> float(ExponentialKernel()(jnp.zeros(2), jnp.ones(2)))
        1.0
    """

    def series(self, a: ArrayLike) -> Array:
        return jnp.exp(as_floating(a))

    def log_coefficient(self, n: Int[Array, "..."]) -> Float[Array, "..."]:
        return -jax.scipy.special.gammaln(_real(n) + 1.0)

    def tail_bound(self, n_terms: int, a: float) -> float:
        share = float(special.gammainc(n_terms, a)) if n_terms else 1.0
        return share * math.exp(a) if a < 709.0 else math.inf

    def _coefficients(self, n: np.ndarray) -> np.ndarray:
        return special.rgamma(n + 1.0)


@struct
class Binomial(DotProductKernel):
    """The binomial kernel (1 - <x, x'>)^-exponent on the open unit ball.

    Its coefficients Gamma(n + exponent) / (Gamma(exponent) n!) are positive. The paper prints (1 + <x, x'>)^-exponent,
    whose coefficients alternate in sign, so that it is no kernel (E5).

    Args:
        exponent: alpha.

    Raises:
        ValueError: at a call, a known inner product with |<x, x'>| >= 1 (NaN where it is not
            known yet).

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.kernels import Binomial
        >>> float(Binomial(1.0)(jnp.array([0.5]), jnp.array([1.0])))
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
        n = _real(n)
        alpha = jnp.asarray(self.exponent, n.dtype)
        gammaln = jax.scipy.special.gammaln
        return gammaln(n + alpha) - gammaln(alpha) - gammaln(n + 1.0)

    def tail_bound(self, n_terms: int, a: float) -> float:
        # beta_n a^n (1 - a)^alpha is the negative binomial law, whose tail is an incomplete beta function.
        alpha = host_float("exponent", self.exponent)
        if a >= 1.0:
            return math.inf
        share = float(special.betainc(n_terms, alpha, a)) if n_terms else 1.0
        return share * (1.0 - a) ** -alpha

    def _coefficients(self, n: np.ndarray) -> np.ndarray:
        ratios = (n[1:] - 1 + host_float("exponent", self.exponent)) / n[1:]
        return np.concatenate([[1.0], np.cumprod(ratios)])


@struct
class PowerSeries(PolynomialKernel):
    """The kernel sum_n beta_n <x, x'>^n of given coefficients.

    Args:
        betas: beta_0, beta_1, ..., of which none is negative (Schoenberg's condition for every dimension).

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.kernels import PowerSeries
        >>> float(PowerSeries([1.0, 0.0, 0.5])(jnp.array([2.0]), jnp.array([1.0])))
        3.0
    """

    betas: Annotated[Vector, Ge(0)]

    @property
    def degree(self) -> int:  # type: ignore[override]
        """The degree of the last coefficient."""
        return np.shape(self.betas)[0] - 1

    def series(self, a: ArrayLike) -> Array:
        a = as_floating(a)
        return jnp.polyval(jnp.asarray(self.betas, a.dtype)[::-1], a)

    def log_coefficient(self, n: Int[Array, "..."]) -> Float[Array, "..."]:
        return _log_lookup(jnp.asarray(self.betas, jnp.result_type(float)), n)

    def _coefficients(self, n: np.ndarray) -> np.ndarray:
        betas = np.asarray(self.betas, float)
        return np.where(n < len(betas), betas[np.minimum(n, len(betas) - 1)], 0.0)


def require_dot_product(name: str, kernel: Any) -> DotProductKernel:
    """The kernel, or a TypeError where it has no series."""
    if not isinstance(require_kernel(name, kernel), DotProductKernel):
        raise ArgumentTypeError(
            name,
            f"must be a function of the inner product of its arguments to have a series (got {type(kernel).__name__})",
        )
    return kernel


def _log_lookup(table: Float[Array, "m"], n: Int[Array, "..."]) -> Float[Array, "..."]:
    """log table[n], -inf beyond the end of the table."""
    n = jnp.asarray(n)
    last = table.shape[0] - 1
    return jnp.where(n <= last, jnp.log(table)[jnp.minimum(n, last)], -jnp.inf)


def _real(n: Int[Array, "..."]) -> Float[Array, "..."]:
    return jnp.asarray(n).astype(jnp.result_type(float))
