"""Unbiased estimates of functions with few derivatives at a mean: the randomised multilevel estimator.

Let X_1, ..., X_n be n = 2^k independent copies of X, A and B the means of their first and second half, and
Delta_k = f((A + B)/2) - (f(A) + f(B))/2 for k >= 1. As E f(A) is the mean for n/2 copies, the means of the Delta_k
telescope: E f(X_1) + E Delta_1 + ... + E Delta_L = E f((X_1 + ... + X_n)/n) for n = 2^L. An estimate draws a level K
with probability p_K, and is (f(X_1) + ... + f(X_n))/n + Delta_K / p_K, where Delta_0 = 0.

* Cost: E n = sum p_k 2^k, bounded in L if the rate is above 1, where p_k is proportional to 2^(-rate k).
* Second moment: if f' has the Lipschitz constant M, |Delta_k| <= M (A - B)^2 / 8. If also f is Lipschitz and E |X|^q is
  finite, 2 <= q <= 4, E Delta_k^2 is of the order 2^(-qk/2). So the sum of E Delta_k^2 / p_k is bounded in L if rate <
  q/2. With q = 4 the rates between 1 and 2 have both, and 3/2 is in the middle.
* Bias: |E f((X_1 + ... + X_n)/n) - f(E X)| <= M Var X / 2^(L + 1) for the largest level L.

Source: Rhee and Glynn (2015) for random levels, Blanchet and Glynn (2015) for functions of means. With f(X_1) in
place of the mean of the f(X_j), or in a single term (f(X_1) / p_0 at level 0), the expectation is the same. The study
`benchmarks/papers/studies/multilevel.py` compares the second moment with that of the single term.
"""

from collections.abc import Callable
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval
from jax.tree_util import Partial
from jaxtyping import Array, ArrayLike, Float, Int, Key

from jaxonline.estimators.counts import CountDistribution, Table, Weights, fine_uniform
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Convert, Gt, Number, Takes, as_floating

_ROUNDING = 10  # digits of sums of copies that are treated as equal


def _as_function(value: Any, name: str) -> Partial:
    """Return a function as a pytree."""
    function = check.instance(name, value, callable(value), "a function of a number")
    return function if isinstance(function, Partial) else Partial(function)


AnyFunction = Annotated[Callable[..., Any], Takes("(x)"), Convert(_as_function)]
"""A function of a number, entry by entry; a `jax.tree_util.Partial` may hold numbers that vary in a sweep."""


@struct
class PowersOfTwo(CountDistribution):
    """Distribution of the number of copies on 1, 2, 4, ..., 2^L: P(N = 2^k) is proportional to 2^(-rate k).

    Args:
        rate: the decay of the probabilities, above 1: then E N stays bounded as L grows.
        max_level: L, the largest level.

    Example:
        >>> from jaxonline.estimators import PowersOfTwo
        >>> law = PowersOfTwo(rate=2.0, max_level=1)
        >>> round(float(law.pmf(2)), 3), round(float(law.tail(2)), 3), round(law.mean(), 3)
        (0.2, 0.2, 1.2)
    """

    rate: Annotated[Number, Gt(1)] = 1.5
    max_level: Annotated[int, Interval(ge=1, le=16)] = static(default=10)

    def sample(self, key: Key[Array, ""]) -> Int[Array, ""]:
        """Draw N (int32)."""
        probabilities = jnp.exp(self._log_probabilities())
        tails = jnp.cumsum(probabilities[::-1])[::-1]
        uniform = fine_uniform(key, tails.dtype)
        return jnp.left_shift(jnp.int32(1), jnp.sum(uniform <= tails[1:], dtype=jnp.int32))

    def log_pmf(self, n: ArrayLike) -> Float[Array, "*shape"]:
        """Return ln P(N = n); -inf if n is not among 1, 2, ..., 2^L."""
        is_drawn, logs = self._compare(jnp.equal, n), self._log_probabilities()
        return jnp.max(jnp.where(is_drawn, jnp.broadcast_to(logs, is_drawn.shape), -jnp.inf), axis=-1)

    def tail(self, n: ArrayLike) -> Float[Array, "*shape"]:
        """Return P(N >= n)."""
        is_included, probabilities = self._compare(jnp.less_equal, n), jnp.exp(self._log_probabilities())
        return jnp.sum(jnp.where(is_included, jnp.broadcast_to(probabilities, is_included.shape), 0.0), axis=-1)

    def mean(self) -> float:
        """Return E N."""
        return float(np.exp(self.log_table(self.counts[-1] + 1))[self.counts] @ self.counts)

    @property
    def counts(self) -> Int[np.ndarray, "levels"]:
        """The numbers 1, 2, ..., 2^L."""
        return 2 ** np.arange(self.max_level + 1, dtype=np.int32)

    def _compare(self, compare: Callable[[Array, Array], Array], n: ArrayLike) -> Array:
        """Compare each n with the numbers 1, 2, ..., 2^L."""
        n = jnp.asarray(n)[..., None]
        return compare(n, jnp.broadcast_to(jnp.asarray(self.counts, n.dtype), (*n.shape[:-1], len(self.counts))))

    def _log_probabilities(self) -> Float[Array, "levels"]:
        rate = as_floating(self.rate)
        return jax.nn.log_softmax(
            -rate * np.log(2.0).astype(rate.dtype) * jnp.arange(self.max_level + 1, dtype=rate.dtype)
        )


