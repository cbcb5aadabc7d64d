"""What unbiased estimates of feature vectors share: exact moments, stored estimates, and pairs of copies."""

import abc
import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int, Key
from scipy import special

from jaxonline.estimators.counts import (
    CountDistribution,
    FiniteDistribution,
    Geometric,
)
from jaxonline.feedback.noise import Covariance
from jaxonline.kernels import DotProductKernel, Kernel
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Count, Vector, as_floating, host_float

# ---------------------------------------------------------------------------------------------------------------------
# Exact moments of noisy copies and of estimates of feature vectors, in float64 on the host.


_LOG_RELATIVE_REST = np.log(1e-15)  # of the last quarter of the terms of a series
_SMALL = 1e-290  # smaller float64 numbers may be inaccurate or 0


@validate_arguments
def copy_moments(x: Vector, covariance: Covariance) -> tuple[float, float]:
    """Return E |x~|^2 and E <x~, x~'>^2 of independent copies x~, x~' with mean `x` and covariance `covariance`.

    Args:
        x: the true instance [d].
        covariance: covariance of the noise: a variance (number), variances [d] or a matrix [d, d].

    Example:
        >>> from jaxonline.estimators.noisy_features import copy_moments
        >>> copy_moments([1.0, 0.0], [0.5, 0.25])
        (1.75, 2.3125)
    """
    second = _second_moments(x, covariance)
    return float(np.trace(second)), float((second**2).sum())


def _second_moments(x: Any, covariance: Any) -> np.ndarray:
    """Return the second moments E x~ x~' [d, d] of a copy x~ with mean x."""
    x, covariance = np.asarray(x, float), np.asarray(covariance, float)
    if covariance.ndim < 2:
        covariance = np.diag(np.broadcast_to(covariance, x.shape))
    return np.outer(x, x) + covariance


@validate_arguments
def inner_moment(x: Vector, x2: Vector, covariance: Covariance) -> float:
    """Return the second moment E <x~, x2>^2 of the inner product of a noisy copy x~ of x and a fixed vector x2."""
    x2 = np.asarray(x2, float)
    return float(x2 @ _second_moments(x, covariance) @ x2)


def log_coefficients(kernel: DotProductKernel, n_terms: int) -> np.ndarray:
    """Return log beta_n for n = 0 .. n_terms - 1 in float64, even if beta_n underflows (such as 1/200!)."""
    betas = kernel.coefficients(n_terms)
    with np.errstate(divide="ignore"):
        logs = np.log(betas)
    if kernel.degree is None and (betas < _SMALL).any():
        with jax.ensure_compile_time_eval(), jax.enable_x64(True):
            exact = np.asarray(kernel.log_coefficient(jnp.arange(n_terms)), np.float64)
        logs = np.where(betas < _SMALL, exact, logs)
    return logs


