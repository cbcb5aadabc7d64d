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

    states, asked, queries = jax.jit(jax.vmap(round_of))(jax.random.split(KEY, 1 << 17))
    np.testing.assert_array_equal(queries, asked.astype(int), "questions are counted")
    estimates = [np.unique(np.asarray(states[:200])[np.asarray(asked[:200]) == flag], axis=0) for flag in (True, False)]
    assert [len(values) for values in estimates] == [1, 1]
    support = [(epsilon, estimates[0][0]), (1 - epsilon, estimates[1][0])]
    assert verify.unbiased(None, losses, support=support).verdict == "within tolerance"
    mutant = [(epsilon, epsilon * estimates[0][0]), (1 - epsilon, estimates[1][0])]
    assert verify.unbiased(None, losses, support=mutant).verdict == "biased"
    # 5.5 standard errors, false alarm 4e-8; questions that are 3 % too frequent are detected
    limit = 5.5 * math.sqrt(epsilon * (1 - epsilon) / len(asked))
    assert abs(asked.mean() - epsilon) < limit < abs(asked.mean() - 1.03 * epsilon)


@pytest.mark.long
def test_label_efficient_hedge_equals_its_numpy_loop(x64):
    losses, learner = losses_of(5, 200, 3), LabelEfficientHedge.over_horizon(3, 200, 80)
    assert bounds.label_efficient(3, 200, 80).eta == pytest.approx(learner.combiner.eta)
    game = jo.Game(jo.environments.DataStream(None, losses), jo.OnRequest(), loss=jo.losses.ExpectedLoss())
    record = jo.play(game, learner, KEY, 200)[1]
    asked = np.asarray(record.queries)[:, None]
    expected = weights_of("ewa", losses * asked / learner.epsilon, eta=learner.combiner.eta)
    np.testing.assert_allclose(record.y_hat, expected, rtol=1e-9)


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
