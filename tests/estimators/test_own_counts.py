"""Own distributions of the number of copies, and the checks of arguments that no declared type makes."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from bad_calls import check, row

import jaxonline as jo
from benchmarks.papers.estimators.series import DiscreteLomax
from jaxonline import estimators, losses
from jaxonline.estimators import (
    AttributeGradient,
    AttributePairs,
    DotProductFeatureMap,
    FiniteDistribution,
    Geometric,
    SeriesEstimator,
    minimum_variance,
)
from jaxonline.estimators.attributes import uniform_subset
from jaxonline.estimators.counts import CountDistribution, distribution_from_magnitudes
from jaxonline.estimators.noisy_features import copy_moments
from jaxonline.estimators.series import exact_second_moment, expected_queries, lemma1_bound, variance_table
from jaxonline.estimators.surrogates import lemma7_bound, surrogate_error
from jaxonline.kernels import Binomial, ExponentialKernel, Gaussian, Linear
from jaxonline.kernels.shift_invariant import Cauchy, GaussianMixture
from jaxonline.parameters.struct import static

pytestmark = pytest.mark.fast_compile


@jo.struct
class OneOrFour(CountDistribution):
    """A user's distribution: 1 or 4 copies."""

    many: float
    claimed: float

    def sample(self, key):
        return jnp.where(jax.random.bernoulli(key, self.many), 4, 1)

    def log_pmf(self, n):
        return jnp.log(jnp.where(n == 4, self.claimed, jnp.where(n == 1, 1.0 - self.claimed, 0.0)))


def test_own_distribution_is_unbiased():
    """0.5 + 0.5^4 from copies 0.5 +- 0.2; |theta| < 2, so Hoeffding rejects a right mean with probability below 1e-9.

    A class whose `log_pmf` is ln 1/2 where `sample` has the probability 1/4 is rejected.
    """
    n = 1 << 16

    @jax.jit
    def mean(law):
        estimator = SeriesEstimator([0.0, 1.0, 0.0, 0.0, 1.0], law)
        draw = lambda key: 0.5 + 0.2 * jax.random.rademacher(key, (), jnp.float32)  # noqa: E731
        return jnp.mean(jax.vmap(lambda key: estimator.estimate(key, draw))(jax.random.split(jax.random.key(1), n)))

    limit = 4.0 * math.sqrt(math.log(2 / 1e-9) / (2 * n))
    target = 0.5 + 0.5**4
    assert abs(float(mean(OneOrFour(0.25, 0.25))) - target) < limit < 0.06
    assert abs(float(mean(OneOrFour(0.25, 0.5))) - target) > limit


@pytest.mark.long
def test_defaults_of_an_own_distribution():
    estimator = SeriesEstimator([0.0, 1.0, 0.0, 0.0, 1.0], OneOrFour(0.25, 0.25))
    assert expected_queries(estimator) == pytest.approx(1.75, rel=1e-12)
    assert exact_second_moment(estimator, 0.5) == pytest.approx(0.5 / 0.75 + 0.5**4 / 0.25, rel=1e-12)
    tail = np.asarray(estimator.law.tail(jnp.arange(6, dtype=jnp.int32)))
    np.testing.assert_allclose(tail, [1, 1, 0.25, 0.25, 0.25, 0], atol=1e-6)


@jo.struct
class Always(CountDistribution):
    """P(N = number) = 1."""

    number: int

    def sample(self, key):
        return self.number

    def log_pmf(self, n):
        return jnp.where(n == self.number, 0.0, -jnp.inf)


def test_tail_of_an_own_distribution_is_exact_up_to_the_end_of_its_table():
    """The table has 4,096 numbers."""
    tails = jax.jit(jax.vmap(lambda number: Always(number).tail(number + jnp.array([-5000, -1, 0, 1, 5000]))))
    np.testing.assert_array_equal(tails(jnp.array([0, 7, 4094, 4095])), [[1, 1, 1, 0, 0]] * 4)


