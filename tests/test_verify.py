"""What the verifier says: methods, refusals, caps, devices, precision. Its error rates are in test_verify_rates.py."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxonline import verify
from jaxonline._util.struct import struct
from jaxonline.simulation.blocks import default_mesh
from jaxonline.verify._intervals import (
    Bernstein,
    BoundedKurtosis,
    KnownVariance,
    bernstein_lower,
    detectable,
    samples_needed,
)
from jaxonline.verify._sampling import Moments, Sampler

ONE = default_mesh(jax.devices()[:1])


def uniform(key):
    return jax.random.uniform(key, (), jnp.float32)


def times(n, value):
    """n * value, where n is a traced integer."""
    return n.astype(jnp.float32) * value


def moments_of_size(n, variance):
    return Moments(n, np.zeros(1), np.full(1, n * variance), np.zeros(1), np.zeros(1))


class TestMoments:
    def test_merging_agrees_with_scipy(self):
        """Far from zero, in unequal parts, with an empty one; scipy shares no code with us."""
        values = np.random.default_rng(0).gamma(0.5, size=(5000, 3)) + 1e4
        merged = Moments(0, *[np.zeros(3)] * 4)
        for part in np.split(values, [1, 100, 100, 2500]):
            merged = merged.merge(Moments.of(part) if len(part) else Moments(0, *[np.zeros(3)] * 4))
        assert merged.n == 5000
        np.testing.assert_allclose(merged.mean, values.mean(0), rtol=1e-14)
        np.testing.assert_allclose(merged.variance, values.var(0, ddof=1), rtol=1e-9)
        np.testing.assert_allclose(merged.kurtosis, stats.kurtosis(values, fisher=False), rtol=1e-7)
        m3 = merged.m3 / merged.n / (merged.m2 / merged.n) ** 1.5
        np.testing.assert_allclose(m3, stats.skew(values), rtol=1e-7)
        np.testing.assert_allclose(merged.second_moment, (values**2).mean(0), rtol=1e-12)

    def test_float32_samples_are_summed_in_float64(self):
        """4 million float32 numbers near 1e4 with variance 1/12: a float32 running sum is wrong in the first digit."""
        sampler = Sampler.create(lambda key: 1e4 + uniform(key), 0, 1 << 17, ONE)
        moments = sampler.tally(1 << 20).moments
        assert moments.mean == pytest.approx(1e4 + 0.5, abs=0.002)
        assert moments.variance == pytest.approx(1 / 12, rel=0.01)


class TestIntervals:
    @pytest.mark.parametrize("level", [1e-2, 1e-9])
    def test_known_variance_is_the_root_of_its_inequality(self, level):
        """Independent of the fixed-point iteration: S^2 = (U + r)(2 ln(1/level) + ln((U + r)/r)) at the half-width."""
        n, variance, m2 = 1000, 2.0, 1700.0
        moments = Moments(n, np.zeros(1), np.full(1, m2), np.zeros(1), np.zeros(1))
        h = KnownVariance(np.full(1, variance), level).half_width(moments, level)[0]
        r = n * variance / (2 * math.log(1 / level))
        u = (m2 + n * h * h) / 3 + 2 * n * variance / 3 + r
        assert (n * h) ** 2 == pytest.approx(u * (2 * math.log(1 / level) + math.log(u / r)), rel=1e-9)

    @pytest.mark.parametrize(("level", "factor"), [(1e-2, 1.40), (1e-9, 1.12)])
    def test_the_price_of_validity(self, level, factor):
        """Against the normal approximation, the half-width is this much longer at this level, and no more."""
        moments = moments_of_size(1 << 20, 1.0)
        h = KnownVariance(np.ones(1), level).half_width(moments, level)[0]
        normal = stats.norm.isf(level / 2) / math.sqrt(moments.n)
        assert 1 < h / normal < factor

    def test_the_inequality_under_it(self):
        x = np.concatenate([np.linspace(-100, 100, 400_001), np.linspace(-1e-2, 1e-2, 100_001)])
        assert np.all(np.log1p(x + x * x / 3) - (x - x * x / 6) >= -1e-15)

    def test_bernstein_against_the_paper(self):
        """Maurer and Pontil 2009, Theorem 4, for one side at half the level."""
        values = np.random.default_rng(1).random((50, 1))
        h = Bernstein(np.zeros(1), np.ones(1)).half_width(Moments.of(values), 0.1)[0]
        delta = 0.05
        v = values.var(ddof=1)
        assert h == pytest.approx(math.sqrt(2 * v * math.log(2 / delta) / 50) + 7 * math.log(2 / delta) / (3 * 49))
        low = bernstein_lower(Moments.of(values), 1.0, 0.05)[0]
        assert low == pytest.approx(values.mean() - h)

    def test_too_few_samples_give_no_bound(self):
        moments = moments_of_size(100, 1.0)
        assert BoundedKurtosis(1000.0, np.ones(1), 1e-9).half_width(moments, 1e-9) == np.inf
        assert KnownVariance(np.ones(1), 1e-9).half_width(moments_of_size(5, 1.0), 1e-9) > 1e50

    def test_samples_needed_is_enough_and_hardly_more(self):
        interval, tolerance = KnownVariance(np.full(1, 3.0), 1e-9), 0.05
        n = samples_needed(interval, np.full(1, 3.0), np.full(1, tolerance), 1e-9, 0.999)
        assert detectable(interval, moments_of_size(n, 3.0), 1e-9, 0.999)[0] <= tolerance
        assert detectable(interval, moments_of_size(int(0.97 * n), 3.0), 1e-9, 0.999)[0] > tolerance


class TestEnumeration:
    def test_bias_at_machine_precision(self):
        """A fair die estimates 3.5; a die whose six became a seven is 1/6 off."""
        right = verify.unbiased(None, 3.5, support=[(1 / 6, float(k)) for k in range(1, 7)])
        assert (right.verdict, right.samples) == ("unbiased", 6)
        assert abs(right.bias) < 1e-15
        wrong = verify.unbiased(None, 3.5, support=lambda: [(1 / 6, float(k)) for k in (1, 2, 3, 4, 5, 7)])
        assert wrong.verdict == "biased"
        assert wrong.bias == pytest.approx(1 / 21)
        assert wrong.second_moment == pytest.approx((1 + 4 + 9 + 16 + 25 + 49) / 6)

    def test_float32_values_are_not_blamed_for_their_rounding(self):
        values = np.float32(np.random.default_rng(0).normal(size=100))
        support = [(0.01, v) for v in values]
        assert verify.unbiased(None, float(np.mean(values.astype(float))) * (1 + 1e-7), support=support).verdict == (
            "unbiased"
        )

    @pytest.mark.parametrize(
        ("support", "message"),
        [
            ([], "support must have at least one outcome"),
            ([(0.5, 1.0)], "sum to 1, got a sum of 0.5"),
            ([(1.5, 1.0), (-0.5, 0.0)], "must be at least 0"),
            ([(1.0, np.ones(2))], r"must have the target's shape \(\)"),
            ([(1.0, np.nan)], "support's values must be finite"),
        ],
    )
    def test_bad_support(self, support, message):
        with pytest.raises(ValueError, match=message):
            verify.unbiased(None, 1.0, support=support)


class TestSampling:
    @pytest.mark.parametrize(
        ("known", "method"),
        [
            ({}, "kurtosis"),
            ({"range": (0, 1)}, "bernstein"),
            ({"second_moment": 1 / 3}, "second moment"),
            ({"range": (0, 1), "second_moment": 1 / 3}, "bernstein"),
            ({"range": (0, 1), "second_moment": 1 / 3, "method": "second moment"}, "second moment"),
        ],
    )
    def test_the_strongest_method_that_applies(self, known, method):
        result = verify.unbiased(uniform, 0.5, mesh=ONE, **known)
        assert (result.verdict, result.method) == ("unbiased", method)
        assert result.detectable <= 0.04 * 1.05
        assert result.second_moment == pytest.approx(1 / 3, rel=0.02)
        assert verify.unbiased(uniform, 0.5 / 1.05, mesh=ONE, **known).verdict == "biased"

    def test_a_vector_of_any_shape_and_one_bad_coordinate(self):
        target = np.array([[0.5, 1.0], [1.5, 2.0]])
        steps = jnp.asarray(target, jnp.float32)
        right = verify.unbiased(lambda key: 2 * uniform(key) * steps, target, range=(0.0, 2 * target), mesh=ONE)
        assert right.verdict == "unbiased"
        assert right.unit == 2.0
        wrong = verify.unbiased(
            lambda key: (2 * uniform(key) * steps).at[0, 1].add(0.1), target, range=(0.0, 2 * target + 0.1), mesh=ONE
        )
        assert wrong.verdict == "biased"
        assert wrong.bias == pytest.approx(0.05, abs=wrong.half_width)

    def test_multiplicity_widens_the_interval(self):
        few = verify.unbiased(uniform, 0.5, second_moment=1 / 3, samples=50_000, mesh=ONE)
        many = verify.unbiased(
            lambda key: jax.random.uniform(key, (100,), jnp.float32),
            np.full(100, 0.5),
            second_moment=np.full(100, 1 / 3),
            samples=50_000,
            mesh=ONE,
        )
        assert many.half_width > 1.05 * few.half_width
        assert many.verdict == "unbiased"

    def test_zero_target_is_measured_in_root_mean_squares(self):
        result = verify.unbiased(lambda key: 3 * jax.random.normal(key, (), jnp.float32), 0.0, kurtosis=10, mesh=ONE)
        assert result.verdict == "unbiased"
        assert result.unit == pytest.approx(3, rel=0.05)
        assert "root mean square" in result.unit_is

    def test_a_constant_estimator_is_judged_up_to_rounding(self):
        third = jnp.float32(1 / 3)
        assert verify.unbiased(lambda key: third, 1 / 3, samples=200_000, mesh=ONE).verdict == "unbiased"
        assert verify.unbiased(lambda key: third, 1 / 3 + 1e-3, samples=200_000, mesh=ONE).verdict == "biased"

    def test_too_few_samples_are_undecided_and_say_so(self):
        result = verify.unbiased(uniform, 0.5, range=(0, 1), samples=500, mesh=ONE)
        assert result.verdict == "undecided"
        assert "times the bias it must exclude" in result.notes[0]
        capped = verify.unbiased(uniform, 0.5, range=(0, 1), detect=1e-3, max_samples=20_000, mesh=ONE)
        assert capped.verdict == "undecided"
        assert "samples are needed" in capped.notes[0]

    def test_a_large_bias_needs_few_samples(self):
        assert verify.unbiased(uniform, 5.0, range=(0, 1), samples=500, mesh=ONE).verdict == "biased"

    def test_infinite_second_moment_is_refused(self):
        result = verify.unbiased(uniform, 0.5, second_moment=np.inf)
        assert (result.verdict, result.samples) == ("undecided", 0)
        assert "infinite" in result.notes[0]

    def test_heavier_than_assumed_is_refused(self):
        """1/sqrt(u) has the mean 2 and an infinite variance."""
        result = verify.unbiased(lambda key: 1 / jnp.sqrt(1 - uniform(key)), 2.0, samples=300_000, mesh=ONE)
        assert result.verdict == "undecided"
        assert "kurtosis" in result.notes[0]

    def test_non_finite_samples_are_counted(self):
        def estimator(key):
            u = uniform(key)
            return jnp.where(u < 0.001, jnp.nan, u)

        result = verify.unbiased(estimator, 0.5, range=(0, 1), samples=20_000, mesh=ONE)
        assert result.verdict == "undecided"
        assert 5 <= int(result.notes[0].split()[0]) <= 60

    def test_a_wrong_range_is_noticed(self):
        result = verify.unbiased(uniform, 0.5, range=(0, 0.9), samples=20_000, mesh=ONE)
        assert result.verdict == "undecided"
        assert "outside the stated range" in result.notes[0]

    def test_reproducible_on_any_number_of_devices(self):
        """Same seed, same numbers, to the last bit, on 1, 2 and 8 devices; another seed, other numbers."""

        def estimator(key):
            return jnp.sum(jax.random.normal(key, (5, 3), jnp.float32) ** 2, axis=0)

        def run(n, **options):
            return verify.unbiased(
                estimator, np.full(3, 5.0), samples=5000, width=512, mesh=default_mesh(jax.devices()[:n]), **options
            )

        first = dataclasses.asdict(run(1, kurtosis=5.0))
        assert dataclasses.asdict(run(2, kurtosis=5.0)) == first
        assert dataclasses.asdict(run(8, kurtosis=5.0)) == first
        assert run(1, kurtosis=5.0, seed=1).bias != first["bias"]

    def test_strata_are_reproducible_on_any_number_of_devices(self):
        strata = verify.Strata(
            pmf=[0.5, 0.5],
            given=lambda key, n: times(n, 2 * uniform(key)),
            terms=[0.0, 0.5],
            second_moments=[0.0, 4 / 3],
        )
        results = [
            verify.unbiased(None, 0.5, strata=strata, samples=5000, width=512, mesh=default_mesh(jax.devices()[:n]))
            for n in (1, 2, 8)
        ]
        assert results[0] == results[1] == results[2]

    def test_progress_comes_from_the_host(self):
        seen = []
        verify.unbiased(
            uniform, 0.5, range=(0, 1), samples=2500, width=1000, mesh=ONE, progress=lambda *at: seen.append(at)
        )
        assert seen == [(1000, 2500), (2000, 2500), (2500, 2500)]

    def test_one_compilation_for_pilot_and_samples_and_new_numbers(self):
        traced = []

        def power(exponent, key):
            traced.append(1)
            return uniform(key) ** exponent

        for exponent in (1.0, 2.0):
            estimator = jax.tree_util.Partial(power, jnp.float32(exponent))
            result = verify.unbiased(estimator, 1 / (1 + exponent), range=(0, 1), width=4096, mesh=ONE)
            assert result.verdict == "unbiased"
        assert len(traced) <= 3  # the shape of an estimate is asked once for each, the program is compiled once

    def test_struct_estimators_are_not_recompiled(self):
        @struct
        class Scaled:
            factor: float

            def __call__(self, key):
                return self.factor * uniform(key)

        assert verify.unbiased(Scaled(4.0), 2.0, range=(0, 4), mesh=ONE).verdict == "unbiased"

    def test_both_precisions(self, both_precisions):
        result = verify.unbiased(
            lambda key: jax.random.exponential(key, (2,), both_precisions), np.ones(2), second_moment=np.full(2, 2.0)
        )
        assert result.verdict == "unbiased"

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"level": 0.0}, "level must be above 0 and below 1, got 0"),
            ({"power": 1.0}, "power must be above 0 and below 1, got 1"),
            ({"detect": -1.0}, "detect must be above 0, got -1"),
            ({"samples": 0}, "samples must be at least 1, got 0"),
            ({"method": "guess"}, "method must be one of 'auto'"),
            ({"method": "bernstein"}, "range must be given for the method 'bernstein', got None"),
            ({"range": (1, 0)}, r"range must be \(low, high\) with low below high"),
            ({"second_moment": 0.1}, "second_moment must be at least the target squared"),
            ({"second_moment": np.ones(3)}, r"second_moment must have the target's shape \(\), got \(3,\)"),
            ({"kurtosis": 0.5}, "kurtosis must be at least 1, got 0.5"),
            ({"width": 1}, "width must be at least 2, got 1"),
        ],
    )
    def test_bad_options(self, options, message):
        with pytest.raises(ValueError, match=message):
            verify.unbiased(uniform, 0.5, **options)

    def test_bad_estimators(self):
        with pytest.raises(TypeError, match="estimator must be a function of a key, got 3"):
            verify.unbiased(3, 0.5)
        with pytest.raises(ValueError, match=r"target must have the shape of an estimate \(\), got \(2,\)"):
            verify.unbiased(uniform, np.ones(2))
        with pytest.raises(ValueError, match="target must be finite"):
            verify.unbiased(uniform, math.nan)


class TestCaps:
    """A geometric number, capped: E min(N, cap) = E N - E (N - cap)+ = 1 - 2^-cap for p = 2."""

    @staticmethod
    def capped(cap):
        def estimator(key):
            n = jax.random.geometric(key, 0.5) - 1
            return verify.Capped(jnp.minimum(n, cap).astype(jnp.float32), n > cap)

        return estimator

    def test_a_cap_with_its_price(self):
        result = verify.unbiased(self.capped(7), 1.0, cap_bias=2.0**-7, kurtosis=20.0, mesh=ONE)
        assert result.verdict == "unbiased"
        assert result.cap_bias == 2.0**-7
        assert result.exceeded == pytest.approx(result.samples * 2.0**-8, rel=0.3)

    def test_an_exceeded_cap_without_a_price_is_undecided(self):
        result = verify.unbiased(self.capped(7), 1.0, kurtosis=20.0, mesh=ONE)
        assert result.verdict == "undecided"
        assert "cap was exceeded" in result.notes[0]

    def test_a_price_too_high_is_undecided(self):
        result = verify.unbiased(self.capped(3), 1.0, cap_bias=1 / 8, kurtosis=20.0, mesh=ONE)
        assert result.verdict == "undecided"
        assert "not below the bias to detect" in result.notes[0]

    def test_a_price_too_low_is_found_out(self):
        result = verify.unbiased(self.capped(3), 1.0, cap_bias=1e-3, kurtosis=20.0, mesh=ONE)
        assert result.verdict == "biased"

    def test_a_cap_that_is_never_exceeded_costs_nothing(self):
        result = verify.unbiased(self.capped(60), 1.0, kurtosis=20.0, mesh=ONE)
        assert (result.verdict, result.exceeded) == ("unbiased", 0)


class TestStrata:
    def test_kurtosis_where_second_moments_are_unknown(self):
        strata = verify.Strata(pmf=[0.25, 0.75], given=lambda key, n: times(n, 4 * uniform(key)), terms=[0.0, 1.5])
        right = verify.unbiased(None, 1.5, strata=strata, kurtosis=3.0, mesh=ONE)
        assert right.verdict == "unbiased"
        assert "the law of N is taken as stated" in right.notes
        wrong = verify.Strata(pmf=[0.25, 0.75], given=lambda key, n: times(n, 4.2 * uniform(key)), terms=[0.0, 1.5])
        assert verify.unbiased(None, 1.5, strata=wrong, kurtosis=3.0, mesh=ONE).verdict == "biased"

    def test_only_the_sum_is_known(self):
        strata = verify.Strata(pmf=[0.25, 0.75], given=lambda key, n: times(n, 4 * uniform(key)), remainder=0.0)
        assert verify.unbiased(None, 1.5, strata=strata, kurtosis=3.0, mesh=ONE).verdict == "unbiased"
        assert verify.unbiased(None, 1.58, strata=strata, kurtosis=3.0, mesh=ONE).verdict == "biased"

    def test_a_remainder_too_large_is_undecided(self):
        strata = verify.Strata(
            pmf=[0.5, 0.25], given=lambda key, n: 2.0 + times(n, 0.0), terms=[1.0, 0.5], second_moments=[4.0, 4.0]
        )
        result = verify.unbiased(None, 2.0, strata=strata, mesh=ONE)
        assert result.verdict == "undecided"
        assert result.half_width == pytest.approx(0.25, abs=1e-4)

    def test_a_stratum_without_probability_is_left_out(self):
        strata = verify.Strata([0.0, 1.0], lambda key, n: times(n, 3.0), terms=[0.0, 3.0], second_moments=[0.0, 9.0])
        assert verify.unbiased(None, 3.0, strata=strata, mesh=ONE).verdict == "unbiased"

    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            ({"pmf": [0.5, 0.6]}, "pmf must be at least 0 and sum to at most 1, got a sum of 1.1"),
            ({"terms": [1.0]}, "terms must have one entry for each of the 2 strata"),
            ({"terms": None}, "remainder must be given where the terms are not"),
        ],
    )
    def test_bad_strata(self, fields, message):
        good = {"pmf": [0.5, 0.5], "given": lambda key, n: 1.0, "terms": [0.5, 0.5]}
        with pytest.raises(ValueError, match=message):
            verify.Strata(**(good | fields))


class TestBounds:
    """E theta^2 of an exponential number is 2; E theta^4 / (E theta^2)^2 is 6."""

    @staticmethod
    def exponential(key):
        return jax.random.exponential(key, (), jnp.float32)

    def test_respected_and_violated(self):
        respected = verify.second_moment(self.exponential, 2.5, kurtosis=6.0, mesh=ONE)
        assert respected.verdict == "respected"
        assert respected.bias == pytest.approx(-0.2, abs=respected.half_width)
        assert verify.second_moment(self.exponential, 1.5, kurtosis=6.0, mesh=ONE).verdict == "violated"

    def test_a_bound_too_close_is_undecided(self):
        assert (
            verify.second_moment(self.exponential, 2.0, kurtosis=6.0, samples=20_000, mesh=ONE).verdict == "undecided"
        )

    def test_a_violation_needs_no_assumption_but_respect_does(self):
        """1/sqrt(u) again: E theta^2 is infinite."""

        def heavy(key):
            return 1 / jnp.sqrt(1 - uniform(key))

        assert verify.second_moment(heavy, 5.0, samples=200_000, mesh=ONE).verdict == "violated"
        result = verify.second_moment(heavy, 50.0, samples=200_000, mesh=ONE)
        assert result.verdict == "undecided"
        assert "exceeds the assumed" in result.notes[0]

    def test_exact_values_decide_and_are_compared_with_the_samples(self):
        assert verify.second_moment(self.exponential, 2.0, exact=2.0, mesh=ONE).verdict == "respected"
        assert verify.second_moment(self.exponential, 1.9, exact=2.0, mesh=ONE).verdict == "violated"
        wrong = verify.second_moment(self.exponential, 2.0, exact=1.5, mesh=ONE)
        assert wrong.verdict == "undecided"
        assert "contradict the exact value" in wrong.notes[0]

    def test_squares_are_summed_over_coordinates_and_caps_counted(self):
        def estimator(key):
            return verify.Capped(jnp.ones((2, 3), jnp.float32), uniform(key) < 0.5)

        result = verify.second_moment(estimator, 6.5, kurtosis=1.0, samples=30_000, mesh=ONE)
        assert result.verdict == "respected"
        assert result.second_moment == pytest.approx(6.0)
        assert 14_000 < result.exceeded < 16_000

    def test_false_verdicts(self):
        """200 seeds, E theta^2 exactly at the bound: neither verdict is right, and neither is given."""
        wrong = 0
        for seed in range(200):
            result = verify.second_moment(
                self.exponential, 2.0, level=1e-2, kurtosis=6.0, samples=2048, width=1024, seed=seed, mesh=ONE
            )
            wrong += result.verdict == "violated"
        assert wrong <= stats.binom.isf(1e-6, 200, 1e-2)

    def test_bound(self):
        assert verify.bound(1.0, 1.0).verdict == "respected"
        result = verify.bound(1.1, 1.0, note="why")
        assert (result.verdict, result.notes[-1]) == ("violated", "why")
        assert result.bias == pytest.approx(0.1)
        with pytest.raises(ValueError, match="limit must be above 0"):
            verify.bound(1.0, 0.0)
        with pytest.raises(ValueError, match="value must be a number"):
            verify.bound(math.nan, 1.0)


def test_queries():
    """Algorithm 1's round: 1 + N estimates of N' copies each, p/(p-1)^2 in expectation, and not 1/(p-1)^2."""
    p = 1.5

    def copies(key):
        key_n, key_m = jax.random.split(key)
        n = jax.random.geometric(key_n, 1 - 1 / p, dtype=jnp.int32) - 1
        each = jax.random.geometric(key_m, 1 - 1 / p, (64,), jnp.int32) - 1
        return jnp.sum(jnp.where(jnp.arange(64) <= n, each, 0))

    assert verify.queries(copies, p / (p - 1) ** 2, mesh=ONE).verdict == "unbiased"
    assert verify.queries(copies, 1 / (p - 1) ** 2, mesh=ONE).verdict == "biased"


def test_three_lines_for_a_stranger():
    def estimator(key):
        return jax.random.normal(key, (2,)) + jnp.array([1.0, -1.0])

    result = verify.unbiased(estimator, [1.0, -1.0])
    assert str(result).startswith("unbiased: ")
    assert "false alarms 1e-09" in str(result)
