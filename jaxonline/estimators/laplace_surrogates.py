"""Surrogate kernels under Laplace noise of known covariance: E k^(a, x~) = k(a, x) for every a.

The characteristic function of Laplace noise of variance s in one coordinate is 1 / (1 + s omega^2 / 2). So the mean of
a function f of a noisy number is (1 - (s/2) d^2/dx^2)^(-1) f, and
    k^(x, x') = prod_i (1 - (s_i / 2) d^2/dx_i^2) k(x, x').
For k = exp(-u |z|^2), z = x - x', this is exp(-u |z|^2) prod_i (1 + s_i u - 2 s_i u^2 z_i^2). The kernel k^ is positive
semi-definite, since its spectral density is that of k times prod_i (1 + s_i omega_i^2 / 2). So |k^| is at most k^(x, x)
= prod_i (1 + s_i u). Unlike Gaussian noise, Laplace noise may be larger than the width of the kernel.

The construction is that of Cesa-Bianchi, Shalev-Shwartz, Shamir, "Learning from noisy data under distributional
assumptions" (NIPS workshop 2010), Lemma 4, which has Gaussian noise.
"""

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from jaxonline.estimators.noise_surrogates import NoiseSurrogate, RotatedKernel
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import as_floating


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
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> surrogate = jo.estimators.LaplaceSurrogate(jo.kernels.Gaussian(2.0), [0.4, 8.0])
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
