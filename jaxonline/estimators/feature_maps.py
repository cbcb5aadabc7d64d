"""Unbiased estimates of the feature vectors of kernels from noisy copies."""

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Key
from scipy import special

from jaxonline.estimators.counts import AnyCountDistribution, CountDistribution
from jaxonline.estimators.noisy_features import (
    FeatureMap,
    NoisyFeature,
    PairedFeatureMap,
    PairProduct,
    copy_moments,
    inner_moment,
    log_coefficients,
    noisy_feature,
    support_mask,
    weighted_series,
)
from jaxonline.kernels import Gaussian
from jaxonline.kernels.dot_product import DotProductKernel
from jaxonline.parameters.citations import cites
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Count, NonNegativeFloat, exp, host_float

# ---------------------------------------------------------------------------------------------------------------------
# Unbiased estimators of an RKHS feature map Psi(x), from a random number of noisy copies of x.
#
# Psi(x) is a sum over n of n-fold tensor products. An estimate Psi~ is a number times x~(1) (x) ... (x) x~(n) and is
# stored as that number and the n copies (`NoisyFeature`). Inner products of estimates are products of inner products in
# R^d (`prod`, `prod_clean`).
#
#     counts = feature_map.sample_counts(key)          # Map_Estimate in three steps, for a learner with an oracle,
#     copies = oracle.copies(0, capacity, feature_map.queries(counts))
#     psi = feature_map.assemble(counts, copies)
#     psi = feature_map.estimate(key, draw, capacity)  # or in one step, where draw(key) is a noisy copy
#
# The number of copies is random and `capacity` caps it. Above the cap the estimate is 0 and has `overflow` set. The
# probability of this overflow (`overflow_probability`) and the resulting bias (`bias`) depend on the capacity.
#
# Source: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Online learning of noisy data with kernels" (COLT 2010), section 5.2
# and appendix B (Subroutines 2 to 7, Lemmas 3 to 6), with errata E6 and E7.


