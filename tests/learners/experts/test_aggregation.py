"""Combiners of experts: regret bounds against adversaries, edge cases, and labels outside the range."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from expert_games import game_of_experts
from tiers import some

import jaxonline as jo
from benchmarks.papers.engines.kernels import aggregate
from jaxonline import bounds
from jaxonline.feedback import FullOracle
from jaxonline.game import Specs
from jaxonline.learners.experts.advice import Aggregating, Truncated, as_learner
from jaxonline.learners.experts.combiners import BOA, EWA, MLPoly, MLProd
from jaxonline.learners.linear.vaw import VAW

T = 200
RULES = {"ewa": EWA(0.5), "aggregating": Aggregating(0.0, 1.0), "boa": BOA(), "ml-poly": MLPoly(), "ml-prod": MLProd()}


@pytest.mark.parametrize("name", some(RULES, "ewa"))
def test_edge_cases_of_experts(x64, name):
    """One round, one expert, equal experts, constant experts, and losses of 1e8 and of 1e-300."""
    X, y = game_of_experts()
    for experts in (X[:1], X[:, :1], np.repeat(X[:, :1], 3, axis=1), np.full((T, 3), 0.3), np.zeros((T, 3))):
        predictions, weights = map(np.asarray, aggregate(RULES[name], experts, y[: len(experts)])[:2])
        assert np.isfinite(predictions).all()
        assert np.isfinite(weights).all()
        assert weights.sum() == pytest.approx(1.0, abs=1e-12)
        assert (weights >= 0).all()
        if name != "aggregating":
            inside = np.clip(predictions, experts.min(axis=1), experts.max(axis=1))
            np.testing.assert_allclose(predictions, inside, rtol=0, atol=1e-12)
    for scale in (1e4, 1e-150):
        X = np.clip(np.random.default_rng(0).normal(size=(T, 8)) * scale, -scale, scale)
        rule = Aggregating(-scale, scale) if name == "aggregating" else RULES[name]
        if name != "aggregating" or scale > 1:
            assert np.isfinite(aggregate(rule, X[:, 1:], X[:, 0]).predictions).all()


predict = jax.jit(lambda rule, state, x: rule.predict(None, state, x))
update = jax.jit(lambda rule, state, x, y: rule.update(None, state, FullOracle(x, y))[0])


def adversarial(rule, K, T, Y, kind):
    """Return experts and labels in [-Y, Y]; the adversary chooses the label after the prediction."""
    rng, rule = np.random.default_rng(0), as_learner(rule)
    state = rule.init(None, Specs.of_vectors(K, np.float64))
    turns = (np.arange(K) + np.arange(T)[:, None] // 5) % K == 0  # each expert in turn is wrong for five rounds
    X = Y * rng.choice([-1.0, 1.0], size=(T, K)) if kind == "random signs" else np.where(turns, Y, -Y)
    y, out = np.empty(T), np.empty(T)
    for t in range(T):
        out[t] = float(predict(rule, state, jnp.asarray(X[t])))
        y[t] = -Y if out[t] > 0 else Y
        state = update(rule, state, jnp.asarray(X[t]), jnp.asarray(y[t]))
    return X, y, out


def half_regret(X, y, predictions):
    return 0.5 * np.sum((predictions - y) ** 2) - 0.5 * np.sum((X - y[:, None]) ** 2, axis=0).min()


@pytest.mark.parametrize("kind", some(["random signs", "punish leaders"], "punish leaders"))
@pytest.mark.parametrize(("K", "Y"), [(2, 1.0), (10, 3.0)])
def test_bounds_hold_on_adversarial_experts(x64, kind, K, Y):
    """EWA's 4 Y^2 ln N (Eq. 30) and the aggregating algorithm's Y^2 ln N."""
    rules = {bounds.ewa: EWA.over_range(-Y, Y), bounds.aggregating: Aggregating(-Y, Y)}
    for bound, rule in rules.items():
        X, y, predictions = adversarial(rule, K, 300, Y, kind)
        assert half_regret(X, y, predictions) <= bound(K, Y) + 1e-9


def test_bound_of_ewa_fails_for_wrong_rates(x64):
    """The regret exceeds the bound with a rate forty times too large, and with a rate near 0 (the plain mean)."""
    X, y, predictions = adversarial(EWA(40.0 / 8), 10, 300, 1.0, "random signs")
    assert half_regret(X, y, predictions) > bounds.ewa(10, 1.0)
    experts = np.column_stack([np.ones(T), np.tile(-np.ones((T, 1)), 9)])
    slow = np.asarray(aggregate(EWA(1e-6), experts, np.ones(T)).predictions)
    assert half_regret(experts, np.ones(T), slow) > bounds.ewa(10, 1.0)


def test_rate_of_ewa_follows_from_the_range():
    assert float(EWA.over_range(0.0, 1.0).eta) == 0.5
    assert float(EWA.over_range(-3.0, 3.0).eta) == pytest.approx(1 / (8 * 9))


@pytest.mark.parametrize("rule", [Truncated(EWA(0.5)), Truncated(VAW()), Aggregating(0.0, 1.0)])
def test_labels_outside_the_range_raise_an_error_or_make_predictions_nan(x64, rule):
    X, y = game_of_experts()
    y[7] = 1.25
    with pytest.raises(ValueError, match=r"^targets\b.*1\.25.*8"):
        aggregate(rule, X, y)
    game = jo.Game(jo.environments.DataStream(X, y), jo.FullInformation())
    moves = np.asarray(jo.play(game, rule, jax.random.key(0), T)[1].y_hat)
    assert np.isfinite(moves[:8]).all()
    assert np.isnan(moves[8:]).all(), "a compiled run cannot raise an error, so it fails with NaN"
