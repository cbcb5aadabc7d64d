"""Wrong formulas for kernels and feature maps as printed in papers A and B, for comparison with the right formulas.

The right formulas are in `jaxonline.kernels` and in `feature_maps`, `gradient_length`, `surrogates` of
`jaxonline.estimators`.
"""

import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln
from jaxtyping import Array, ArrayLike, Float, Int, Key
from scipy import special

from jaxonline.estimators.count_protocol import CountDistribution
from jaxonline.estimators.feature_maps import GaussianFeatureMap
from jaxonline.estimators.gradient_length import GradientLength, LengthEstimate
from jaxonline.estimators.noisy_features import FeatureMap, NoisyFeature, PairProduct, noisy_feature
from jaxonline.kernels import Gaussian
from jaxonline.kernels.radial import GaussianMixture
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import as_floating, host_float


def printed_binomial(a: ArrayLike, exponent: float) -> Array:
    """Return (1 + <x, x'>)^-alpha, paper A's "binomial kernel", which is no kernel (erratum E5); `a` is <x, x'>."""
    return (1.0 + as_floating(a)) ** -exponent


def printed_binomial_coefficients(n_terms: int, exponent: float) -> np.ndarray:
    """Return the Taylor coefficients of `printed_binomial` (erratum E5 of paper A), which alternate in sign."""
    n = np.arange(check.count("n_terms", n_terms))
    return (-1.0) ** n * special.poch(exponent, n) / special.factorial(n)


@struct
class PrintedGaussianFeatureMap(FeatureMap):
    """Gaussian feature map printed in paper A, Subroutine 5: (2/width^2)^n / n! lacks the square root (erratum E6).

    The inner product of two printed features (paper A, Subroutines 6 and 7) is `printed_gaussian_kernel`. The printed
    map has the arguments of `GaussianFeatureMap` and uses its methods where they are not affected.
    """

    kernel: Gaussian
    law: CountDistribution
    pair_law: CountDistribution | None = None

    @property
    def right(self) -> GaussianFeatureMap:
        """The Gaussian feature map without the misprint."""
        return GaussianFeatureMap(self.kernel, self.law, self.pair_law)

    def combine(
        self, counts: tuple[Int[Array, ""], Int[Array, ""]], pairs: PairProduct, factors: Float[Array, "l d"]
    ) -> NoisyFeature:
        """Compute the estimate of paper A, Subroutine 5, with the printed factor."""
        n1, n2 = (jnp.asarray(count, jnp.int32) for count in counts)
        dtype = factors.dtype
        sign = jnp.where(n1 % 2 == 0, pairs.sign, -pairs.sign)
        pair_law = self.law if self.pair_law is None else self.pair_law
        log_weight = (
            pairs.log_size
            - gammaln(n1.astype(dtype) + 1.0)
            - 2.0 * n1.astype(dtype) * jnp.log(jnp.asarray(self.kernel.width, dtype))
            - pair_law.log_pmf(n1).astype(dtype)
            + self.right.log_beta(n2, dtype)
            - self.law.log_pmf(n2).astype(dtype)
        )
        return noisy_feature(n2, sign, log_weight, factors, self.queries((n1, n2)))

    def log_beta(self, n: Int[Array, ""], dtype: Any) -> Float[Array, ""]:
        return 2.0 * self.right.log_beta(n, dtype)

    def term(self, counts: tuple[int, ...], x: ArrayLike, x2: ArrayLike) -> float:
        return self._excess(counts) * self.right.term(counts, x, x2)

    def second_moment_given(self, counts: tuple[int, ...], x: ArrayLike, x2: ArrayLike, covariance: ArrayLike) -> float:
        return self._excess(counts) ** 2 * self.right.second_moment_given(counts, x, x2, covariance)

    def _excess(self, counts: tuple[int, ...]) -> float:
        n = int(counts[1])
        return (2.0 / host_float("width", self.kernel.width) ** 2) ** n / math.factorial(n)

    # Methods delegated to the right map.

    def sample_counts(self, key: Key[Array, ""]) -> tuple[Int[Array, ""], Int[Array, ""]]:
        return self.right.sample_counts(key)

    def pairs(self, counts: tuple[Int[Array, "..."], Int[Array, "..."]]) -> Int[Array, "..."]:
        return self.right.pairs(counts)

    def level(self, counts: tuple[Int[Array, "..."], Int[Array, "..."]]) -> Int[Array, "..."]:
        return self.right.level(counts)

    def log_clean(self, x: Float[Array, "d"]) -> Float[Array, ""]:
        return self.right.log_clean(x)

    def expected_queries(self) -> float:
        return self.right.expected_queries()

    def overflow_probability(self, capacity: int) -> float:
        return self.right.overflow_probability(capacity)

    def bias(self, capacity: int, squared_norm: float) -> float:
        return self.right.bias(capacity, squared_norm)


def printed_gaussian_kernel(x: ArrayLike, x2: ArrayLike, width: float) -> float:
    """Return the inner product of two Gaussian features as printed in paper A (erratum E6).

    The product is e^(-(|x|^2 + |x'|^2)/width^2) sum_n (4 <x, x'>/width^4)^n / n!^2.
    """
    x, x2 = np.asarray(x, float), np.asarray(x2, float)
    series = special.hyp0f1(1.0, 4.0 * (x @ x2) / width**4)
    return float(math.exp(-(x @ x + x2 @ x2) / width**2) * series)


