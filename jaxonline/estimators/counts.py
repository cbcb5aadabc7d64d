"""Distributions of the random number of copies, and the protocol for your own."""

import abc
import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Key

from jaxonline import random
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
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

# ---------------------------------------------------------------------------------------------------------------------
# Uniform random numbers with extra resolution near 0, for distributions that are sampled by inversion.


@functools.partial(jax.jit, static_argnames="dtype")  # traced once for all calls of the same shapes
def fine_uniform(key: jax.Array, dtype: Any) -> jax.Array:
    """Draw a uniform number in (0, 1] with extra resolution near 0; three draws give successive groups of its bits."""
    info = jnp.finfo(dtype)
    first, second, third = (_uniform(word, dtype) for word in random.words(key, 3, info.bits))
    return first + info.eps * (second + info.eps * (third + 0.5 * info.eps))


def _uniform(word: jax.Array, dtype: Any) -> jax.Array:
    """Convert random bits to a uniform number in [0, 1) as `jax.random.uniform` does."""
    info, one = jnp.finfo(dtype), jnp.ones((), dtype)
    bits = (word >> (info.bits - info.nmant)) | jax.lax.bitcast_convert_type(one, word.dtype)
    return jax.lax.bitcast_convert_type(bits, dtype) - one


# ---------------------------------------------------------------------------------------------------------------------
# Base class of distributions of the number of copies, and the check of a user's own distribution.


_TAIL_TERMS, _MEAN_TERMS = 4096, 1 << 16
_MAX_REST = 1e-3  # probability beyond _MEAN_TERMS up to which a mean is computed from a table
_CHECKED_DRAWS = 4


class CountDistribution(abc.ABC):
    """Distribution of the number N of copies that an estimator requests.

    A subclass implements `sample` and `log_pmf`, as JAX code, and is a `jo.struct`. Estimators check a table of the
    probabilities and a few draws of a class that is not from this package (otherwise a ValueError). The estimates are
    unbiased if P(N = n) > 0 for every n with a coefficient that is not 0, and if `sample` draws from `log_pmf`. The
    other methods have defaults, which sum the first 4,096 (`tail`) or 65,536 probabilities (`mean`).

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> @jo.struct
        ... class FewOrMany(jo.estimators.CountDistribution):  # 1 or 4 copies
        ...     many: float
        ...     def sample(self, key):
        ...         return jnp.where(jax.random.bernoulli(key, self.many), 4, 1)
        ...     def log_pmf(self, n):
        ...         return jnp.log(jnp.where(n == 4, self.many, jnp.where(n == 1, 1 - self.many, 0.0)))
        >>> estimator = jo.estimators.SeriesEstimator([0.0, 1.0, 0.0, 0.0, 0.5], FewOrMany(0.25))
        >>> round(jo.estimators.series.expected_queries(estimator), 6)
        1.75
    """

    @abc.abstractmethod
    def sample(self, key: Key[Array, ""]) -> Int[Array, ""]:
        """Draw N (int32)."""

    @abc.abstractmethod
    def log_pmf(self, n: ArrayLike) -> Float[Array, "*shape"]:
        """Return ln P(N = n), entry by entry; -inf where P(N = n) = 0."""

    def pmf(self, n: ArrayLike) -> Float[Array, "*shape"]:
        """P(N = n)."""
        return jnp.exp(self.log_pmf(n))

    def tail(self, n: ArrayLike) -> Float[Array, "*shape"]:
        """P(N >= n)."""
        table = jnp.exp(self.log_pmf(jnp.arange(_TAIL_TERMS, dtype=jnp.int32)))
        sums = jnp.cumsum(table[::-1])[::-1]
        # A rest of the size of rounding is 0: it would be the probability of every large N.
        rest = jnp.where(sums[0] < 1.0 - 1e-5, 1.0 - sums[0], jnp.zeros_like(sums[0]))
        n = jnp.maximum(jnp.asarray(n), 0)
        inside = jnp.where(n < _TAIL_TERMS, sums[jnp.minimum(n, _TAIL_TERMS - 1)], jnp.zeros_like(rest))
        return jnp.minimum(inside + rest, jnp.ones_like(rest))

    def log_table(self, n_terms: int) -> np.ndarray:
        """ln P(N = n) for n = 0 .. n_terms - 1 in float64, on the host; -inf where P(N = n) = 0."""
        with jax.ensure_compile_time_eval(), jax.enable_x64(True):
            return np.asarray(self.log_pmf(jnp.arange(n_terms, dtype=jnp.int32)), np.float64)

    def mean(self) -> float:
        """E N; raises a ValueError if the table of probabilities does not contain nearly all of them."""
        table = np.exp(self.log_table(_MEAN_TERMS))
        if not abs(table.sum() - 1.0) <= _MAX_REST:
            raise ArgumentError(
                "law",
                f"must have a method mean, since its probabilities below {_MEAN_TERMS:,} have the sum "
                f"{table.sum():.6g}",
            )
        return float(table @ np.arange(_MEAN_TERMS))