@jo.struct
class Own(CountDistribution):
    """P(N = n) = total (1 - r) r^n, with a number that `sample` returns."""

    total: float
    r: float
    draw: Any = static(default=1)

    def sample(self, key):
        return self.draw

    def log_pmf(self, n):
        return jnp.log(self.total * (1.0 - self.r) * jnp.power(self.r, n.astype(float)))


@pytest.mark.parametrize(
    ("law", "problem"),
    [
        (Own(1 / 3, 0.5, 1), r"sum 1 \(got the sum 0.333333"),
        (Own(1.1, 0.5, 1), r"sum 1 \(got the sum 1.1"),
        (Own(math.nan, 0.5, 1), "probabilities of at least 0 .*at n = 0"),
        (Own(-1.0, 0.5, 1), "probabilities of at least 0 .*at n = 0"),
        (Own(1.0, 0.5, -1), "an integer of at least 0 .*got -1"),
        (Own(1.0, 0.5, 1.5), "an integer of at least 0 .*got 1.5 of dtype float"),
        (Own(1.0, 0.5, np.array([1, 2])), "an integer of at least 0 .*got shape"),
    ],
)
def test_own_probabilities_and_draws_are_checked(law, problem):
    for make in (
        lambda: SeriesEstimator([0.0, 1.0], law),
        lambda: DotProductFeatureMap(ExponentialKernel(), law),
        lambda: jo.estimators.limit_counts(law, 3),
    ):
        with pytest.raises(ValueError, match=rf"^law: must .*{problem}"):
            make()


def test_long_tails_are_no_errors():
    """Half of the probability is beyond the table of 4,096 numbers; a traced number is not checked."""
    assert SeriesEstimator([0.0, 1.0], Own(1.0, 0.5 ** (1 / 4096), 1)).law.draw == 1
    jax.eval_shape(lambda total: SeriesEstimator([0.0, 1.0], Own(total, 0.5, 1)).law.pmf(jnp.int32(1)), 1 / 3)
    known = jax.eval_shape(lambda y: y * SeriesEstimator([0.0, 1.0], OneOrFour(0.25, 0.25)).law.pmf(jnp.int32(4)), 1.0)
    assert known.shape == ()
    with pytest.raises(ValueError, match="an integer of at least 0"):
        jax.eval_shape(lambda y: y * SeriesEstimator([0.0, 1.0], Own(1.0, 0.5, -1)).law.pmf(jnp.int32(4)), 1.0)


class Plain(Always):
    """A distribution that is no pytree."""


