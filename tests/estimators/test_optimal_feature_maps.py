"""Optimal distributions of a feature map's numbers of copies: closed forms, optimality, and no bias."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import special

from jaxonline.estimators import DotProductFeatureMap, FiniteDistribution, GaussianFeatureMap, best_feature_map
from jaxonline.kernels import Binomial, ExponentialKernel, Gaussian, Inhomogeneous, Linear

N = np.arange(100)


def test_second_moments_match_closed_forms():
    """By Cauchy-Schwarz the smallest second moment is (sum a_n)^2."""
    a = np.exp(0.5 * (N * math.log(0.5) - special.gammaln(N + 1)))
    assert best_feature_map(ExponentialKernel(), 0.5).second_moment(0.5) == pytest.approx(a.sum() ** 2, rel=1e-10)
    levels = np.exp(0.5 * (N * math.log(2 * 0.5 / 4) - special.gammaln(N + 1)))
    pairs = np.exp(N * math.log(0.3 / 4) - special.gammaln(N + 1))
    gaussian = best_feature_map(Gaussian(2.0), 0.5, pair_moment=0.09)
    assert gaussian.second_moment(0.5, 0.09) == pytest.approx((levels.sum() * pairs.sum()) ** 2, rel=1e-10)
    assert best_feature_map(Linear(), 3.0).law.probabilities.tolist() == [0.0, 1.0]
    binomial = math.sqrt(3) ** 2 / (math.sqrt(3) + 1) ** 2  # (1 + a)^1 at M = 3: shares 1 and sqrt(3)
    assert best_feature_map(Inhomogeneous(1), 3.0).law.probabilities[1] ** 2 == pytest.approx(binomial, rel=1e-12)


def nearby(law, rng):
    table = np.asarray(law.probabilities) * np.exp(0.05 * rng.normal(size=len(law.probabilities)))
    return FiniteDistribution(table / table.sum())


@pytest.mark.parametrize("overhead", [math.inf, 1.0, 0.2])
@pytest.mark.parametrize("kernel", [ExponentialKernel(), Inhomogeneous(3), Binomial(0.5)])
def test_no_nearby_distribution_is_better(kernel, overhead):
    """The price is E|Psi~|^2, times overhead + E N with a finite overhead."""

    def price(law):
        feature_map = DotProductFeatureMap(kernel, law)
        moment = feature_map.second_moment(0.4)
        return moment if overhead == math.inf else moment * (overhead + feature_map.expected_queries())

    best = best_feature_map(kernel, 0.4, overhead=overhead).law
    rng = np.random.default_rng(0)
    for _ in range(50):
        assert price(nearby(best, rng)) >= price(best) * (1 - 1e-12)


@pytest.mark.parametrize(("overhead", "lowest"), [(math.inf, None), (1.0, 106.454), (0.05, 71.233)])
def test_no_nearby_pair_of_distributions_is_better(overhead, lowest):
    """A level costs one copy and a pair two. The lowest prices are those of scipy.optimize.minimize over both tables of
    20 entries, up to a thousandth."""
    pair_moment = 0.2 if lowest is None else None

    def price(law, pair_law):
        feature_map = GaussianFeatureMap(Gaussian(1.0), law, pair_law)
        moment = feature_map.second_moment(0.5, pair_moment)
        return moment if lowest is None else moment * (overhead + feature_map.expected_queries())

    best: Any = best_feature_map(Gaussian(1.0), 0.5, pair_moment, overhead=overhead)
    least, rng = price(best.law, best.pair_law), np.random.default_rng(2)
    assert lowest is None or least == pytest.approx(lowest, rel=1e-3)
    for _ in range(20):
        assert price(nearby(best.law, rng), best.pair_law) >= least * (1 - 1e-12)
        assert price(best.law, nearby(best.pair_law, rng)) >= least * (1 - 1e-12)


LEVELS = np.arange(2000.0)
EXPONENTIAL, GAUSSIAN = -special.gammaln(LEVELS + 1), LEVELS * math.log(2) - special.gammaln(LEVELS + 1)
BINOMIAL = special.gammaln(LEVELS + 0.5) - special.gammaln(0.5) - special.gammaln(LEVELS + 1)


@pytest.mark.parametrize(
    ("kernel", "log_betas", "moment"),
    [
        (ExponentialKernel(), EXPONENTIAL, 0.5),
        (ExponentialKernel(), EXPONENTIAL, 400.0),
        (Gaussian(1.0), GAUSSIAN, 150.0),
        (Binomial(0.5), BINOMIAL, 0.95),
    ],
)
def test_only_negligible_levels_are_dropped(kernel, log_betas, moment):
    """Every a_n beyond the table is below 1e-12 of the largest, and the last one in it is not."""
    feature_map = best_feature_map(kernel, moment)
    kept, a = len(feature_map.law.probabilities), (log_betas + LEVELS * math.log(moment)) / 2
    share = np.exp(a - a.max())
    assert share[kept - 1] > 1e-12 >= share[kept:].max()
    np.testing.assert_allclose(feature_map.law.probabilities, share[:kept] / share.sum(), rtol=1e-9)
    if not isinstance(kernel, Gaussian):
        np.testing.assert_allclose(
            feature_map.second_moment(moment), np.exp(2 * (np.log(share.sum()) + a.max())), rtol=1e-9
        )
        lost = math.exp(a.max()) * math.sqrt((share[kept:] ** 2).sum())
        assert feature_map.bias(2000, moment) == pytest.approx(lost, rel=1e-6)
