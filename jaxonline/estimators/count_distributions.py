"""Laws of the random number N of copies that a series estimator asks for.

The paper's law is geometric. A law made for the series at hand is better: `minimum_variance` and `cost_aware` give
the optimal ones. A law offers `sample`, `pmf`, `log_pmf` and `tail` inside jit, and `log_table` and `mean` on the
host.

Sampling inverts P(N >= n) at a uniform number made of three draws, so that events down to a probability of about
2^-69 (float32) or 2^-156 (float64) happen as often as they should: with one float32 uniform, a geometric law with
p = 4 would never exceed N = 11, and the estimator built on it would be biased by what lies beyond.
"""

import dataclasses
import functools
import math
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int

from jaxonline import random
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.numbers import as_floating, host_float
from jaxonline.parameters.struct import set_field, struct
from jaxonline.parameters.types import Convert, Ge, Gt, Number, OrInfinity, PositiveFloat, Shape
from jaxonline.parameters.validation import validate_arguments


def _as_table(value: Any, name: str) -> np.ndarray:
    return check.vector(name, value).astype(np.float64)


def _as_weights(value: Any, name: str) -> np.ndarray:
    return check.numbers(name, _as_table(value, name), ge=0.0)


Table = Annotated[Any, Shape("n"), Convert(_as_table)]
"""A vector of known numbers, kept in float64 on the host."""
Weights = Annotated[Any, Shape("n"), Ge(0), Convert(_as_weights)]
"""A `Table` without negative numbers."""
Overhead = Annotated[float, Gt(0), OrInfinity()]
"""The price of a call in copies."""


@struct
class Geometric:
    """P(N = n) = (p - 1) / p^(n + 1) for n = 0, 1, ...: the law of Lemma 1, with E N = 1/(p - 1).

    Source: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Online learning of noisy data with kernels", Lemma 1.

    Args:
        p: larger means fewer copies and a larger variance. A leaf: it can be swept.

    Example:
        >>> from jaxonline.estimators.count_distributions import Geometric
        >>> law = Geometric(2.0)
        >>> float(law.pmf(0)), float(law.tail(3)), law.mean()
        (0.5, 0.125, 1.0)
    """

    p: Annotated[Number, Gt(1)]

    def sample(self, key: jax.Array) -> Int[Array, ""]:
        """One draw of N, an int32."""
        p = as_floating(self.p)
        return jnp.floor(-jnp.log(_fine_uniform(key, p.dtype)) / jnp.log(p)).astype(jnp.int32)

    def log_pmf(self, n: ArrayLike) -> Float[Array, "*shape"]:
        """ln P(N = n); -inf for n < 0."""
        p, n = as_floating(self.p), jnp.asarray(n)
        steps = (n + 1).astype(p.dtype)
        return jnp.where(n >= 0, jnp.log(p - 1.0) - steps * jnp.log(p), -jnp.inf)

    def pmf(self, n: ArrayLike) -> Float[Array, "*shape"]:
        """P(N = n)."""
        return jnp.exp(self.log_pmf(n))

    def tail(self, n: ArrayLike) -> Float[Array, "*shape"]:
        """P(N >= n) = p^-n."""
        p = as_floating(self.p)
        return jnp.exp(-jnp.maximum(jnp.asarray(n), 0).astype(p.dtype) * jnp.log(p))

    def log_table(self, n_terms: int) -> np.ndarray:
        """ln P(N = n) for n = 0 .. n_terms - 1 in float64, on the host."""
        p = host_float("p", self.p)
        return math.log(p - 1.0) - math.log(p) * np.arange(1.0, n_terms + 1.0)

    def mean(self) -> float:
        """E N = 1/(p - 1)."""
        return 1.0 / (host_float("p", self.p) - 1.0)


