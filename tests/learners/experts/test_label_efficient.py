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
from jaxonline.game import binding
from jaxonline.learners import EWA, Doubling, Hedge, LabelEfficientHedge

pytestmark = pytest.mark.fast_compile


@jo.struct
class Spy:
    """A combiner whose state is the losses of the last update."""

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
def test_label_efficient_hedge_equals_its_numpy_loop_and_its_regret_is_below_the_bound(x64):
    losses, n_runs = losses_of(5, 200, 3), 64
    learner, bound = LabelEfficientHedge.over_horizon(3, 200, 80), bounds.label_efficient(3, 200, 80)
    assert bound.eta == pytest.approx(learner.combiner.eta)
    rows = jo.environments.DataStream(None, losses)
    game = jo.Game(rows, jo.OnRequest(), loss=jo.losses.ExpectedLoss())
    moves, queries = jax.vmap(lambda key: _moves_and_queries(game, learner, key))(jax.random.split(KEY, n_runs))
    asked = np.asarray(queries[0])[:, None]
    expected = weights_of("ewa", losses * asked / learner.epsilon, eta=learner.combiner.eta)
    np.testing.assert_allclose(moves[0], expected, rtol=1e-9)
    regrets = np.einsum("rtk,tk->r", np.asarray(moves), losses) - losses.sum(axis=0).min()
    assert regrets.mean() + 6 * regrets.std(ddof=1) / np.sqrt(n_runs) < bound.value


def _moves_and_queries(game, learner, key):
    record = jo.play(game, learner, key, 200)[1]
    return record.y_hat, record.queries


def hedge_for(n_rounds):
    return Hedge(EWA(jnp.sqrt(8.0 * math.log(K) / n_rounds)))


def test_doubling_restarts_the_learner_in_one_program(x64):
    losses = losses_of(6)
    before = played._cache_size()
    moves, states, _ = on_losses(Doubling(hedge_for), losses)
    assert played._cache_size() == before + 1
    expected, start = [], 0
    for k in range(6):
        phase = losses[start : start + 2**k]
        expected.append(weights_of("ewa", phase, eta=math.sqrt(8 * math.log(K) / 2**k)))
        start += 2**k
    np.testing.assert_allclose(moves, np.concatenate(expected)[:T], rtol=1e-9)
    assert np.asarray(states.horizon)[[0, 1, 2, 6, 7, 30]].tolist() == [2, 2, 4, 8, 8, 32]
    regret = (np.asarray(moves) * losses).sum() - losses.sum(axis=0).min()
    constant = math.sqrt(math.log(K) / 2)
    assert regret <= bounds.doubling(constant, T) <= math.sqrt(2) / (math.sqrt(2) - 1) * constant * math.sqrt(T)


@pytest.mark.long
def test_second_run_of_doubling_compiles_nothing():
    rows = jo.environments.DataStream(None, losses_of(7))
    game = jo.Game(rows, jo.FullInformation(), loss=jo.losses.ExpectedLoss())
    learner = Doubling(hedge_for)
    jo.play(game, learner, KEY, 20)
    before = binding._play._cache_size()
    jo.play(game, Doubling(hedge_for), jax.random.key(1), 20)
    assert binding._play._cache_size() == before
