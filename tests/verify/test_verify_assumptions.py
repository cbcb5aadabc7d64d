"""What the verifier assumes: it says so, notices what contradicts it, and convicts nobody of what it cannot see."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from verify_samples import ONE, capped_geometric, heavy, power, two_values, uniform

from jaxonline import verify
from jaxonline.verify.intervals import KnownVariance
from jaxonline.verify.sampling import Moments


# Rare values: 1/q with probability q, else 0, has the mean 1, the second moment and nearly the kurtosis 1/q
@pytest.mark.parametrize("q", [1e-7, 1e-5])
def test_rare_values_make_the_verdict_undecided(q):
    for seed in range(3):
        result = _without_warnings(two_values(q), 1.0, seed=seed)
        assert result.verdict == "undecided"
        assert "identical" in result.notes[0] or "1000" in result.notes[0]
        assert "range" in result.notes[0]
        assert "second_moment" in result.notes[0]


def test_a_verdict_states_its_assumption():
    hidden = verify.unbiased(two_values(2.0**-20, noise=1.0), 1.0, kurtosis=1000.0, samples=200_000, seed=1, mesh=ONE)
    assert hidden.verdict == "biased"
    assert hidden.assumption == "kurtosis <= 1000"
    known = verify.unbiased(two_values(2.0**-20, noise=1.0), 1.0, second_moment=2.0**20 + 1 / 3, mesh=ONE, seed=1)
    assert known.verdict == "undecided"
    assert "samples are needed" in known.notes[0]
    bounded = _without_warnings(two_values(2.0**-20), 1.0, range=(0, 2.0**20), samples=200_000, seed=1)
    assert (bounded.verdict, bounded.assumption) == ("undecided", "every value is in [0, 1.04858e+06]")
    assert verify.unbiased(uniform, 0.5, second_moment=1 / 3, mesh=ONE).assumption == "E theta^2 <= 0.333333"


def test_a_wrong_constant_coordinate_makes_the_verdict_undecided():
    """The samples may have missed its values; if it is right, the others decide."""
    estimator = power(np.array([1.0, 0.0]), np.array([0.0, 0.25]))
    options = {"kurtosis": 10, "mesh": ONE}
    assert verify.unbiased(estimator, [0.5, 0.25], **options).verdict == "within tolerance"
    wrong = verify.unbiased(estimator, [0.5, 0.5], **options)
    assert (wrong.verdict, wrong.notes[0][:12]) == ("undecided", "coordinate 1")
    assert verify.unbiased(estimator, [0.6, 0.5], **options).verdict == "biased"


def test_samples_contradict_a_wrong_second_moment():
    """The stated one is 2, that of the samples 101."""
    estimator, options = two_values(0.01, 100.0, 0.0, 1.7), {"detect": 0.1, "mesh": ONE}
    result = verify.unbiased(estimator, 1.0, second_moment=2.0, **options)
    assert result.verdict == "undecided"
    assert "contradict the stated second moment 2" in result.notes[0]
    right = verify.unbiased(estimator, 1.0, second_moment=100 + 1.7**2 / 3, **options)
    assert (right.verdict, right.notes) == ("within tolerance", ())
    loose = verify.unbiased(estimator, 1.0, second_moment=200.0, **options)
    assert loose.verdict == "within tolerance"
    assert "the stated second moment is up to " in loose.notes[0]


def test_a_bias_is_found_despite_a_wrong_second_moment():
    """The interval then uses the samples' own variance and the stated kurtosis."""
    known = {"second_moment": 1 / 3, "samples": 20_000, "mesh": ONE}
    result = verify.unbiased(power(scale=2.0), 0.5, kurtosis=10.0, **known)
    assert result.verdict == "biased"
    assert result.method == "kurtosis"
    assert result.assumption == "kurtosis <= 10"
    assert "contradict" in result.notes[0]
    for kurtosis in (None, 1000.0):  # 20,000 samples support at most 244
        unstated = verify.unbiased(power(scale=2.0), 0.5, kurtosis=kurtosis, **known)
        assert unstated.verdict == "undecided"
        assert "contradict" in unstated.notes[0]
        assert unstated.notes[1].startswith("biased if the kurtosis is at most ")
        assert unstated.assumption == "kurtosis <= 244.3"  # 0.75^2 n / (2 ln(10 / level))


def _pytree(key):
    u = jax.random.uniform(key, (2, 2), jnp.float32)
    return {"complex": jax.lax.complex(u[0], jnp.full(2, 0.25)), "rest": (u[1], u[0, 0] ** 2, jnp.int32(1))}


