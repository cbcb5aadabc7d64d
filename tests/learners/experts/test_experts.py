"""Hedge, EXP3 and combiners under any loss: comparison with NumPy loops, closed forms and bounds."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from bandit_loops import inversion
from combiners import weights_of
from full_rounds import played
from tiers import some

from benchmarks.papers.engines.kernels import aggregate
from jaxonline import learners
from jaxonline.feedback import BanditOracle
from jaxonline.game import Specs
from jaxonline.learners import BOA, EWA, EXP3, Aggregating, Hedge, MLPoly, MLProd
from jaxonline.losses import Absolute
from jaxonline.parameters.struct import struct

T, K = 200, 5
COMBINERS = {"ewa": EWA(0.7), "boa": BOA(), "ml-poly": MLPoly(), "ml-prod": MLProd()}


def drifting_losses(seed=0):
    rng = np.random.default_rng(seed)
    return np.clip(0.5 + 0.2 * np.sin(np.arange(T)[:, None] / 15 + np.arange(K)) + 0.2 * rng.normal(size=(T, K)), 0, 1)


@pytest.mark.parametrize("name", COMBINERS)
def test_hedge_with_a_combiner_equals_its_numpy_loop(x64, name):
    losses = drifting_losses()
    moves = played(Hedge(COMBINERS[name]), ((), jnp.asarray(losses)))[0]
    expected = weights_of(name, losses)
    np.testing.assert_allclose(moves, expected, rtol=1e-9, atol=1e-14)
    assert np.ptp(expected[-1]) > 0.1, "the test needs weights that change"


@pytest.mark.parametrize("name", some(COMBINERS, "boa"))
def test_combiner_under_the_absolute_loss_equals_its_numpy_loop(x64, name):
    """Experts have correlated errors, so that no expert has all of the weight or none."""
    rng = np.random.default_rng(1)
    y = np.sin(np.arange(T) / 9)
    X = y[:, None] + 0.3 * rng.normal(size=(T, 1)) + 0.1 * rng.normal(size=(T, K))
    weights = weights_of(name, np.abs(X - y[:, None]), lambda w, t: abs(w @ X[t] - y[t]))
    result = aggregate(COMBINERS[name], X, y, Absolute())
    np.testing.assert_allclose(result.predictions, (weights * X).sum(axis=1), rtol=0, atol=1e-12)
    assert np.abs(result.predictions - aggregate(COMBINERS[name], X, y).predictions).max() > 1e-3


def test_regret_of_hedge_is_below_its_bound():
    """E18: if one of ten experts is always right, the regret is 17; on random losses it is half of the bound 34."""
    hedge, bound = Hedge.over_horizon(10, 1000), np.sqrt(1000 * np.log(10) / 2)
    losses = np.ones((1000, 10), np.float32)
    losses[:, 3] = 0.0
    moves = np.asarray(played(hedge, ((), jnp.asarray(losses)))[0], float)
    regret = (moves * losses).sum() - losses.sum(axis=0).min()
    assert (round(regret), round(bound)) == (17, 34)
    assert regret == pytest.approx((9 / (9 + np.exp(float(hedge.combiner.eta) * np.arange(1000)))).sum(), rel=1e-4)

    signs = np.random.default_rng(0).choice([0.0, 1.0], size=(1000, 10)).astype(np.float32)
    moves = np.asarray(played(hedge, ((), jnp.asarray(signs)))[0], float)
    assert 0.5 * bound < (moves * signs).sum() - signs.sum(axis=0).min() < bound


@jax.jit
def bandit(learner, losses):
    """Return the draws, weights and uniform numbers of a run."""

    def play_round(state, row):
        key, losses = row
        move = learner.predict(key, state, ())
        after = learner.update(None, state, BanditOracle((), move, losses))[0]
        return after, (move, learner.weights(state), jax.random.uniform(key))

    specs = Specs((), jax.ShapeDtypeStruct(losses.shape[1:], losses.dtype))
    rows = jax.random.split(jax.random.key(0), len(losses)), losses
    return jax.lax.scan(play_round, learner.init(None, specs), rows)[1]


@pytest.mark.parametrize("name", some(COMBINERS, "ewa"))
@pytest.mark.parametrize("gamma", [0.0, 0.2])
def test_exp3_has_the_weights_of_its_numpy_loop(x64, name, gamma):
    losses, rounds = drifting_losses(), np.arange(T)
    draws, weights, uniforms = bandit(EXP3(COMBINERS[name], gamma), jnp.asarray(losses))
    arms, estimates = np.asarray(draws.arm), np.zeros((T, K))
    estimates[rounds, arms] = losses[rounds, arms] / np.asarray(draws.probabilities)[rounds, arms]
    expected = weights_of(name, estimates, lambda w, t: losses[t, arms[t]])
    np.testing.assert_allclose(weights, expected, rtol=1e-8, atol=1e-13)
    np.testing.assert_allclose(draws.probabilities, (1 - gamma) * expected + gamma / K, rtol=1e-8, atol=1e-13)
    assert arms.tolist() == [inversion(p, u) for p, u in zip(draws.probabilities.tolist(), uniforms, strict=True)]
    assert len(set(arms.tolist())) > 1


@struct
class Logarithmic:
    """Logarithmic loss of a probability of the label 1."""

    def __call__(self, y_hat, y):
        return -jnp.where(y > 0.5, jnp.log(y_hat), jnp.log1p(-y_hat))


def test_aggregating_under_the_logarithmic_loss_is_bayes(x64):
    """With eta = 1 predictions are posterior means, and the cumulative loss is -ln(mean likelihood of the experts)."""
    rng = np.random.default_rng(4)
    y = (rng.uniform(size=T) < 0.7).astype(float)
    X = np.clip(np.linspace(0.2, 0.9, K) + 0.05 * rng.normal(size=(T, K)), 0.02, 0.98)
    result = aggregate(Aggregating(0.0, 1.0, Logarithmic(), eta=1.0), X, y)
    likelihoods = np.cumprod(np.where(y[:, None] == 1, X, 1 - X), axis=0)
    before = np.vstack([np.ones(K), likelihoods[:-1]])
    np.testing.assert_allclose(result.predictions, (before * X).sum(axis=1) / before.sum(axis=1), rtol=1e-12)
    losses = -np.log(np.where(y == 1, result.predictions, 1 - np.asarray(result.predictions)))
    assert losses.sum() == pytest.approx(-np.log(likelihoods[-1].mean()), rel=1e-12)
    np.testing.assert_allclose(result.weights, likelihoods[-1] / likelihoods[-1].sum(), rtol=1e-10)


def test_bisection_agrees_with_the_closed_form(x64):
    """For the squared loss as a user's class, also with smaller rates."""

    @struct
    class SquaredByHand:
        def __call__(self, y_hat, y):
            return (y_hat - y) ** 2

    rng = np.random.default_rng(5)
    y = rng.uniform(-1, 3, size=T)
    X = np.clip(y[:, None] + rng.uniform(0.1, 2.0, size=K) * rng.normal(size=(T, K)), -1, 3)
    for eta in (0.125, 0.02):
        closed = aggregate(Aggregating(-1.0, 3.0, eta=eta), X, y)
        solved = aggregate(Aggregating(-1.0, 3.0, SquaredByHand(), eta=eta), X, y)
        np.testing.assert_allclose(solved.predictions, closed.predictions, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(
        aggregate(Aggregating(-1.0, 3.0), X, y).predictions,
        aggregate(Aggregating(-1.0, 3.0, eta=0.125), X, y).predictions,
    )


OVER_HORIZON = {
    "EXP3": lambda K: learners.EXP3.over_horizon(K, 9),
    "EXP3-IX": lambda K: learners.EXP3IX.over_horizon(K, 9),
    "EXP3.P": lambda K: learners.EXP3P.over_horizon(K, 9),
    "EXP4, experts": lambda K: learners.EXP4.over_horizon(K, 3, 9),
    "EXP4, arms": lambda K: learners.EXP4.over_horizon(3, K, 9),
    "Hedge": lambda K: learners.Hedge.over_horizon(K, 9),
    "DrawnExpert": lambda K: learners.DrawnExpert.over_horizon(K, 9),
    "label-efficient": lambda K: learners.LabelEfficientHedge.over_horizon(K, 9, 3),
    "FPL": lambda K: learners.FollowThePerturbedLeader.over_horizon(K, 9),
    "fixed share": lambda K: learners.Hedge(learners.FixedShare.over_horizon(K, 9, 1)),
}


@pytest.mark.parametrize("make", OVER_HORIZON.values(), ids=OVER_HORIZON)
def test_a_rate_for_another_number_of_experts_is_rejected(make):
    three = Specs(jax.ShapeDtypeStruct((3, 3), np.float32), jax.ShapeDtypeStruct((3,), np.float32))
    jax.eval_shape(lambda: make(3).init(None, three))
    with pytest.raises(ValueError, match=r"n_(arms|experts): must be 3, .* \(got 5\)"):
        jax.eval_shape(lambda: make(5).init(None, three))
