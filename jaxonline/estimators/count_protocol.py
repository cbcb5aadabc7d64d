"""Base class of distributions of the number of copies, and the check of a user's own distribution."""

import abc
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Key

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.parameters.types import Convert

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
        >>> round(jo.estimators.series_moments.expected_queries(estimator), 6)
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
