"""Kernels that know their series and their spectrum.

A kernel is a function of one pair of vectors; `gram` gives all pairs. Dot-product kernels k(x, x') = Q(<x, x'>) know
the Taylor coefficients beta_n of Q, which are what makes them kernels (beta_n >= 0) and what the feature-map
estimators need. Shift-invariant kernels know their spectral law, from which random Fourier features are drawn.
Mixtures of Gaussian kernels (Schoenberg) are in `jaxonline.kernels.radial`.

Sources: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Online learning of noisy data with kernels" (COLT 2010), section 2,
with erratum E5; Rokhlin and Gurtovaya (2025), section 2, for the spectral laws.
"""

import math
from collections.abc import Sequence
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Key
from scipy import special

from jaxonline._util import check
from jaxonline._util.numbers import floating, known
from jaxonline._util.struct import set_field, static, struct
from jaxonline.kernels.base import Kernel, Scaled, Sum, log_lookup

__all__ = [
    "Binomial",
    "DotProductKernel",
    "ExponentialKernel",
    "Gaussian",
    "Homogeneous",
    "Inhomogeneous",
    "Kernel",
    "Laplacian",
    "Linear",
    "PowerSeries",
    "Scaled",
    "Sum",
]


class DotProductKernel(Kernel):
    """A kernel Q(<x, x'>).

    Example:
        >>> from jaxonline.kernels import DotProductKernel, Linear
        >>> isinstance(Linear(), DotProductKernel)
        True
    """

    def __call__(self, x: Float[ArrayLike, "d"], x2: Float[ArrayLike, "d"]) -> Float[Array, ""]:
        return self.series(jnp.sum(floating(x) * floating(x2)))

    def radius(self) -> float:
        return math.inf


@struct
class Linear(DotProductKernel):
    """The linear kernel <x, x'>.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.kernels import Linear
        >>> float(Linear()(jnp.array([1.0, 2.0]), jnp.array([3.0, 4.0])))
        11.0
    """

    degree: ClassVar[int | None] = 1

    def series(self, a: ArrayLike) -> Array:
        return floating(a)

    def _coefficients(self, n: np.ndarray) -> np.ndarray:
        return np.where(n == 1, 1.0, 0.0)


@struct
class Homogeneous(DotProductKernel):
    """The homogeneous polynomial kernel <x, x'>^degree.

    Args:
        degree: an integer, at least 1.

    Raises:
        TypeError, ValueError: `degree` is not such an integer.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.kernels import Homogeneous
        >>> float(Homogeneous(3)(jnp.array([1.0, 1.0]), jnp.array([1.0, 1.0])))
        8.0
    """

    degree: int = static()  # type: ignore[override]

    def __post_init__(self):
        check.count("degree", self.degree)

    def series(self, a: ArrayLike) -> Array:
        return floating(a) ** self.degree

    def _coefficients(self, n: np.ndarray) -> np.ndarray:
        return np.where(n == self.degree, 1.0, 0.0)