SURROGATE, TWO = estimators.Surrogate, FiniteDistribution([0.5, 0.5])
FOR_LOSS, BEST, KEY = SeriesEstimator.for_loss, estimators.best_feature_map, jax.random.key(0)
LOGISTIC, SQUARED, EXPONENTIAL = losses.Logistic(), losses.Squared(), losses.Exponential()
WRONG = [
    ("n_attributes: must be even", lambda: AttributeGradient(3)),
    ("n_for_prediction: must be below n_attributes = 3", lambda: AttributeGradient(3, n_for_prediction=3)),
    ("n_attributes: must be at most d + 5 = 9", lambda: AttributeGradient(10).choose(KEY, jnp.ones(4))),
    ("n_attributes: must be even", lambda: AttributePairs(5)),
    ("n_attributes: must be at most 2 d^2 = 8", lambda: AttributePairs(10).choose(KEY, 2)),
    ("n_attributes: must be smaller to enumerate", lambda: AttributePairs(10).support(np.ones(20))),
    ("size: must be at most d = 3", lambda: uniform_subset(KEY, 3, 4)),
    ("exponent: ", lambda: DiscreteLomax(1.0)),
    ("probabilities: must have the sum 1 (got the sum 0.9", lambda: FiniteDistribution([0.5, 0.4])),
    ("magnitudes: must have a positive", lambda: distribution_from_magnitudes([0.0, 0.0])),
    ("must be below radius^2 = 9.8696 (got 10)", lambda: FOR_LOSS(LOGISTIC, Geometric(4.0), 2.5)),
    ("second_moment", lambda: lemma1_bound(LOGISTIC, 4.0, 2.5)),
    ("second_moment", lambda: exact_second_moment(FOR_LOSS(LOGISTIC, Geometric(4.0), 1.0), 2.5)),
    ("second_moment: ", lambda: FOR_LOSS(LOGISTIC, minimum_variance, 9.9)),
    ("second_moment: ", lambda: minimum_variance(LOGISTIC.coefficients(10), 9.9, radius=math.pi)),
    ("1024", lambda: FOR_LOSS(LOGISTIC, minimum_variance, 9.8695)),  # too close to the edge for a table
    ("reach: ", lambda: FOR_LOSS(EXPONENTIAL, Geometric(2.0), 1e6)),
    ("reach: ", lambda: FOR_LOSS(LOGISTIC, Geometric(2.0), 1.0, reach=3.5)),
    ("n_terms: must be at least", lambda: FOR_LOSS(EXPONENTIAL, Geometric(2.0), 1.0, n_terms=5)),
    ("law: must give n = 2", lambda: SeriesEstimator([1.0, 0.0, 0.5], TWO)),
    ("mean: must be given", lambda: exact_second_moment(SeriesEstimator([0.0, 1.0], Geometric(2.0), 0.0, 1.0), 1.0)),
    ("second_moment: must be above 1", lambda: variance_table([SQUARED], mean=1.0, second_moment=0.5)),
    ("copy_moment: ", lambda: DotProductFeatureMap(Binomial(1.0), Geometric(2.0)).second_moment(0.5)),
    ("capacity: ", lambda: DotProductFeatureMap(Linear(), TWO).estimate(KEY, lambda key: np.ones(2), 0)),
    ("x: ", lambda: copy_moments([[1.0]], 1.0)),
    ("covariance: ", lambda: copy_moments([1.0], -1.0)),
    ("copy_moment: must be smaller", lambda: BEST(ExponentialKernel(), 800.0)),
    ("pair_moment: must be smaller", lambda: BEST(Gaussian(100.0), 1.0, 1e16)),
    ("copy_moment: must be below the kernel's radius 1 (got 1.5)", lambda: BEST(Binomial(1.0), 1.5)),
    ("covariance: ", lambda: SURROGATE(Gaussian(1.0), 0.5, dimension=3)),
    ("0.6", lambda: SURROGATE(Gaussian(1.0), [[0.4, 0.2], [0.2, 0.4]])),
    ("covariance: ", lambda: SURROGATE(GaussianMixture([0.1, 2.0], [1.0, 1.0]), [0.3])),
    ("dimension: must be given", lambda: SURROGATE(Gaussian(1.0), 0.1)),
    ("dimension: ", lambda: SURROGATE(Gaussian(1.0), [0.1], dimension=2)),
    ("cut: ", lambda: estimators.radial_surrogate(Cauchy(4.0), 0.25, cut=2.0, dimension=4)),
    ("cut: ", lambda: surrogate_error(Cauchy(4.0), [0.25, 0.5], cut=1.5)),
    ("c: ", lambda: lemma7_bound(0.25, 4.0, 4)),
]


def test_wrong_arguments_raise_errors():
    check([row(call, ValueError, text) for text, call in WRONG])
    check([row(lambda: SeriesEstimator([1.0], Plain(1)), TypeError, "law: must be a pytree")])
    # the optimal distribution has a finite second moment further out than a geometric one, up to E X^2 = pi^2
    assert math.isfinite(exact_second_moment(FOR_LOSS(LOGISTIC, minimum_variance, 2.5), 2.5))
