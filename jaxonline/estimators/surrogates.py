"""Surrogate kernels: unbiased estimates of kernels under Gaussian noise."""

import abc
import dataclasses
import math
from typing import ClassVar, NamedTuple, Protocol

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from jaxonline.feedback.noise import Covariance
from jaxonline.kernels import Gaussian
from jaxonline.kernels.dot_product import Kernel
from jaxonline.kernels.shift_invariant import GaussianMixture, SchoenbergKernel, distance_grid, truncate
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import set_field, static, struct
from jaxonline.parameters.types import Count, PositiveFloat, as_floating, host_float

# ---------------------------------------------------------------------------------------------------------------------
# Base class of surrogate kernels under noise with independent coordinates.


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


# ---------------------------------------------------------------------------------------------------------------------
# Surrogate kernels: E k^(a, x~) = k(a, x) for every a, under Gaussian noise of known covariance.
#
# For the Gaussian kernel exp(-u |x - x'|^2) and noise N(0, Sigma) with eigenvalues sigma_i^2,
#     k^(x, x') = prod_i (1 - 2 u sigma_i^2)^(-1/2) exp(-sum_i u (x_i - x'_i)^2 / (1 - 2 u sigma_i^2))
# in the coordinates of the eigenvectors, which requires 2 u max sigma_i^2 < 1. The surrogate is linear in the kernel,
# so mixtures of Gaussian kernels, such as a truncated radial kernel (`jaxonline.kernels.shift_invariant.truncate`),
# also have surrogates.
#
# Source: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Learning from noisy data under distributional assumptions" (NIPS
# workshop 2010), section 6, Lemma 4, and appendix E with erratum E13 (the workshop paper prints 2 sigma u for 2 sigma^2
# u).


class GaussianComponents(NamedTuple):
    """Gaussian kernels whose sum is a surrogate: e^log_size exp(-u sum_i z_i^2 / (1 - 2 u sigma_i^2)).

    `rates`: u [n]; `shrinkage`: 1 - 2 u sigma_i^2 for each eigenvector [n, d]; `log_sizes`: logarithms of the values at
    distance 0 [n].
    """

    rates: Float[Array, "n"]
    shrinkage: Float[Array, "n d"]
    log_sizes: Float[Array, "n"]


@struct
class _RotatedGaussians:
    """Sum of Gaussian kernels with a scale for each coordinate; numbers common to all pairs are computed once."""

    scales: Float[Array, "m d"]
    log_sizes: Float[Array, "m"]

    def __call__(self, x: Float[Array, "d"], x2: Float[Array, "d"]) -> Float[Array, ""]:
        squares = (x - x2) ** 2
        if len(self.log_sizes) == 1:  # faster than the general form
            return jnp.exp(self.log_sizes[0] - jnp.sum(self.scales[0] * squares))
        return jnp.sum(jnp.exp(self.log_sizes - jnp.sum(self.scales * squares[None, :], axis=1)))

    def at_zero(self) -> Float[Array, ""]:
        return jnp.sum(jnp.exp(self.log_sizes))


@cites("cesabianchi2010learning")
@struct
class Surrogate(NoiseSurrogate):
    """Surrogate kernel k^ of a Gaussian kernel, or of a mixture of Gaussian kernels, under noise N(0, covariance).

    Args:
        kernel: original kernel k.
        covariance: covariance of the noise: a variance (number), variances [d] or a matrix [d, d]. Raises a ValueError
            if the covariance is invalid or has another dimension, or if 2 (largest eigenvalue) >= width^2.
        dimension: d; required if `covariance` is a number.

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> surrogate = jo.estimators.Surrogate(jo.kernels.Gaussian(2.0), [0.5, 0.2])
        >>> round(float(surrogate(jnp.ones(2), jnp.ones(2))), 4), round(float(surrogate.constant()), 4)
        (1.2172, 1.1033)
    """

    law: ClassVar[str] = "gaussian"

    def __post_init__(self) -> None:
        super().__post_init__()
        known_variances, width2 = check.concrete_array(self.variances), self._min_squared_width()
        if known_variances is not None and width2 is not None and 2.0 * known_variances.max() >= width2:
            raise ArgumentError(
                "covariance",
                f"must have 2 * (largest eigenvalue) below the squared width {width2:g} of the narrowest "
                f"kernel (got 2 * {known_variances.max():g})",
            )

    def __call__(self, x: Float[ArrayLike, "d"], x2: Float[ArrayLike, "d"]) -> Float[Array, ""]:
        difference = self.rotate(as_floating(x) - as_floating(x2))
        rates, shrinkage, log_sizes = self.components(difference.dtype)
        exponents = jnp.sum(difference[None, :] ** 2 / shrinkage, axis=1)
        return jnp.sum(jnp.exp(log_sizes - rates * exponents))

    def in_eigenvectors(self, dtype: jnp.dtype) -> RotatedKernel:
        rates, shrinkage, log_sizes = self.components(dtype)
        return _RotatedGaussians(rates[:, None] / shrinkage, log_sizes)

    def components(self, dtype: jnp.dtype) -> GaussianComponents:
        """Write k^ as a sum of Gaussian kernels, in the coordinates of the eigenvectors."""
        mixture = self.mixture()
        rates, variances = jnp.asarray(mixture.rates, dtype), jnp.asarray(self.variances, dtype)
        shrinkage = 1.0 - 2.0 * rates[:, None] * variances[None, :]
        log_sizes = jnp.log(jnp.asarray(mixture.weights, dtype)) - 0.5 * jnp.sum(jnp.log(shrinkage), axis=1)
        return GaussianComponents(rates, shrinkage, log_sizes)

    def _min_squared_width(self) -> float | None:
        """Return the smallest squared width of the kernel; None if the width is traced."""
        if isinstance(self.kernel, Gaussian):
            width = check.concrete_array(self.kernel.width)
            return None if width is None else float(width) ** 2
        rates = check.concrete_array(self.kernel.rates)
        return None if rates is None else 1.0 / max(float(rates.max()), 1e-300)