@cites("cesabianchi2010online")
@struct
class DotProductFeatureMap(FeatureMap):
    """Map_Estimate of a dot-product kernel: Psi~ = sqrt(beta_N) / P(N) x~(1) (x) ... (x) x~(N).

    Source: Cesa-Bianchi et al. (2010a), Subroutine 2.

    Args:
        kernel: dot-product kernel (`jaxonline.kernels`).
        law: distribution of the number N of copies; `Geometric(p)` in Cesa-Bianchi et al. (2010a).

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> law = jo.estimators.FiniteDistribution([0.2, 0.4, 0.4])
        >>> feature_map = jo.estimators.DotProductFeatureMap(jo.kernels.Inhomogeneous(2), law)
        >>> x = jnp.array([1.0, -0.5])
        >>> draw = lambda key: x + 0.1 * jax.random.normal(key, (2,))
        >>> psi = feature_map.estimate(jax.random.key(0), draw, capacity=2)
        >>> feature_map.prod_clean(psi, x).shape, feature_map.bias(2, 1.25), round(feature_map.expected_queries(), 4)
        ((), 0.0, 1.2)
    """

    kernel: DotProductKernel
    law: AnyCountDistribution

    def sample_counts(self, key: Key[Array, ""]) -> Int[Array, ""]:
        return self.law.sample(key)

    def pairs(self, counts: Int[Array, "..."]) -> Int[Array, "..."]:
        return jnp.zeros_like(counts, jnp.int32)

    def level(self, counts: Int[Array, "..."]) -> Int[Array, "..."]:
        return jnp.asarray(counts, jnp.int32)

    def combine(self, counts: Int[Array, ""], pairs: PairProduct, factors: Float[Array, "l d"]) -> NoisyFeature:
        n = jnp.asarray(counts, jnp.int32)
        log_weight = 0.5 * self.log_beta(n, factors.dtype) - log_pmf(self.law, n, factors)
        return noisy_feature(n, jnp.ones((), factors.dtype), log_weight, factors, n)

    def log_beta(self, n: Int[Array, ""], dtype: Any) -> Float[Array, ""]:
        return self.kernel.log_coefficient(n).astype(dtype)

    def log_clean(self, x: Float[Array, "d"]) -> Float[Array, ""]:
        return jnp.zeros((), x.dtype)

    def term(self, counts: tuple[int, ...] | int, x: ArrayLike, x2: ArrayLike) -> float:
        # beta_n <x, x2>^n if P(n) > 0
        n = int(np.asarray(counts).reshape(()))
        has_mass = support_mask(self.law, n + 1)[n]
        inner = float(np.asarray(x, float) @ np.asarray(x2, float))
        size = exp(float(log_coefficients(self.kernel, n + 1)[n] + special.xlogy(n, abs(inner))))
        return size * math.copysign(1.0, inner) ** n if has_mass else 0.0

    def second_moment_given(
        self, counts: tuple[int, ...] | int, x: ArrayLike, x2: ArrayLike, covariance: ArrayLike
    ) -> float:
        # (beta_n / P(n))^2 (E <x~, x2>^2)^n
        n = int(np.asarray(counts).reshape(()))
        log_weight = log_coefficients(self.kernel, n + 1)[n] - self.law.log_table(n + 1)[n]
        return exp(float(2.0 * log_weight + special.xlogy(n, inner_moment(x, x2, covariance))))

    def expected_queries(self) -> float:
        # With the paper's distribution its learner needs p/(p-1)^2 in total, for 1 + E N estimates a round.
        return self.law.mean()

    @validate_arguments
    def overflow_probability(self, capacity: Count) -> float:
        return float(self.law.tail(capacity + 1))

    @validate_arguments
    def bias(self, capacity: Count, squared_norm: NonNegativeFloat) -> float:
        # Exact: the root of the sum of beta_n |x|^(2n) over the n that are never used.
        squared_norm = host_float("squared_norm", squared_norm)
        used = support_mask(self.law, capacity + 1)
        n = np.arange(capacity + 1)
        log_terms = log_coefficients(self.kernel, capacity + 1) + special.xlogy(n, squared_norm)
        with np.errstate(over="ignore"):
            lost = np.exp(np.where(used, -np.inf, log_terms)).sum()
        return math.sqrt(lost + self.kernel.tail_bound(capacity + 1, squared_norm))

    @validate_arguments
    def second_moment(self, copy_moment: NonNegativeFloat) -> float:
        """Return the exact E |Psi~|^2 = sum beta_n (E |x~|^2)^n / P(N = n).

        Cesa-Bianchi et al. (2010a), Lemma 3, have p/(p-1) Q(p E |x~|^2).

        The value is B_Psi of Cesa-Bianchi et al. (2010a) if `copy_moment` is a bound on E |x~|^2. Raises a ValueError
        if the series diverges.
        """
        moment = host_float("copy_moment", copy_moment)

        def series(a: float) -> float:
            if a >= self.kernel.radius():
                raise ValueError(
                    f"copy_moment: p * copy_moment must be below the radius of convergence {self.kernel.radius():g} "
                    f"for a finite second moment (got {a:g})"
                )
            return self.kernel.tail_bound(0, a)

        return weighted_series(self.law, moment, series, lambda n: log_coefficients(self.kernel, len(n)))


