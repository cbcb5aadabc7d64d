"""Features and kernels of noisy copies that are unbiased under noise of known covariance.

Random Fourier features of noisy copies that are unbiased under Gaussian noise of known covariance.

For noise n with the distribution N(0, Sigma), E cos(<omega, x + n> + b) = e^(-omega' Sigma omega / 2) cos(<omega, x> +
b). So a feature of a copy divided by this factor has the mean phi(x): deconvolution, as for a deconvoluting kernel
density estimate (Stefanski and Carroll 1990). Frequencies for which the factor is small have a large variance.

Features of polynomial kernels, from one copy under Gaussian noise: for Gaussian noise of covariance Sigma and D = (1/2)
sum_ij Sigma_ij d_i d_j, the mean of a polynomial f of a copy is e^D f(x). So e^-D f of a copy has the mean f(x); in one
dimension e^-D x^n is the Hermite polynomial sigma^n He_n(x / sigma). The operator D lowers the degree by 2, so that its
exponential is a finite sum.

Surrogate kernels under Laplace noise, E k^(a, x~) = k(a, x) for every a: the characteristic function of Laplace noise
of variance s in one coordinate is 1 / (1 + s omega^2 / 2). So the mean of a function f of a noisy number is (1 - (s/2)
d^2/dx^2)^(-1) f, and
    k^(x, x') = prod_i (1 - (s_i / 2) d^2/dx_i^2) k(x, x').
For k = exp(-u |z|^2), z = x - x', this is exp(-u |z|^2) prod_i (1 + s_i u - 2 s_i u^2 z_i^2). The kernel k^ is positive
semi-definite, since its spectral density is that of k times prod_i (1 + s_i omega_i^2 / 2). So |k^| is at most k^(x, x)
= prod_i (1 + s_i u). Unlike Gaussian noise, Laplace noise may be larger than the width of the kernel.

The construction is that of Cesa-Bianchi, Shalev-Shwartz, Shamir, "Learning from noisy data under distributional
assumptions" (NIPS workshop 2010), Lemma 4, which has Gaussian noise.
"""

import itertools
import math
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from jaxonline.estimators.fourier import FourierFeatures
from jaxonline.estimators.surrogates import NoiseSurrogate, RotatedKernel
from jaxonline.feedback.noise import Covariance
from jaxonline.kernels.dot_product import PolynomialKernel
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Count, as_floating


@cites("rahimi2007random", "stefanski1990deconvoluting")
@struct
class DebiasedFourierFeatures:
    """Unbiased features of noisy copies: E phi~(x~) = phi(x) for Fourier features phi and Gaussian noise.

    `WithFeatures(learner, features, copy_features)` learns from phi~ of the copies and predicts from phi of instances.
    The estimate of a gradient needs two copies (`TwoCopies`), since the noise of phi~ has an unknown covariance.

    Args:
        features: phi.
        covariance: covariance of the noise: a variance (number), variances [d] or a matrix [d, d]; it must fit the
            frequencies (otherwise a ValueError).

    Example:
        >>> from benchmarks.papers.estimators.kernels_under_noise import DebiasedFourierFeatures
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> features = jo.estimators.FourierFeatures(jnp.array([[2.0, 0.0]]))
        >>> copies = DebiasedFourierFeatures(features, 0.5)
        >>> round(float(copies(jnp.zeros(2))[0]), 4)  # e^(0.5 4 / 2)
        2.7183
    """

    features: FourierFeatures
    covariance: Covariance

    def __post_init__(self) -> None:
        d, shape = self.features.dimension, np.shape(self.covariance)
        if shape not in ((), (d,), (d, d)):
            raise ArgumentError("covariance", f"must fit frequencies with {d} coordinates (got shape {shape})")

    @property
    def size(self) -> int:
        """Number of features."""
        return self.features.size

    def inflation(self) -> Float[Array, "m"]:
        """Return e^(omega' Sigma omega / 2), by which the features of each frequency are multiplied."""
        frequencies = jnp.asarray(self.features.frequencies)
        covariance = jnp.asarray(self.covariance, frequencies.dtype)
        if covariance.ndim < 2:
            covariance = jnp.diag(jnp.broadcast_to(covariance, frequencies.shape[1:]))
        image = frequencies @ covariance
        return jnp.exp(0.5 * jnp.sum(image * frequencies, axis=1))

    def __call__(self, x: Float[ArrayLike, "d"]) -> Float[Array, "size"]:
        """Return phi~ of a copy."""
        phi, factors = self.features(x), self.inflation()
        repeats = self.size // len(factors)  # a cosine, and in the layout "pair" a sine
        return phi * jnp.tile(factors, repeats).astype(phi.dtype)


