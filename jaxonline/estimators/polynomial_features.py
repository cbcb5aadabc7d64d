"""Features of polynomial kernels, and their unbiased estimates from one copy under Gaussian noise of known covariance.

For Gaussian noise of covariance Sigma and D = (1/2) sum_ij Sigma_ij d_i d_j, the mean of a polynomial f of a copy is
e^D f(x). So e^-D f of a copy has the mean f(x); in one dimension e^-D x^n is the Hermite polynomial sigma^n He_n(x /
sigma). The operator D lowers the degree by 2, so that its exponential is a finite sum.
"""

import itertools
import math

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from jaxonline.feedback.noise import Covariance
from jaxonline.kernels.dot_product import PolynomialKernel
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Count, as_floating

_MAX_FEATURES = 4096


@struct
class PolynomialFeatures:
    """Features of a polynomial kernel: <phi(x), phi(x')> = sum_n beta_n <x, x'>^n, one feature for each monomial.

    Args:
        kernel: a dot-product kernel of finite degree q (`Linear`, `Homogeneous`, `Inhomogeneous`, `PowerSeries`).
        dimension: dimension d of the instances. Raises a ValueError if there are more than 4096 monomials.

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> features = jo.estimators.PolynomialFeatures(jo.kernels.Inhomogeneous(2), dimension=2)
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
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> features = jo.estimators.PolynomialFeatures(jo.kernels.Homogeneous(2), dimension=1)
        >>> jo.estimators.DebiasedPolynomialFeatures(features, 0.5)(jnp.array([3.0])).tolist()  # 3^2 - 0.5
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