@cites("cesabianchi2010learning")
@validate_arguments
def radial_surrogate(
    kernel: SchoenbergKernel,
    covariance: Covariance,
    cut: PositiveFloat,
    dimension: Count | None = None,
    n_nodes: Count = 128,
) -> Surrogate:
    """Return the surrogate of the part u <= `cut` of a radial kernel. A traced parameter raises a TypeError.

    The attribute `kernel` of the surrogate is a finite mixture k that replaces the truncated kernel. For this k the
    equation E k^(a, x~) = k(a, x) holds exactly, and predictions use k. The distance from k to the radial kernel is
    `kernel.truncation_error(cut)` plus `quadrature_error` of `jaxonline.kernels.shift_invariant`. The distance from k^
    to the integral that k^ approximates is `surrogate_error`.

    Args:
        kernel: radial kernel with a mixing density (`RadialExponential`, `Cauchy`).
        covariance: covariance of the noise: a variance (number), variances [d] or a matrix [d, d] (otherwise a
            ValueError).
        cut: upper limit of u, below 1 / (2 * largest eigenvalue) (otherwise a ValueError). The bound on R of
            Cesa-Bianchi et al. (2010b) requires half of this limit, c/d < 1/(4 sigma^2) (erratum E13: Cesa-Bianchi et
            al. 2010b print c < d/(4 sigma)).
        dimension: d; required if `covariance` is a number.
        n_nodes: number of Gaussian kernels.

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> surrogate = jo.estimators.radial_surrogate(jo.kernels.Cauchy(4.0), 0.25, cut=1.0, dimension=4)
        >>> round(float(surrogate(jnp.zeros(4), jnp.zeros(4))), 4)
        1.3264
    """
    variances = np.asarray(covariance_eigenvectors(np.asarray(covariance, float), dimension)[0])
    _check_cut(cut, variances)
    return Surrogate(truncate(kernel, cut, n_nodes), covariance, dimension)


@validate_arguments
def surrogate_error(
    kernel: SchoenbergKernel,
    covariance: Covariance,
    cut: PositiveFloat,
    dimension: Count | None = None,
    n_nodes: Count = 128,
) -> float:
    """Return the estimated quadrature error of k^: the largest change when the number of nodes is doubled.

    The maximum is over distances from 0 to 300 / sqrt(cut) along every eigenvector. The arguments are those of
    `radial_surrogate`.
    """
    variances = np.asarray(covariance_eigenvectors(np.asarray(covariance, float), dimension)[0])
    _check_cut(cut, variances)
    profiles = []
    for n in (n_nodes, 2 * n_nodes):
        mixture = truncate(kernel, cut, n)
        shrinkage = 1.0 - 2.0 * np.multiply.outer(variances, mixture.rates)
        sizes = mixture.weights / np.sqrt(shrinkage.prod(axis=0))
        exponents = np.multiply.outer(distance_grid(cut), mixture.rates / shrinkage)
        profiles.append(np.exp(-exponents) @ sizes)
    return float(np.abs(profiles[0] - profiles[1]).max())


@validate_arguments
def lemma7_bound(variance: PositiveFloat, c: PositiveFloat, dimension: Count) -> float:
    """Return the bound exp(2 sigma^2 c) on R^2 = k^(x, x) for `Cauchy(d)` cut at u = c/d.

    The bound corrects Lemma 7 of Cesa-Bianchi et al. (2010b).

    Erratum E13: Cesa-Bianchi et al. (2010b) print exp(2 sigma c). Raises a ValueError if c >= d / (4 sigma^2), where
    the bound is not proven.

    Example:
        >>> from jaxonline.estimators.surrogates import lemma7_bound
        >>> round(lemma7_bound(0.25, 2.0, 4), 4)  # e^1
        2.7183
    """
    check.number("c", c, gt=0.0, lt=dimension / (4.0 * host_float("variance", variance)))
    return math.exp(2.0 * variance * c)


def _check_cut(cut: float, variances: np.ndarray) -> None:
    limit = 0.5 / variances.max() if variances.max() > 0.0 else math.inf
    if cut >= limit:
        raise ArgumentError(
            "cut", f"must be below 1 / (2 * largest variance of the noise) = {limit:g} for a surrogate (got {cut:g})"
        )