@struct
class FiniteDistribution:
    """Any law of N on 0, 1, ..., K, given by its K + 1 probabilities.

    Args:
        probabilities: a vector with sum 1 (to 1e-6; it is then normalised exactly).

    Raises:
        ValueError: a sum other than 1.

    Example:
        >>> from jaxonline.estimators.count_distributions import FiniteDistribution
        >>> law = FiniteDistribution([0.5, 0.0, 0.5])
        >>> float(law.pmf(2)), float(law.tail(1)), law.mean()
        (0.5, 0.5, 1.0)
    """

    probabilities: Weights
    tails: np.ndarray = dataclasses.field(init=False, repr=False)
    """P(N >= 0), ..., P(N >= K): kept, because a running sum in float32 would give impossible n a probability."""

    def __post_init__(self):
        table = self.probabilities
        if not abs(table.sum() - 1.0) <= 1e-6:
            raise ArgumentError("probabilities", f"must have the sum 1 (got the sum {table.sum():g})")
        tails = np.cumsum(table[::-1])[::-1]
        set_field(self, "probabilities", table / tails[0])
        set_field(self, "tails", tails / tails[0])

    def sample(self, key: jax.Array) -> Int[Array, ""]:
        """One draw of N, an int32."""
        tails = jnp.asarray(self.tails)
        return jnp.sum(_fine_uniform(key, tails.dtype) <= tails[1:], dtype=jnp.int32)

    def log_pmf(self, n: ArrayLike) -> Float[Array, "*shape"]:
        """ln P(N = n); -inf where N cannot be n."""
        return jnp.log(self.pmf(n))

    def pmf(self, n: ArrayLike) -> Float[Array, "*shape"]:
        """P(N = n)."""
        return _entry(jnp.asarray(self.probabilities), n)

    def tail(self, n: ArrayLike) -> Float[Array, "*shape"]:
        """P(N >= n)."""
        return _entry(jnp.asarray(self.tails), jnp.maximum(jnp.asarray(n), 0))

    def log_table(self, n_terms: int) -> np.ndarray:
        """ln P(N = n) for n = 0 .. n_terms - 1 in float64, on the host; -inf where N cannot be n."""
        logs = np.full(n_terms, -np.inf)
        table = np.asarray(self.probabilities, np.float64)[:n_terms]
        np.log(table, out=logs[: len(table)], where=table > 0.0)
        return logs

    def mean(self) -> float:
        """E N."""
        table = np.asarray(self.probabilities, np.float64)
        return float(table @ np.arange(len(table)))


CountDistribution = Geometric | FiniteDistribution
"""The laws of N: each has `sample`, `log_pmf`, `pmf`, `tail`, `log_table`, `mean`."""


def minimum_variance(coefficients: Table, second_moment: PositiveFloat, radius: float = math.inf) -> FiniteDistribution:
    """The law that minimises the second moment, and so the variance: p_n ~ |gamma_n| (E X^2)^(n/2).

    By Cauchy-Schwarz, sum a_n^2/p_n >= (sum a_n)^2 with equality at p_n ~ a_n; here a_n = |gamma_n| (E X^2)^(n/2).
    An n with gamma_n = 0 gets no probability: for a polynomial no n above its degree, for an odd series no even n.
    The second moment may be a guess: a wrong one costs variance, never a bias.

    Args:
        coefficients: gamma_0 .. gamma_K, a vector. What the series has beyond K gets no probability, and is the
            bias of the estimator: see `jaxonline.estimators.series.truncation_bias`.
        second_moment: E (X - c)^2 of one factor.
        radius: the radius of convergence of the whole series.

    Raises:
        ValueError: coefficients that are all 0, or E (X - c)^2 >= radius^2.

    Example:
        >>> from jaxonline.estimators.count_distributions import minimum_variance
        >>> minimum_variance([1.0, 0.0, 0.25], second_moment=4.0).probabilities.tolist()
        [0.5, 0.0, 0.5]
    """
    return distribution_from_magnitudes(magnitudes(coefficients, second_moment, radius))


