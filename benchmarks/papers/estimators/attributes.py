"""Unbiased gradient of losses other than the squared loss, from a random number of attributes of x.

The gradient of the loss at w is l'(<w, x> - y) x, or y l'(y <w, x>) x for a loss of the margin. Independent estimates
y^_1, ..., y^_N of <w, x>, each from one attribute, are the copies of a series estimate of l'. The estimate v of x comes
from other attributes, so the product of the two estimates is unbiased.

With |w|_1 <= B and |x_i| <= X, the second moment of a factor is at most (B X)^2 (plus y in regression). It does not
depend on the dimension, because the attributes are chosen with probabilities |w_i| / |w|_1. If the factors were <w, v>
with the uniform v of one attribute, their second moment d sum (w_i x_i)^2 could be d times as large.

* The exponential loss, the smoothed hinge and the smoothed absolute loss have entire series: every B X is allowed.
* The series of the logistic loss converges for |<w, x>| < pi. The variance is finite if (B X)^2 < pi^2 for the optimal
  distributions of N, and if p (B X)^2 < pi^2 for the geometric distribution. For larger B X, use a
  `PolynomialSequenceEstimator`: its mean is a polynomial that is close to l' on [-B X, B X].

Sources: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Efficient learning with partially observed attributes" (ICML 2010),
section 5, which announces other losses, and "Online learning of noisy data with kernels" (COLT 2010), Lemma 1.
"""

import itertools
import math
from typing import Any, NamedTuple, Unpack

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Key

from benchmarks.papers.estimators.series import PolynomialSequenceEstimator
from jaxonline.bounds.gradient import gradient_descent
from jaxonline.bounds.kernels import factor_moment
from jaxonline.bounds.theorem import OBLIVIOUS, Bound, theorem
from jaxonline.estimators.attributes import (
    IndexLaw,
    check_enumerable,
    estimate_instance,
    estimate_predictions,
    index_probabilities,
    index_weights,
    uniform_subset,
    weighted_indices,
)
from jaxonline.estimators.counts import AnyLaw
from jaxonline.estimators.series import SeriesEstimator, SeriesOptions, exact_second_moment
from jaxonline.losses.base import AnyLoss, is_margin_loss
from jaxonline.losses.series import AnySeriesLoss
from jaxonline.numerics.elementwise import run_compiled
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import replace, static, struct
from jaxonline.parameters.types import Count, NonNegativeFloat, PositiveFloat, Rounds, host_float


class SeriesIndices(NamedTuple):
    """Chosen indices: `subset` [n_subset], distinct, for x; `weighted` [K], with repeats, for K estimates of <w, x>."""

    subset: Int[Array, "n_subset"]
    weighted: Int[Array, "K"]


