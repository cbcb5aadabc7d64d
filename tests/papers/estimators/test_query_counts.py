"""Distribution of the number of copies: closed form, enumeration, and the counts of played rounds."""

import itertools
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import jaxonline as jo
from benchmarks.papers.estimators.limits import estimate_query_probabilities, round_query_probabilities
from jaxonline.estimators import DotProductFeatureMap, FiniteDistribution, GaussianFeatureMap, Geometric

pytestmark = pytest.mark.fast_compile

LINEAR, GAUSSIAN = jo.kernels.Linear(), jo.kernels.Gaussian(1.0)


@pytest.mark.parametrize("p", [1.2, 1.5, 2.0, 4.0])
def test_total_of_theorem_1_is_geometric(p):
    """P(M = m) = (1 - q) q^m with q = p / (p^2 - p + 1), and the mean p / (p - 1)^2 of the theorem."""
    pmf = round_query_probabilities(DotProductFeatureMap(LINEAR, Geometric(p)), Geometric(p), 300)
    q = p / (p**2 - p + 1)
    expected = (1 - q) * q ** np.arange(300)
    np.testing.assert_allclose(pmf, expected, rtol=1e-11, atol=1e-28)
    np.testing.assert_allclose(1 - np.cumsum(pmf), q ** np.arange(1, 301), atol=1e-14)
    if p > 1.2:
        assert pmf @ np.arange(300) == pytest.approx(p / (p - 1) ** 2, rel=1e-12)


@pytest.mark.parametrize("repetitions", [2, 5])
def test_the_total_of_repetitions_is_negative_binomial(repetitions):
    """For the paper's distribution: the sum of r geometric numbers, in SciPy; without repetitions r = 1."""
    pmf = round_query_probabilities(DotProductFeatureMap(LINEAR, Geometric(2.0)), Geometric(2.0), 200, repetitions)
    expected = stats.nbinom(repetitions, 1 / 3)  # q = 2/3
    np.testing.assert_allclose(pmf, expected.pmf(np.arange(200)), rtol=1e-11, atol=1e-28)
    assert pmf @ np.arange(200) == pytest.approx(2.0 * repetitions, rel=1e-12)


def test_mean_of_theorem_2_is_three_times_as_large():
    pmf = round_query_probabilities(GaussianFeatureMap(GAUSSIAN, Geometric(2.0)), Geometric(2.0), 400)
    assert pmf.sum() == pytest.approx(1.0, rel=1e-13)
    assert pmf @ np.arange(400) == pytest.approx(6.0, rel=1e-11)


def test_distribution_equals_an_enumeration():
    """Two pairs and two levels at most, two fresh estimates at most: all outcomes, one by one."""
    levels, pairs, fresh = [0.2, 0.3, 0.5], [0.6, 0.4], [0.1, 0.7, 0.2]
    one = {(n1, n2): p1 * p2 for (n1, p1), (n2, p2) in itertools.product(enumerate(pairs), enumerate(levels))}
    expected = Counter()
    for n, probability in enumerate(fresh):
        for counts in itertools.product(one, repeat=1 + n):
            copies = sum(2 * n1 + n2 for n1, n2 in counts)
            expected[copies] += probability * np.prod([one[count] for count in counts])
    feature_map = GaussianFeatureMap(GAUSSIAN, FiniteDistribution(levels), FiniteDistribution(pairs))
    pmf = round_query_probabilities(feature_map, FiniteDistribution(fresh), 15)
    np.testing.assert_allclose(pmf, [expected[m] for m in range(15)], atol=1e-16)
    np.testing.assert_allclose(estimate_query_probabilities(feature_map, 2), [0.12, 0.18], rtol=1e-14)


def test_estimates_without_copies_need_no_convolution():
    constant = DotProductFeatureMap(jo.kernels.PowerSeries([1.0]), FiniteDistribution([1.0]))
    assert round_query_probabilities(constant, Geometric(1.5), 3).tolist() == [1.0, 0.0, 0.0]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["dot product", "Gaussian"])
def test_learner_asks_for_this_number_of_copies(kind):
    """Chi-square test at level 1e-6 of 16 runs of 1,000 rounds of `NoisyKernel`.

    With 16,000 rounds it detects a change of the distribution of about 5 % (in root mean square, relative) with
    probability 0.99. The distribution without the copies of the first estimate is rejected.
    """
    law = Geometric(2.0)
    feature_map = GaussianFeatureMap(GAUSSIAN, law) if kind == "Gaussian" else DotProductFeatureMap(LINEAR, law)
    length = jo.estimators.GradientLength.for_loss(jo.losses.Squared(), law, second_moment=1.0)
    storage = jo.learners.Storage.for_horizon(feature_map, length, dimension=2, n_rounds=1000, risk=1e-3)
    learner = jo.learners.NoisyKernel(feature_map, length, 1e-6, None, storage)
    game = jo.Game(jo.environments.DataStream(0.1 * np.eye(2), np.ones(2)), jo.NoisyCopies(jo.noise.gaussian(0.01)))
    play = jax.jit(jax.vmap(lambda key: jo.play(game, learner, key, 1000)[1].queries))
    queries = np.asarray(play(jax.random.split(jax.random.key(5), 16))).ravel()
    pmf = round_query_probabilities(feature_map, law, 40)
    cells = np.flatnonzero(len(queries) * pmf > 10)
    observed = np.array([np.sum(queries == m) for m in cells])
    observed = np.append(observed, len(queries) - observed.sum())

    def p_value(pmf):
        expected = len(queries) * np.append(pmf[cells], 1 - pmf[cells].sum())
        return stats.chi2.sf(np.sum((observed - expected) ** 2 / expected), len(expected) - 1)

    assert p_value(pmf) > 1e-6
    fresh_only = np.zeros(40)
    power = np.eye(40)[0]
    for n in range(60):
        fresh_only += float(law.pmf(jnp.int32(n))) * power
        power = np.convolve(power, estimate_query_probabilities(feature_map, 40))[:40]
    assert p_value(fresh_only) < 1e-12
