"""Distributions of the number of copies: samples, optimal distributions for a series, and their cost."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

from benchmarks.papers.estimators.series import DiscreteLomax
from jaxonline.estimators import DotProductFeatureMap
from jaxonline.estimators.counts import (
    FiniteDistribution,
    Geometric,
    cost_aware,
    fine_uniform,
    magnitudes,
    minimum_variance,
)
from jaxonline.estimators.series import SeriesEstimator, exact_second_moment, n_required_terms
from jaxonline.kernels import Binomial
from jaxonline.losses import Exponential, Logistic, SmoothedAbsolute, SmoothedHinge, Squared

pytestmark = pytest.mark.fast_compile


@jax.jit
@functools.partial(jax.vmap, in_axes=(None, 0))
def samples(law, key):
    return law.sample(key)


def p_value(observed, expected):
    return stats.chi2.sf(np.sum((observed - expected) ** 2 / expected), len(expected) - 1)


@jax.jit
def described(law, k):
    return law.pmf(k), law.tail(k)


@pytest.mark.long
@pytest.mark.parametrize(
    "law", [Geometric(1.3), Geometric(4), FiniteDistribution([0.1, 0.0, 0.5, 0.0, 0.4])], ids=["1.3", "4", "table"]
)
def test_samples_follow_the_distribution(law, both_precisions):
    """Chi-square test at level 1e-6; a distribution shifted by one is rejected."""
    n = 100_000
    draws = np.asarray(samples(law, jax.random.split(jax.random.key(3), n)))
    assert draws.dtype == np.int32
    ks = np.arange(-2, 120)
    pmf, tail = (np.asarray(each, float) for each in described(law, jnp.asarray(ks)))
    assert not pmf[:2].any()
    assert (tail[:2] == 1.0).all()
    ks, pmf, tail = ks[2:], pmf[2:], tail[2:]
    cells = [k for k in range(draws.max() + 1) if pmf[k] * n > 5]
    counts = np.array([np.sum(draws == k) for k in cells] + [n - np.sum(np.isin(draws, cells))])
    expected = pmf[cells]
    expected = n * np.append(expected, 1 - expected.sum())
    if expected[-1] < 1e-2:
        assert counts[-1] == 0
        counts, expected = counts[:-1], expected[:-1]

    assert p_value(counts, expected) > 1e-6
    assert p_value(np.roll(counts, 1), expected) < 1e-12
    np.testing.assert_allclose(tail, [1.0 - sum(pmf[:k]) for k in ks], atol=1e-5)
    np.testing.assert_allclose(np.exp(law.log_table(20)), pmf[:20], rtol=1e-4, atol=1e-30)
    assert law.mean() == pytest.approx(float(np.exp(law.log_table(400)) @ np.arange(400)), rel=1e-6)


@pytest.mark.parametrize("law", [Geometric(1.3), FiniteDistribution([0.1, 0.0, 0.9]), DiscreteLomax(2.5)])
def test_negative_numbers_have_no_probability(law):
    n = jnp.asarray([-3, -1], jnp.int32)
    np.testing.assert_array_equal([law.pmf(n), law.tail(n)], [[0, 0], [1, 1]])
    np.testing.assert_array_equal(law.log_pmf(n), [-np.inf, -np.inf])


@pytest.mark.parametrize("law", [Geometric(1.3), Geometric(4.0), FiniteDistribution([0.1, 0.0, 0.5, 0.25, 0.15])])
def test_samples_invert_the_tail(law, monkeypatch):
    """N >= k exactly for uniform numbers up to P(N >= k) = the sum of the probabilities from k on, for every k."""
    tails = 1 - np.cumsum(np.exp(law.log_table(5)))[:-1]
    for k, tail in enumerate(tails[tails > 0], start=1):
        for u, reached in ((tail * (1 - 1e-5), True), (tail * (1 + 1e-5), False)):
            words = jnp.uint32(u * 2.0**32), jnp.uint32(0)
            monkeypatch.setattr("jaxonline.estimators.counts.fine_uniform", lambda *_, u=u: jnp.float32(u))
            monkeypatch.setattr("jaxonline.estimators.counts.word_pairs", lambda *_, words=words: words)
            assert (int(law.sample(jax.random.key(0))) >= k) == reached, (k, reached)


@pytest.mark.parametrize(
    ("words", "number"),
    [
        ([0, 0, 0], 0.5 * 2.0**-69),
        ([0, 0, 1 << 31], (0.5 + 0.5 * 2.0**-23) * 2.0**-46),
        ([0, 3 << 30, 0], 0.75 * 2.0**-23),
        ([1 << 31, 0, 0], 0.5),
        ([2**32 - 1] * 3, 1.0),
    ],
)
def test_fine_grained_numbers_have_the_bits_of_three_words(monkeypatch, words, number):
    """Each word refines the one before by a factor of 2^-23; the middle of the last interval is returned."""
    monkeypatch.setattr("jaxonline.random.words", lambda key, n, bits: np.array(words, np.uint32))
    with jax.disable_jit():
        assert float(fine_uniform(None, jnp.float32)) == pytest.approx(number, rel=2.0**-22, abs=0.0)


def test_distributions_for_the_series_are_optimal():
    """They attain the bound of Cauchy-Schwarz and are better than 200 random distributions."""
    rng = np.random.default_rng(0)
    gammas = SmoothedHinge(1.0).coefficients(25)
    gammas[4] = 0.0
    a = magnitudes(gammas, 0.7)
    n = np.arange(25)

    def second(probabilities):
        return np.sum(a[a > 0] ** 2 / probabilities[a > 0])

    def cost(probabilities, overhead):
        return probabilities @ (overhead + n)

    best = minimum_variance(gammas, 0.7).probabilities
    assert second(best) == pytest.approx(a.sum() ** 2, rel=1e-12)
    for overhead in (1.0, 0.2):
        aware = cost_aware(gammas, 0.7, overhead=overhead).probabilities
        least = second(aware) * cost(aware, overhead)
        assert least == pytest.approx((a @ np.sqrt(overhead + n)) ** 2, rel=1e-12)
        for _ in range(100):
            other = rng.dirichlet(rng.choice([0.3, 1.0, 5.0]) * 25 * best + 1e-3) + 1e-12
            assert second(other) >= second(best)
            assert second(other) * cost(other, overhead) >= least
    assert best[4] == aware[4] == 0.0


def test_n_required_terms_is_minimal():
    for loss, reach in ((Exponential(), 3.0), (SmoothedAbsolute(2.0), 1.5), (Logistic(), 2.0)):
        n = n_required_terms(loss, reach)
        total = loss.majorant(reach)
        assert loss.tail_bound(n, reach) <= 1e-20 * total < loss.tail_bound(n - 1, reach)
    assert n_required_terms(Squared(), 2.0, centre=1.0) == 2


def test_lomax_has_its_stated_probabilities_and_mean():
    """Against differences of the tail, and sums of a million terms; E N is infinite for a <= 2."""
    law, n = DiscreteLomax(3.0), np.arange(1_000_000.0)
    tail = (1 + n) ** -2.0
    np.testing.assert_allclose(np.exp(law.log_table(1000)), (tail[:-1] - tail[1:])[:1000], rtol=1e-9)
    k = jnp.arange(50, dtype=jnp.int32)
    np.testing.assert_allclose(law.pmf(k), np.exp(law.log_table(50)), rtol=1e-4)
    np.testing.assert_allclose(law.tail(k), tail[:50], rtol=1e-5)
    assert law.mean() == pytest.approx(tail[1:].sum(), abs=2e-6)
    assert math.isinf(DiscreteLomax(2.0).mean())
    assert DiscreteLomax(2.001).mean() > 900


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
    feature_map = DotProductFeatureMap(Binomial(0.5), DiscreteLomax(3.0))
    expected = sum(
        float(special.poch(0.5, n)) / math.factorial(n) * 0.5**n / ((1 + n) ** -2.0 - (2 + n) ** -2.0)
        for n in range(100)
    )
    assert feature_map.second_moment(0.5) == pytest.approx(expected, rel=1e-9)
    assert feature_map.expected_queries() == pytest.approx(math.pi**2 / 6 - 1, rel=1e-12)