def as_count_distribution(value: Any, name: str) -> CountDistribution:
    """Return a distribution of N; raise a TypeError for another value.

    Distributions from outside this package are checked (`check_own_distribution`).
    """
    check.instance(name, value, CountDistribution, "a CountDistribution (jaxonline.estimators)")
    if not type(value).__module__.startswith(f"{__package__}."):
        if jax.tree_util.all_leaves([value]):
            advice = "write @jo.struct above its class"
            raise ArgumentTypeError(name, f"must be a pytree (got {check.quote(value)}); {advice}")
        check_own_distribution(value, name)
    return value


def check_own_distribution(law: CountDistribution, name: str) -> None:
    """Check a table of the probabilities and a few draws of a distribution without traced numbers.

    A sum below 1 is allowed only if the last entries of the table show a long tail.
    """
    if not has_known_values(law):
        return
    with np.errstate(over="ignore"):
        table = np.exp(law.log_table(_TAIL_TERMS))
    if table.shape != (_TAIL_TERMS,):
        raise ArgumentError(name, f"must return a probability for each n (got shape {table.shape} for 4,096 numbers)")
    bad = np.flatnonzero(~(np.isfinite(table) & (table >= 0.0)))
    if len(bad):
        raise ArgumentError(
            name, f"must have probabilities of at least 0 (got a negative number, NaN or infinity at n = {bad[0]})"
        )
    rest, end = 1.0 - table.sum(), table[_TAIL_TERMS // 2 :].sum()
    if rest < -_MAX_REST or (rest > _MAX_REST and end < _MAX_REST * rest):
        raise ArgumentError(name, f"must have probabilities with the sum 1 (got the sum {table.sum():.6g})")
    with jax.ensure_compile_time_eval():
        draws = [np.asarray(law.sample(jax.random.key(seed))) for seed in range(_CHECKED_DRAWS)]
    for draw in draws:
        if draw.shape or not np.issubdtype(draw.dtype, np.integer) or draw < 0:
            text = f"{draw} of dtype {draw.dtype}" if draw.shape == () else f"shape {draw.shape}"
            raise ArgumentError(name, f"must have a method sample that returns an integer of at least 0 (got {text})")


AnyCountDistribution = Annotated[CountDistribution, Convert(as_count_distribution)]
"""A distribution of N as an argument."""


def as_law(value: Any, name: str) -> Any:
    """Return a distribution of N, or a function that makes one from the coefficients of a series."""
    if callable(value) and not isinstance(value, CountDistribution):
        return check.instance(name, value, True, "a distribution, or a function that makes one")
    return as_count_distribution(value, name)


def has_known_values(law: CountDistribution) -> bool:
    """Whether no number of the distribution is traced."""
    return all(check.concrete_array(leaf) is not None for leaf in jax.tree.leaves(law))


# ---------------------------------------------------------------------------------------------------------------------
# Distributions of the random number N of copies that a series estimator requests.
#
# Cesa-Bianchi et al. (2010a) use the geometric distribution; `minimum_variance` and `cost_aware` return optimal
# distributions for a given series, and `polynomial_counts` has a distribution with a polynomial tail. Own distributions
# need `sample` and `log_pmf` (`CountDistribution`). Sampling inverts P(N >= n) at a uniform number made of three draws,
# so events of probability down to about 2^-69 (float32) or 2^-156 (float64) have the right frequency. A single uniform
# float32 number would limit `Geometric(4.0)` to N <= 11.


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
    """Geometric distribution of the number of copies: P(N = n) = (p - 1) / p^(n + 1) for every n >= 0.

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
            `jaxonline.estimators.series.truncation_bias`.
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
        >>> from jaxonline.estimators.counts import distribution_from_magnitudes
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

    Raises a ValueError if E (X - c)^2 >= radius^2, since the sum of the a_n of the whole series can then be infinite.
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
