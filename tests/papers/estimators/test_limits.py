"""Distribution of the number of copies, and limits on it: closed forms and enumeration."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from scipy import stats

import jaxonline as jo
from benchmarks.papers.estimators.limits import (
    estimate_query_probabilities,
    limit_bias,
    limited_regret,
    round_bias_bound,
    round_query_probabilities,
)
from benchmarks.papers.estimators.series import SequenceLength, chebyshev
from jaxonline.estimators import (
    DotProductFeatureMap,
    FiniteDistribution,
    GaussianFeatureMap,
    Geometric,
    GradientLength,
    SeriesEstimator,
    cost_aware,
    limit_counts,
)
from jaxonline.losses import Exponential, Logistic, SmoothedAbsolute, SmoothedHinge, Squared

pytestmark = pytest.mark.fast_compile


LINEAR, GAUSSIAN = jo.kernels.Linear(), jo.kernels.Gaussian(1.0)


@pytest.mark.parametrize(("p", "repetitions"), [(1.5, 1), (4.0, 1), (2.0, 5)])
def test_total_of_theorem_1_is_geometric_or_negative_binomial(p, repetitions):
    """P(M = m) = (1 - q) q^m with q = p / (p^2 - p + 1), and the mean p / (p - 1)^2 of the theorem; with repetitions
    the sum of such numbers, in SciPy."""
    law = Geometric(p)
    pmf = round_query_probabilities(DotProductFeatureMap(LINEAR, law), law, 300, repetitions)
    expected = stats.nbinom(repetitions, 1 - p / (p**2 - p + 1))
    np.testing.assert_allclose(pmf, expected.pmf(np.arange(300)), rtol=1e-11, atol=1e-28)
    assert pmf @ np.arange(300) == pytest.approx(repetitions * p / (p - 1) ** 2, rel=1e-12)


def test_distribution_equals_an_enumeration():
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


@pytest.mark.parametrize(
    "loss", [SmoothedHinge(0.8), SmoothedAbsolute(1.3), Logistic()], ids=lambda x: type(x).__name__
)
@pytest.mark.parametrize("law", [Geometric(1.5), cost_aware], ids=["geometric", "cost-aware"])
def test_bias_is_the_rest_of_the_series(loss, law, x64):
    for centre in (0.0, 0.3):
        estimator = SeriesEstimator.for_loss(loss, law, 1.0, centre=centre, max_copies=3, constant_outside=True)
        assert len(estimator.law.probabilities) == 4
        derivative = float(loss.derivative(np.float64(0.7)))
        mean = jo.estimators.series.exact_mean(estimator, 0.7)
        assert mean == pytest.approx(derivative + limit_bias(loss, estimator, 0.7), rel=1e-12)


def test_a_limit_truncates_the_series_and_the_distribution(x64):
    limited = SeriesEstimator.for_loss(Exponential(), Geometric(2.0), 1.0, max_copies=2)
    assert jo.estimators.series.exact_mean(limited, 0.5) == pytest.approx(-1 + 0.5 - 0.125, rel=1e-12)
    np.testing.assert_allclose(limit_counts(Geometric(2.0), 1).probabilities, [2 / 3, 1 / 3], rtol=1e-12)
    with pytest.raises(ValueError, match=r"^max_copies\b"):
        limit_counts(FiniteDistribution([0.0, 1.0]), 0)


def test_bound_of_a_run_is_small_for_moderate_limits():
    """200 copies a round suffice for a bias of 1e-4 of the regret bound sqrt(T) in 10,000 rounds."""
    loss, law = Logistic(), limit_counts(Geometric(2.0), 12)
    length = GradientLength.for_loss(loss, Geometric(2.0), 1.0, reach=1.0, max_copies=15)
    arguments = (loss, 1.0, 0.25, 10_000)
    dot_product = DotProductFeatureMap(jo.kernels.ExponentialKernel(), law)
    gaussian = GaussianFeatureMap(jo.kernels.Gaussian(1.5), law)
    assert limited_regret(dot_product, length, *arguments) < 0.01
    assert limited_regret(gaussian, length, *arguments) < 0.01
    few = GradientLength.for_loss(loss, Geometric(2.0), 1.0, max_copies=1)
    assert limited_regret(dot_product, few, *arguments) > 100


def test_bounds_of_a_round_need_a_series_within_its_radius():
    """A sequence of polynomials has no such bound; the logistic loss has the radius of convergence pi."""
    feature_map = DotProductFeatureMap(jo.kernels.Linear(), FiniteDistribution([0.0, 1.0]))
    sequence = chebyshev(lambda a: a.clip(-0.5, 0.5), 3, -1.0, 1.0)
    polynomials = SequenceLength.for_sequence(sequence, "regression", second_moment=0.3)
    with pytest.raises(ValueError, match=r"length: must be made by GradientLength.for_loss"):
        round_bias_bound(feature_map, polynomials, Squared(), 1.0, 0.25)
    length = GradientLength.for_loss(Logistic(), Geometric(2.0), 1.0, max_copies=9)
    assert math.isfinite(round_bias_bound(feature_map, length, Logistic(), 3.1, 1.0))
    with pytest.raises(ValueError, match=r"radius: .*radius of convergence \(got the sum 10 for the radius 10\)"):
        round_bias_bound(feature_map, length, Logistic(), 10.0, 1.0)
