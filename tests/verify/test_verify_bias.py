"""Is it unbiased? By enumeration and by samples: methods, refusals, caps, devices, precision. See test_verify_rates."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from verify_samples import ONE, capped_geometric, heavy, power, uniform

from jaxonline import verify
from jaxonline.parameters.struct import struct
from jaxonline.simulation.blocks import default_mesh

# ---------------------------------------------------------------------------------------------------------------------
# Enumeration


def test_enumeration_finds_the_bias_at_machine_precision():
    """A fair die estimates 3.5; a die whose six became a seven is 1/6 off."""
    right = verify.unbiased(None, 3.5, support=[(1 / 6, float(k)) for k in range(1, 7)])
    assert (right.verdict, right.samples) == ("unbiased", 6)
    assert abs(right.bias) < 1e-15
    wrong = verify.unbiased(None, 3.5, support=lambda: [(1 / 6, float(k)) for k in (1, 2, 3, 4, 5, 7)])
    assert wrong.verdict == "biased"
    assert wrong.bias == pytest.approx(1 / 21)
    assert wrong.second_moment == pytest.approx((1 + 4 + 9 + 16 + 25 + 49) / 6)


def test_float32_values_are_not_blamed_for_their_rounding():
    values = np.float32(np.random.default_rng(0).normal(size=100))
    support = [(0.01, v) for v in values]
    assert verify.unbiased(None, float(np.mean(values.astype(float))) * (1 + 1e-7), support=support).verdict == (
        "unbiased"
    )


@pytest.mark.parametrize(
    ("support", "message"),
    [
        ([], "support: must have at least one outcome"),
        ([(0.5, 1.0)], "sum to 1 .got a sum of 0.5"),
        ([(1.5, 1.0), (-0.5, 0.0)], "at least 0"),
        ([(1.0, np.ones(2))], r"the target's shape \(\)"),
        ([(1.0, np.nan)], "support's values: must be finite"),
    ],
)
def test_bad_support(support, message):
    with pytest.raises(ValueError, match=message):
        verify.unbiased(None, 1.0, support=support)


def test_equal_verifications_are_equal_where_numbers_are_not_known():
    """Each NaN is an object of its own, as in numbers that were computed."""
    found = verify.unbiased(None, 0.5, support=[(0.5, 0.0), (0.5, 1.0)])
    unknown, other = (dataclasses.replace(found, bias=float("nan"), detect=float("nan")) for _ in range(2))
    assert unknown == other
    assert hash(unknown) == hash(other)
    assert found != unknown
    assert found != dataclasses.replace(found, samples=3)
    assert found != "unbiased"


# ---------------------------------------------------------------------------------------------------------------------
# Samples


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
def test_the_strongest_method_that_applies(known, method):
    result = verify.unbiased(uniform, 0.5, mesh=ONE, **known)
    assert (result.verdict, result.method) == ("unbiased", method)
    assert result.detectable <= 0.04 * 1.05
    assert result.second_moment == pytest.approx(1 / 3, rel=0.02)
    assert verify.unbiased(uniform, 0.5 / 1.05, mesh=ONE, **known).verdict == "biased"


def test_a_vector_of_any_shape_and_one_bad_coordinate():
    target = np.array([[0.5, 1.0], [1.5, 2.0]])
    right = verify.unbiased(power(2 * target, 0 * target), target, range=(0.0, 2 * target), mesh=ONE)
    assert right.verdict == "unbiased"
    assert right.unit == 2.0
    shift = np.array([[0.0, 0.1], [0.0, 0.0]])
    wrong = verify.unbiased(power(2 * target, shift), target, range=(0.0, 2 * target + 0.1), mesh=ONE)
    assert wrong.verdict == "biased"
    assert wrong.bias == pytest.approx(0.05, abs=wrong.half_width)


def test_multiplicity_widens_the_interval():
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


def test_zero_target_is_measured_in_root_mean_squares():
    result = verify.unbiased(power(6.0, -3.0), 0.0, kurtosis=10, mesh=ONE)
    assert result.verdict == "unbiased"
    assert result.unit == pytest.approx(3**0.5, rel=0.05)
    assert "root mean square" in result.unit_name


def test_a_constant_estimator_is_judged_up_to_rounding():
    third = power(0.0, 1 / 3)
    known = {"second_moment": 1 / 9 + 1e-8, "samples": 200_000, "mesh": ONE}
    with pytest.warns(UserWarning, match="all 200,000 samples of the estimator are identical"):
        assert verify.unbiased(third, 1 / 3, **known).verdict == "unbiased"
    with pytest.warns(UserWarning, match="does it use its key"):
        assert verify.unbiased(third, 1 / 3 - 1e-3, **known).verdict == "biased"


def test_too_few_samples_are_undecided_and_say_so():
    result = verify.unbiased(uniform, 0.5, range=(0, 1), samples=500, mesh=ONE)
    assert result.verdict == "undecided"
    assert "times the bias it must exclude" in result.notes[0]
    capped = verify.unbiased(uniform, 0.5, range=(0, 1), detect=1e-3, max_samples=20_000, mesh=ONE)
    assert capped.verdict == "undecided"
    assert "samples are needed" in capped.notes[0]


def test_a_large_bias_needs_few_samples():
    assert verify.unbiased(uniform, 5.0, range=(0, 1), samples=500, mesh=ONE).verdict == "biased"


def test_infinite_second_moment_is_refused():
    result = verify.unbiased(uniform, 0.5, second_moment=np.inf)
    assert (result.verdict, result.samples) == ("undecided", 0)
    assert "infinite" in result.notes[0]


def test_heavier_than_assumed_is_refused():
    result = verify.unbiased(heavy, 2.0, samples=300_000, mesh=ONE)
    assert result.verdict == "undecided"
    assert "kurtosis" in result.notes[0]


def test_non_finite_samples_are_counted():
    def estimator(key):
        u = jax.random.uniform(key, (), jnp.float32)
        return jnp.where(u < 0.001, jnp.nan, u)

    result = verify.unbiased(estimator, 0.5, range=(0, 1), samples=20_000, mesh=ONE)
    assert result.verdict == "undecided"
    assert 5 <= int(result.notes[0].split()[0]) <= 60


def test_a_wrong_range_is_noticed():
    result = verify.unbiased(uniform, 0.5, range=(0, 0.9), samples=20_000, mesh=ONE)
    assert result.verdict == "undecided"
    assert "outside the stated range" in result.notes[0]


def test_reproducible_on_any_number_of_devices():
    """Same seed, same numbers, to the last bit, on 1, 2 and 8 devices; another seed, other numbers."""

    def run(n, **options):
        mesh = default_mesh(jax.devices()[:n])
        return verify.unbiased(
            power(np.arange(1, 4), np.zeros(3)), np.arange(1, 4) / 2, samples=5000, width=512, mesh=mesh, **options
        )

    first = dataclasses.asdict(run(1, kurtosis=5.0))
    assert dataclasses.asdict(run(2, kurtosis=5.0)) == first
    assert dataclasses.asdict(run(8, kurtosis=5.0)) == first
    assert run(1, kurtosis=5.0, seed=1).bias != first["bias"]


def test_progress_comes_from_the_host():
    seen = []
    verify.unbiased(uniform, 0.5, range=(0, 1), samples=20_000, mesh=ONE, progress=lambda *at: seen.append(at))
    assert seen == [(8192, 20_000), (16_384, 20_000), (20_000, 20_000)]


def test_one_compilation_for_pilot_and_samples_and_new_numbers():
    traced = []

    def power(exponent, key):
        traced.append(1)
        return jax.random.uniform(key, (), jnp.float32) ** exponent

    for exponent in (1.0, 2.0):
        estimator = jax.tree_util.Partial(power, jnp.float32(exponent))
        result = verify.unbiased(estimator, 1 / (1 + exponent), range=(0, 1), width=4096, mesh=ONE)
        assert result.verdict == "unbiased"
    assert len(traced) <= 3  # the shape of an estimate is asked once for each, the program is compiled once


def test_struct_estimators_are_not_recompiled():
    traced = []

    @struct
    class Scaled:
        factor: float

        def __call__(self, key):
            traced.append(1)
            return self.factor * jax.random.uniform(key, (), jnp.float32)

    for factor in (4.0, 2.0):
        estimator = Scaled(factor)
        assert verify.unbiased(estimator, factor / 2, range=(0, factor), mesh=ONE).verdict == "unbiased"
    assert len(traced) <= 3


def test_both_precisions(both_precisions):
    result = verify.unbiased(
        lambda key: jax.random.exponential(key, (2,), both_precisions),
        np.ones(2),
        second_moment=np.full(2, 2.0),
        mesh=ONE,
    )
    assert result.verdict == "unbiased"


def test_three_lines_for_a_stranger():
    def estimator(key):
        return jax.random.normal(key, (2,)) + jnp.array([1.0, -1.0])

    result = verify.unbiased(estimator, [1.0, -1.0])
    assert str(result).startswith("unbiased: ")
    assert "false alarms 1e-09" in str(result)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 0.0}, "level: .*got 0"),
        ({"power": 1.0}, "power: .*got 1"),
        ({"detect": -1.0}, "detect: .*got -1"),
        ({"samples": 0}, "samples: .*got 0"),
        ({"method": "guess"}, "method: must be one of 'auto'"),
        ({"method": "bernstein"}, "range: .*got None"),
        ({"range": (1, 0)}, r"range: must be \(low, high\) with low below high"),
        ({"second_moment": 0.1}, "second_moment: must be at least the target squared"),
        ({"second_moment": np.ones(3)}, r"second_moment: .*got \(3,\)"),
        ({"kurtosis": 0.5}, "kurtosis: .*got 0.5"),
        ({"width": 1}, "width: .*got 1"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        verify.unbiased(uniform, 0.5, **{"mesh": ONE} | options)


def test_bad_estimators():
    with pytest.raises(TypeError, match=r"estimator: .*got 3"):
        verify.unbiased(3, 0.5)
    with pytest.raises(ValueError, match=r"target: .*got \(2,\)"):
        verify.unbiased(uniform, np.ones(2))
    with pytest.raises(ValueError, match="target: must be finite"):
        verify.unbiased(uniform, math.nan)


# ---------------------------------------------------------------------------------------------------------------------
# Caps: the mean of `capped_geometric(cap)` is 1 - 2^-cap


def test_a_cap_with_its_price():
    result = verify.unbiased(capped_geometric(7), 1.0, cap_bias=2.0**-7, kurtosis=20.0, mesh=ONE)
    assert result.verdict == "unbiased"
    assert result.cap_bias == 2.0**-7
    assert result.exceeded == pytest.approx(result.samples * 2.0**-8, rel=0.3)


def test_an_exceeded_cap_without_a_price_is_undecided():
    result = verify.unbiased(capped_geometric(7), 1.0, kurtosis=20.0, mesh=ONE)
    assert result.verdict == "undecided"
    assert "cap was exceeded" in result.notes[0]


def test_a_price_too_high_is_undecided():
    result = verify.unbiased(capped_geometric(3), 1.0, cap_bias=1 / 8, kurtosis=20.0, mesh=ONE)
    assert result.verdict == "undecided"
    assert "not below the bias to detect" in result.notes[0]


def test_a_price_too_low_is_found_out():
    result = verify.unbiased(capped_geometric(3), 1.0, cap_bias=1e-3, kurtosis=20.0, mesh=ONE)
    assert result.verdict == "biased"


def test_a_cap_that_is_never_exceeded_costs_nothing():
    result = verify.unbiased(capped_geometric(60), 1.0, kurtosis=20.0, mesh=ONE)
    assert (result.verdict, result.exceeded) == ("unbiased", 0)