@cites("rhee2015unbiased", "blanchet2015unbiased")
@struct
class MultilevelEstimator:
    """Estimator of f(E X) for a function with few derivatives: (f(X_1) + ... + f(X_N))/N + Delta_K / p_K, N = 2^K.

    Its mean is E f(mean of 2^L copies), within M Var X / 2^(L + 1) of f(E X) if f' has the Lipschitz constant M. If E X
    is a kink of f, the second moment grows as 2^((rate - 1) L). In contrast to `SeriesEstimator`, f needs no power
    series, and the noise no bound on its size. The module's description has the conditions.

    Args:
        function: f, a JAX function of a number, entry by entry.
        law: distribution of the number of copies.

    Example:
        >>> import jax, jaxonline as jo
        >>> clip = jo.estimators.MultilevelEstimator(jo.losses.Huber(0.5).derivative)
        >>> float(clip.estimate(jax.random.key(0), lambda key: 3.0))
        0.5
    """

    function: AnyFunction
    law: PowersOfTwo = PowersOfTwo()

    def estimate(self, key: Key[Array, ""], draw: Callable[[Key[Array, ""]], ArrayLike]) -> Float[Array, "*shape"]:
        """Draw an estimate. `draw(key)` returns a copy of X: a number, or an array estimated entry by entry."""
        key_n, key_copies = jax.random.split(key)
        return self.estimate_given(key_copies, self.law.sample(key_n), draw)

    def estimate_given(
        self, key: Key[Array, ""], n: ArrayLike, draw: Callable[[Key[Array, ""]], ArrayLike]
    ) -> Float[Array, "*shape"]:
        """Draw an estimate given N = n; 0 if n has probability 0."""
        n, spec = jnp.asarray(n, jnp.int32), jax.eval_shape(lambda key: jnp.asarray(draw(key)), key)

        def add(j, sums):
            return jax.tree.map(jnp.add, sums, self._parts(jnp.asarray(draw(jax.random.fold_in(key, j))), j, n))

        used = jnp.where(self.law.pmf(n) > 0.0, n, 0)
        return self._combine(jax.lax.fori_loop(jnp.int32(0), used, add, (jnp.zeros(spec.shape, spec.dtype),) * 3), n)

    def estimate_from(self, copies: Float[Array, "k"], n: ArrayLike) -> Float[Array, ""]:
        """Compute the estimate given N = n from the first n of the k given copies; 0 if n > k or P(N = n) = 0."""
        n, j = jnp.asarray(n, jnp.int32), jnp.arange(len(copies), dtype=jnp.int32)
        sums = jax.tree.map(jnp.sum, self._parts(copies, j, n))
        return jnp.where(n <= len(copies), self._combine(sums, n), jnp.zeros((), copies.dtype))

    def _parts(self, x: Array, j: Array, n: Int[Array, ""]) -> tuple[Array, Array, Array]:
        """Return what copy j adds to the sums of the first half, of the second half and of the f(X_j)."""
        zero, in_first = jnp.zeros_like(x), 2 * j < n
        second, value = jnp.where(in_first, zero, x), self.function(x)
        return jnp.where(in_first, x, zero), jnp.where(j < n, second, zero), jnp.where(j < n, value, zero)

    def _combine(self, sums: tuple[Array, Array, Array], n: Int[Array, ""]) -> Array:
        """Return the estimate from the sums of the halves and of the values f(X_j)."""
        (first, second, values), dtype = sums, sums[0].dtype
        number, pmf = jnp.maximum(n, 1).astype(dtype), self.law.pmf(n).astype(dtype)
        of_halves = 0.5 * (self.function(first / (0.5 * number)) + self.function(second / (0.5 * number)))
        zero = jnp.zeros((), dtype)
        correction = jnp.where(n > 1, (self.function((first + second) / number) - of_halves) / pmf, zero)
        return jnp.where(pmf > 0.0, values / number + correction, zero)

    @property
    def coefficients(self) -> Float[np.ndarray, "n"]:
        """1 for each number n of copies of positive probability, and 0 for the others, n = 0, ..., 2^L."""
        return np.isin(np.arange(self.law.counts[-1] + 1), self.law.counts).astype(np.float64)

    constant = centre = 0.0  # as in `SeriesEstimator`
    reach = np.inf