def printed_gaussian_second_moment(
    p: float, copy_moment: float, width: float, pair_moment: float | None = None
) -> float:
    """Exact second moment (p/(p-1))^2 I_0(2 sqrt(pF)/w^2) I_0(4 sqrt(pM)/w^2) of paper A's printed Gaussian map (E7).

    `copy_moment` is M = E |x~|^2; `pair_moment` is F = E <x~, x~'>^2, by default the largest possible value M^2.
    """
    pair_moment = copy_moment**2 if pair_moment is None else pair_moment
    pairs = special.i0(2.0 * math.sqrt(p * pair_moment) / width**2)
    return float((p / (p - 1.0)) ** 2 * pairs * special.i0(4.0 * math.sqrt(p * copy_moment) / width**2))


def printed_lemma5_bound(p: float, copy_moment: float, width: float) -> float:
    """Bound (p/(p-1))^2 exp((sqrt(p) M + 2 p sqrt(M)) / w^2) on E|Psi~|^2 printed in paper A, Lemma 5 (erratum E7).

    The exponent lacks a factor 2: the last step of the proof squares two exponential series, and (sum a^n/n!)^2 is
    e^(2a). The bound is inf if it exceeds float64.
    """
    exponent = (math.sqrt(p) * copy_moment + 2.0 * p * math.sqrt(copy_moment)) / width**2
    try:
        return (p / (p - 1.0)) ** 2 * math.exp(exponent)
    except OverflowError:
        return math.inf


def printed_projection(squared_norm: ArrayLike, bound: ArrayLike) -> Array:
    """Factor on alpha printed in paper A, Algorithm 1: sqrt(B_w)/n~ if n~ = |w|^2 > B_w (erratum E8: sqrt(B_w/n~))."""
    n, bound = as_floating(squared_norm), as_floating(bound)
    return jnp.where(n > bound, jnp.sqrt(bound) / n, jnp.ones_like(n))


def printed_gradient_length(
    estimator: GradientLength,
    key: Key[Array, ""],
    fresh: Callable[[Key[Array, ""]], NoisyFeature],
    hypothesis: Callable[[NoisyFeature], Float[Array, ""]],
    y: ArrayLike,
) -> LengthEstimate:
    """Estimate g~ of a classification loss printed in paper A, Subroutine 1: no y inside the product (erratum E9).

    The printed estimate has the mean y l'(<w, Psi(x)>). The arguments are those of `GradientLength.estimate`.
    """
    if estimator.kind != "classification":
        raise ArgumentError("estimator", f"must be of the kind 'classification' (got {estimator.kind!r})")

    def times_y(psi: NoisyFeature) -> Float[Array, ""]:
        value = hypothesis(psi)  # y (y value) = value: the y of the factors of the right form is undone
        return jnp.asarray(y, value.dtype) * value

    return estimator.estimate(key, fresh, times_y, y)


def printed_radial_surrogate(
    mixture: GaussianMixture, standard_deviation: float, x: Float[ArrayLike, "d"], x2: Float[ArrayLike, "d"]
) -> Float[Array, ""]:
    """Return the surrogate printed in paper B, appendix E, with 2 sigma u in place of 2 sigma^2 u (erratum E13)."""
    rates = np.asarray(mixture.rates, float)
    check.numbers("2 sigma u", 2.0 * standard_deviation * rates, lt=1.0)
    difference = as_floating(x) - as_floating(x2)
    shrinkage = 1.0 - 2.0 * standard_deviation * rates
    sizes = np.asarray(mixture.weights, float) * shrinkage ** (-0.5 * difference.shape[0])
    exponents = jnp.asarray(rates / shrinkage, difference.dtype) * jnp.sum(difference**2)
    return jnp.sum(jnp.asarray(sizes, difference.dtype) * jnp.exp(-exponents))


def printed_radial_surrogate_mean(
    mixture: GaussianMixture, standard_deviation: float, dimension: int, squared_distance: ArrayLike
) -> Float[np.ndarray, "..."]:
    """Return E k^(a, x~) of the surrogate printed in paper B, Eq. 17, as a function of |x - a|^2 (erratum E13).

    In d dimensions and for noise of standard deviation sigma, a Gaussian kernel of rate u has the mean s^(-d/2) exp(-u
    |x - a|^2 / s) with s = 1 - 2 sigma u + 2 sigma^2 u; s = 1 would be unbiased.
    """
    rates, weights = np.asarray(mixture.rates, float), np.asarray(mixture.weights, float)
    check.numbers("2 sigma u", 2.0 * standard_deviation * rates, lt=1.0)
    s = 1.0 - 2.0 * rates * (standard_deviation - standard_deviation**2)
    return np.exp(-np.multiply.outer(np.asarray(squared_distance, float), rates / s)) @ (
        weights * s ** (-dimension / 2)
    )


def printed_lemma7_bound(standard_deviation: float, c: float) -> float:
    """Bound exp(2 sigma c) on R^2 printed in paper B, Lemma 7; exp(2 sigma^2 c) is right (erratum E13)."""
    return math.exp(2.0 * standard_deviation * c)