@validate_arguments
def cost_aware(
    coefficients: Table, second_moment: PositiveFloat, radius: float = math.inf, *, overhead: Overhead = 1.0
) -> FiniteDistribution:
    """The law that minimises (E theta^2) (overhead + E N): p_n ~ |gamma_n| (E X^2)^(n/2) / sqrt(overhead + n).

    Again by Cauchy-Schwarz: (sum a_n^2/p_n) (sum p_n (h + n)) >= (sum a_n sqrt(h + n))^2. The product is what
    counts for a learner with a budget of queries: its regret grows with the root of E theta^2 times the number of
    rounds, and a round costs overhead + E N. The overhead is the price of a call in copies; with none at all the
    best law is degenerate (N = 0 is free, and gets probability 1).

    Args:
        coefficients: gamma_0 .. gamma_K, a vector.
        second_moment: E (X - c)^2 of one factor.
        radius: the radius of convergence of the whole series.
        overhead: the price of a call in copies.

    Raises:
        ValueError: coefficients that are all 0, or E (X - c)^2 >= radius^2.

    Example:
        >>> from jaxonline.estimators.count_distributions import cost_aware
        >>> cost_aware([1.0, 0.0, 0.0, 0.5], second_moment=1.0).probabilities.tolist()
        [0.8, 0.0, 0.0, 0.2]
    """
    return distribution_from_magnitudes(magnitudes(coefficients, second_moment, radius), overhead=overhead)


@validate_arguments
def distribution_from_magnitudes(magnitudes: Weights, *, overhead: Overhead = math.inf) -> FiniteDistribution:
    """p_n ~ a_n / sqrt(1 + n/overhead): the best law where stratum n has the second moment a_n^2.

    Args:
        magnitudes: a_0 .. a_K, a vector, not all 0.
        overhead: the price of a call in copies; inf minimises the second moment alone.

    Raises:
        ValueError: nothing but zeros.

    Example:
        >>> from jaxonline.estimators.count_distributions import distribution_from_magnitudes
        >>> distribution_from_magnitudes([1.0, 3.0]).probabilities.tolist()
        [0.25, 0.75]
    """
    table = magnitudes
    if not table.any():
        raise ArgumentError("magnitudes", "must not all be 0 (got zeros only)")
    weights = table / table.max() / np.sqrt(1.0 + np.arange(len(table)) / float(overhead))
    return FiniteDistribution(np.where(table > 0.0, np.maximum(weights / weights.sum(), 1e-300), 0.0))


@validate_arguments
def magnitudes(coefficients: Table, second_moment: PositiveFloat, radius: float = math.inf) -> np.ndarray:
    """a_n = |gamma_n| (E (X - c)^2)^(n/2), the root of the second moment of gamma_n prod (X_j - c).

    An a_n too small for float64 is 1e-300: not 0, so that no term that exists is left out of a law.

    Raises:
        ValueError: E (X - c)^2 >= radius^2 (the a_n of the whole
            series have no finite sum, and no law has a finite second moment that this one could approach).
    """
    gammas = coefficients
    if second_moment >= radius**2:
        raise ArgumentError(
            "second_moment",
            f"must be below radius^2 = {radius**2:g} (the series diverges beyond) (got {second_moment:g})",
        )
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = np.abs(gammas) * np.sqrt(float(second_moment)) ** np.arange(len(gammas))
    return np.where(gammas != 0.0, np.maximum(sizes, 1e-300), 0.0)


def _entry(table: jax.Array, n: ArrayLike) -> jax.Array:
    """table[n], and 0 where there is no such entry."""
    n = jnp.asarray(n)
    inside = (n >= 0) & (n < len(table))
    return jnp.where(inside, table[jnp.where(inside, n, 0)], jnp.zeros((), table.dtype))


@functools.partial(jax.jit, static_argnames="dtype")  # traced once for all calls that are alike
def _fine_uniform(key: jax.Array, dtype: Any) -> jax.Array:
    """A uniform number in (0, 1], fine-grained near 0: three draws, one behind the last bit of the other."""
    info = jnp.finfo(dtype)
    first, second, third = (_uniform(word, dtype) for word in random.words(key, 3, info.bits))
    return first + info.eps * (second + info.eps * (third + 0.5 * info.eps))


def _uniform(word: jax.Array, dtype: Any) -> jax.Array:
    """What `jax.random.uniform` makes of a word."""
    info, one = jnp.finfo(dtype), jnp.ones((), dtype)
    bits = (word >> (info.bits - info.nmant)) | jax.lax.bitcast_convert_type(one, word.dtype)
    return jax.lax.bitcast_convert_type(bits, dtype) - one