@cites("cesabianchi2010online")
@struct
class GaussianFeatureMap(PairedFeatureMap):
    """Map_Estimate of the Gaussian kernel exp(-|x - x'|^2 / width^2).

    Source: Cesa-Bianchi et al. (2010a), Subroutine 5, corrected by erratum E6.

    Component n of Psi(x) is e^(-|x|^2/width^2) times sqrt((2/width^2)^n / n!) x (x) ... (x) x; Cesa-Bianchi et al.
    (2010a) print this component without the square root (erratum E6). N1 pairs of copies estimate the factor
    e^(-|x|^2/width^2) through powers of <x, x>, and N2 copies estimate the other factor.

    Args:
        kernel: Gaussian kernel.
        law: distribution of N2; `Geometric(p)` in Cesa-Bianchi et al. (2010a).
        pair_law: distribution of N1; equal to `law` when None, as in Cesa-Bianchi et al. (2010a).

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> feature_map = jo.estimators.GaussianFeatureMap(jo.kernels.Gaussian(2.0), jo.estimators.Geometric(2.0))
        >>> x = jnp.array([1.0, -0.5])
        >>> draw = lambda key: x + 0.1 * jax.random.normal(key, (2,))
        >>> psi = feature_map.estimate(jax.random.key(0), draw, capacity=64)
        >>> feature_map.prod_clean(psi, x).shape, feature_map.bias(64, 1.25) < 1e-20, feature_map.expected_queries()
        ((), True, 3.0)
    """

    kernel: Gaussian
    law: AnyCountDistribution
    pair_law: AnyCountDistribution | None = None

    def combine(
        self, counts: tuple[Int[Array, ""], Int[Array, ""]], pairs: PairProduct, factors: Float[Array, "l d"]
    ) -> NoisyFeature:
        n1, n2 = (jnp.asarray(count, jnp.int32) for count in counts)
        dtype = factors.dtype
        sign = jnp.where(n1 % 2 == 0, pairs.sign, -pairs.sign)
        log_weight = (
            pairs.log_size
            - log_factorial(n1, dtype)
            - 2.0 * n1.astype(dtype) * self._log_width(dtype)
            - log_pmf(self.pair_distribution(), n1, factors)
            + 0.5 * self.log_beta(n2, dtype)
            - log_pmf(self.law, n2, factors)
        )
        return noisy_feature(n2, sign, log_weight, factors, self.queries((n1, n2)))

    def log_beta(self, n: Int[Array, ""], dtype: Any) -> Float[Array, ""]:
        # log (2/width^2)^n / n!
        real = jnp.asarray(n).astype(dtype)
        return real * (math.log(2.0) - 2.0 * self._log_width(dtype)) - log_factorial(n, dtype)

    def log_clean(self, x: Float[Array, "d"]) -> Float[Array, ""]:
        return -jnp.sum((x / jnp.asarray(self.kernel.width, x.dtype)) ** 2)

    def term(self, counts: tuple[int, ...], x: ArrayLike, x2: ArrayLike) -> float:
        # (-|x|^2/width^2)^n1 / n1! (2 <x, x2>/width^2)^n2 / n2! e^(-|x2|^2/width^2)
        n1, n2 = (int(n) for n in counts)
        has_mass = support_mask(self.pair_distribution(), n1 + 1)[n1] and support_mask(self.law, n2 + 1)[n2]
        x, x2 = (np.asarray(v, float) / host_float("width", self.kernel.width) for v in (x, x2))
        inner = float(x @ x2)
        log_size = special.xlogy(n1, x @ x) + special.xlogy(n2, 2.0 * abs(inner)) - x2 @ x2
        size = exp(float(log_size - math.lgamma(n1 + 1) - math.lgamma(n2 + 1)))
        return size * (-1.0) ** n1 * math.copysign(1.0, inner) ** n2 if has_mass else 0.0

    def second_moment_given(self, counts: tuple[int, ...], x: ArrayLike, x2: ArrayLike, covariance: ArrayLike) -> float:
        # The weights of `term` over P(n1) P(n2), squared, times (E <x~, x~'>^2)^n1 (E <x~, x2>^2)^n2.
        n1, n2 = (int(n) for n in counts)
        width2 = host_float("width", self.kernel.width) ** 2
        log_weight = (
            n2 * math.log(2.0)
            - (n1 + n2) * math.log(width2)
            - math.lgamma(n1 + 1)
            - math.lgamma(n2 + 1)
            - np.sum(np.square(x2)) / width2
            - self.pair_distribution().log_table(n1 + 1)[n1]
            - self.law.log_table(n2 + 1)[n2]
        )
        pair_moment = copy_moments(x, covariance)[1]
        return float(np.exp(2.0 * log_weight) * pair_moment**n1 * inner_moment(x, x2, covariance) ** n2)

    @validate_arguments
    def bias(self, capacity: Count, squared_norm: NonNegativeFloat) -> float:
        # A bound that adds the absolute values of the unused terms of the series of e^(-|x|^2/width^2); it may be inf.
        s = host_float("squared_norm", squared_norm)
        s /= host_float("width", self.kernel.width) ** 2
        n = np.arange(capacity + 1)
        with np.errstate(over="ignore", invalid="ignore"):
            pair_terms = np.exp(special.xlogy(n, s) - special.gammaln(n + 1))
            undrawn = np.cumsum(np.where(support_mask(self.pair_distribution(), len(n)), 0.0, pair_terms))
            max_pairs = (capacity - n) // 2  # beside n factors
            lost_pairs = undrawn[max_pairs] + np.exp(s) * special.gammainc(max_pairs + 1.0, s)
            lost = np.where(support_mask(self.law, len(n)), lost_pairs, np.exp(-s))
            levels = np.exp(special.xlogy(n, 2.0 * s) - special.gammaln(n + 1))
            bound = math.sqrt(levels @ lost**2 + special.gammainc(capacity + 1.0, 2.0 * s))
        return math.inf if math.isnan(bound) else bound

    @validate_arguments
    def second_moment(self, copy_moment: NonNegativeFloat, pair_moment: NonNegativeFloat | None = None) -> float:
        """Return the exact E |Psi~|^2 for M = `copy_moment` = E |x~|^2, F = `pair_moment` = E <x~, x~'>^2 (or M^2).

        The second moment is a series in F times a series in M. For the geometric distribution of Cesa-Bianchi et al.
        (2010a) it is (p/(p-1))^2 I_0(2 sqrt(p F) / width^2) exp(2 p M / width^2). If M is a bound and F is None, the
        value is the corrected B_Psi. (Erratum E7: the bound printed in Cesa-Bianchi et al. 2010a, Lemma 5, (p/(p-1))^2
        exp((sqrt(p) M + 2 p sqrt(M)) / width^2), is violated by the map without the square root.)
        """
        moment = host_float("copy_moment", copy_moment)
        pairs = moment**2 if pair_moment is None else host_float("pair_moment", pair_moment)
        width2 = host_float("width", self.kernel.width) ** 2
        pair_factor = weighted_series(
            self.pair_distribution(),
            pairs / width2**2,
            lambda a: float(special.i0(2.0 * math.sqrt(a))),
            lambda n: -2.0 * special.gammaln(n + 1.0),
        )
        level_factor = weighted_series(self.law, 2.0 * moment / width2, exp, lambda n: -special.gammaln(n + 1.0))
        return pair_factor * level_factor

    def _log_width(self, dtype: Any) -> Float[Array, ""]:
        return jnp.log(jnp.asarray(self.kernel.width, dtype))


def log_pmf(law: CountDistribution, n: Int[Array, ""], like: Float[Array, "..."]) -> Float[Array, ""]:
    """Return ln P(N = n) in the dtype of an array."""
    return law.log_pmf(n).astype(like.dtype)


@functools.partial(jax.jit, static_argnames="dtype")  # traced once for all calls of the same shapes
def log_factorial(n: Int[Array, ""], dtype: Any) -> Float[Array, ""]:
    """Return ln n! from a table, or beyond it from Stirling's series, as JAX's `lgamma` takes seconds to compile."""
    table = jnp.asarray(_LOG_FACTORIALS, dtype)
    real = jnp.maximum(n, len(table)).astype(dtype)
    correction = (1.0 - 1.0 / (30.0 * real**2)) / (12.0 * real)
    beyond = (real + 0.5) * jnp.log(real) - real + 0.5 * math.log(2.0 * math.pi) + correction
    return jnp.where(n < len(table), table[jnp.minimum(n, len(table) - 1)], beyond)


_LOG_FACTORIALS = special.gammaln(np.arange(1.0, 513.0))
