"""Label-efficient prediction, and doubling."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from combiners import weights_of
from expert_losses import KEY, K, T, losses_of, on_losses
from full_rounds import played

import jaxonline as jo
from jaxonline import bounds, verify
from jaxonline.feedback import OnRequestOracle
from jaxonline.game.keys import part_key, stream_keys
from jaxonline.learners import EWA, Doubling, Hedge, LabelEfficientHedge

pytestmark = pytest.mark.fast_compile


@jo.struct
class Spy:
    def init(self, n_experts, dtype):
        return jnp.zeros(n_experts, dtype)

    def weights(self, state):
        return jnp.full_like(state, 1 / len(state))

    def update(self, state, losses, own_loss):
        return losses


def test_label_efficient_estimates_are_unbiased_by_enumeration(x64):
    """The two outcomes are "asked" and "not asked". The test detects a missing division by epsilon."""
    epsilon, losses = 0.3, jnp.asarray([0.2, 1.0, 0.0, 0.7])
    learner = LabelEfficientHedge(Spy(), epsilon)

    def round_of(key):
        oracle = OnRequestOracle((), (), losses)
        state, info = learner.update(key, jnp.zeros(4), oracle)
        return state, info.asked, oracle.queries()

    states, asked, queries = jax.jit(jax.vmap(round_of))(jax.random.split(KEY, 200))
    np.testing.assert_array_equal(queries, asked.astype(int), "questions are counted")
    estimates = [np.unique(np.asarray(states)[np.asarray(asked) == flag], axis=0) for flag in (True, False)]
    assert [len(values) for values in estimates] == [1, 1]
    support = [(epsilon, estimates[0][0]), (1 - epsilon, estimates[1][0])]
    assert verify.unbiased(None, losses, support=support).verdict == "within tolerance"
    mutant = [(epsilon, epsilon * estimates[0][0]), (1 - epsilon, estimates[1][0])]
    assert verify.unbiased(None, losses, support=mutant).verdict == "biased"


def test_label_efficient_hedge_equals_its_numpy_loop_in_which_the_constants_decide(x64):
    losses, learner = losses_of(5, T, 3), LabelEfficientHedge.over_horizon(3, T, 24)
    game = jo.Game(jo.environments.DataStream(None, losses), jo.OnRequest(), loss=jo.losses.ExpectedLoss())
    record = jo.play(game, learner, KEY, T)[1]
    keys = jax.vmap(lambda t: part_key(stream_keys(KEY).learner, t, 1))(jnp.arange(1, T + 1, dtype=jnp.int32))
    u, constants = (
        np.asarray(jax.vmap(jax.random.uniform)(keys)),
        {"epsilon": 24 / T, "eta": math.sqrt(48 * math.log(3)) / T},
    )

    def weights(epsilon, eta):
        return weights_of("ewa", losses * (u < epsilon)[:, None] / epsilon, eta=eta)

    np.testing.assert_array_equal(record.queries, u < 24 / T)
    np.testing.assert_allclose(record.y_hat, weights(**constants), rtol=1e-9)
    for name, value in constants.items():
        assert not np.allclose(record.y_hat, weights(**constants | {name: 1.1 * value}), rtol=1e-7), name
    assert bounds.label_efficient(3, T, 24).eta == pytest.approx(constants["eta"])


def test_doubling_restarts_the_learner_in_one_program(x64):
    losses = losses_of(6)
    before = played._cache_size()
    moves, states, _ = on_losses(Doubling(lambda n: Hedge(EWA(jnp.sqrt(8.0 * math.log(K) / n)))), losses)
    assert played._cache_size() == before + 1
    expected, start = [], 0
    for k in range(6):
        phase = losses[start : start + 2**k]
        expected.append(weights_of("ewa", phase, eta=math.sqrt(8 * math.log(K) / 2**k)))
        start += 2**k
    np.testing.assert_allclose(moves, np.concatenate(expected)[:T], rtol=1e-9)
    assert np.asarray(states.horizon)[[0, 1, 2, 6, 7, 30]].tolist() == [2, 2, 4, 8, 8, 32]
