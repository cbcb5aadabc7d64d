"""Moments of samples, and the intervals made of them: against scipy, against the inequalities themselves."""

import math

import numpy as np
import pytest
from scipy import stats
from verify_samples import ONE, power

from jaxonline import verify
from jaxonline.verify.intervals import (
    Bernstein,
    BoundedKurtosis,
    KnownVariance,
    bernstein_lower,
    detectable,
    samples_needed,
)
from jaxonline.verify.result import decide, target_unit, worst_coordinate
from jaxonline.verify.sampling import Bets, Moments, Sampler


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


def assert_mixture(h, n, fixed, slope, r, log):
    """S^2 = U (2 ln(1/level) + ln(U / r)) at the half-width, S = n h, with the variance term that depends on it."""
    u = fixed + slope * n * h * h + r
    assert (n * h) ** 2 == pytest.approx(u * (2 * log + math.log(u / r)), rel=1e-9)


@pytest.mark.parametrize(("level", "own"), [(1e-2, 1e-2), (1e-9, 1e-3)])
@pytest.mark.parametrize("planned", [None, 4000])
def test_intervals_solve_their_inequalities_at_their_shares_of_the_level(level, own, planned):
    """The looks before `planned` share a tenth of the level of Bernstein's interval, each with a 32nd of it; the bound
    on the variance takes a tenth of that of the kurtosis. The constant r is that of `own`, the level of the plan."""
    n, variance, kurtosis, scale = 1000, 2.0, 1.5, 0.7
    moments, horizon = moments_of_size(n, 1.7), planned or n
    h = KnownVariance(np.full(1, variance), own, planned).half_width(moments, level)[0]
    r = horizon / (2 * math.log(1 / own))
    assert_mixture(h, n, 1700 / 3 + 2 * n * variance / 3, 1 / 3, r * variance, math.log(1 / level))
    interval = BoundedKurtosis(kurtosis, np.full(1, scale), own, planned)
    shortfall = math.sqrt(2 * kurtosis * math.log(10 / level) / horizon) * (1 + horizon / n) / 2
    slope = 1 / 3 + 2 / (3 * (1 - shortfall))
    assert_mixture(
        interval.half_width(moments, level)[0], n, slope * 1700, slope, r * scale, math.log(1 / (0.9 * level))
    )
    assert interval.least_samples(level) == math.ceil(8 * kurtosis * math.log(10 / level))
    for size in (999, 1000, 1001):
        share = level if planned is None else level * (0.9 if size >= 1000 else 0.1 / 32)
        interval = Bernstein(np.full(1, -1.0), np.full(1, 2.0), None if planned is None else 1000)
        log, v = math.log(4 / share), 1.7 * size / (size - 1)
        expected = math.sqrt(2 * v * log / size) + 7 * 3.0 * log / (3 * (size - 1))
        assert interval.half_width(moments_of_size(size, 1.7), level)[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("known", [{"range": (0, 1)}, {"second_moment": np.full(3, 1 / 3)}, {"kurtosis": 5.0}], ids=str)
def test_each_of_three_coordinates_has_a_third_of_the_level(known):
    """The half-width and the detectable bias, which adds the half-width at the level 1 - power, by the formulas."""
    estimator, n, level, power_ = power(np.ones(3), np.zeros(3)), 5000, 1e-2, 0.99
    result = verify.unbiased(estimator, np.full(3, 0.5), level=level, power=power_, samples=n, mesh=ONE, **known)
    sampler = Sampler.create(estimator, 0, 8192, ONE)
    moments, pilot = sampler.summary(n, 1).moments, sampler.summary(8192).moments
    interval = {
        "bernstein": Bernstein(0.0, 1.0), "second moment": KnownVariance(1 / 12, level / 3, n),
        "kurtosis": BoundedKurtosis(5.0, pilot.variance, level / 3, n),
    }[result.method]  # fmt: skip
    rounding = 32 * 2.0**-23 * np.sqrt(pilot.second_moment)
    h = interval.half_width(moments, level / 3) + rounding
    assert result.half_width == pytest.approx(h[0] / 0.5, rel=1e-5)
    assert result.detectable == pytest.approx((h + interval.half_width(moments, 1 - power_))[0] / 0.5, rel=1e-5)


def test_bets_exceed_one_over_the_level_when_the_mean_wealth_does():
    """n values v > 0 give the gambler with the share l the wealth (1 + l (v^2 / (1.25 s) - 1))^n."""
    stated, level, v2 = 0.7, 1e-6, 1.9
    n = np.arange(1, 400)[:, None]
    wealth = ((1 + 2.0 ** -np.array([1, 4, 7, 10]) * (v2 / (1.25 * stated) - 1)) ** n).mean(axis=1)
    last = int(n[wealth <= 1 / level].max())
    for number, contradicted in ((last, False), (last + 1, True)):
        bets = Bets.start(np.full(1, stated)).update(np.full((number, 1), math.sqrt(v2)))
        assert bets.contradicted(level).tolist() == [contradicted]


@pytest.mark.parametrize(("level", "factor"), [(1e-2, 1.40), (1e-9, 1.12)])
def test_the_half_width_exceeds_the_normal_one_by_a_known_factor(level, factor):
    moments = moments_of_size(1 << 20, 1.0)
    h = KnownVariance(np.ones(1), level).half_width(moments, level)[0]
    normal = stats.norm.isf(level / 2) / math.sqrt(moments.n)
    assert 1 < h / normal < factor


def test_the_exponential_inequality_holds():
    x = np.concatenate([np.linspace(-100, 100, 400_001), np.linspace(-1e-2, 1e-2, 100_001)])
    assert np.all(np.log1p(x + x * x / 3) - (x - x * x / 6) >= -1e-15)


def test_one_sided_limit_equals_the_formula_of_the_paper():
    """Maurer and Pontil 2009, Theorem 4."""
    values = np.random.default_rng(1).random((50, 1))
    low, log = bernstein_lower(Moments.from_samples(values), 3.0, 0.05)[0], math.log(2 / 0.05)
    expected = values.mean() - math.sqrt(2 * values.var(ddof=1) * log / 50) - 7 * 3.0 * log / (3 * 49)
    assert low == pytest.approx(expected, rel=1e-12)


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
    for bias in ([0.2], [-0.2], [0.0, -0.2], [0.2, -0.1]):  # either end of the interval of any coordinate
        verdict, reason = decide(np.array(bias), half_width=np.full(len(bias), 0.3), tolerance=0.25)
        assert (verdict, reason) == ("undecided", "the interval reaches 2 times the bias it must exclude")
        assert decide(np.array(bias), half_width=np.full(len(bias), 0.1), tolerance=0.25)[0] == "biased"
