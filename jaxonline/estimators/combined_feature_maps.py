"""Unbiased estimators of the feature maps of sums and products of dot-product and Gaussian kernels.

Such a kernel is a sum over j of Q_j(<x, x'>) e^(-u_j |x|^2) e^(-u_j |x'|^2), where Q_j has the coefficients beta_jn >=
0 (`jaxonline.estimators.kernel_groups`). Part j of its feature vector has the components e^(-u_j |x|^2) sqrt(beta_jn) x
(x) ... (x) x. All parts are estimated from the same N1 pairs and N2 factors; only their weights (-u_j)^N1 / N1!
sqrt(beta_jN2) / (P(N1) P(N2)) differ. So a sum needs no more copies than one summand, a product has one tensor x~(1)
(x) ... (x) x~(N2), and the inner product of two estimates is the product of the inner products of their copies times
the inner product of their vectors of J weights.

The alternative for a sum draws one summand j with probability q_j, and divides by q_j. Its second moment sum_j S_j /
q_j, where S_j is the second moment of summand j, is at least (sum_j S_j^(1/2))^2, with equality at q_j proportional to
S_j^(1/2). Estimates of all summands have sum_j S_j, which is smaller.

A mixture of infinitely many Gaussian kernels has the second moment E S(u), for a random rate u. For all distributions
of N1 and N2, S(u) is at least e^(2 u (M + F^(1/2))), M = E|x~|^2, F = E <x~, x~'>^2, by Cauchy-Schwarz. So E S(u) is
infinite if the density of u has a polynomial tail, as for exp(-r/s) and all Matern kernels. If one u is drawn for each
estimate, E|<Psi~, Psi(x)>| is infinite as well. The part u <= cut (`jaxonline.kernels.radial.truncate`) is a kernel
that has an estimator.
"""

import math
from typing import Annotated, Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int
from scipy import special

from jaxonline.estimators.count_protocol import AnyCountDistribution
from jaxonline.estimators.feature_maps import log_factorial, log_pmf
from jaxonline.estimators.feature_moments import copy_moments, inner_moment, support_mask, weighted_series
from jaxonline.estimators.kernel_groups import KernelGroup, kernel_groups, log_power
from jaxonline.estimators.noisy_features import NoisyFeature, PairProduct, noisy_feature
from jaxonline.estimators.paired_feature_maps import PairedFeatureMap
from jaxonline.kernels import Kernel
from jaxonline.kernels.base import require_kernel
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Convert, Count, NonNegativeFloat, host_float


def _as_combination(kernel: Any, name: str) -> Kernel:
    groups = kernel_groups(require_kernel(name, kernel), jnp.asarray)
    if all(group.rates is None for group in groups):
        raise ArgumentError(name, f"must have a Gaussian part (got {kernel!r}); use DotProductFeatureMap")
    return kernel


