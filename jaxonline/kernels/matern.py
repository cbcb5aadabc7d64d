"""Matern kernels of half-integer smoothness, as mixtures of Gaussian kernels.

The mixing distribution for the smoothness nu is an inverse gamma distribution: u = nu / (2 scale^2 G) with a gamma
variable G of shape nu. Source: Rasmussen and Williams, "Gaussian Processes for Machine Learning" (2006), section 4.2.1.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Key
from scipy import special

from jaxonline.kernels.radial import SchoenbergKernel
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import NonNegativeInt, Positive, host_float


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
