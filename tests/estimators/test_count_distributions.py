"""Distributions of the number of copies: samples, optimal distributions for a series, and their cost."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from benchmarks.papers.estimators.series import DiscreteLomax
from jaxonline.estimators.counts import (
    FiniteDistribution,
    Geometric,
    cost_aware,
    distribution_from_magnitudes,
    fine_uniform,
    magnitudes,
    minimum_variance,
)
from jaxonline.estimators.series import SeriesEstimator, exact_second_moment, lemma1_bound, n_required_terms
from jaxonline.losses import Exponential, Logistic, SmoothedAbsolute, SmoothedHinge, Squared

pytestmark = pytest.mark.fast_compile


@jax.jit
@functools.partial(jax.vmap, in_axes=(None, 0))
def samples(law, key):
    return law.sample(key)


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

    def p_value(observed):
        return stats.chi2.sf(np.sum((observed - expected) ** 2 / expected), len(expected) - 1)

    assert p_value(counts) > 1e-6
    assert p_value(np.roll(counts, 1)) < 1e-12
    np.testing.assert_allclose(tail, [1.0 - sum(pmf[:k]) for k in ks], atol=1e-5)
    np.testing.assert_allclose(np.exp(law.log_table(20)), pmf[:20], rtol=1e-4, atol=1e-30)
    assert law.mean() == pytest.approx(float(np.exp(law.log_table(400)) @ np.arange(400)), rel=1e-6)


@pytest.mark.parametrize("law", [Geometric(1.3), FiniteDistribution([0.1, 0.0, 0.9]), DiscreteLomax(2.5)])
def test_negative_numbers_have_no_probability(law):
    n = jnp.asarray([-3, -1], jnp.int32)
    np.testing.assert_array_equal([law.pmf(n), law.tail(n)], [[0, 0], [1, 1]])
    np.testing.assert_array_equal(law.log_pmf(n), [-np.inf, -np.inf])


@pytest.mark.long
def test_mean_of_geometric_samples_is_exact():
    """E N = 1/(p - 1) within 5.5 standard errors (false alarm 4e-8 a test); p half a per cent too large is detected."""
    keys = jax.random.split(jax.random.key(4), 1 << 14)
    for p in (1.02, 1.05, 1.1):
        mean = float(np.mean(samples(Geometric(p), keys)))
        limit = 5.5 * math.sqrt(p) / (p - 1.0) / math.sqrt(len(keys))
        assert abs(mean - 1.0 / (p - 1.0)) < limit
        assert abs(mean - 1.0 / (1.005 * p - 1.0)) > limit or p > 1.06


def test_uniform_numbers_are_fine_grained_near_zero():
    """Below 2^-10 a float32 uniform has 13 bits, all multiples of 2^-23; the fine-grained one has all bits."""
    uniform = jax.jit(jax.vmap(lambda key: fine_uniform(key, jnp.float32)))
    u = np.asarray(uniform(jax.random.split(jax.random.key(0), 200_000)))
    assert u.min() > 0
    assert u.max() <= 1
    assert stats.kstest(u, "uniform").pvalue > 1e-6
    small = u[u < 2.0**-10] * 2.0**23
    assert len(small) > 100
    assert np.mean(small == np.round(small)) < 0.05


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


def test_invalid_distributions_raise_errors():
    for p in (1.0, 0.5, np.inf, np.nan):
        with pytest.raises(ValueError, match=r"\bp\b"):
            Geometric(p)
    with pytest.raises(ValueError, match=r"\bprobabilities\b.*0\.9"):
        FiniteDistribution([0.5, 0.4])
    with pytest.raises(ValueError, match=r"\bprobabilities\b"):
        FiniteDistribution([1.5, -0.5])
    with pytest.raises(ValueError, match=r"\bprobabilities\b"):
        FiniteDistribution(np.ones((1, 1)))
    with pytest.raises(ValueError, match=r"\bmagnitudes\b"):
        distribution_from_magnitudes([0.0, 0.0])
    with pytest.raises(ValueError, match=r"\boverhead\b"):
        cost_aware([1.0], 1.0, overhead=0.0)
    for second_moment in (0.0, -1.0, np.nan):
        with pytest.raises(ValueError, match=r"\bsecond_moment\b"):
            minimum_variance([1.0, 1.0], second_moment)


def test_infinite_variance_raises_an_error():
    with pytest.raises(ValueError, match=r"p \* second_moment.*9\.8696.*10"):
        SeriesEstimator.for_loss(Logistic(), Geometric(4.0), 2.5)
    with pytest.raises(ValueError, match=r"\bsecond_moment\b"):
        lemma1_bound(Logistic(), 4.0, 2.5)
    estimator = SeriesEstimator.for_loss(Logistic(), Geometric(4.0), 1.0)
    with pytest.raises(ValueError, match=r"\bsecond_moment\b"):
        exact_second_moment(estimator, 2.5)
    # The optimal distribution has a finite second moment further out, up to E X^2 = pi^2.
    assert math.isfinite(exact_second_moment(SeriesEstimator.for_loss(Logistic(), minimum_variance, 2.5), 2.5))
    with pytest.raises(ValueError, match=r"\bsecond_moment\b"):
        SeriesEstimator.for_loss(Logistic(), minimum_variance, 9.9)
    with pytest.raises(ValueError, match=r"\bsecond_moment\b"):
        minimum_variance(Logistic().coefficients(10), 9.9, radius=math.pi)
    for second_moment in (9.8695, 8.9):  # too close to the edge for a table
        with pytest.raises(ValueError, match=r"1024|\bsecond_moment\b"):
            SeriesEstimator.for_loss(Logistic(), minimum_variance, second_moment)
    with pytest.raises(ValueError, match=r"\breach\b"):
        SeriesEstimator.for_loss(Exponential(), Geometric(2.0), 1e6)
