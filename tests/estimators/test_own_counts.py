"""Own distributions of the number of copies, and the distribution with a polynomial tail."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

import jaxonline as jo
from benchmarks.papers.estimators.series import DiscreteLomax
from jaxonline.estimators import DotProductFeatureMap, Geometric, SeriesEstimator
from jaxonline.estimators.counts import CountDistribution
from jaxonline.estimators.series import exact_second_moment, expected_queries
from jaxonline.parameters.struct import static

pytestmark = pytest.mark.fast_compile

A = 3.0


@jo.struct
class OneOrFour(CountDistribution):
    """A user's distribution: 1 or 4 copies."""

    many: float
    claimed: float

    def sample(self, key):
        return jnp.where(jax.random.bernoulli(key, self.many), 4, 1)

    def log_pmf(self, n):
        return jnp.log(jnp.where(n == 4, self.claimed, jnp.where(n == 1, 1.0 - self.claimed, 0.0)))


class Plain(CountDistribution):
    def sample(self, key):
        return 1

    def log_pmf(self, n):
        return jnp.zeros(jnp.shape(n))


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


def test_invalid_own_distributions_raise_errors():
    with pytest.raises(ValueError, match=r"\blaw\b.*n = 2"):
        SeriesEstimator([0.0, 1.0, 1.0], OneOrFour(0.25, 0.25))
    with pytest.raises(TypeError, match=r"\blaw\b.*pytree.*jo\.struct"):
        SeriesEstimator([1.0], Plain())
    with pytest.raises(TypeError, match=r"\blaw\b.*CountDistribution"):
        SeriesEstimator([1.0], 2.0)
    with pytest.raises(ValueError, match=r"\bexponent\b.*got 1"):
        DiscreteLomax(1.0)


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
        lambda: DotProductFeatureMap(jo.kernels.ExponentialKernel(), law),
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


def test_lomax_has_its_stated_probabilities_and_mean():
    """Against differences of the tail, and sums of a million terms; E N is infinite for a <= 2."""
    law, n = DiscreteLomax(A), np.arange(1_000_000.0)
    tail = (1 + n) ** (1 - A)
    np.testing.assert_allclose(np.exp(law.log_table(1000)), (tail[:-1] - tail[1:])[:1000], rtol=1e-9)
    k = jnp.arange(50, dtype=jnp.int32)
    np.testing.assert_allclose(law.pmf(k), np.exp(law.log_table(50)), rtol=1e-4)
    np.testing.assert_allclose(law.tail(k), tail[:50], rtol=1e-5)
    assert law.mean() == pytest.approx(tail[1:].sum(), abs=2e-6)
    assert math.isinf(DiscreteLomax(2.0).mean())
    assert DiscreteLomax(2.001).mean() > 900


def test_lomax_samples_follow_the_distribution():
    """Chi-square test at level 1e-6 of 2^16 draws; a distribution shifted by one is rejected."""
    draws = np.asarray(jax.jit(jax.vmap(DiscreteLomax(A).sample))(jax.random.split(jax.random.key(3), 1 << 16)))
    pmf = np.exp(DiscreteLomax(A).log_table(20))
    expected = len(draws) * np.append(pmf, 1 - pmf.sum())
    observed = np.bincount(np.minimum(draws, 20), minlength=21)

    def p_value(counts):
        return stats.chi2.sf(np.sum((counts - expected) ** 2 / expected), 20)

    assert p_value(observed) > 1e-6
    assert p_value(np.roll(observed, 1)) < 1e-12


def test_second_moment_with_polynomial_coefficients():
    """l'(a) = (2/pi) (a sqrt(1 - a^2) + asin a), the absolute loss smoothed by a semicircle: |gamma_n| ~ n^-5/2.

    At E X^2 = 1 the terms decay as n^(a - 2 b), so a sum over twice as many terms grows by 2^(1 + a - 2 b) times the
    growth before: by half for a = 3 (it converges), by sqrt(2) for a = 4.5 (it diverges). `Geometric` diverges faster.
    """

    def moment(law, terms):
        k = np.arange(terms)
        gammas = np.zeros(2 * terms)
        gammas[1::2] = 4 / np.pi * (-1.0) ** k * special.binom(0.5, k) / (2 * k + 1)
        return exact_second_moment(SeriesEstimator(gammas, law), 1.0)

    def ratio(law):
        return (moment(law, 400) - moment(law, 200)) / (moment(law, 200) - moment(law, 100))

    assert ratio(DiscreteLomax(3.0)) == pytest.approx(0.5, rel=0.02)
    assert ratio(DiscreteLomax(4.5)) == pytest.approx(math.sqrt(2.0), rel=0.02)
    assert ratio(Geometric(1.5)) > 1e30


def test_feature_map_with_lomax_has_its_second_moment():
    """sum beta_n M^n / P(n) for the kernel (1 - <x, x'>)^-1/2 at M = 0.5, by a loop."""
    feature_map = DotProductFeatureMap(jo.kernels.Binomial(0.5), DiscreteLomax(A))
    expected = sum(
        float(special.poch(0.5, n)) / math.factorial(n) * 0.5**n / ((1 + n) ** (1 - A) - (2 + n) ** (1 - A))
        for n in range(100)
    )
    assert feature_map.second_moment(0.5) == pytest.approx(expected, rel=1e-9)
    assert feature_map.expected_queries() == pytest.approx(math.pi**2 / 6 - 1, rel=1e-12)