def weighted_series(
    law: CountDistribution, a: float, series: Callable[[float], float], log_terms: Callable[[np.ndarray], np.ndarray]
) -> float:
    """Return sum_n t_n a^n / P(N = n), where `series(a)` = sum t_n a^n and `log_terms(n)` = log t_n."""
    if isinstance(law, Geometric):
        p = host_float("p", law.p)
        return p / (p - 1.0) * series(p * a)
    if isinstance(law, FiniteDistribution):
        logs = _log_weighted_terms(law, a, log_terms, len(law.probabilities))
        return float(np.exp(np.asarray(special.logsumexp(logs))))
    for n_terms in (256, 1024, 4096):
        logs = _log_weighted_terms(law, a, log_terms, n_terms)
        total = np.asarray(special.logsumexp(logs))
        if special.logsumexp(logs[-len(logs) // 4 :]) < total + _LOG_RELATIVE_REST:
            return float(np.exp(total))
    raise ArgumentError("law", "must make the second moment finite, with at most 4,096 terms that matter")


def _log_weighted_terms(
    law: CountDistribution, a: float, log_terms: Callable[[np.ndarray], np.ndarray], n_terms: int
) -> np.ndarray:
    """Return ln (t_n a^n / P(N = n)) for the n < `n_terms` with P(N = n) > 0."""
    n = np.flatnonzero(support_mask(law, n_terms))
    return log_terms(np.arange(n_terms))[n] + special.xlogy(n, a) - law.log_table(n_terms)[n]


def support_mask(law: CountDistribution, n_terms: int) -> np.ndarray:
    """Return whether P(N = n) > 0, for n = 0 .. n_terms - 1."""
    return law.log_table(n_terms) > -np.inf


# ---------------------------------------------------------------------------------------------------------------------
# Estimates Psi~ of feature vectors: storage, inner products, and the interface of their estimators.
#
# Weights are stored as logarithms and spread over the factors of a product, so that large n do not overflow. The
# estimators, and the reference to Cesa-Bianchi et al. (2010a), are in `jaxonline.estimators.feature_maps`.


Counts = Any
"""Numbers of copies: N for a dot-product kernel, the pair (N1, N2) for the Gaussian kernel."""


@struct
class NoisyFeature:
    """Estimate Psi~ = sign e^log_weight x~(1) (x) ... (x) x~(level) of a feature vector.

    Attributes:
        level: n, the number of factors (int32).
        sign: the sign of the weight: +1, -1 or 0.
        log_weight: logarithm of the absolute value of the weight; -inf for an estimate of 0.
        copies: the factors in the first `level` rows, 0 in the other rows [capacity, d].
        queries: number of copies requested, including pairs of the Gaussian map (int32).
        overflow: whether `queries` exceeded the capacity; the estimate is then 0.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.estimators.noisy_features import NoisyFeature, prod
        >>> one = jnp.float32(1.0)  # sign 1, e^0, one factor (2, 0)
        >>> psi = NoisyFeature(jnp.int32(1), one, 0 * one, jnp.array([[2.0, 0.0]]), jnp.int32(1), jnp.bool_(False))
        >>> float(prod(psi, psi))
        4.0
    """

    level: Int[Array, ""]
    sign: Float[Array, ""]
    log_weight: Float[Array, ""]
    copies: Float[Array, "capacity d"]
    queries: Int[Array, ""]
    overflow: Bool[Array, ""]


def prod(psi: NoisyFeature, psi2: NoisyFeature) -> Float[Array, ""]:
    """Return the inner product Prod(Psi~, Psi~') of two estimates; 0 if the levels differ.

        Source: Cesa-Bianchi et al. (2010a), Subroutines 3 and 6.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.estimators.noisy_features import NoisyFeature, prod
        >>> one, none = jnp.float32(1.0), jnp.bool_(False)
        >>> constant = NoisyFeature(jnp.int32(0), one, 0 * one, jnp.zeros((1, 2)), jnp.int32(0), none)
        >>> float(prod(constant, constant))
        1.0
    """
    rows = min(psi.copies.shape[0], psi2.copies.shape[0])
    inner = jnp.sum(psi.copies[:rows] * psi2.copies[:rows], axis=-1)
    value = psi.sign * psi2.sign * scaled_product(inner, psi.level, psi.log_weight + psi2.log_weight)
    return jnp.where(psi.level == psi2.level, value, jnp.zeros_like(value))


class PairProduct(NamedTuple):
    """Product of inner products of pairs of copies: `sign` +1, -1 or 0; `log_size` = ln |product|, 0 without pairs."""

    sign: Float[Array, ""]
    log_size: Float[Array, ""]

    @classmethod
    def from_inner_products(cls, inner: Float[Array, "m"], number: Int[Array, ""]) -> "PairProduct":
        """Multiply the first `number` inner products of pairs of copies."""
        used = jnp.arange(inner.shape[0], dtype=jnp.int32) < number
        sign = jnp.prod(jnp.where(used, jnp.sign(inner), jnp.ones_like(inner)))
        return cls(sign, jnp.sum(jnp.where(used, jnp.log(jnp.abs(inner)), jnp.zeros_like(inner))))


class FeatureMap(abc.ABC):
    """Unbiased estimator of a feature map Psi(x), from a random number of noisy copies of x.

    `estimate` is Map_Estimate of Cesa-Bianchi et al. (2010a); learners with an oracle use its steps `sample_counts`,
    `queries` and `assemble`. The abstract methods from `term` to `bias` describe the distribution of the estimate
    exactly, in float64 on the host.
    """

    @abc.abstractmethod
    def sample_counts(self, key: Key[Array, ""]) -> Counts:
        """Draw the random numbers of copies."""

    def queries(self, counts: Counts) -> Int[Array, "..."]:
        """Return the total number of copies: two for each pair and one for each factor."""
        return 2 * self.pairs(counts) + self.level(counts)

    @abc.abstractmethod
    def pairs(self, counts: Counts) -> Int[Array, "..."]:
        """Return the number of pairs of copies, which are used only through their inner products."""

    @abc.abstractmethod
    def level(self, counts: Counts) -> Int[Array, ""]:
        """Return the number n of copies used as factors."""

    @abc.abstractmethod
    def combine(self, counts: Counts, pairs: PairProduct, factors: Float[Array, "l d"]) -> NoisyFeature:
        """Compute the estimate from its product of pairs and the first `level(counts)` rows of `factors`."""

    def assemble(self, counts: Counts, copies: Float[Array, "capacity d"]) -> NoisyFeature:
        """Compute the estimate from `queries(counts)` rows of copies: first the pairs, then the factors.

        The estimate is 0, with `overflow` set, if `copies` has too few rows.
        """
        even = copies[: 2 * (copies.shape[0] // 2)]
        pairs = PairProduct.from_inner_products(jnp.sum(even[0::2] * even[1::2], axis=-1), self.pairs(counts))
        psi = self.combine(counts, pairs, jnp.roll(copies, -2 * self.pairs(counts), axis=0))
        return zero_on_overflow(psi, self.queries(counts) > copies.shape[0])

    @abc.abstractmethod
    def log_beta(self, n: Int[Array, ""], dtype: Any) -> Float[Array, ""]:
        """Return log beta_n: k(x, x2) is the sum of beta_n <x, x2>^n e^(log_clean(x) + log_clean(x2)) over n."""

    @abc.abstractmethod
    def log_clean(self, x: Float[Array, "d"]) -> Float[Array, ""]:
        """Return the logarithm of the common factor of the components of Psi(x): 0, or (Gaussian) -|x|^2/width^2."""

    def log_level(self, n: Int[Array, ""], x: Float[ArrayLike, "d"]) -> Float[Array, ""]:
        """Return the logarithm of the weight of x (x) ... (x) x in component n of the exact Psi(x)."""
        x = as_floating(x)
        return 0.5 * self.log_beta(n, x.dtype) + self.log_clean(x)

    @abc.abstractmethod
    def term(self, counts: tuple[int, ...], x: ArrayLike, x2: ArrayLike) -> float:
        """Return the term P(counts) E[<Psi~, Psi(x2)> | counts] of the series of k(x, x2); 0 if P(counts) = 0."""

    @abc.abstractmethod
    def second_moment_given(self, counts: tuple[int, ...], x: ArrayLike, x2: ArrayLike, covariance: ArrayLike) -> float:
        """Return E[<Psi~, Psi(x2)>^2 | counts] for copies of mean x and a covariance (number, vector [d] or [d, d])."""

    @abc.abstractmethod
    def expected_queries(self) -> float:
        """Return the expected number of copies of one estimate."""

    @abc.abstractmethod
    def overflow_probability(self, capacity: int) -> float:
        """Return the probability that an estimate needs more than `capacity` copies."""

    @abc.abstractmethod
    def bias(self, capacity: int, squared_norm: float) -> float:
        """Return a bound on |E Psi~ - Psi(x)| for |x|^2 = `squared_norm`, from the cap and counts of probability 0.

        The bias of <w, Psi~> is at most |w| times this bound. The bias of `prod_clean(psi, x2)` is at most sqrt(k(x2,
        x2)) times this bound.
        """

    @validate_arguments
    def estimate_given(
        self, key: Key[Array, ""], counts: Counts, draw: Callable[[Key[Array, ""]], Float[Array, "d"]], capacity: Count
    ) -> NoisyFeature:
        """Draw an estimate Psi~ conditional on `counts`, N or (N1, N2), for stratified verification; see `estimate`."""
        indices = jnp.arange(capacity, dtype=jnp.uint32)
        return self.assemble(counts, jax.vmap(lambda j: draw(jax.random.fold_in(key, j)))(indices))

    def estimate(
        self, key: Key[Array, ""], draw: Callable[[Key[Array, ""]], Float[Array, "d"]], capacity: int
    ) -> NoisyFeature:
        """Draw an estimate Psi~ with E Psi~ = Psi(x) up to `bias(capacity, |x|^2)` (Map_Estimate).

        Args:
            key: key of the counts and the noise. The same key with a larger capacity gives the same estimate.
            draw: `draw(key)` returns an independent noisy copy of x.
            capacity: maximum number of copies, an integer of at least 1 (otherwise a TypeError or ValueError).
        """
        counts_key, copies_key = jax.random.split(key)
        return self.estimate_given(copies_key, self.sample_counts(counts_key), draw, capacity)

    def prod(self, psi: NoisyFeature, psi2: NoisyFeature) -> Float[Array, ""]:
        """Return the inner product of this and another estimate; see the function `prod`."""
        return prod(psi, psi2)

    def prod_clean(self, psi: NoisyFeature, x: Float[ArrayLike, "d"]) -> Float[Array, ""]:
        """Return the inner product Prod(Psi~, x') of an estimate and the exact Psi(x') (Subroutines 4 and 7)."""
        inner = psi.copies @ jnp.asarray(x, psi.copies.dtype)
        log_level = self.log_level(psi.level, x).astype(psi.log_weight.dtype)
        return psi.sign * scaled_product(inner, psi.level, psi.log_weight + log_level)


def scaled_product(factors: Float[Array, "m"], n: Int[Array, ""], log_scale: Float[Array, ""]) -> Float[Array, ""]:
    """Return e^log_scale times the first `n` factors; the scale is spread over the factors to avoid overflow."""
    share = jnp.exp(log_scale / jnp.maximum(n, 1).astype(log_scale.dtype))
    used = jnp.arange(factors.shape[0], dtype=jnp.int32) < n
    product = jnp.prod(jnp.where(used, factors * share, jnp.ones_like(factors)))
    return jnp.where(n == 0, jnp.exp(log_scale), product)


def zero_on_overflow(psi: NoisyFeature, overflow: Bool[Array, ""]) -> NoisyFeature:
    """Return the estimate, or 0 if its copies exceed the capacity."""
    overflow = psi.overflow | overflow
    return dataclasses.replace(psi, log_weight=jnp.where(overflow, -jnp.inf, psi.log_weight), overflow=overflow)


def noisy_feature(
    level: Int[Array, ""],
    sign: Float[Array, ""],
    log_weight: Float[Array, ""],
    factors: Float[Array, "l d"],
    queries: Int[Array, ""],
) -> NoisyFeature:
    """Make the estimate from the first `level` rows of `factors`; the estimate is 0 if there are too few rows."""
    used = jnp.arange(factors.shape[0], dtype=jnp.int32) < level
    copies = jnp.where(used[:, None], factors, jnp.zeros_like(factors))
    psi = NoisyFeature(level, sign, log_weight, copies, queries, jnp.zeros((), bool))
    return zero_on_overflow(psi, level > factors.shape[0])


# ---------------------------------------------------------------------------------------------------------------------
# Estimators of feature maps whose estimates multiply N2 copies and the inner products of N1 pairs of copies.


class PairedFeatureMap(FeatureMap):
    """Estimator with N1 pairs and N2 factors, drawn independently: counts are (N1, N2), for 2 N1 + N2 copies.

    A subclass declares the fields `kernel`, `law` (distribution of N2) and `pair_law` (of N1; `law` when None).
    """

    kernel: Kernel
    law: CountDistribution
    pair_law: CountDistribution | None

    def pair_distribution(self) -> CountDistribution:
        """Return the distribution of N1."""
        return self.law if self.pair_law is None else self.pair_law

    def sample_counts(self, key: Key[Array, ""]) -> tuple[Int[Array, ""], Int[Array, ""]]:
        pair_key, vector_key = jax.random.split(key)
        return self.pair_distribution().sample(pair_key), self.law.sample(vector_key)

    def pairs(self, counts: tuple[Int[Array, "..."], Int[Array, "..."]]) -> Int[Array, "..."]:
        return jnp.asarray(counts[0], jnp.int32)

    def level(self, counts: tuple[Int[Array, "..."], Int[Array, "..."]]) -> Int[Array, "..."]:
        return jnp.asarray(counts[1], jnp.int32)

    def expected_queries(self) -> float:
        # With the paper's distribution its learner needs 3p/(p-1)^2 in total, for 1 + E N estimates a round.
        return 2.0 * self.pair_distribution().mean() + self.law.mean()

    @abc.abstractmethod
    def second_moment(self, copy_moment: float, pair_moment: float | None = None) -> float:
        """Return E |Psi~|^2 for `copy_moment` M = E |x~|^2 and `pair_moment` = E <x~, x~'>^2 (M^2 when None)."""

    @validate_arguments
    def overflow_probability(self, capacity: Count) -> float:
        n1, pair_law = np.arange(capacity // 2 + 1), self.pair_distribution()
        inside = np.exp(pair_law.log_table(len(n1))) * np.asarray(self.law.tail(capacity - 2 * n1 + 1), float)
        return float(inside.sum() + float(pair_law.tail(len(n1))))
