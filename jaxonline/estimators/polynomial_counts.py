"""Distribution of the number of copies with a polynomial tail."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int
from scipy import special

from jaxonline.estimators.count_protocol import CountDistribution
from jaxonline.estimators.fine_uniform import fine_uniform
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Annotated, Gt, Number, as_floating, host_float

_MAX_COPIES = 2.0**30  # of a draw, in the range of int32; probability 2^(-30 (exponent - 1))


@struct
class DiscreteLomax(CountDistribution):
    """Distribution of the number of copies with P(N >= n) = (1 + n)^(1 - a), so that P(N = n) ~ (a - 1) n^-a.

    It suits series with coefficients |gamma_n| ~ n^-b and a radius of convergence rho. With m = E X^2 of one copy, the
    second moment sum gamma_n^2 m^n / P(N = n) of a series estimator is finite if m < rho^2 (`Geometric(p)` requires
    p m < rho^2), and at m = rho^2 if and only if 2 b - a > 1. E N = zeta(a - 1) - 1 is finite if and only if a > 2.

    Source: the discrete form of Lomax, "Business failures: another example of the analysis of failure data" (Journal of
    the American Statistical Association, 1954), with scale 1.

    Args:
        exponent: a. For 1 < a <= 2, `mean` is inf.

    Example:
        >>> from jaxonline.estimators import DiscreteLomax
        >>> law = DiscreteLomax(3.0)
        >>> float(law.pmf(0)), float(law.tail(1)), round(law.mean(), 4)  # pi^2 / 6 - 1
        (0.75, 0.25, 0.6449)
    """

    exponent: Annotated[Number, Gt(1)]

    def sample(self, key: jax.Array) -> Int[Array, ""]:
        a = as_floating(self.exponent)
        continuous = fine_uniform(key, a.dtype) ** (-1.0 / (a - 1.0)) - 1.0
        return jnp.minimum(continuous, jnp.asarray(_MAX_COPIES, a.dtype)).astype(jnp.int32)

    def log_pmf(self, n: ArrayLike) -> Float[Array, "*shape"]:
        a, n = as_floating(self.exponent), jnp.asarray(n)
        first = jnp.maximum(n + 1, 1).astype(a.dtype)
        step = -jnp.expm1((1.0 - a) * jnp.log1p(1.0 / first))  # 1 - P(N > n) / P(N >= n)
        return jnp.where(n >= 0, (1.0 - a) * jnp.log(first) + jnp.log(step), -jnp.inf)

    def tail(self, n: ArrayLike) -> Float[Array, "*shape"]:
        a = as_floating(self.exponent)
        return jnp.exp((1.0 - a) * jnp.log(jnp.maximum(jnp.asarray(n) + 1, 1).astype(a.dtype)))

    def log_table(self, n_terms: int) -> np.ndarray:
        a, first = host_float("exponent", self.exponent), np.arange(1.0, n_terms + 1.0)
        return (1.0 - a) * np.log(first) + np.log(-np.expm1((1.0 - a) * np.log1p(1.0 / first)))

    def mean(self) -> float:
        """E N = zeta(a - 1) - 1; inf for a <= 2."""
        a = host_float("exponent", self.exponent)
        return float(special.zeta(a - 1.0)) - 1.0 if a > 2.0 else np.inf