_MAX_FEATURES = 4096


@struct
class PolynomialFeatures:
    """Features of a polynomial kernel: <phi(x), phi(x')> = sum_n beta_n <x, x'>^n, one feature for each monomial.

    Args:
        kernel: a dot-product kernel of finite degree q (`Linear`, `Homogeneous`, `Inhomogeneous`, `PowerSeries`).
        dimension: dimension d of the instances. Raises a ValueError if there are more than 4096 monomials.

    Example:
        >>> from benchmarks.papers.estimators.kernels_under_noise import PolynomialFeatures
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> features = PolynomialFeatures(jo.kernels.Inhomogeneous(2), dimension=2)
        >>> x = jnp.array([1.0, 2.0])
        >>> features.size, round(float(features(x) @ features(x)), 3)  # (1 + 5)^2
        (6, 36.0)
    """

    kernel: PolynomialKernel
    dimension: Count = static()

    def __post_init__(self) -> None:
        if self.size > _MAX_FEATURES:
            raise ArgumentError("dimension", f"must give at most {_MAX_FEATURES} features (got {self.size})")

    @property
    def size(self) -> int:
        """Number of features: of monomials of degree at most q."""
        return math.comb(self.dimension + self.kernel.degree, self.dimension)

    def exponents(self) -> np.ndarray:
        """Return the exponents of the monomials [size, d], by degree."""
        rows = []
        for degree in range(self.kernel.degree + 1):
            for factors in itertools.combinations_with_replacement(range(self.dimension), degree):
                rows.append(np.bincount(np.array(factors, int), minlength=self.dimension))
        return np.array(rows)

    def monomials(self, x: Float[ArrayLike, "d"]) -> Float[Array, "size"]:
        """Return the monomials of x."""
        x, exponents = as_floating(x), self.exponents()
        powers = [jnp.ones_like(x)]
        for _ in range(self.kernel.degree):
            powers.append(powers[-1] * x)
        return jnp.prod(jnp.stack(powers)[exponents, np.arange(self.dimension)], axis=1)

    def weights(self) -> Float[Array, "size"]:
        """Return the roots of beta_n times the multinomial coefficients, for monomials of degree n."""
        exponents = self.exponents()
        degrees = exponents.sum(axis=1)
        logs = [
            math.lgamma(n + 1) - sum(math.lgamma(k + 1) for k in row) for n, row in zip(degrees, exponents, strict=True)
        ]
        log_betas = self.kernel.log_coefficient(jnp.asarray(degrees, jnp.int32))
        return jnp.exp(0.5 * (log_betas + jnp.asarray(logs, log_betas.dtype)))

    def __call__(self, x: Float[ArrayLike, "d"]) -> Float[Array, "size"]:
        """Return phi(x)."""
        values = self.monomials(x)
        return self.weights().astype(values.dtype) * values


