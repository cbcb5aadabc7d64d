"""Estimators that draw an integer first, verified stratum by stratum."""

import jax
import pytest
from verify_samples import ONE, of_stratum

from jaxonline import verify
from jaxonline.simulation.blocks import default_mesh
from jaxonline.verify.settings import Settings
from jaxonline.verify.strata import count_errors


def test_unknown_second_moments_assume_the_kurtosis():
    strata = verify.Strata(pmf=[0.25, 0.75], given=of_stratum([0, 0], [0, 4]), terms=[0.0, 1.5])
    right = verify.unbiased(None, 1.5, strata=strata, kurtosis=3.0, mesh=ONE)
    assert right.verdict == "within tolerance"
    assert any("not tested" in note for note in right.notes)
    wrong = verify.Strata(pmf=[0.25, 0.75], given=of_stratum([0, 0], [0, 4.2]), terms=[0.0, 1.5])
    assert verify.unbiased(None, 1.5, strata=wrong, kurtosis=3.0, mesh=ONE).verdict == "biased"


def test_strata_without_terms_test_the_sum():
    strata = verify.Strata(pmf=[0.25, 0.75], given=of_stratum([0, 0], [0, 4]), remainder=0.0)
    assert verify.unbiased(None, 1.5, strata=strata, kurtosis=3.0, mesh=ONE).verdict == "within tolerance"
    assert verify.unbiased(None, 1.58, strata=strata, kurtosis=3.0, mesh=ONE).verdict == "biased"


def test_a_large_remainder_is_undecided():
    known = {"pmf": [0.5, 0.25], "given": of_stratum([2, 2], [0, 0]), "terms": [1.0, 0.5], "second_moments": [4.0, 4.0]}
    result = verify.unbiased(None, 2.0, strata=verify.Strata(**known, remainder=0.5), mesh=ONE)
    assert result.verdict == "undecided"
    assert result.half_width == pytest.approx(0.25, abs=1e-4)
    assert "remainder" in result.notes[0]
    without = verify.unbiased(None, 2.0, strata=verify.Strata(**known), mesh=ONE)
    assert without.verdict == "biased"
    assert "the terms sum to 1.5 and not to the target 2" in without.notes[0]
    assert "N >= 2, of probability 0.25" in without.assumption


def test_a_stratum_of_probability_0_is_not_sampled():
    strata = verify.Strata([0.0, 1.0], of_stratum([0, 3], [0, 0]), terms=[0.0, 3.0], second_moments=[0.0, 9.0])
    assert verify.unbiased(None, 3.0, strata=strata, mesh=ONE).verdict == "within tolerance"


@pytest.mark.long
def test_strata_are_reproducible_on_any_number_of_devices():
    strata = verify.Strata(
        pmf=[0.5, 0.5], given=of_stratum([0, 0], [0, 2]), terms=[0.0, 0.5], second_moments=[0.0, 4 / 3]
    )
    results = [
        verify.unbiased(None, 0.5, strata=strata, samples=5000, width=512, mesh=default_mesh(jax.devices()[:n]))
        for n in (1, 2, 8)
    ]
    assert results[0] == results[1] == results[2]


def test_the_distribution_of_n_is_tested_exactly():
    """A fair coin is 0 or 1 with probability 1/2 each, as stated, and not 0.49 and 0.51."""
    settings = Settings(0.04, 1e-9, 0.999, 1000.0, None, 1 << 20, 0, 8192, ONE, None)

    def errors(pmf):
        strata = verify.Strata(pmf, of_stratum([0, 1], [0, 0]), terms=[0.0, 0.5], draw=_coin)
        return count_errors(strata, settings, level=1e-9)

    assert errors([0.5, 0.5]) == []
    assert [error[:8] for error in errors([0.49, 0.51])] == ["P(N = 0)", "P(N = 1)"]


def _coin(key):
    return jax.random.bernoulli(key).astype("int32")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"pmf": [0.5, 0.6]}, "pmf: must .*got a sum of 1.1"),
        ({"terms": [1.0]}, "terms: must have one entry for each of the 2 strata"),
        ({"terms": None}, "remainder: must be given"),
    ],
)
def test_invalid_strata_raise_errors_with_their_names(fields, message):
    good = {"pmf": [0.5, 0.5], "given": lambda key, n: 1.0, "terms": [0.5, 0.5]}
    with pytest.raises(ValueError, match=message):
        verify.Strata(**(good | fields))
