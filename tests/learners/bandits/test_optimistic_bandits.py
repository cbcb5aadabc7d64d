"""Variants of UCB and Tsallis-INF: epochs, tuned numbers, and the weights in long runs."""

import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from optimistic_loops import tsallis_weights as weights_by_bisection

from jaxonline.learners import UCB2, DiscountedUCB, FixedConfidenceUCB, SlidingWindowUCB
from jaxonline.learners.bandits.exponential import tsallis_weights

pytestmark = pytest.mark.fast_compile


@pytest.mark.parametrize("both_precisions", [False, True], indirect=True)
@pytest.mark.parametrize("alpha", [Fraction(1, 1000), Fraction(1, 4), Fraction(1, 2), Fraction(1)])
def test_epochs_of_ucb2_end_at_powers_that_are_rounded_up(both_precisions, alpha):
    """All ends up to 4,000 pulls; those of the growth 1/1000 may differ by a pull in float32."""
    exact, power = [1], Fraction(1)
    while exact[-1] < 4000:
        power *= 1 + alpha
        exact += [math.ceil(power)] if math.ceil(power) > exact[-1] else []
        power = power.limit_denominator(10**15)
    ends = jax.jit(jax.vmap(lambda pulls: UCB2(float(alpha))._epoch_end(pulls, both_precisions)))
    result = np.asarray(ends(jnp.asarray([0, *exact[:-1]], jnp.int32)))
    allowed = 1 if alpha < 0.1 and both_precisions == jnp.float32 else 0
    assert np.abs(result - exact).max() <= allowed


def test_tuned_numbers_are_those_of_the_papers():
    assert DiscountedUCB.over_horizon(10_000).discount == 1 - 1 / 400
    assert SlidingWindowUCB.over_horizon(10_000).window == round(4 * np.sqrt(1e4 * np.log(1e4))) == 1214
    np.testing.assert_allclose(FixedConfidenceUCB.over_horizon(1000).delta, 1e-6, rtol=1e-12)


@pytest.mark.parametrize("both_precisions", [False, True], indirect=True)
def test_weights_of_tsallis_inf_agree_with_bisection(both_precisions):
    """For 2 to 100 arms, rates of the first round and of round 10^8, and equal and very different sums."""
    rng, limit = np.random.default_rng(0), 1e-5 if both_precisions == jnp.float32 else 1e-12
    compute = jax.jit(tsallis_weights)
    for n_arms in (2, 9, 100):
        for rate in (4.0, 0.3, 4e-4):
            for spread in (0.0, 1.0, 1e4):
                sums = np.asarray(spread * rng.uniform(size=n_arms), both_precisions)
                weights = np.asarray(compute(jnp.asarray(sums), jnp.asarray(rate, both_precisions)), float)
                expected = weights_by_bisection(sums.astype(float) - float(sums.min()), rate)
                np.testing.assert_allclose(weights, expected, rtol=limit)