@cites("cesabianchi2010efficient", "cesabianchi2010online", arguments={"law=l2": ("hazan2012linear",)})
@struct
class AttributeSeriesGradient:
    """Unbiased gradient of an analytic loss from n_subset + N attributes of x, with a random number N.

    The vector v estimates x from a uniform subset of the attributes, as in `AttributeGradient`. Each factor y^_1, ...,
    y^_N estimates <w, x> from one attribute i: sgn(w_i) |w|_1 x_i with probability |w_i| / |w|_1 ("l1"), or (|w|^2 /
    w_i) x_i with probability w_i^2 / |w|^2 ("l2"). The estimate is (gamma_N / p_N) times the product of the factors,
    times v. A round needs the budget `max_attributes`, and is charged n_subset + N attributes.

    Args:
        derivative: estimator of l', with a table of the coefficients 0, ..., K; it uses at most K factors.
        loss: the loss, of a residual or of a margin.
        n_subset: number of attributes for the estimate of x; in a call at most d (otherwise a ValueError).
        law: distribution of the indices of the factors.

    Example:
        >>> from benchmarks.papers.estimators.attributes import AttributeSeriesGradient
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> estimator = AttributeSeriesGradient.for_loss(
        ...     jo.losses.Logistic(), jo.estimators.minimum_variance, second_moment=1.0, max_copies=7
        ... )
        >>> estimator.max_attributes, round(estimator.mean_attributes, 2)
        (8, 1.42)
        >>> oracle = jo.Attributes(8).open(None, jnp.int32(1), jnp.linspace(-1, 1, 9), jnp.float32(1.0), 0.0)
        >>> estimator(jax.random.key(0), jnp.full(9, 0.1), oracle).shape
        (9,)
    """

    derivative: Any  # SeriesEstimator or PolynomialSequenceEstimator
    loss: AnyLoss
    n_subset: Count = static(default=1)
    law: IndexLaw = static(default="l1")

    @classmethod
    @validate_arguments
    def for_loss(
        cls,
        loss: AnySeriesLoss,
        counts: AnyLaw,
        second_moment: PositiveFloat,
        n_subset: Count = 1,
        law: IndexLaw = "l1",
        **options: Unpack[SeriesOptions],
    ) -> "AttributeSeriesGradient":
        """Make the estimator for a loss with a series; raises a ValueError if the variance is infinite.

        Args:
            loss: a `SeriesLoss` (otherwise a TypeError).
            counts: distribution of N: `minimum_variance`, `cost_aware` or a `Geometric`.
            second_moment: bound on the second moment of a factor, (B X + Y + |c|)^2 (`jaxonline.bounds.factor_moment`).
                B and X bound |w|_1 and |x_i| for "l1", |w|_2 and |x|_2 for "l2". In regression Y bounds |y|, in
                classification Y = 0. c is the option `centre`.
            n_subset: number of attributes for the estimate of x.
            law: distribution of the indices of the factors.
            options: options of `SeriesEstimator.for_loss`: `centre`, `constant_outside`, `n_terms`, `reach`,
                `max_copies`. With `max_copies` a round has at most that many factors, and the estimate of l' has the
                bias `query_limits.limit_bias`.
        """
        return cls(SeriesEstimator.for_loss(loss, counts, second_moment, **options), loss, n_subset, law)

    @property
    def max_factors(self) -> int:
        """K, the largest number of factors."""
        return self.derivative.coefficients.shape[0] - 1

    @property
    def max_attributes(self) -> int:
        """The largest number of attributes of a round, n_subset + K."""
        return self.n_subset + self.max_factors

    @property
    def mean_attributes(self) -> float:
        """The mean number of attributes of a round, n_subset + E N; draws of N > K are counted as 0."""
        pmf = np.exp(self.derivative.law.log_table(self.max_factors + 1))
        return self.n_subset + float(pmf @ np.arange(len(pmf)))

    def __call__(self, key: Key[Array, ""], w: Float[Array, "d"], oracle: Any) -> Float[Array, "d"]:
        """Estimate the gradient at w, from `oracle.attributes(indices, number)` and `oracle.label()`."""
        count_key, key = jax.random.split(key)
        n = self.derivative.law.sample(count_key)
        indices = self.choose(key, w)
        number = self.n_subset + jnp.where(n <= self.max_factors, n, 0)
        values = oracle.attributes(jnp.concatenate(indices), number)
        return self.gradient(w, oracle.label(), n, indices, values[: self.n_subset], values[self.n_subset :])

    def choose(self, key: Key[Array, ""], w: Float[Array, "d"]) -> SeriesIndices:
        """Draw the indices; only the first N of the K weighted ones are used."""
        self._check_subset(len(w))
        subset_key, weighted_key = jax.random.split(key)
        return SeriesIndices(
            uniform_subset(subset_key, len(w), self.n_subset),
            weighted_indices(weighted_key, index_weights(w, self.law), self.max_factors),
        )

    def gradient(
        self,
        w: Float[Array, "d"],
        y: ArrayLike,
        n: Int[Array, ""],
        indices: SeriesIndices,
        x_subset: Float[Array, "n_subset"],
        x_weighted: Float[Array, "K"],
    ) -> Float[Array, "d"]:
        """Estimate the gradient at w given N = n, from the label and the values of x at the indices."""
        v = estimate_instance(indices.subset, x_subset, len(w))
        y = jnp.asarray(y, w.dtype)
        predictions = estimate_predictions(w, indices.weighted, x_weighted, self.law)
        if is_margin_loss(self.loss):
            return y * self.derivative.estimate_from(y * predictions, n) * v
        return self.derivative.estimate_from(predictions - y, n) * v

    def length_moment(self, second_moment: float) -> float:
        """Return a bound on the second moment of the estimate of l', from a bound on E (X - c)^2 for a factor X.

        The second moment of the gradient is at most the result times that of v, which is (d / n_subset) |x|^2. For a
        series without a constant outside the draw, the result is exact if E (X - c)^2 is exact; c is the centre.
        """
        derivative = self.derivative
        if isinstance(derivative, PolynomialSequenceEstimator):
            return derivative.exact_second_moment(second_moment, None)
        drawn = exact_second_moment(replace(derivative, constant=0.0), second_moment)
        return (abs(host_float("constant", derivative.constant)) + math.sqrt(drawn)) ** 2

    def support(self, w: ArrayLike, x: ArrayLike, y: float) -> list[tuple[float, np.ndarray]]:
        """List (probability, value) of all outcomes in float64; raise a ValueError for over about a million."""
        w, x = np.asarray(w, float), np.asarray(x, float)
        d, K = len(w), self.max_factors
        self._check_subset(d)
        pmf = np.exp(self.derivative.law.log_table(K + 1))
        pmf = np.append(pmf, max(1.0 - pmf.sum(), 0.0))  # N > K: no factor
        numbers = [n for n in range(K + 2) if pmf[n] > 0]
        factors = {n: n if n <= K else 0 for n in numbers}
        check_enumerable(math.comb(d, self.n_subset) * sum(d ** factors[n] for n in numbers))
        weights = index_probabilities(w, self.law)
        subsets = list(itertools.combinations(range(d), self.n_subset))
        drawn = [
            (n, chosen) for n in numbers for chosen in itertools.product(np.flatnonzero(weights), repeat=factors[n])
        ]
        weighted = np.array([(*chosen, *[0] * (K - len(chosen))) for _, chosen in drawn], np.int32).reshape(-1, K)
        p = np.array([pmf[n] * np.prod(weights[list(chosen)]) for n, chosen in drawn]) / len(subsets)
        first, second = (index.ravel() for index in np.indices((len(subsets), len(drawn))))
        n = np.array([n for n, _ in drawn], np.int32)
        with jax.enable_x64(True):
            outcomes = SeriesIndices(*map(jnp.asarray, (np.array(subsets, np.int32)[first], weighted[second])))
            values = np.asarray(run_compiled(_gradients, self, w, x, y, n[second], outcomes))
        return list(zip(p[second], values, strict=True))

    def _check_subset(self, d: int) -> None:
        if self.n_subset > d:
            raise ArgumentError("n_subset", f"must be at most d = {d} (got {self.n_subset})")


