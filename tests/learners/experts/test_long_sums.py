"""Sums of losses over millions of rounds in float32: plain sums lose the small losses, compensated sums do not."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxonline import learners
from jaxonline.feedback import BanditOracle, FullOracle
from jaxonline.game import Draw, Specs

pytestmark = pytest.mark.fast_compile

T, ETA, LOSSES = 2_000_000, 2.5e-4, np.array([0.29, 0.295], np.float32)
SUMS = T * LOSSES.astype(float)
TWO = jax.ShapeDtypeStruct((2,), jnp.float32)


def after_rounds(learner, oracle):
    """Return the state after T rounds with one and the same oracle."""

    @jax.jit
    def run():
        state = learner.init(None, Specs(TWO, TWO))
        return jax.lax.fori_loop(0, T, lambda _, state: learner.update(None, state, oracle)[0], state)

    return run()


def softmax(scores):
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def test_weights_distinguish_small_losses_after_large_losses():
    """After a loss of 2^24, a plain float32 sum does not change when 0.25 is added."""
    rule = learners.EWA(1.0)

    @jax.jit
    def weights(losses):
        state = rule.update(rule.init(2, losses.dtype), jnp.full_like(losses, 2.0**24), 0.0)
        return rule.weights(jax.lax.fori_loop(0, 4, lambda _, state: rule.update(state, losses, 0.0), state))

    losses = jnp.array([0.25, 0.0], jnp.float32)
    np.testing.assert_allclose(weights(losses), softmax(np.array([-1.0, 0.0])), rtol=1e-6)


X, MOVE = jnp.sqrt(jnp.asarray(LOSSES)), Draw(jnp.int32(0), jnp.array([0.3, 0.7], jnp.float32))
FULL, ARM = FullOracle(X, jnp.asarray(LOSSES)), BanditOracle((), MOVE, jnp.asarray(LOSSES))
SQUARES, HALF = np.asarray(X * X, float), 0.5 + 0.05 * ETA * (SUMS[::-1] - SUMS)
LEARNERS = {  # the learner, its oracle, and its weights after T rounds
    "EWA": (learners.Hedge(learners.EWA(ETA)), FULL, softmax(-ETA * SUMS)),
    "leader": (learners.Hedge(learners.FollowTheLeader()), FULL, [1.0, 0.0]),
    "regularized": (learners.Hedge(learners.FollowTheRegularizedLeader(ETA / 10)), FULL, HALF),
    "entropy": (learners.Hedge(learners.FollowTheRegularizedLeader(ETA, "entropy")), FULL, softmax(-ETA * SUMS)),
    "perturbed": (learners.FollowThePerturbedLeader(ETA), FULL, None),
    "aggregating": (  # the label is 0, and the losses are the squares of the experts
        learners.Aggregating(0.0, 1.0, eta=ETA), FullOracle(X, jnp.float32(0.0)), softmax(-ETA * T * SQUARES)
    ),
    "EXP3-IX": (learners.EXP3IX(ETA, 0.1), ARM, None),
    "EXP3.P": (learners.EXP3P(ETA, 0.0, 0.1), ARM, None),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", LEARNERS)
def test_sums_and_weights_after_two_million_rounds(name):
    """Plain sums of the losses 0.29 and 0.295 are 578406.4 and 581848.1, and the weight of EWA is 0.703."""
    learner, oracle, weights = LEARNERS[name]
    state = after_rounds(learner, oracle)
    each = SQUARES if name == "aggregating" else LOSSES.astype(float)
    if oracle is ARM:  # always the first arm, with probability 0.3
        each = np.asarray(learner.estimates(MOVE, jnp.float32(LOSSES[0])), float)
    sums = np.asarray(state.total, float) - np.asarray(state.correction, float)
    np.testing.assert_allclose(sums, T * each, rtol=1e-9)
    if weights is not None:
        np.testing.assert_allclose(learner.weights(state), weights, rtol=2e-6)


@pytest.mark.long
@pytest.mark.parametrize("share", [0.0, 1e-7])
def test_weights_of_fixed_share_after_two_million_rounds(share):
    """In float64, the ratio of the two weights changes by less than 1e-6 when a step of its recursion is rounded."""
    state = after_rounds(learners.Hedge(learners.FixedShare(ETA, share)), FULL)
    p, kept = 0.5, 1.0 - share
    factors = np.exp(-np.float64(np.float32(ETA)) * LOSSES.astype(float))
    for _ in range(T):
        v = p * factors[0] / (p * factors[0] + (1.0 - p) * factors[1])
        p = kept * v + share / 2
    np.testing.assert_allclose(learners.FixedShare(ETA, share).weights(state), [p, 1.0 - p], rtol=1e-5)


@pytest.mark.long
def test_infinite_losses_give_the_weight_zero():
    """The logarithmic loss of an expert may be infinite; the expert keeps the weight 0, and the others are finite."""
    for rule in (
        learners.EWA(0.5),
        learners.FollowTheLeader(),
        learners.FixedShare(0.5, 0.0),
        learners.FixedShare(0.5, 0.1),
    ):
        state = rule.init(3, jnp.float32)
        for losses in ([np.inf, 1.0, 2.0], [0.0, 1.0, 2.0], [np.inf, 1.0, 2.0]):
            state = rule.update(state, jnp.array(losses, jnp.float32), 0.0)
        weights = np.asarray(rule.weights(state))
        floor = rule.share / 3 if isinstance(rule, learners.FixedShare) else 0.0
        assert weights[0] == pytest.approx(floor, abs=1e-7)
        assert weights.sum() == pytest.approx(1.0)
