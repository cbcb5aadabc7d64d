"""Kernels that depend on a difference of instances: radial kernels, Matern kernels, and their sums."""

import abc
import math
from collections.abc import Sequence
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Key
from scipy import special

from jaxonline import random
from jaxonline.kernels.dot_product import Kernel, require_kernel
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import (
    Convert,
    Count,
    Ge,
    NonNegative,
    NonNegativeInt,
    Positive,
    PositiveFloat,
    Vector,
    as_floating,
    host_float,
)

# ---------------------------------------------------------------------------------------------------------------------
# Shift-invariant kernels k(x, x') = g(x - x'), with their spectral distribution.
#
# `jaxonline.estimators.fourier` draws features from this distribution: Rokhlin and Gurtovaya (2025), section 2. Radial
# kernels are below.


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
    """Gaussian kernel exp(-|x - x'|^2 / width^2), the convention of Cesa-Bianchi et al. (2010a, b).

    Rokhlin and Gurtovaya (2025) write exp(-|x - x'|^2 / (2 sigma^2)), which is
    `Gaussian.from_standard_deviation(sigma)`; its width is sigma sqrt(2).

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
    """Laplacian kernel exp(-|x - x'|_1 / scale) in the l1 norm, the convention of Rokhlin and Gurtovaya (2025).

    The kernel is a product over coordinates and not radial; exp(-r/s) in the l2 norm is
    `RadialExponential`.

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


# ---------------------------------------------------------------------------------------------------------------------
# Radial kernels as mixtures of Gaussian kernels (Schoenberg's theorem).
#
# A radial kernel on every R^d is g(r) = integral of exp(-u r^2) mu(u) du with mu >= 0. Under Gaussian noise a surrogate
# exists only for the part u <= cut (`jaxonline.estimators.surrogates`). `truncate` returns this part as a finite
# mixture sum_j w_j exp(-u_j r^2), a kernel with an exact surrogate; the distance of this mixture from g is at most
# `truncation_error` plus `quadrature_error`. Source: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Learning from noisy data
# under distributional assumptions" (NIPS workshop 2010), section 6.1 and appendix E, which cuts the integral at c/d
# (here `cut`).


class RadialKernel(ShiftInvariantKernel):
    """A kernel that depends only on the distance |x - x'|. A subclass implements `profile` and `sample_rates`."""

    def __call__(self, x: Float[ArrayLike, "d"], x2: Float[ArrayLike, "d"]) -> Float[Array, ""]:
        return self.profile(jnp.sum((as_floating(x) - as_floating(x2)) ** 2))

    @abc.abstractmethod
    def profile(self, squared_distance: Float[Array, "..."]) -> Float[Array, "..."]:
        """Return the kernel as a function of r^2 = |x - x'|^2, entry by entry."""

    @abc.abstractmethod
    def sample_rates(self, key: Key[Array, ""], n: int) -> Float[Array, "n"]:
        """Return independent draws of u from the mixing distribution mu / g(0)."""

    def at_zero(self) -> Float[Array, ""]:
        return self.profile(jnp.zeros(()))

    def frequencies(self, key: Key[Array, ""], dimension: int, n: int) -> Float[Array, "n dimension"]:
        # omega ~ N(0, 2u I) with u from the mixing distribution
        rate_key, normal_key = jax.random.split(key)
        scales = jnp.sqrt(2.0 * self.sample_rates(rate_key, n))
        return scales[:, None] * jax.random.normal(normal_key, (n, dimension))


class SchoenbergKernel(RadialKernel):
    """A radial kernel with g(0) = 1 and a mixing density mu(u) in closed form."""

    @abc.abstractmethod
    def mixture_density(self, u: ArrayLike) -> ArrayLike:
        """Return the density mu(u) for u > 0, in float64 on the host."""

    @abc.abstractmethod
    def truncated_profile(self, squared_distance: ArrayLike, cut: float) -> ArrayLike:
        """Return the integral of exp(-u r^2) mu(u) over 0 < u <= cut, in closed form, in float64 on the host."""

    def endpoint_power(self) -> float:
        """Return the power of u in mu(u) near u = 0, for the quadrature; 0 if mu is smooth there."""
        return 0.0

    @validate_arguments
    def truncation_error(self, cut: PositiveFloat) -> float:
        """Return the largest difference of g and its part u <= cut, at r = 0: 1 minus the mass of mu below `cut`."""
        return 1.0 - float(np.asarray(self.truncated_profile(0.0, cut)))


MixingKernel = Annotated[
    SchoenbergKernel,
    Convert(lambda value, name: check.instance(name, value, SchoenbergKernel, "a radial kernel with a mixing density")),
]


@struct
class RadialExponential(SchoenbergKernel):
    """Radial exponential kernel exp(-r / scale) of the l2 distance r (Matern with smoothness 1/2).

    The mixing density is mu(u) = u^(-3/2) exp(-1 / (4 scale^2 u)) / (2 scale sqrt(pi)). `jaxonline.kernels.Laplacian`
    uses the l1 distance.

    Args:
        scale: scale of distances.

    Example:
        >>> from jaxonline.kernels.shift_invariant import RadialExponential
        >>> round(float(RadialExponential(5.0)([0.0, 0.0], [3.0, 4.0])), 4)  # e^-1
        0.3679
    """

    scale: Positive

    def profile(self, squared_distance: Float[Array, "..."]) -> Float[Array, "..."]:
        r = jnp.sqrt(squared_distance)
        return jnp.exp(-r / jnp.asarray(self.scale, r.dtype))

    def sample_rates(self, key: Key[Array, ""], n: int) -> Float[Array, "n"]:
        scaled = jax.random.normal(key, (n,))
        return 0.5 / (jnp.asarray(self.scale, scaled.dtype) * scaled) ** 2

    def mixture_density(self, u: ArrayLike) -> ArrayLike:
        scale, u = host_float("scale", self.scale), np.asarray(u, float)
        return u**-1.5 * np.exp(-0.25 / (scale**2 * u)) / (2.0 * scale * math.sqrt(math.pi))

    def truncated_profile(self, squared_distance: ArrayLike, cut: float) -> ArrayLike:
        r, root = np.sqrt(np.asarray(squared_distance, float)), math.sqrt(cut)
        rate = 1.0 / host_float("scale", self.scale)
        near, far = rate / (2.0 * root) - r * root, rate / (2.0 * root) + r * root
        # e^(rate r) erfc(far) by erfcx, since its factors overflow and underflow
        return 0.5 * (np.exp(-rate * r) * special.erfc(near) + special.erfcx(far) * np.exp(rate * r - far**2))


@struct
class Cauchy(SchoenbergKernel):
    """Cauchy-type (rational quadratic) kernel (1 + r^2 / scale)^-exponent of the l2 distance r.

    The mixing density mu is the gamma density of shape `exponent` and rate `scale`. Cesa-Bianchi et al. (2010b) has
    scale = d and exponent = 1; then the part u <= c/d of the kernel g is g (1 - e^(-c/g)).

    Args:
        scale: the scale of squared distances.
        exponent: the exponent alpha.

    Example:
        >>> from jaxonline.kernels.shift_invariant import Cauchy
        >>> float(Cauchy(2.0)([0.0, 0.0], [1.0, 1.0]))
        0.5
    """

    scale: Positive
    exponent: Positive = 1.0

    def profile(self, squared_distance: Float[Array, "..."]) -> Float[Array, "..."]:
        dtype = squared_distance.dtype
        return (1.0 + squared_distance / jnp.asarray(self.scale, dtype)) ** -jnp.asarray(self.exponent, dtype)

    def sample_rates(self, key: Key[Array, ""], n: int) -> Float[Array, "n"]:
        draws = jax.random.gamma(key, jnp.asarray(self.exponent, jnp.result_type(float)), (n,))
        return draws / jnp.asarray(self.scale, draws.dtype)

    def endpoint_power(self) -> float:
        return host_float("exponent", self.exponent) - 1.0

    def mixture_density(self, u: ArrayLike) -> ArrayLike:
        scale, exponent = host_float("scale", self.scale), host_float("exponent", self.exponent)
        rescaled = scale * np.asarray(u, float)
        return scale * np.exp(special.xlogy(exponent - 1.0, rescaled) - rescaled - special.gammaln(exponent))

    def truncated_profile(self, squared_distance: ArrayLike, cut: float) -> ArrayLike:
        scale, exponent = host_float("scale", self.scale), host_float("exponent", self.exponent)
        total = scale + np.asarray(squared_distance, float)
        return (total / scale) ** -exponent * special.gammainc(exponent, cut * total)


@struct
class GaussianMixture(RadialKernel):
    """Finite mixture sum_j weights_j exp(-rates_j r^2) of Gaussian kernels.

    Args:
        rates: rates of the kernels [n].
        weights: weights of the kernels [n].

    Example:
        >>> from jaxonline.kernels.shift_invariant import GaussianMixture
        >>> float(GaussianMixture([0.0, 1.0], [0.5, 2.0])([0.0, 0.0], [0.0, 0.0]))
        2.5
    """

    rates: Annotated[Vector, Ge(0)]
    weights: Annotated[Vector, Ge(0)]

    def __post_init__(self) -> None:
        if np.shape(self.rates) != np.shape(self.weights):
            shapes = f"{np.shape(self.rates)} and {np.shape(self.weights)}"
            raise ArgumentError("weights", f"must have as many entries as rates (got the shapes {shapes})")

    def profile(self, squared_distance: Float[Array, "..."]) -> Float[Array, "..."]:
        dtype = squared_distance.dtype
        rates, weights = jnp.asarray(self.rates, dtype), jnp.asarray(self.weights, dtype)
        return jnp.exp(-jnp.multiply.outer(squared_distance, rates)) @ weights

    def sample_rates(self, key: Key[Array, ""], n: int) -> Float[Array, "n"]:
        rates = jnp.asarray(self.rates, jnp.result_type(float))
        return rates[random.weighted_index(key, jnp.asarray(self.weights, rates.dtype), (n,))]


@validate_arguments
def truncate(kernel: MixingKernel, cut: PositiveFloat, n_nodes: Count = 128) -> GaussianMixture:
    """Return the part u <= `cut` of a radial kernel as a finite mixture, by Gauss-Jacobi quadrature in (u / cut)^(1/4).

    Args:
        kernel: a radial kernel with a mixing density and known (not traced) parameters.
        cut: upper limit of u.
        n_nodes: number of Gaussian kernels.

    Example:
        >>> from jaxonline.kernels.shift_invariant import Cauchy, truncate
        >>> round(float(truncate(Cauchy(4.0), 2.0 / 4).weights.sum()), 12)  # 1 - e^-c with c = 2, d = 4
        0.864664716763
    """
    cut = host_float("cut", cut)
    # in t = (u / cut)^(1/4) most nodes are near u = 0, which determines the kernel at large distances
    power = 4.0 * kernel.endpoint_power() + 3.0
    nodes, weights = special.roots_jacobi(n_nodes, 0.0, power)
    t = 0.5 * (1.0 + nodes)
    u = cut * t**4
    smooth = 4.0 * cut * np.asarray(kernel.mixture_density(u)) * t ** (3.0 - power)
    return GaussianMixture(u, 0.5 ** (power + 1.0) * weights * smooth)


def quadrature_error(kernel: SchoenbergKernel, cut: float, n_nodes: int = 128) -> float:
    """Return the largest error of `truncate(kernel, cut, n_nodes)` on a grid of r; its rounding error is about 1e-14.

    The grid is r = 0 and 400 values of r^2 from 1e-3 / cut to 1e5 / cut, evenly spaced in log r.

    Example:
        >>> from jaxonline.kernels.shift_invariant import Cauchy, quadrature_error
        >>> quadrature_error(Cauchy(4.0), 0.5) < 1e-13
        True
    """
    mixture = truncate(kernel, cut, n_nodes)
    squared_distance = distance_grid(cut)
    approximate = np.exp(-np.multiply.outer(squared_distance, mixture.rates)) @ mixture.weights
    return float(np.abs(approximate - kernel.truncated_profile(squared_distance, cut)).max())


def distance_grid(cut: float) -> np.ndarray:
    """Return the squared distances of the grid of `quadrature_error`."""
    return np.concatenate([[0.0], np.geomspace(1e-3, 1e5, 400) / cut])


# ---------------------------------------------------------------------------------------------------------------------
# Matern kernels of half-integer smoothness, as mixtures of Gaussian kernels.
#
# The mixing distribution for the smoothness nu is an inverse gamma distribution: u = nu / (2 scale^2 G) with a gamma
# variable G of shape nu. Source: Rasmussen and Williams, "Gaussian Processes for Machine Learning" (2006), section
# 4.2.1.


@cites("rasmussen2006gaussian")
@struct
class Matern(SchoenbergKernel):
    """Matern kernel of smoothness nu = order + 1/2 of the l2 distance r: exp(-z) times a polynomial in z.

    Here z = sqrt(2 nu) r / scale. The order 0 is the kernel exp(-r / scale) (`RadialExponential`). Realisations of a
    Gaussian process with this covariance have `order` derivatives.

    Args:
        scale: scale of distances.
        order: degree of the polynomial.

    Example:
        >>> from jaxonline.kernels import Matern
        >>> round(float(Matern(5.0, order=1)([0.0, 0.0], [3.0, 4.0])), 4)  # (1 + sqrt(3)) e^-sqrt(3)
        0.4834
    """

    scale: Positive
    order: NonNegativeInt = static(default=1)

    def profile(self, squared_distance: Float[Array, "..."]) -> Float[Array, "..."]:
        r = jnp.sqrt(squared_distance)
        z = math.sqrt(2 * self.order + 1) * r / jnp.asarray(self.scale, r.dtype)
        # sum over i of (order + i)! / (i! (order - i)!) (2 z)^(order - i), from the highest power
        p, factorial = self.order, math.factorial
        polynomial = [factorial(p + i) / (factorial(i) * factorial(p - i)) * 2.0 ** (p - i) for i in range(p + 1)]
        scale = factorial(p) / factorial(2 * p)
        return jnp.exp(-z) * jnp.polyval(jnp.asarray(scale * np.array(polynomial), z.dtype), z)

    def sample_rates(self, key: Key[Array, ""], n: int) -> Float[Array, "n"]:
        draws = jax.random.gamma(key, jnp.asarray(self.order + 0.5, jnp.result_type(float)), (n,))
        return (0.5 * self.order + 0.25) / (jnp.asarray(self.scale, draws.dtype) ** 2 * draws)

    def mixture_density(self, u: ArrayLike) -> ArrayLike:
        nu, rate, u = self.order + 0.5, self._rate(), np.asarray(u, float)
        return np.exp(nu * math.log(rate) - math.lgamma(nu) - (nu + 1.0) * np.log(u) - rate / u)

    def truncated_profile(self, squared_distance: ArrayLike, cut: float) -> ArrayLike:
        # J_nu is the integral of v^(nu - 1) e^(-rate v - r^2 / v) over v = 1/u > 1 / cut
        r, rate, start = np.sqrt(np.asarray(squared_distance, float)), self._rate(), 1.0 / cut
        end = np.exp(-rate * start - r**2 / start)
        near = np.exp(-2.0 * math.sqrt(rate) * r) * special.erfc(math.sqrt(rate * start) - r / math.sqrt(start))
        far = special.erfcx(math.sqrt(rate * start) + r / math.sqrt(start)) * end
        below = 0.5 * math.sqrt(math.pi) * r * (near - far)  # r^2 J_(-1/2)
        current = 0.5 * math.sqrt(math.pi / rate) * (near + far)  # J_(1/2)
        for nu in np.arange(self.order) + 0.5:  # integration by parts
            below, current = r**2 * current, (nu * current + below + start**nu * end) / rate
        nu = self.order + 0.5
        return current * rate**nu / math.gamma(nu)

    def _rate(self) -> float:
        return (0.5 * self.order + 0.25) / host_float("scale", self.scale) ** 2


# ---------------------------------------------------------------------------------------------------------------------
# Sums and multiples of shift-invariant kernels.


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
