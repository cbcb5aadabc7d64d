"""Distributions of the number of copies: probabilities, samples, optimal distributions for a series, their cost."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.papers.estimators.series import DiscreteLomax
from jaxonline.estimators.counts import (
    FiniteDistribution,
    Geometric,
    cost_aware,
    fine_uniform,
    magnitudes,
    minimum_variance,
)
from jaxonline.estimators.series import n_required_terms
from jaxonline.losses import Exponential, Logistic, SmoothedAbsolute, SmoothedHinge, Squared

pytestmark = pytest.mark.fast_compile


@pytest.mark.parametrize(
    ("law", "table"),
    [
        (Geometric(1.3), 0.3 / 1.3 ** np.arange(1.0, 401.0)),
        (FiniteDistribution([0.1, 0.0, 0.5, 0.0, 0.4]), np.pad([0.1, 0.0, 0.5, 0.0, 0.4], (0, 395))),
    ],
    ids=["geometric", "table"],
)
def test_probabilities_tails_and_means(law, table, both_precisions):
    n = jnp.arange(-2, 40, dtype=jnp.int32)
    assert law.sample(jax.random.key(0)).dtype == jnp.int32
    np.testing.assert_allclose(law.pmf(n), np.pad(table, (2, 0))[:42], rtol=1e-5)
    np.testing.assert_allclose(law.tail(n), 1 - np.pad(np.cumsum(table), (3, 0))[:42], atol=1e-5)
    np.testing.assert_allclose(np.exp(law.log_table(20)), table[:20], rtol=1e-12)
    assert law.mean() == pytest.approx(float(table @ np.arange(400)), rel=1e-12)


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
    """They attain the bound of Cauchy-Schwarz."""
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