@cites("cesabianchi2010online")
@struct
class CombinedFeatureMap(PairedFeatureMap):
    """Map_Estimate of sums and products of dot-product and Gaussian kernels, as a mixture of Gaussian kernels.

    The estimate has one part for each summand; all parts use the same copies. Paper A has one dot-product or Gaussian
    kernel.

    Args:
        kernel: a `Gaussian`, `GaussianMixture`, or a `Sum`, `Product` or `Scaled` of such kernels and of dot-product
            kernels. Raises a TypeError if the kernel has other parts, and a ValueError if it has no Gaussian part.
        law: distribution of the number N2 of copies that are factors.
        pair_law: distribution of the number N1 of pairs of copies; equal to `law` when None.

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> kernel = jo.kernels.Sum([jo.kernels.Linear(), jo.kernels.Gaussian(2.0), jo.kernels.Gaussian(1.5)])
        >>> feature_map = jo.estimators.CombinedFeatureMap(kernel, jo.estimators.Geometric(2.0))
        >>> x = jnp.array([1.0, -0.5])
        >>> draw = lambda key: x + 0.1 * jax.random.normal(key, (2,))
        >>> psi = feature_map.estimate(jax.random.key(0), draw, capacity=64)
        >>> feature_map.prod_clean(psi, x).shape, feature_map.component_shape, feature_map.expected_queries()
        ((), (3,), 3.0)
    """

    kernel: Annotated[Kernel, Convert(_as_combination)]
    law: AnyCountDistribution
    pair_law: AnyCountDistribution | None = None

    @property
    def component_shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """(J,), the number of parts of the feature vector."""
        return (sum(len(group.weights) for group in self._groups(jnp.float32)),)

    def combine(
        self, counts: tuple[Int[Array, ""], Int[Array, ""]], pairs: PairProduct, factors: Float[Array, "l d"]
    ) -> NoisyFeature:
        n1, n2 = (jnp.asarray(count, jnp.int32) for count in counts)
        dtype = factors.dtype
        sign = jnp.where(n1 % 2 == 0, pairs.sign, -pairs.sign)
        common = (
            pairs.log_size
            - log_factorial(n1, dtype)
            - log_pmf(self.pair_distribution(), n1, factors)
            - log_pmf(self.law, n2, factors)
        )
        log_weights = common + log_power(self._rates(dtype), n1) + 0.5 * self.log_beta(n2, dtype)
        return noisy_feature(n2, sign, log_weights, factors, self.queries((n1, n2)))

    def log_beta(self, n: Int[Array, ""], dtype: Any) -> Float[Array, "J"]:
        return jnp.concatenate([group.log_beta(jnp.asarray(n)) for group in self._groups(dtype)])

    def log_clean(self, x: Float[Array, "d"]) -> Float[Array, "J"]:
        return -self._rates(x.dtype) * jnp.sum(x**2)

    def term(self, counts: tuple[int, ...], x: ArrayLike, x2: ArrayLike) -> float:
        # sum_j (-u_j |x|^2)^n1 / n1! beta_jn2 <x, x2>^n2 e^(-u_j |x2|^2)
        n1, n2 = (int(n) for n in counts)
        has_mass = support_mask(self.pair_distribution(), n1 + 1)[n1] and support_mask(self.law, n2 + 1)[n2]
        x, x2 = np.asarray(x, float), np.asarray(x2, float)
        return float(self._clean_weights(n1, n2, x2).sum() * (x @ x) ** n1 * (x @ x2) ** n2) if has_mass else 0.0

    def second_moment_given(self, counts: tuple[int, ...], x: ArrayLike, x2: ArrayLike, covariance: ArrayLike) -> float:
        # The sum of the weights of `term` over P(n1) P(n2), squared, times (E <x~, x~'>^2)^n1 (E <x~, x2>^2)^n2.
        n1, n2 = (int(n) for n in counts)
        log_mass = self.pair_distribution().log_table(n1 + 1)[n1] + self.law.log_table(n2 + 1)[n2]
        weight = self._clean_weights(n1, n2, np.asarray(x2, float)).sum() * math.exp(-log_mass)
        return float(weight**2 * copy_moments(x, covariance)[1] ** n1 * inner_moment(x, x2, covariance) ** n2)

    @validate_arguments
    def bias(self, capacity: Count, squared_norm: NonNegativeFloat) -> float:
        # The bound of `GaussianFeatureMap` for each part; the parts are orthogonal.
        square, n = host_float("squared_norm", squared_norm), np.arange(capacity + 1)
        is_pair_drawn, is_drawn = support_mask(self.pair_distribution(), len(n)), support_mask(self.law, len(n))
        total, room = 0.0, (capacity - n) // 2  # room for pairs beside n factors
        with np.errstate(over="ignore", invalid="ignore"):
            for group in self._host_groups():
                rates = np.zeros(1) if group.rates is None else group.rates
                betas = np.exp(group.log_table(len(n)) + special.xlogy(n, square))
                for rate, levels, tail in zip(rates, betas, group.tail_bounds(capacity + 1, square), strict=True):
                    s = rate * square
                    pair_terms = np.exp(special.xlogy(n, s) - special.gammaln(n + 1))
                    undrawn = np.cumsum(np.where(is_pair_drawn, 0.0, pair_terms))
                    lost_pairs = undrawn[room] + np.exp(s) * special.gammainc(room + 1.0, s)
                    total += levels @ np.where(is_drawn, lost_pairs, np.exp(-s)) ** 2 + tail * math.exp(-2.0 * s)
        return math.inf if math.isnan(total) else math.sqrt(total)

    @validate_arguments
    def second_moment(self, copy_moment: NonNegativeFloat, pair_moment: NonNegativeFloat | None = None) -> float:
        """Return the exact E |Psi~|^2 for M = `copy_moment` = E |x~|^2, F = `pair_moment` = E <x~, x~'>^2 (or M^2).

        The moment is the sum over j of sum_n1 (u_j^2 F)^n1 / (n1!^2 P(N1 = n1)) times sum_n2 beta_jn2 M^n2 / P(N2 =
        n2). Raises a ValueError if a series diverges.
        """
        moment = host_float("copy_moment", copy_moment)
        pairs = moment**2 if pair_moment is None else host_float("pair_moment", pair_moment)
        total = 0.0
        for group in self._host_groups():
            for j, rate in enumerate([0.0] if group.rates is None else group.rates):
                pair_factor = weighted_series(
                    self.pair_distribution(),
                    rate**2 * pairs,
                    lambda a: float(special.i0(2.0 * math.sqrt(a))),
                    lambda n: -2.0 * special.gammaln(n + 1.0),
                )
                total += pair_factor * self._level_moment(group, j, moment)
        return total

    def _level_moment(self, group: KernelGroup, j: int, moment: float) -> float:
        def series(a: float) -> float:
            if a >= group.series.radius():
                raise ValueError(
                    f"copy_moment: p * copy_moment must be below the radius of convergence {group.series.radius():g} "
                    f"for a finite second moment (got {a:g})"
                )
            return group.tail_bounds(0, a)[j]

        return weighted_series(self.law, moment, series, lambda n: group.log_table(len(n))[j])

    def _clean_weights(self, n1: int, n2: int, x2: np.ndarray) -> np.ndarray:
        """Return (-u_j)^n1 / n1! beta_jn2 e^(-u_j |x2|^2) for all j."""
        groups = self._host_groups()
        rates = np.concatenate([np.zeros(1) if group.rates is None else group.rates for group in groups])
        betas = np.exp(np.concatenate([group.log_table(n2 + 1)[:, n2] for group in groups]))
        return (-rates) ** n1 / math.factorial(n1) * betas * np.exp(-rates * (x2 @ x2))

    def _rates(self, dtype: Any) -> Float[Array, "J"]:
        groups = self._groups(dtype)
        return jnp.concatenate([jnp.zeros(1, dtype) if group.rates is None else group.rates for group in groups])

    def _groups(self, dtype: Any) -> list[KernelGroup]:
        return kernel_groups(self.kernel, lambda values: _as_array(values, dtype))

    def _host_groups(self) -> list[KernelGroup]:
        return kernel_groups(self.kernel, lambda values: np.asarray(values, float))


def _as_array(values: Any, dtype: Any) -> Array:
    """Return numbers, or a list of one number, as a vector."""
    return jnp.asarray(values[0], dtype)[None] if isinstance(values, list) else jnp.asarray(values, dtype)
