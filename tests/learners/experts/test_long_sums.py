"""Long sums of losses in float32, of experts and arms: plain sums lose small losses, compensated sums do not."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxonline import learners
from jaxonline.feedback import BanditOracle, FullOracle, SemiBanditOracle
from jaxonline.game import Draw, Specs
from jaxonline.learners.bandits.exponential import TsallisState
from jaxonline.learners.bandits.index_policies import Tally
from jaxonline.learners.experts.weights import add_losses, zero_sums
from jaxonline.losses import SmallestArms
from jaxonline.numerics.elementwise import Compensated

pytestmark = pytest.mark.fast_compile

REPETITIONS = 500  # of 7 pulls of each arm
LOSSES = np.array([0.3, 0.29, 0.31, 0.27, 0.33, 0.306, 0.295], np.float32)
ARM, SET, DRAW, FULL = "arm", "set", "draw", "full"
LEARNERS = {
    "UCB1": (learners.UCB1(ties="first"), ARM),
    "UCB1-tuned": (learners.UCB1Tuned(ties="first"), ARM),
    "sliding-window UCB": (learners.SlidingWindowUCB(63, ties="first"), ARM),
    "CUCB": (learners.CUCB(SmallestArms(2), ties="first"), SET),
    "EXP3": (learners.EXP3(0.1), DRAW),
    "Tsallis-INF": (learners.TsallisINF("importance_weighted"), DRAW),
    "perturbed leader": (learners.FollowThePerturbedLeader(0.1), FULL),
    "aggregating": (learners.Aggregating(0.0, 1.0), FULL),
}


@pytest.mark.parametrize("K", [3, 9])
@pytest.mark.parametrize("name", LEARNERS)
def test_sums_after_many_rounds_are_multiples_of_those_of_a_period(name, K):
    """Plain sums differ by 1e-5 or more."""
    learner, kind = LEARNERS[name]

    def play_round(t, state):
        arm, losses = (t % K).astype(jnp.int32), jnp.full(K, jnp.asarray(LOSSES)[t % 7])
        if kind == FULL:
            y = jnp.float32(0.0) if name == "aggregating" else losses
            return learner.update(None, state, FullOracle(jnp.sqrt(losses), y))[0]
        if kind == SET:
            return learner.update(None, state, SemiBanditOracle((), jnp.stack([arm, (arm + 1) % K]), losses))[0]
        move = Draw(arm, jnp.full(K, 0.3, jnp.float32)) if kind == DRAW else arm
        return learner.update(None, state, BanditOracle((), move, losses))[0]

    @jax.jit
    def sums(n_rounds):
        spec = jax.ShapeDtypeStruct((K,), jnp.float32)
        state = jax.lax.fori_loop(0, n_rounds, play_round, learner.init(None, Specs(spec, spec)))
        nodes = jax.tree.leaves(state, is_leaf=lambda node: isinstance(node, Tally | Compensated))
        return [getattr(node, "sums", getattr(node, "value", ())) for node in nodes]

    one, many = sums(jnp.int32(7 * K)), sums(jnp.int32(7 * K * REPETITIONS))
    assert sum(np.size(values) for values in one) >= K
    for period, total in zip(one, many, strict=True):
        factor = REPETITIONS if "window" not in name else 63 / (7 * K)  # a window has 63 rounds
        np.testing.assert_allclose(total, factor * np.asarray(period, float), rtol=2e-6)


@pytest.mark.long
@pytest.mark.parametrize("K", [3, 9])
def test_weights_distinguish_small_losses_after_large_losses(K):
    """After losses of 2^24, a plain float32 sum does not change when 0.25 is added."""
    keys, x = jax.random.split(jax.random.key(0), 50), jnp.linspace(0.0, 1.0, K, dtype=jnp.float32)
    perturbed = learners.FollowThePerturbedLeader(1.0)

    @jax.jit
    def results(first):
        sums = add_losses(zero_sums(K, jnp.float32), first)
        for _ in range(4):
            sums = add_losses(sums, 0.25 * x[::-1])
        aggregating, tsallis = learners.Aggregating(0.0, 1.0), learners.TsallisINF()
        rules = learners.EWA(1.0), learners.FollowTheLeader(), learners.FollowTheRegularizedLeader(0.3), aggregating
        return [
            *(rule.weights(sums) for rule in (*rules, learners.FollowTheRegularizedLeader(1.0, "entropy"))),
            aggregating.predict(None, sums, x),
            tsallis.predict(keys[0], TsallisState(jnp.int32(9), sums), ()).probabilities,
            jax.vmap(lambda key: perturbed.predict(key, sums, ()))(keys),
        ]

    for large, small in zip(results(jnp.full(K, 2.0**24)), results(jnp.zeros(K)), strict=True):
        np.testing.assert_allclose(large, small, rtol=1e-5)


@pytest.mark.parametrize("share", [0.0, 1e-5])
def test_weights_of_fixed_share_after_many_rounds(share):
    """In float64, the ratio of the two weights changes by less than 1e-6 when a step of its recursion is rounded."""
    n_rounds, eta, rule = 50_000, np.float32(0.01), learners.FixedShare(0.01, share)

    @jax.jit
    def weights():
        losses = jnp.asarray(LOSSES[[1, 6]])
        update = lambda _, state: rule.update(state, losses, 0.0)  # noqa: E731
        return rule.weights(jax.lax.fori_loop(0, n_rounds, update, rule.init(2, jnp.float32)))

    p, kept = 0.5, 1.0 - share
    factors = np.exp(-float(eta) * LOSSES[[1, 6]].astype(float))
    for _ in range(n_rounds):
        v = p * factors[0] / (p * factors[0] + (1.0 - p) * factors[1])
        p = kept * v + share / 2
    np.testing.assert_allclose(weights(), [p, 1.0 - p], rtol=2e-5)


def test_infinite_losses_give_the_weight_zero():
    """The logarithmic loss of an expert may be infinite; the expert keeps the weight 0, and the others are finite."""

    @jax.jit
    def weights(rule):
        state = rule.init(3, jnp.float32)
        for losses in ([np.inf, 1.0, 2.0], [0.0, 1.0, 2.0], [np.inf, 1.0, 2.0]):
            state = rule.update(state, jnp.array(losses, jnp.float32), 0.0)
        return rule.weights(state)

    rules = learners.EWA(0.5), learners.FollowTheLeader(), learners.FixedShare(0.5, 0.0), learners.FixedShare(0.5, 0.1)
    for rule, floor in zip(rules, (0, 0, 0, 0.1 / 3), strict=True):
        np.testing.assert_allclose([weights(rule)[0], weights(rule).sum()], [floor, 1.0], atol=1e-6)