@struct
class Inhomogeneous(DotProductKernel):
    """The inhomogeneous polynomial kernel (1 + <x, x'>)^degree.

    Args:
        degree: an integer, at least 1.

    Raises:
        TypeError, ValueError: `degree` is not such an integer.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.kernels import Inhomogeneous
        >>> float(Inhomogeneous(2)(jnp.array([1.0, 1.0]), jnp.array([1.0, 1.0])))
        9.0
    """

    degree: int = static()  # type: ignore[override]

    def __post_init__(self):
        check.count("degree", self.degree)

    def series(self, a: ArrayLike) -> Array:
        return (1.0 + floating(a)) ** self.degree

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
        return jnp.exp(floating(a))

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
        exponent: alpha, above 0.

    Raises:
        ValueError: `exponent` not above 0; at a call, a known inner product with |<x, x'>| >= 1 (NaN where it is not
            known yet).

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.kernels import Binomial
        >>> float(Binomial(1.0)(jnp.array([0.5]), jnp.array([1.0])))
        2.0
    """

    exponent: ArrayLike

    def __post_init__(self):
        check.positive("exponent", self.exponent)

    def radius(self) -> float:
        return 1.0

    def series(self, a: ArrayLike) -> Array:
        a = floating(check.number("the inner product of a binomial kernel", a, gt=-1.0, lt=1.0))
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
        alpha = known("exponent", self.exponent)
        if a >= 1.0:
            return math.inf
        share = float(special.betainc(n_terms, alpha, a)) if n_terms else 1.0
        return share * (1.0 - a) ** -alpha

    def _coefficients(self, n: np.ndarray) -> np.ndarray:
        ratios = (n[1:] - 1 + known("exponent", self.exponent)) / n[1:]
        return np.concatenate([[1.0], np.cumprod(ratios)])


@struct
class PowerSeries(DotProductKernel):
    """The kernel sum_n beta_n <x, x'>^n of given coefficients.

    Args:
        betas: beta_0, beta_1, ..., all at least 0 (that is Schoenberg's condition for every dimension).

    Raises:
        ValueError: a negative coefficient, no coefficient, or one that is not finite.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.kernels import PowerSeries
        >>> float(PowerSeries([1.0, 0.0, 0.5])(jnp.array([2.0]), jnp.array([1.0])))
        3.0
    """

    betas: Float[ArrayLike, "n"] | Sequence[float]

    def __post_init__(self):
        if isinstance(self.betas, list | tuple):
            set_field(self, "betas", np.asarray(self.betas, float))
        known = check.concrete(self.betas)
        if known is not None:
            betas = check.finite_array("betas", known, ndim=1)
            if len(betas) == 0:
                raise ValueError("betas must have at least one entry, got none")
            if (betas < 0).any():
                n = int(np.argmax(betas < 0))
                raise ValueError(
                    f"betas must be at least 0 for a positive semi-definite kernel, got beta_{n} = {betas[n]:g}"
                )

    @property
    def degree(self) -> int:  # type: ignore[override]
        """The degree of the last coefficient."""
        return np.shape(self.betas)[0] - 1

    def series(self, a: ArrayLike) -> Array:
        a = floating(a)
        return jnp.polyval(jnp.asarray(self.betas, a.dtype)[::-1], a)

    def log_coefficient(self, n: Int[Array, "..."]) -> Float[Array, "..."]:
        return log_lookup(jnp.asarray(self.betas, jnp.result_type(float)), n)

    def _coefficients(self, n: np.ndarray) -> np.ndarray:
        betas = np.asarray(self.betas, float)
        return np.where(n < len(betas), betas[np.minimum(n, len(betas) - 1)], 0.0)


@struct
class Gaussian(Kernel):
    """The Gaussian kernel exp(-|x - x'|^2 / width^2), the convention of papers A and B.

    Paper D writes exp(-|x - x'|^2 / (2 sigma^2)): that is `Gaussian.from_standard_deviation(sigma)`, of width
    sigma sqrt(2).

    Args:
        width: above 0.

    Raises:
        ValueError: `width` not above 0.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.kernels import Gaussian
        >>> round(float(Gaussian(1.0)(jnp.array([0.6, 0.5]), jnp.array([0.5, 0.7]))), 3)
        0.951
    """

    width: ArrayLike

    def __post_init__(self):
        check.positive("width", self.width)

    @classmethod
    def from_standard_deviation(cls, sigma: ArrayLike) -> "Gaussian":
        """The kernel exp(-|x - x'|^2 / (2 sigma^2)), whose frequencies have the standard deviation 1 / sigma.

        Example:
            >>> import jax.numpy as jnp
            >>> from jaxonline.kernels import Gaussian
            >>> round(float(Gaussian.from_standard_deviation(1.0)(jnp.zeros(1), jnp.ones(1))), 4)  # e^-0.5
            0.6065
        """
        check.positive("sigma", sigma)
        return cls(sigma * math.sqrt(2.0))  # type: ignore[operator]

    def __call__(self, x: Float[ArrayLike, "d"], x2: Float[ArrayLike, "d"]) -> Float[Array, ""]:
        scaled = (floating(x) - floating(x2)) / jnp.asarray(self.width, floating(x).dtype)
        return jnp.exp(-jnp.sum(scaled**2))

    def at_zero(self) -> Float[Array, ""]:
        return jnp.ones(())

    def frequencies(self, key: Key[Array, ""], dimension: int, n: int) -> Float[Array, "n dimension"]:
        z = jax.random.normal(key, (n, dimension))
        return z * math.sqrt(2.0) / jnp.asarray(self.width, z.dtype)


@struct
class Laplacian(Kernel):
    """The Laplacian kernel exp(-|x - x'|_1 / scale) in the l1 norm, the convention of paper D.

    It is a product over coordinates, and not radial; exp(-r/s) in the l2 norm is `kernels.radial.RadialExponential`.

    Args:
        scale: above 0.

    Raises:
        ValueError: `scale` not above 0.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.kernels import Laplacian
        >>> round(float(Laplacian(2.0)(jnp.zeros(2), jnp.ones(2))), 4)  # e^-1
        0.3679
    """

    scale: ArrayLike

    def __post_init__(self):
        check.positive("scale", self.scale)

    def __call__(self, x: Float[ArrayLike, "d"], x2: Float[ArrayLike, "d"]) -> Float[Array, ""]:
        distance = jnp.sum(jnp.abs(floating(x) - floating(x2)))
        return jnp.exp(-distance / jnp.asarray(self.scale, distance.dtype))

    def at_zero(self) -> Float[Array, ""]:
        return jnp.ones(())

    def frequencies(self, key: Key[Array, ""], dimension: int, n: int) -> Float[Array, "n dimension"]:
        z = jax.random.cauchy(key, (n, dimension))
        return z / jnp.asarray(self.scale, z.dtype)


def _real(n: Int[Array, "..."]) -> Float[Array, "..."]:
    return jnp.asarray(n).astype(jnp.result_type(float))