@validate_arguments
def exact_moments(estimator: MultilevelEstimator, values: Table, probabilities: Weights) -> tuple[float, float]:
    """Return the mean and the second moment of an estimate for copies with finitely many values, in float64.

    The distribution of the sum of copies is computed level by level; the time is quadratic in its number of values,
    which is 1 + n for n copies with two values.

    Args:
        estimator: the estimator.
        values: the values of X [m].
        probabilities: their probabilities [m], with the sum 1 up to 1e-6.

    Example:
        >>> import jaxonline as jo
        >>> from jaxonline.estimators.multilevel import exact_moments
        >>> clip = jo.estimators.MultilevelEstimator(jo.losses.Huber(0.5).derivative)
        >>> mean, second_moment = exact_moments(clip, [-1.0, 1.0], [0.5, 0.5])
        >>> abs(round(mean, 9)), round(second_moment, 3)
        (0.0, 1.313)
    """
    if len(values) != len(probabilities) or not abs(probabilities.sum() - 1.0) <= 1e-6:
        raise ArgumentError("probabilities", "must have the sum 1, with one entry for each of the values")

    def f(x: np.ndarray) -> np.ndarray:
        with jax.enable_x64(True):
            return np.asarray(estimator.function(jnp.asarray(x, jnp.float64)), np.float64)

    law = estimator.law
    sizes, p_levels = values, np.exp(law.log_table(law.counts[-1] + 1))[law.counts]
    p = probabilities / probabilities.sum()
    with_value = p * f(sizes)  # E f(X_1) on each value of the sum
    mean, square = float(with_value.sum()), float(with_value @ f(sizes))
    total, second, variance, unit = mean, p_levels[0] * square, square - mean**2, np.abs(values).max() or 1.0
    for half, p_level in zip(law.counts[:-1], p_levels[1:], strict=True):
        sums, of_halves = np.add.outer(sizes, sizes), f(sizes / half)
        delta = f(sums / (2 * half)) - 0.5 * np.add.outer(of_halves, of_halves)
        total += float(p @ delta @ p)
        second += p_level * (mean**2 + variance / (2 * half)) + 2.0 * float(with_value @ delta @ p)
        second += float(p @ delta**2 @ p) / p_level
        _, first, place = np.unique(np.round(sums / unit, _ROUNDING).ravel(), return_index=True, return_inverse=True)
        with_value = np.bincount(place, np.outer(with_value, p).ravel())
        p, sizes = np.bincount(place, np.outer(p, p).ravel()), sums.ravel()[first]
    return total, float(second)