def test_an_estimate_may_be_a_complex_pytree():
    target = {"complex": np.full(2, 0.5 + 0.25j), "rest": ([0.5, 0.5], 1 / 3, 1)}

    def verdict(**changes):
        return verify.unbiased(_pytree, target | changes, range=(0, 1.1), mesh=ONE).verdict

    assert verdict() == "within tolerance"
    assert verdict(complex=np.full(2, 0.5)) == "biased"
    assert verdict(rest=([0.5, 0.5], 0.5, 1)) == "biased"
    with pytest.raises(ValueError, match="target: must have the structure of an estimate"):
        verify.unbiased(_pytree, [0.5, 1.0], mesh=ONE)
    with pytest.raises(TypeError, match="second_moment: must not be given for complex estimates"):
        verify.unbiased(_pytree, target, second_moment=1.0, mesh=ONE)


def test_per_coordinate_detects_a_bias_of_a_small_coordinate():
    """Target [1000, 1], mean [1000, 3]: 0.002 of the largest coordinate, and three times its own."""
    estimator, options = power(np.array([60.0, 60.0]), np.array([970.0, -27.0])), {"kurtosis": 10, "mesh": ONE}
    assert verify.unbiased(estimator, [1000.0, 1.0], **options).verdict == "within tolerance"
    each = verify.unbiased(estimator, [1000.0, 1.0], per_coordinate=True, **options)
    assert (each.verdict, each.unit) == ("biased", 1.0)
    assert each.bias == pytest.approx(2.0, abs=each.half_width)
    assert verify.unbiased(estimator, [1000.0, 3.0], per_coordinate=True, **options).verdict == "within tolerance"


UNDECIDED = {
    "few samples": lambda: verify.unbiased(uniform, 0.5, range=(0, 1), samples=500, mesh=ONE),
    "no bound": lambda: verify.unbiased(uniform, 0.5, samples=500, mesh=ONE),
    "identical": lambda: _without_warnings(power(scale=0.0, shift=1.0), 1.0),
    "infinite": lambda: verify.unbiased(uniform, 0.5, second_moment=np.inf, mesh=ONE),
    "heavy": lambda: verify.unbiased(heavy, 2.0, samples=300_000, mesh=ONE),
    "outside": lambda: verify.unbiased(uniform, 0.5, range=(0, 0.9), samples=20_000, mesh=ONE),
    "cap": lambda: verify.unbiased(capped_geometric(7), 1.0, kurtosis=20.0, mesh=ONE),
    "price": lambda: verify.unbiased(capped_geometric(3), 1.0, cap_bias=1 / 8, kurtosis=20.0, mesh=ONE),
    "moment": lambda: verify.unbiased(power(scale=2.0), 1.0, second_moment=1.01, mesh=ONE),
    "rounding": lambda: verify.unbiased(None, 1.0, support=[(1.0, np.float32(1.0))], detect=1e-9),
    "bound": lambda: verify.second_moment(uniform, 0.34, samples=500, mesh=ONE),
    "sampled norm": lambda: verify.second_moment(heavy, 50.0, samples=200_000, mesh=ONE),
    "exact": lambda: verify.second_moment(uniform, 10.0, exact=0.1, mesh=ONE),
}
ADVICE = ("samples", "give ", "cap_bias", "cap", "exact", "max_samples")


@pytest.mark.parametrize("case", UNDECIDED)
def test_undecided_verdicts_contain_advice(case):
    result = UNDECIDED[case]()
    assert result.verdict == "undecided"
    assert any(advice in note for note in result.notes for advice in ADVICE), result


def _without_warnings(*args, **options):
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        return verify.unbiased(*args, mesh=ONE, **options)


def test_a_second_moment_equal_to_the_squared_mean_gives_a_finite_interval(x64):
    third = jax.tree_util.Partial(lambda value, key: value + 0 * jax.random.uniform(key), jnp.float64(1 / 3))
    with pytest.warns(UserWarning, match="identical"):
        result = verify.unbiased(third, 1 / 3, second_moment=(1 / 3) ** 2, mesh=ONE)
    assert result.verdict == "within tolerance"
    assert result.half_width < 0.01
    interval = KnownVariance(np.full(1, 1e-20), 1e-9)
    assert interval.half_width(Moments(83, *[np.zeros(1)] * 4), 1e-9)[0] < 1e-9


def test_a_large_bias_ends_the_sampling():
    """The first look is after one block; all samples give the same verdict."""
    known = {"second_moment": 1 / 3, "detect": 0.005, "mesh": ONE}
    gross = verify.unbiased(power(shift=0.25), 0.5, **known | {"second_moment": 0.65})
    assert (gross.verdict, gross.samples) == ("biased", 8192)
    assert verify.unbiased(uniform, 0.5, **known).samples > 100_000
    complete = verify.unbiased(power(shift=0.25), 0.5, samples=100_000, **known | {"second_moment": 0.65})
    assert (complete.verdict, complete.samples) == ("biased", 100_000)
