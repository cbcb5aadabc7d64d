"""Distributions of the random number N of copies that a series estimator requests.

Paper A uses the geometric distribution; `minimum_variance` and `cost_aware` return optimal distributions for a given
series, and `polynomial_counts` has a distribution with a polynomial tail. Own distributions need `sample` and `log_pmf`
(`count_protocol.CountDistribution`).
Sampling inverts P(N >= n) at a uniform number made of three draws, so events of probability down to about 2^-69
(float32) or 2^-156 (float64) have the right frequency. A single uniform float32 number would limit `Geometric(4.0)` to
N <= 11.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int

from jaxonline.estimators.count_protocol import AnyCountDistribution, CountDistribution, as_law
from jaxonline.estimators.fine_uniform import fine_uniform
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import set_field, struct
from jaxonline.parameters.types import (
    Convert,
    Ge,
    Gt,
    NonNegativeInt,
    Number,
    PositiveFloat,
    PositiveOrInfinity,
    Shape,
    as_floating,
    host_float,
)
from jaxonline.random.threefry import word_pairs


def _as_table(value: Any, name: str) -> np.ndarray:
    return check.vector(name, value).astype(np.float64)


def _as_weights(value: Any, name: str) -> np.ndarray:
    return check.numbers(name, _as_table(value, name), ge=0.0)


Table = Annotated[Any, Shape("n"), Convert(_as_table)]
"""A vector of concrete numbers, in float64 on the host."""
Weights = Annotated[Any, Shape("n"), Ge(0), Convert(_as_weights)]
"""A `Table` of non-negative numbers."""
Overhead = PositiveOrInfinity
"""The price of an estimate in addition to its copies, in units of a copy."""


@struct
class Geometric(CountDistribution):
    """Geometric distribution of the number of copies: P(N = n) = (p - 1) / p^(n + 1) for n = 0, 1, ...

    The mean is E N = 1/(p - 1). Source: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Online learning of noisy data with
    kernels", Lemma 1.

    Args:
        p: the parameter p; a larger p means fewer copies and a larger variance. p is a pytree leaf, so a sweep can vary
            it.

    Example:
        >>> from jaxonline.estimators import Geometric
        >>> law = Geometric(2.0)
        >>> float(law.pmf(0)), float(law.tail(3)), law.mean()
        (0.5, 0.125, 1.0)
    """

    p: Annotated[Number, Gt(1)]

    def sample(self, key: jax.Array) -> Int[Array, ""]:
        """Draw N (int32)."""
        p = as_floating(self.p)
        return jnp.floor(-jnp.log(fine_uniform(key, p.dtype)) / jnp.log(p)).astype(jnp.int32)

    def log_pmf(self, n: ArrayLike) -> Float[Array, "*shape"]:
        """Return ln P(N = n); -inf for n < 0."""
        p, n = as_floating(self.p), jnp.asarray(n)
        steps = (n + 1).astype(p.dtype)
        return jnp.where(n >= 0, jnp.log(p - 1.0) - steps * jnp.log(p), -jnp.inf)

    def pmf(self, n: ArrayLike) -> Float[Array, "*shape"]:
        """Return P(N = n)."""
        return jnp.exp(self.log_pmf(n))

    def tail(self, n: ArrayLike) -> Float[Array, "*shape"]:
        """Return P(N >= n), which is p^-n."""
        p = as_floating(self.p)
        return jnp.exp(-jnp.maximum(jnp.asarray(n), 0).astype(p.dtype) * jnp.log(p))

    def log_table(self, n_terms: int) -> np.ndarray:
        """Return ln P(N = n) for n = 0 .. n_terms - 1 in float64, on the host."""
        p = host_float("p", self.p)
        return math.log(p - 1.0) - math.log(p) * np.arange(1.0, n_terms + 1.0)

    def mean(self) -> float:
        """Return E N = 1/(p - 1)."""
        return 1.0 / (host_float("p", self.p) - 1.0)


@struct
class FiniteDistribution(CountDistribution):
    """Distribution of the number of copies on 0, 1, ..., K, given by its K + 1 probabilities.

    Args:
        probabilities: P(N = 0), ..., P(N = K). Their sum must be 1 up to 1e-6 (otherwise a ValueError); they are then
            normalised exactly.

    Example:
        >>> from jaxonline.estimators import FiniteDistribution
        >>> law = FiniteDistribution([0.5, 0.0, 0.5])
        >>> float(law.pmf(2)), float(law.tail(1)), law.mean()
        (0.5, 0.5, 1.0)
    """

    probabilities: Weights
    tails: np.ndarray = dataclasses.field(init=False, repr=False)
    """P(N >= 0), ..., P(N >= K). A cumulative sum in float32 would give impossible n a positive probability."""
    thresholds: np.ndarray = dataclasses.field(init=False, repr=False)
    """P(N >= 1), ..., P(N >= K) times 2^64, as words of 32 bits [2, K]; a tail near 1 in float32 would lose digits."""

    def __post_init__(self) -> None:
        table = self.probabilities
        if not abs(table.sum() - 1.0) <= 1e-6:
            raise ArgumentError("probabilities", f"must have the sum 1 (got the sum {table.sum():g})")
        tails = np.cumsum(table[::-1])[::-1]
        set_field(self, "probabilities", table / tails[0])
        set_field(self, "tails", tails / tails[0])
        set_field(self, "thresholds", _thresholds(table / tails[0]))

    def sample(self, key: jax.Array) -> Int[Array, ""]:
        """Draw N (int32)."""
        high, low = word_pairs(key, (), jnp.result_type(float))
        low = low & ~jnp.uint32(1)  # a threshold of 2^64 - 1 then is certain
        least_high, least_low = jnp.asarray(self.thresholds)
        return jnp.sum((high < least_high) | ((high == least_high) & (low < least_low)), dtype=jnp.int32)

    def log_pmf(self, n: ArrayLike) -> Float[Array, "*shape"]:
        """Return ln P(N = n); -inf where P(N = n) = 0."""
        return jnp.log(self.pmf(n))

    def pmf(self, n: ArrayLike) -> Float[Array, "*shape"]:
        """Return P(N = n)."""
        return _entry(jnp.asarray(self.probabilities), n)

    def tail(self, n: ArrayLike) -> Float[Array, "*shape"]:
        """Return P(N >= n)."""
        return _entry(jnp.asarray(self.tails), jnp.maximum(jnp.asarray(n), 0))

    def log_table(self, n_terms: int) -> np.ndarray:
        """ln P(N = n) for n = 0 .. n_terms - 1 in float64, on the host; -inf where P(N = n) = 0."""
        logs = np.full(n_terms, -np.inf)
        table = np.asarray(self.probabilities, np.float64)[:n_terms]
        np.log(table, out=logs[: len(table)], where=table > 0.0)
        return logs

    def mean(self) -> float:
        """Return E N, the mean number of copies."""
        table = np.asarray(self.probabilities, np.float64)
        return float(table @ np.arange(len(table)))


AnyLaw = Annotated[Geometric | Callable[..., CountDistribution], Convert(as_law)]
"""A distribution of N, or a function of (coefficients, second_moment, radius) that makes one. Study files accept a
`Geometric` or a function."""


@validate_arguments
def minimum_variance(
    coefficients: Table, second_moment: PositiveFloat, radius: PositiveOrInfinity = math.inf
) -> FiniteDistribution:
    """Distribution of N that minimises the variance of a series estimator: p_n ~ |gamma_n| (E (X - c)^2)^(n/2).

    Here ~ means proportional to. With a_n = |gamma_n| (E (X - c)^2)^(n/2) the second moment is sum a_n^2/p_n >= (sum
    a_n)^2 by Cauchy-Schwarz, with equality at p_n ~ a_n. An n with gamma_n = 0 has probability 0. The argument
    `second_moment` may be a guess: a wrong guess increases the variance but causes no bias.

    Args:
        coefficients: coefficients gamma_0 .. gamma_K of the series, not all 0 (otherwise a ValueError). The terms of
            the series after gamma_K are never drawn; they cause the bias of the estimator, see
            `jaxonline.estimators.series_moments.truncation_bias`.
        second_moment: E (X - c)^2 of one factor, below radius^2 (otherwise a ValueError).
        radius: radius of convergence of the whole series.

    Example:
        >>> from jaxonline.estimators import minimum_variance
        >>> minimum_variance([1.0, 0.0, 0.25], second_moment=4.0).probabilities.tolist()
        [0.5, 0.0, 0.5]
    """
    return distribution_from_magnitudes(magnitudes(coefficients, second_moment, radius))


@validate_arguments
def cost_aware(
    coefficients: Table,
    second_moment: PositiveFloat,
    radius: PositiveOrInfinity = math.inf,
    *,
    overhead: Overhead = 1.0,
) -> FiniteDistribution:
    """Distribution of N that minimises second moment times cost of a series estimator: (E theta^2) (overhead + E N).

    The probability p_n is proportional to a_n / sqrt(h + n) with a_n = |gamma_n| (E (X - c)^2)^(n/2) and h =
    `overhead`. The regret of a learner with a budget of queries grows with the root of E theta^2 times the number of
    rounds, and a round costs h + E N. By Cauchy-Schwarz, (sum a_n^2/p_n) (sum p_n (h + n)) >= (sum a_n sqrt(h + n))^2.
    Without an overhead, N = 0 would have probability 1.

    Args:
        coefficients: coefficients gamma_0 .. gamma_K of the series, not all 0 (otherwise a ValueError).
        second_moment: E (X - c)^2 of one factor, below radius^2 (otherwise a ValueError).
        radius: radius of convergence of the whole series.
        overhead: price of an estimate in addition to its copies, in units of a copy.

    Example:
        >>> from jaxonline.estimators import cost_aware
        >>> cost_aware([1.0, 0.0, 0.0, 0.5], second_moment=1.0).probabilities.tolist()
        [0.8, 0.0, 0.0, 0.2]
    """
    return distribution_from_magnitudes(magnitudes(coefficients, second_moment, radius), overhead=overhead)


@validate_arguments
def distribution_from_magnitudes(magnitudes: Weights, *, overhead: Overhead = math.inf) -> FiniteDistribution:
    """Optimal distribution p_n ~ a_n / sqrt(1 + n/overhead), where stratum N = n has the second moment a_n^2.

    Args:
        magnitudes: a_0 .. a_K, not all 0 (otherwise a ValueError).
        overhead: price of an estimate in addition to its copies, in units of a copy; inf minimises the second moment
            alone.

    Example:
        >>> from jaxonline.estimators.count_distributions import distribution_from_magnitudes
        >>> distribution_from_magnitudes([1.0, 3.0]).probabilities.tolist()
        [0.25, 0.75]
    """
    table = magnitudes
    if not table.any():
        raise ArgumentError("magnitudes", "must have a positive entry (got zeros only)")
    weights = table / table.max() / np.sqrt(1.0 + np.arange(len(table)) / float(overhead))
    return FiniteDistribution(np.where(table > 0.0, np.maximum(weights / weights.sum(), 1e-300), 0.0))


@validate_arguments
def limit_counts(law: AnyCountDistribution, max_copies: NonNegativeInt) -> FiniteDistribution:
    """Distribution of N given N <= `max_copies`: a limit on the number of copies.

    An estimate with this distribution has weights 1 / P(N = n | N <= max_copies). Its mean is the sum of the first
    terms of the series; the others are its bias.

    Args:
        law: a distribution with P(N <= max_copies) > 0 (otherwise a ValueError).
        max_copies: the limit.

    Example:
        >>> from jaxonline.estimators import Geometric, limit_counts
        >>> limit_counts(Geometric(2.0), 1).probabilities.round(4).tolist()
        [0.6667, 0.3333]
    """
    table = np.exp(law.log_table(max_copies + 1))
    if not table.any():
        raise ArgumentError(
            "max_copies", f"must allow a number of copies with a positive probability (got {max_copies})"
        )
    return FiniteDistribution(table / table.sum())


@validate_arguments
def magnitudes(coefficients: Table, second_moment: PositiveFloat, radius: float = math.inf) -> np.ndarray:
    """Return a_n = |gamma_n| (E (X - c)^2)^(n/2), the root of term n's second moment; >= 1e-300 if gamma_n != 0.

    Raises a ValueError if E (X - c)^2 >= radius^2, since the sum of the a_n of the whole series is then infinite.
    """
    gammas = coefficients
    if second_moment >= radius**2:
        raise ArgumentError(
            "second_moment",
            f"must be below radius^2 = {radius**2:g}, where the series diverges (got {second_moment:g})",
        )
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = np.abs(gammas) * np.sqrt(float(second_moment)) ** np.arange(len(gammas))
    return np.where(gammas != 0.0, np.maximum(sizes, 1e-300), 0.0)


def _thresholds(probabilities: np.ndarray) -> np.ndarray:
    """Return the tails after the first times 2^64, as high and low words [2, K]; every probability is exact to 2^-63.

    The sums are sums of integers, so n of probability 0 has no share; the most likely n has what rounding leaves.
    """
    shares = (probabilities * 2.0**63).astype(np.uint64)
    largest = np.argmax(probabilities)
    shares[largest] = int(shares[largest]) + 2**63 - int(shares.sum())
    tails = np.cumsum(shares[::-1])[::-1][1:]
    tails = np.where(tails == 2**63, np.uint64(2**64 - 1), tails << np.uint64(1))
    return np.stack([tails >> np.uint64(32), tails & np.uint64(2**32 - 1)]).astype(np.uint32)


def _entry(table: jax.Array, n: ArrayLike) -> jax.Array:
    """Return the entry n of a table, or 0 if n is outside the table."""
    n = jnp.asarray(n)
    inside = (n >= 0) & (n < len(table))
    return jnp.where(inside, table[jnp.where(inside, n, 0)], jnp.zeros((), table.dtype))
