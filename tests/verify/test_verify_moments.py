"""Are bounds on second moments respected? Numbers of queries. E theta^2 of an exponential number is 2, and
E theta^4 / (E theta^2)^2 is 6."""

import math

import jax
import jax.numpy as jnp
import pytest
from verify_samples import ONE, heavy, two_values

from jaxonline import verify
from jaxonline.verify.sampling import Sampler


def exponential(key):
    return jax.random.exponential(key, (), jnp.float32)


def test_second_moments_are_respected_or_violated():
    respected = verify.second_moment(exponential, 2.5, kurtosis=6.0, mesh=ONE)
    assert respected.verdict == "respected"
    assert respected.bias == pytest.approx(-0.2, abs=respected.half_width)
    assert verify.second_moment(exponential, 1.5, kurtosis=6.0, mesh=ONE).verdict == "violated"


def test_each_side_of_a_second_moment_has_half_of_the_level():
    """theta is 1 or 2: the verdict changes at the upper limit m / (1 - sqrt(2 k ln(2 / level) / n)), and at the lower
    limit of Maurer and Pontil for values up to 4 at half of the level."""
    n, level, kurtosis, estimator = 5000, 1e-2, 2.0, two_values(0.5, 2.0, 1.0)
    moments = Sampler.create(lambda key: estimator(key) ** 2, 0, 8192, ONE).summary(n, 1).moments
    mean, log = moments.mean[0], math.log(4 / level)
    low = mean - math.sqrt(2 * moments.variance[0] * log / n) - 7 * 4.0 * log / (3 * (n - 1))
    high = mean / (1 - math.sqrt(2 * kurtosis * math.log(2 / level) / n))
    limits = (low - 1e-4, low + 1e-4, high - 1e-4, high + 1e-4)
    for limit, verdict in zip(limits, ("violated", "undecided", "undecided", "respected"), strict=True):
        result = verify.second_moment(estimator, limit, level=level, kurtosis=kurtosis, samples=n, mesh=ONE)
        assert result.verdict == verdict


def test_only_a_respected_bound_has_an_assumption():
    """1/sqrt(u): E theta^2 is infinite."""
    assert verify.second_moment(heavy, 5.0, samples=200_000, mesh=ONE).verdict == "violated"
    assert verify.second_moment(exponential, 1.5, mesh=ONE).assumption == ""
    assert "exceeds 1000" in verify.second_moment(heavy, 50.0, samples=200_000, mesh=ONE).notes[0]


def test_exact_values_decide_unless_samples_contradict_them():
    assert verify.second_moment(exponential, 2.0, exact=2.0, mesh=ONE).verdict == "respected"
    assert verify.second_moment(exponential, 1.9, exact=2.0, mesh=ONE).verdict == "violated"
    wrong = verify.second_moment(exponential, 2.0, exact=1.5, mesh=ONE)
    assert wrong.verdict == "undecided"
    assert "contradict the exact value" in wrong.notes[0]


def test_squares_of_coordinates_and_exceeded_caps_are_summed():
    def estimator(key):
        return verify.Capped(jnp.ones((2, 3), jnp.float32), jax.random.uniform(key, (), jnp.float32) < 0.5)

    result = verify.second_moment(estimator, 6.5, kurtosis=1.0, samples=30_000, mesh=ONE)
    assert result.verdict == "respected"
    assert result.second_moment == pytest.approx(6.0)
    assert 14_000 < result.exceeded < 16_000


def test_bound_compares_a_number_with_its_limit():
    assert verify.bound(1.0, 1.0).verdict == "respected"
    result = verify.bound(1.1, 1.0, note="why")
    assert (result.verdict, result.notes[-1]) == ("violated", "why")
    assert result.bias == pytest.approx(0.1)


@pytest.mark.long
def test_queries_checks_the_mean_number():
    """A round of Algorithm 1: 1 + N estimates of N' copies each, p/(p-1)^2 in expectation and not 1/(p-1)^2."""
    p = 2.0

    def copies(key):
        key_n, key_m = jax.random.split(key)
        n = jax.random.geometric(key_n, 1 - 1 / p, dtype=jnp.int32) - 1
        each = jax.random.geometric(key_m, 1 - 1 / p, (24,), jnp.int32) - 1
        return jnp.sum(jnp.where(jnp.arange(24) <= n, each, 0))

    assert verify.queries(copies, p / (p - 1) ** 2, kurtosis=50.0, mesh=ONE).verdict == "within tolerance"
    assert verify.queries(copies, 1 / (p - 1) ** 2, kurtosis=50.0, mesh=ONE).verdict == "biased"
