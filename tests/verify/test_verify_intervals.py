"""Moments of samples, and the intervals made of them: against scipy, against the inequalities themselves."""

import math

import numpy as np
import pytest
from scipy import stats
from verify_samples import ONE, power

from jaxonline.verify.intervals import (
    Bernstein,
    BoundedKurtosis,
    KnownVariance,
    bernstein_lower,
    detectable,
    samples_needed,
)
from jaxonline.verify.result import decide, target_unit, worst_coordinate
from jaxonline.verify.sampling import Moments, Sampler


def moments_of_size(n, variance):
    return Moments(n, np.zeros(1), np.full(1, n * variance), np.zeros(1), np.zeros(1))


def test_merging_moments_agrees_with_scipy():
    """Far from zero, in unequal parts, with an empty one."""
    values = np.random.default_rng(0).gamma(0.5, size=(5000, 3)) + 1e4
    merged = Moments(0, *[np.zeros(3)] * 4)
    for part in np.split(values, [1, 100, 100, 2500]):
        merged = merged.merge(Moments.from_samples(part) if len(part) else Moments(0, *[np.zeros(3)] * 4))
    assert merged.n == 5000
    np.testing.assert_allclose(merged.mean, values.mean(0), rtol=1e-14)
    np.testing.assert_allclose(merged.variance, values.var(0, ddof=1), rtol=1e-9)
    np.testing.assert_allclose(merged.kurtosis, stats.kurtosis(values, fisher=False), rtol=1e-7)
    m3 = merged.m3 / merged.n / (merged.m2 / merged.n) ** 1.5
    np.testing.assert_allclose(m3, stats.skew(values), rtol=1e-7)
    np.testing.assert_allclose(merged.second_moment, (values**2).mean(0), rtol=1e-12)


def test_float32_samples_are_summed_in_float64():
    """A million float32 numbers near 1e4 with variance 1/12: a float32 running sum is wrong in the first digit."""
    sampler = Sampler.create(power(shift=1e4), 0, 1 << 17, ONE)
    moments = sampler.summary(1 << 20).moments
    assert moments.mean == pytest.approx(1e4 + 0.5, abs=0.002)
    assert moments.variance == pytest.approx(1 / 12, rel=0.01)


@pytest.mark.parametrize("level", [1e-2, 1e-9])
def test_known_variance_solves_its_inequality(level):
    """S^2 = (U + r)(2 ln(1/level) + ln((U + r)/r)) at the half-width."""
    n, variance, m2 = 1000, 2.0, 1700.0
    moments = Moments(n, np.zeros(1), np.full(1, m2), np.zeros(1), np.zeros(1))
    h = KnownVariance(np.full(1, variance), level).half_width(moments, level)[0]
    r = n * variance / (2 * math.log(1 / level))
    u = (m2 + n * h * h) / 3 + 2 * n * variance / 3 + r
    assert (n * h) ** 2 == pytest.approx(u * (2 * math.log(1 / level) + math.log(u / r)), rel=1e-9)


@pytest.mark.parametrize(("level", "factor"), [(1e-2, 1.40), (1e-9, 1.12)])
def test_the_half_width_exceeds_the_normal_one_by_a_known_factor(level, factor):
    moments = moments_of_size(1 << 20, 1.0)
    h = KnownVariance(np.ones(1), level).half_width(moments, level)[0]
    normal = stats.norm.isf(level / 2) / math.sqrt(moments.n)
    assert 1 < h / normal < factor


def test_the_exponential_inequality_holds():
    x = np.concatenate([np.linspace(-100, 100, 400_001), np.linspace(-1e-2, 1e-2, 100_001)])
    assert np.all(np.log1p(x + x * x / 3) - (x - x * x / 6) >= -1e-15)


def test_bernstein_equals_the_formula_of_the_paper():
    """Maurer and Pontil 2009, Theorem 4, for one side at half the level."""
    values = np.random.default_rng(1).random((50, 1))
    h = Bernstein(np.zeros(1), np.ones(1)).half_width(Moments.from_samples(values), 0.1)[0]
    delta = 0.05
    v = values.var(ddof=1)
    assert h == pytest.approx(math.sqrt(2 * v * math.log(2 / delta) / 50) + 7 * math.log(2 / delta) / (3 * 49))
    low = bernstein_lower(Moments.from_samples(values), 1.0, 0.05)[0]
    assert low == pytest.approx(values.mean() - h)


def test_too_few_samples_give_no_bound():
    moments = moments_of_size(100, 1.0)
    assert BoundedKurtosis(1000.0, np.ones(1), 1e-9).half_width(moments, 1e-9) == np.inf
    assert KnownVariance(np.ones(1), 1e-9).half_width(moments_of_size(5, 1.0), 1e-9) > 1e50


def test_samples_needed_is_the_minimum_within_one_per_cent():
    interval, tolerance = KnownVariance(np.full(1, 3.0), 1e-9), 0.05
    n = samples_needed(interval, np.full(1, 3.0), np.full(1, tolerance), 1e-9, 0.999)
    assert detectable(interval, moments_of_size(n, 3.0), 1e-9, 0.999)[0] <= tolerance
    assert detectable(interval, moments_of_size(int(0.97 * n), 3.0), 1e-9, 0.999)[0] > tolerance


def test_decide_returns_the_verdict_of_intervals():
    assert target_unit(np.array([1.0, -2.0]), root_mean_square=3.0) == (2.0, "the target's largest coordinate")
    assert worst_coordinate(np.array([0.2, -0.1]), half_width=np.array([0.1, 0.01])) == 1
    assert decide(np.array([0.2]), half_width=np.array([0.1]), tolerance=0.5) == ("biased", None)
    assert decide(np.array([0.2]), half_width=np.array([0.1]), tolerance=0.5, cap_bias=0.15) == (
        "within tolerance",
        None,
    )
    verdict, reason = decide(np.array([0.2]), half_width=np.array([0.3]), tolerance=0.25)
    assert (verdict, reason) == ("undecided", "the interval reaches 2 times the bias it must exclude")
