"""Verification of bias by enumeration and by samples: methods, errors, caps, devices, precision."""

import dataclasses

import jax
import numpy as np
import pytest
from verify_samples import ONE, capped_geometric, power, uniform

from jaxonline import verify
from jaxonline.simulation.blocks import default_mesh


def test_enumeration_finds_the_bias_at_machine_precision():
    """A fair die has the mean 3.5; a die with a seven instead of the six has a bias of 1/6."""
    right = verify.unbiased(None, 3.5, support=[(1 / 6, float(k)) for k in range(1, 7)])
    assert (right.verdict, right.samples) == ("within tolerance", 6)
    assert abs(right.bias) < 1e-15
    wrong = verify.unbiased(None, 3.5, support=lambda: [(1 / 6, float(k)) for k in (1, 2, 3, 4, 5, 7)])
    assert wrong.verdict == "biased"
    assert wrong.bias == pytest.approx(1 / 21)
    assert wrong.second_moment == pytest.approx((1 + 4 + 9 + 16 + 25 + 49) / 6)


def test_rounding_of_float32_values_is_no_bias():
    values = np.float32(np.random.default_rng(0).normal(size=100))
    mean = float(np.mean(values.astype(float))) * (1 + 1e-7)
    assert verify.unbiased(None, mean, support=[(0.01, v) for v in values]).verdict == "within tolerance"


def test_verifications_with_nan_are_equal():
    """Each NaN is a separate object, as in computed numbers."""
    found = verify.unbiased(None, 0.5, support=[(0.5, 0.0), (0.5, 1.0)])
    unknown, other = (dataclasses.replace(found, bias=float("nan"), detect=float("nan")) for _ in range(2))
    assert unknown == other
    assert hash(unknown) == hash(other)
    assert found != unknown
    assert found != dataclasses.replace(found, samples=3)
    assert found != "within tolerance"


@pytest.mark.parametrize(
    ("known", "method"),
    [
        ({"kurtosis": 1000.0}, "kurtosis"),
        ({"range": (0, 1)}, "bernstein"),
        ({"second_moment": 1 / 3}, "second moment"),
        ({"range": (0, 1), "second_moment": 1 / 3}, "bernstein"),
        ({"range": (0, 1), "second_moment": 1 / 3, "method": "second moment"}, "second moment"),
    ],
)
def test_auto_chooses_the_strongest_applicable_method(known, method):
    result = verify.unbiased(uniform, 0.5, mesh=ONE, **known)
    assert (result.verdict, result.method) == ("within tolerance", method)
    assert result.detectable <= 0.04 * 1.05
    assert result.second_moment == pytest.approx(1 / 3, rel=0.02)
    assert verify.unbiased(uniform, 0.5 / 1.05, mesh=ONE, **known).verdict == "biased"
    if "second_moment" in known:
        with pytest.raises(ValueError, match="second_moment: must be at least the target squared"):
            verify.unbiased(uniform, 0.6, mesh=ONE, **known)


def test_one_biased_coordinate_of_any_shape_is_found():
    target = np.array([[0.5, 1.0], [1.5, 2.0]])
    right = verify.unbiased(power(2 * target, 0 * target), target, range=(0.0, 2 * target), mesh=ONE)
    assert right.verdict == "within tolerance"
    assert right.unit == 2.0
    shift = np.array([[0.0, 0.1], [0.0, 0.0]])
    wrong = verify.unbiased(power(2 * target, shift), target, range=(0.0, 2 * target + 0.1), mesh=ONE)
    assert wrong.verdict == "biased"
    assert wrong.bias == pytest.approx(0.05, abs=wrong.half_width)


@pytest.mark.parametrize("known", [{"kurtosis": 10.0}, {"range": (0, 1)}], ids=["kurtosis", "range"])
def test_coordinates_share_the_error_level(known):
    """Four equal coordinates at a level have the interval of one coordinate at a quarter of the level."""
    known |= {"samples": 50_000, "mesh": ONE}
    four = verify.unbiased(power(np.ones(4), np.zeros(4)), np.full(4, 0.5), level=4e-9, **known)
    same, wider = (verify.unbiased(uniform, 0.5, level=level, **known) for level in (1e-9, 4e-9))
    assert four.half_width == pytest.approx(same.half_width, rel=5e-3)
    assert wider.half_width < 0.985 * same.half_width


def test_the_unit_of_a_zero_target_is_the_root_mean_square():
    result = verify.unbiased(power(6.0, -3.0), 0.0, kurtosis=10, mesh=ONE)
    assert result.verdict == "within tolerance"
    assert result.unit == pytest.approx(3**0.5, rel=0.05)
    assert "root mean square" in result.unit_name


def test_a_constant_estimator_is_unbiased_up_to_rounding():
    third = power(0.0, 1 / 3)
    known = {"second_moment": 1 / 9 + 1e-8, "samples": 200_000, "mesh": ONE}
    with pytest.warns(UserWarning, match="200,000 samples are identical"):
        assert verify.unbiased(third, 1 / 3, **known).verdict == "within tolerance"
    with pytest.warns(UserWarning, match="key"):
        assert verify.unbiased(third, 1 / 3 - 1e-3, **known).verdict == "biased"


def test_numbers_are_identical_on_any_number_of_devices():
    """On 1, 2 and 8 devices; another seed gives other numbers."""

    def run(n, **options):
        mesh = default_mesh(jax.devices()[:n])
        return verify.unbiased(
            power(np.arange(1, 4), np.zeros(3)), np.arange(1, 4) / 2, samples=5000, width=512, mesh=mesh, **options
        )

    first = dataclasses.asdict(run(1, kurtosis=5.0))
    assert dataclasses.asdict(run(2, kurtosis=5.0)) == first
    assert dataclasses.asdict(run(8, kurtosis=5.0)) == first
    assert run(1, kurtosis=5.0, seed=1).bias != first["bias"]


def test_float32_and_float64_are_unbiased(both_precisions):
    estimator = lambda key: jax.random.exponential(key, (2,), both_precisions)  # noqa: E731
    result = verify.unbiased(estimator, np.ones(2), second_moment=np.full(2, 2.0), mesh=ONE)
    assert result.verdict == "within tolerance"


# Caps: the mean of `capped_geometric(cap)` is 1 - 2^-cap
@pytest.mark.parametrize(
    ("cap", "cap_bias", "verdict"),
    [(7, 2.0**-7, "within tolerance"), (7, None, "undecided"), (3, 1 / 8, "undecided"), (3, 1e-3, "biased"),
     (60, None, "within tolerance")],
)  # fmt: skip
def test_a_cap_that_is_exceeded_needs_a_bound_on_its_bias(cap, cap_bias, verdict):
    result = verify.unbiased(capped_geometric(cap), 1.0, cap_bias=cap_bias, kurtosis=20.0, mesh=ONE)
    assert (result.verdict, result.cap_bias) == (verdict, cap_bias)
    assert result.exceeded == pytest.approx(result.samples * 2.0 ** -(cap + 1), rel=0.3)
    assert verdict != "undecided" or "cap" in result.notes[0]
