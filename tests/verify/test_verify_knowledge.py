"""Verdicts without stated knowledge, samples that are not finite, and the printed size of a bias.

A correct estimator is called biased with probability at most 1e-9 in each verification.
"""

import re

import jax
import numpy as np
import pytest
from verify_samples import ONE, power, two_values

from jaxonline import verify
from jaxonline.verify.intervals import BoundedKurtosis
from jaxonline.verify.result import _format_upwards, describe_kurtosis
from jaxonline.verify.sampling import Moments

RARE = 2.0**-20
# Mean 1 with a hidden value 2^20, and mean 1.1 with a hidden error of 10 %. Noise hides that the samples are constant.
HIDDEN_VALUE = two_values(RARE, noise=1.0)
HIDDEN_ERROR = two_values(RARE, 1 + 0.1 / RARE, 1.0, noise=1.0)


def weakest_kurtosis(note: str) -> float:
    return float(re.search(r"if the kurtosis is at most ([\d,]+)", note)[1].replace(",", ""))


@pytest.mark.parametrize(("shift", "verdict"), [(0.0, "within tolerance"), (0.05, "biased")])
def test_the_note_states_the_weakest_kurtosis_that_decides(shift, verdict):
    options = {"samples": 250_000, "mesh": ONE}
    unknown = verify.unbiased(power(shift=shift), 0.5, **options)
    weakest = weakest_kurtosis(unknown.notes[0])
    assert (unknown.verdict, unknown.notes[0].split(" if ")[0]) == ("undecided", verdict)
    assert 1000 < weakest < 250_000
    assert verify.unbiased(power(shift=shift), 0.5, kurtosis=weakest, **options).verdict == verdict
    assert verify.unbiased(power(shift=shift), 0.5, kurtosis=1.15 * weakest, **options).verdict == "undecided"


def test_the_interval_grows_with_the_kurtosis():
    """So the weakest kurtosis may depend on the samples: the false-alarm rate is that of the true kurtosis."""
    moments = Moments(200_000, np.zeros(1), np.full(1, 2e5), np.zeros(1), np.zeros(1))
    widths = [BoundedKurtosis(k, np.ones(1), 1e-9).half_width(moments, 1e-9)[0] for k in np.geomspace(1, 1e5, 60)]
    assert np.all(np.array(widths[1:]) >= widths[:-1])
    assert np.isinf(widths[-1])


def key_in(note: str) -> jax.Array:
    return eval(re.search(r"with the key (jax[^;]*\))", note)[1])


def test_a_sample_that_is_not_finite_is_named():
    """Infinite with probability 2^-10, in the first block, in later ones, and in |theta|^2."""
    estimator, known = two_values(2.0**-10, np.inf, 1.0, 0.5), {"range": (0, 2), "mesh": ONE}
    first_block = verify.unbiased(estimator, 1.0, samples=2, **known)
    found = verify.unbiased(estimator, 1.0, samples=20_000, **known)
    norms = verify.second_moment(estimator, 9.0, samples=20_000, kurtosis=10.0, mesh=ONE)
    for result, total in ((first_block, 8194), (found, 28_192), (norms, 28_192)):
        assert result.verdict == "undecided"
        assert np.isinf(estimator(key_in(result.notes[0])))
        assert f"of {total:,} samples are NaN or infinite; the first one is sample " in result.notes[0]
    count = int(found.notes[0].split()[0])
    assert 5 <= count <= 60  # binomial, mean 27.5: outside with probability below 1e-7


def test_the_printed_percentage_is_the_end_of_the_widest_interval():
    """100 % is the largest target, 1; the bias of 0.01 of the target 0.1 is 10 % of its own target."""
    estimator, ends = power(np.array([1.0, 1.0]), np.array([0.5, -0.39])), ([0.5, -0.39], [1.5, 0.61])
    options = {"range": ends, "samples": 16_384, "detect": 0.5, "mesh": ONE}
    result = verify.unbiased(estimator, [1.0, 0.1], **options)
    assert result.verdict == "within tolerance"
    assert 0.01 < result.largest_bias < 0.03
    assert str(result).startswith(f"no bias above {_format_upwards(100 * result.largest_bias)} % found (bias ")
    own = verify.unbiased(estimator, [1.0, 0.1], per_coordinate=True, **options)
    assert own.largest_bias == pytest.approx(10 * result.largest_bias, rel=0.01)


def test_printed_sizes_are_rounded_to_the_safe_side():
    numbers = 10.0 ** np.random.default_rng(0).uniform(-9, 9, 2000)
    for x in numbers:
        assert x * (1 - 1e-9) <= float(_format_upwards(x)) < 1.1 * x + 1e-12
    for x in numbers[numbers > 1]:
        assert 0.9 * x < float(describe_kurtosis(x).replace(",", "")) <= x * (1 + 1e-9)
    assert [_format_upwards(x) for x in (2.31, 100.0, 3.6, 0.0, np.inf)] == ["2.4", "100", "3.6", "0", "inf"]