def _gradients(
    estimator: AttributeSeriesGradient,
    w: Float[Array, "d"],
    x: Float[Array, "d"],
    y: ArrayLike,
    n: Int[Array, "m"],
    outcomes: SeriesIndices,
) -> Float[Array, "m d"]:
    return jax.vmap(lambda n, seen: estimator.gradient(w, y, n, seen, x[seen.subset], x[seen.weighted]))(n, outcomes)


@theorem(OBLIVIOUS, "cesabianchi2010efficient", "cesabianchi2010online", "zinkevich2003online", prescribed_rate=True)
def attribute_series_regret(
    estimator: AttributeSeriesGradient, dimension: Count, radius: PositiveFloat, n_rounds: Rounds,
    norm: PositiveFloat | None = None, x_bound: PositiveFloat = 1.0, y_bound: NonNegativeFloat = 0.0,
) -> Bound:  # fmt: skip
    """Bound on the expected regret of gradient descent with `AttributeSeriesGradient`: norm sqrt(G T).

    The step size is norm / sqrt(G T), and the projection is on the ball of hypotheses. Here G is
    `estimator.length_moment` times E|v|^2, which is at most (d / n_subset) |x|^2. The bound excludes the bias of an
    estimate of l' with a limit on the number of factors: a bias of at most b adds at most 2 b radius x_bound T.

    Args:
        estimator: the estimator, with a finite second moment (otherwise a ValueError).
        dimension: d.
        radius: B, radius of the ball of hypotheses and comparators: the l1 ball if the law of the estimator is "l1",
            the l2 ball if it is "l2".
        n_rounds: horizon T.
        norm: bound on |w*|_2 of the comparator w*, at most `radius`; by default `radius`.
        x_bound: bound on every |x_i| if the law is "l1", on |x|_2 if it is "l2".
        y_bound: bound on |y| for a loss of the residual; 0 for a loss of the margin.

    Example:
        >>> import jaxonline as jo
        >>> from benchmarks.papers.estimators.attributes import AttributeSeriesGradient, attribute_series_regret
        >>> from jaxonline.estimators import minimum_variance
        >>> gradient = AttributeSeriesGradient.for_loss(jo.losses.Squared(), minimum_variance, 4.0)
        >>> round(attribute_series_regret(gradient, 3, 1.0, 100, y_bound=1.0).G, 9)  # 4 (1 + 1)^2 d^2
        144.0
    """
    norm = radius if norm is None else float(check.number("norm", norm, le=float(radius)))
    centre = host_float("centre", estimator.derivative.centre)
    length = estimator.length_moment(factor_moment(radius, x_bound**2, y_bound, centre))
    squared_norm = x_bound**2 * (dimension if estimator.law == "l1" else 1)
    return gradient_descent(norm, length * dimension / estimator.n_subset * squared_norm, n_rounds)
