"""Sums of losses over millions of rounds in float32: plain sums lose the small losses, compensated sums do not."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxonline.feedback import BanditOracle, FullOracle
from jaxonline.game import Draw, Specs
from jaxonline.learners import (
    EWA,
    EXP3IX,
    EXP3P,
    Aggregating,
    FixedShare,
    FollowTheLeader,
    FollowThePerturbedLeader,
    FollowTheRegularizedLeader,
    Hedge,
)

pytestmark = pytest.mark.fast_compile

T, ETA, LOSSES = 2_000_000, 2.5e-4, np.array([0.29, 0.295], np.float32)
SUMS = T * LOSSES.astype(float)
SPECS = Specs((), jax.ShapeDtypeStruct((2,), jnp.float32))


def after_rounds(learner, specs, oracle):
    """Return the state after T rounds with one and the same oracle."""

    @jax.jit
    def run():
        state = learner.init(None, specs)
        return jax.lax.fori_loop(0, T, lambda _, state: learner.update(None, state, oracle)[0], state)

    return run()


def totals(sums):
    """Return the corrected sums in float64."""
    return np.asarray(sums.total, float) - np.asarray(sums.correction, float)


def softmax(scores):
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def test_weights_distinguish_small_losses_after_large_losses():
    """After a loss of 2^24, a plain float32 sum does not change when 0.25 is added."""
    rule = EWA(1.0)

    @jax.jit
    def weights(losses):
        state = rule.update(rule.init(2, losses.dtype), jnp.full_like(losses, 2.0**24), 0.0)
        return rule.weights(jax.lax.fori_loop(0, 4, lambda _, state: rule.update(state, losses, 0.0), state))

    losses = jnp.array([0.25, 0.0], jnp.float32)
    np.testing.assert_allclose(weights(losses), softmax(np.array([-1.0, 0.0])), rtol=1e-6)


RULES = {
    "EWA": (EWA(ETA), softmax(-ETA * SUMS)),
    "leader": (FollowTheLeader(), [1.0, 0.0]),
    "regularized": (FollowTheRegularizedLeader(ETA / 10), 0.5 + 0.05 * ETA * (SUMS[::-1] - SUMS)),
    "entropy": (FollowTheRegularizedLeader(ETA, "entropy"), softmax(-ETA * SUMS)),
}


@pytest.mark.long
@pytest.mark.parametrize("name", RULES)
def test_sums_and_weights_after_two_million_rounds(name):
    """The losses are 0.29 and 0.295; plain sums are 578406.4 and 581848.1, and the weight of EWA is 0.703."""
    rule, weights = RULES[name]
    hedge = Hedge(rule)
    state = after_rounds(hedge, SPECS, FullOracle((), jnp.asarray(LOSSES)))
    np.testing.assert_allclose(totals(state), SUMS, rtol=1e-9)
    np.testing.assert_allclose(hedge.predict(None, state, ()), weights, rtol=2e-6)


@pytest.mark.long
def test_sums_of_the_perturbed_leader_after_two_million_rounds():
    learner = FollowThePerturbedLeader(ETA)
    state = after_rounds(learner, SPECS, FullOracle((), jnp.asarray(LOSSES)))
    np.testing.assert_allclose(totals(state), SUMS, rtol=1e-9)


@pytest.mark.long
def test_weights_of_the_aggregating_algorithm_after_two_million_rounds():
    """The label is 0; the losses are the squares of the experts."""
    learner, x = Aggregating(0.0, 1.0, eta=ETA), jnp.sqrt(jnp.asarray(LOSSES))
    state = after_rounds(learner, Specs.of_vectors(2), FullOracle(x, jnp.float32(0.0)))
    sums = T * np.asarray(x * x, float)
    np.testing.assert_allclose(totals(state), sums, rtol=1e-9)
    np.testing.assert_allclose(learner.weights(state), softmax(-ETA * sums), rtol=2e-6)


@pytest.mark.long
@pytest.mark.parametrize("share", [0.0, 1e-7])
def test_weights_of_fixed_share_after_two_million_rounds(share):
    """In float64, the ratio of the two weights changes by less than 1e-6 when a step of its recursion is rounded."""
    state = after_rounds(Hedge(FixedShare(ETA, share)), SPECS, FullOracle((), jnp.asarray(LOSSES)))
    p, kept = 0.5, 1.0 - share
    factors = np.exp(-np.float64(np.float32(ETA)) * LOSSES.astype(float))
    for _ in range(T):
        v = p * factors[0] / (p * factors[0] + (1.0 - p) * factors[1])
        p = kept * v + share / 2
    np.testing.assert_allclose(FixedShare(ETA, share).weights(state), [p, 1.0 - p], rtol=1e-5)


@pytest.mark.long
@pytest.mark.parametrize("learner", [EXP3IX(ETA, 0.1), EXP3P(ETA, 0.0, 0.1)])
def test_sums_of_estimates_after_two_million_rounds(learner):
    """Always the first arm, with probability 0.3."""
    move = Draw(jnp.int32(0), jnp.array([0.3, 0.7], jnp.float32))
    oracle = BanditOracle((), move, jnp.asarray(LOSSES))
    state = after_rounds(learner, SPECS, oracle)
    estimate = np.asarray(learner.estimates(move, jnp.float32(LOSSES[0])), float)
    np.testing.assert_allclose(totals(state), T * estimate, rtol=1e-9)


@pytest.mark.long
def test_infinite_losses_give_the_weight_zero():
    """The logarithmic loss of an expert may be infinite; the expert keeps the weight 0, and the others are finite."""
    for rule in (EWA(0.5), FollowTheLeader(), FixedShare(0.5, 0.0), FixedShare(0.5, 0.1)):
        state = rule.init(3, jnp.float32)
        for losses in ([np.inf, 1.0, 2.0], [0.0, 1.0, 2.0], [np.inf, 1.0, 2.0]):
            state = rule.update(state, jnp.array(losses, jnp.float32), 0.0)
        weights = np.asarray(rule.weights(state))
        floor = rule.share / 3 if isinstance(rule, FixedShare) else 0.0
        assert weights[0] == pytest.approx(floor, abs=1e-7)
        assert weights.sum() == pytest.approx(1.0)