@cites("cesabianchi2010learning")
@struct
class DebiasedPolynomialFeatures:
    """Unbiased features of noisy copies: E phi~(x~) = phi(x) for the features of a polynomial kernel.

    `WithFeatures(learner, features, copy_features)` learns from phi~ of the copies and predicts from phi of instances;
    the gradient needs two copies (`TwoCopies`).

    Args:
        features: phi.
        covariance: covariance of the Gaussian noise: a variance (number), variances [d] or a matrix [d, d]; it must fit
            the dimension of the features (otherwise a ValueError).

    Example:
        >>> from benchmarks.papers.estimators.kernels_under_noise import PolynomialFeatures, DebiasedPolynomialFeatures
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> features = PolynomialFeatures(jo.kernels.Homogeneous(2), dimension=1)
        >>> DebiasedPolynomialFeatures(features, 0.5)(jnp.array([3.0])).tolist()  # 3^2 - 0.5
        [0.0, 0.0, 8.5]
    """

    features: PolynomialFeatures
    covariance: Covariance

    def __post_init__(self) -> None:
        d, shape = self.features.dimension, np.shape(self.covariance)
        if shape not in ((), (d,), (d, d)):
            raise ArgumentError("covariance", f"must fit instances with {d} coordinates (got shape {shape})")

    @property
    def size(self) -> int:
        """Number of features."""
        return self.features.size

    def correction(self) -> Float[Array, "size size"]:
        """Return the matrix of e^-D for monomials."""
        d, dtype = self.features.dimension, jnp.result_type(float)
        covariance = jnp.asarray(self.covariance, dtype)
        if covariance.ndim < 2:
            covariance = jnp.diag(jnp.broadcast_to(covariance, (d,)))
        operator = 0.5 * jnp.einsum("ij,ijab->ab", covariance, jnp.asarray(self._second_derivatives(), dtype))
        term = total = jnp.eye(self.size, dtype=dtype)
        for k in range(1, self.features.kernel.degree // 2 + 1):
            term = term @ operator * (-1.0 / k)
            total = total + term
        return total

    def _second_derivatives(self) -> np.ndarray:
        """Return the matrices of d_i d_j for monomials: row a has the derivative of monomial a [d, d, size, size]."""
        exponents, d = self.features.exponents(), self.features.dimension
        index = {tuple(row): number for number, row in enumerate(exponents)}
        matrices = np.zeros((d, d, len(exponents), len(exponents)))
        for a, row in enumerate(exponents):
            for i, j in itertools.product(range(d), repeat=2):
                rest = row - np.eye(d, dtype=int)[i] - np.eye(d, dtype=int)[j]
                if rest.min() >= 0:
                    matrices[i, j, a, index[tuple(rest)]] = row[i] * (row[j] - (i == j))
        return matrices

    def __call__(self, x: Float[ArrayLike, "d"]) -> Float[Array, "size"]:
        """Return phi~ of a copy."""
        values = self.features.monomials(x)
        return self.features.weights().astype(values.dtype) * (self.correction().astype(values.dtype) @ values)


@cites("cesabianchi2010learning")
@struct
class LaplaceSurrogate(NoiseSurrogate):
    """Surrogate kernel k^ of a Gaussian kernel, or of a mixture of Gaussian kernels, under Laplace noise.

    The noise is `jaxonline.noise.laplace(covariance)`: independent Laplace coordinates in the directions of the
    eigenvectors of the covariance. `SurrogateKernel` has the regret bound `jaxonline.bounds.surrogate_kernel` with R =
    `constant()`. The ratio k^/k may exceed R^2 where some (x_i - x'_i)^2 > (1 + s_i u) / (s_i u^2); if instances are
    farther apart, use `jaxonline.comparators.rkhs_norm` instead of `jaxonline.bounds.surrogate_radius`.

    Args:
        kernel: original kernel k.
        covariance: covariance of the noise: a variance (number), variances [d] or a matrix [d, d]. Raises a ValueError
            if the covariance is invalid or has another dimension.
        dimension: d; required if `covariance` is a number.

    Example:
        >>> from benchmarks.papers.estimators.kernels_under_noise import LaplaceSurrogate
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> surrogate = LaplaceSurrogate(jo.kernels.Gaussian(2.0), [0.4, 8.0])
        >>> round(float(surrogate(jnp.ones(2), jnp.ones(2))), 4)  # (1 + 0.1) (1 + 2)
        3.3
    """

    law: ClassVar[str] = "laplace"

    def __call__(self, x: Float[ArrayLike, "d"], x2: Float[ArrayLike, "d"]) -> Float[Array, ""]:
        x, x2 = (self.rotate(as_floating(point)) for point in (x, x2))
        return self.in_eigenvectors(x.dtype)(x, x2)

    def in_eigenvectors(self, dtype: jnp.dtype) -> RotatedKernel:
        mixture = self.mixture()
        rates, weights, variances = (
            jnp.asarray(values, dtype) for values in (mixture.rates, mixture.weights, self.variances)
        )
        growth = rates[:, None] * variances[None, :]
        return _RotatedPolynomials(rates, weights, 1.0 + growth, 2.0 * rates[:, None] * growth)


@struct
class _RotatedPolynomials:
    """Sum over m of weight_m exp(-rate_m |z|^2) prod_i (constants_mi - curvatures_mi z_i^2)."""

    rates: Float[Array, "m"]
    weights: Float[Array, "m"]
    constants: Float[Array, "m d"]
    curvatures: Float[Array, "m d"]

    def __call__(self, x: Float[Array, "d"], x2: Float[Array, "d"]) -> Float[Array, ""]:
        squares = (x - x2) ** 2
        factors = self.constants - self.curvatures * squares[None, :]
        return jnp.sum(self.weights * jnp.exp(-self.rates * jnp.sum(squares)) * jnp.prod(factors, axis=1))

    def at_zero(self) -> Float[Array, ""]:
        return self.weights @ jnp.prod(self.constants, axis=1)
