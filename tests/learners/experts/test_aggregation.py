"""Combiners of experts: comparison with NumPy loops, regret bounds against adversaries, and edge cases.

All tests have T rounds and 1, 3 or 7 experts, so that a combiner needs few programs.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from combiners import predictions_of
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
RULES = {
    "ewa": EWA(0.5),
    "aggregating": Aggregating(0.0, 1.0),
    "boa": BOA(),
    "ml-poly": MLPoly(),
    "ml-prod": MLProd(),
    "vaw": VAW(),
    "ridge": VAW(forward=False),
}


# ---------------------------------------------------------------------------------------------------------------------
# Independent loops: one expert and one round at a time, as in the papers


def loop_aggregating(X, y, eta=2.0):
    L, out = np.zeros(X.shape[1], np.longdouble), []
    for t in range(len(y)):
        at_one = np.sum(np.exp(-eta * L - eta * (X[t] - 1) ** 2))
        at_zero = np.sum(np.exp(-eta * L - eta * X[t] ** 2))
        out.append(float(np.clip(0.5 + np.log(at_one / at_zero) / (2 * eta), 0, 1)))
        L = L + (X[t] - y[t]) ** 2
    return np.array(out)


def loop_vaw(X, y, forward=True):
    S, b, out = np.eye(X.shape[1]), np.zeros(X.shape[1]), []
    for x, target in zip(X, y, strict=True):
        after = S + np.outer(x, x)
        out.append(x @ np.linalg.solve(after if forward else S, b))
        S, b = after, b + target * x
    return np.array(out)


LOOPS = {
    "ewa": lambda X, y: predictions_of("ewa", X, y, eta=0.5),
    "aggregating": loop_aggregating,
    "boa": lambda X, y: predictions_of("boa", X, y),
    "ml-poly": lambda X, y: predictions_of("ml-poly", X, y),
    "ml-prod": lambda X, y: predictions_of("ml-prod", X, y),
    "vaw": loop_vaw,
    "ridge": lambda X, y: loop_vaw(X, y, forward=False),
}


@pytest.mark.parametrize("name", some(RULES, "ewa", "aggregating", "boa", "ml-poly", "vaw"))
@pytest.mark.parametrize("K", some([1, 3, 7], 7))
def test_predictions_equal_those_of_a_numpy_loop(x64, name, K):
    X, y = game_of_experts(K=7)
    X = X[:, :K] if K < 7 else X
    expected = X[:, 0] if K == 1 and name in ("boa", "ml-prod") else LOOPS[name](X, y)
    result = aggregate(RULES[name], X, y)
    np.testing.assert_allclose(result.predictions, expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", [name for name in RULES if name != "vaw" and "aggregating" not in name])
def test_weights_give_the_next_prediction_of_the_loop(x64, name):
    """For combiners that predict the weighted mean."""
    X, y = game_of_experts(T + 1)
    weights = np.asarray(aggregate(RULES[name], X[:-1], y[:-1]).weights)
    for other in (0, 3, 6):  # next rounds in which one expert differs
        last = np.append(X[:-1], [np.where(np.arange(7) == other, 0.9, 0.1)], axis=0)
        assert weights @ last[-1] == pytest.approx(LOOPS[name](last, y)[-1], rel=1e-13)


@pytest.mark.parametrize("name", some(RULES, "ewa"))
def test_truncated_equals_the_learner_over_clipped_experts(x64, name):
    wild, y = wild_experts()
    expected = aggregate(RULES[name], np.clip(wild, 0, 1), y)
    result = aggregate(Truncated(RULES[name]), wild, y)
    np.testing.assert_allclose(result.predictions, expected.predictions, rtol=0, atol=1e-14)
    np.testing.assert_allclose(result.weights, expected.weights, rtol=1e-13)
    assert np.ptp(np.asarray(result.weights)) > 0.1, "the test needs different weights"


def wild_experts():
    X, y = game_of_experts()
    wild = X + np.linspace(0.05, 1.5, X.shape[1]) * np.random.default_rng(5).normal(size=X.shape)
    wild[3, 2], wild[4, 0] = 1e30, -1e30
    return wild, y


SHORT = ("ewa",)  # one is enough, because `Truncated` does not depend on the learner


@pytest.mark.parametrize(
    "name", [name if name in SHORT else pytest.param(name, marks=pytest.mark.long) for name in RULES]
)
def test_truncated_plays_the_predictions_of_aggregate(x64, name):
    wild, y = wild_experts()
    game = jo.Game(jo.environments.DataStream(wild, y), jo.FullInformation())
    history = jo.play(game, Truncated(RULES[name]), jax.random.key(0), T)[1]
    result = aggregate(Truncated(RULES[name]), wild, y)
    np.testing.assert_allclose(history.y_hat, result.predictions, rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", some(RULES, "ewa"))
def test_edge_cases_of_experts(x64, name):
    """One round, one expert, equal experts, constant experts, a perfect expert, and another order of experts."""
    rule = RULES[name]
    X, y = game_of_experts()
    weighted = name not in ("vaw", "ridge")
    for experts in (X[:1], X[:, :1], np.repeat(X[:, :1], 3, axis=1), np.full((T, 3), 0.3), np.zeros((T, 3))):
        result = aggregate(rule, experts, y[: len(experts)])
        assert np.isfinite(result.predictions).all()
        assert np.isfinite(result.weights).all()
        if weighted:
            assert np.sum(np.asarray(result.weights)) == pytest.approx(1.0, abs=1e-12)
            assert (np.asarray(result.weights) >= 0).all()
        if name not in ("vaw", "ridge", "aggregating"):
            low, high = experts.min(axis=1), experts.max(axis=1)
            inside = np.asarray(result.predictions)
            assert ((inside >= low - 1e-12) & (inside <= high + 1e-12)).all()
    twice = np.asarray(aggregate(rule, np.column_stack([X[:, 0], X[:, 3], X[:, 0]]), y).weights)
    np.testing.assert_allclose(twice[2], twice[0], rtol=1e-12)
    assert abs(twice[1] - twice[0]) > 0.02, "the weights: must differ"

    perfect = np.column_stack([X[:, :2], y])
    tail = np.asarray(aggregate(rule, np.tile(perfect, (5, 1)), np.tile(y, 5)).predictions)[-T:]
    assert np.abs(tail - y).max() < 0.05

    order = np.random.default_rng(1).permutation(X.shape[1])
    ours, theirs = aggregate(rule, X, y), aggregate(rule, X[:, order], y)
    np.testing.assert_allclose(ours.predictions, theirs.predictions, rtol=0, atol=1e-14)
    np.testing.assert_allclose(np.asarray(ours.weights)[order], theirs.weights, rtol=1e-12)


@pytest.mark.parametrize("name", RULES)
def test_predictions_are_finite_at_extreme_scales(x64, name):
    """Losses of 1e8 and of 1e-300."""
    rng = np.random.default_rng(0)
    for scale in (1e4, 1e-150):
        X = np.clip(rng.normal(size=(T, 7)) * scale, -scale, scale)
        y = np.clip(rng.normal(size=T) * scale, -scale, scale)
        rule = Aggregating(-scale, scale) if name.startswith("aggregating") and scale > 1 else RULES[name]
        if isinstance(rule, Aggregating) and scale < 1:
            continue
        assert np.isfinite(aggregate(rule, X, y).predictions).all()


# ---------------------------------------------------------------------------------------------------------------------
# Theorems


predict = jax.jit(lambda rule, state, x: rule.predict(None, state, x))
update = jax.jit(lambda rule, state, x, y: rule.update(None, state, FullOracle(x, y))[0])


def adversarial(rule, K, T, Y, kind):
    """Return experts and labels in [-Y, Y]; the adversary chooses the label after the prediction."""
    rng, rule = np.random.default_rng(0), as_learner(rule)
    state = rule.init(None, Specs.of_vectors(K, np.float64))
    X, y, out = np.empty((T, K)), np.empty(T), np.empty(T)
    for t in range(T):
        if kind == "split":  # constant experts at both ends
            X[t] = np.where(np.arange(K) % 2, Y, -Y)
        elif kind == "random signs":
            X[t] = Y * rng.choice([-1.0, 1.0], size=K)
        else:  # each expert in turn is wrong for five rounds
            X[t] = np.where((np.arange(K) + t // 5) % K == 0, Y, -Y)
        out[t] = float(predict(rule, state, jnp.asarray(X[t])))
        y[t] = -Y if out[t] > 0 else Y
        state = update(rule, state, jnp.asarray(X[t]), jnp.asarray(y[t]))
    return X, y, out


def half_regret(X, y, predictions):
    return 0.5 * np.sum((predictions - y) ** 2) - 0.5 * np.sum((X - y[:, None]) ** 2, axis=0).min()


@pytest.mark.parametrize("kind", some(["split", "random signs", "punish leaders"], "punish leaders"))
@pytest.mark.parametrize(("K", "Y"), [(2, 1.0), (10, 1.0), (10, 3.0)])
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
    assert bounds.ewa(10, 3.0) == pytest.approx(4 * 9 * np.log(10))


@pytest.mark.parametrize(("rule", "name"), [(MLPoly, "ml-poly"), (MLProd, "ml-prod")])
@pytest.mark.parametrize("start", [0.1, 1.0])
def test_initial_rate_changes_predictions_as_in_the_loop(x64, rule, name, start):
    _, y = game_of_experts()
    rng = np.random.default_rng(4)  # correlated errors: no expert has all of the weight or none
    X = y[:, None] + 0.2 * rng.normal(size=(T, 1)) + 0.05 * rng.normal(size=(T, 7))
    result = aggregate(rule(initial=start), X, y)
    np.testing.assert_allclose(result.predictions, predictions_of(name, X, y, start=start), rtol=0, atol=1e-14)
    assert not np.allclose(result.predictions, aggregate(rule(), X, y).predictions, atol=1e-6)


def test_ml_poly_accepts_the_initial_rate_of_opera(x64):
    """The initial rate e^700 has no influence on later rates."""
    X, y = game_of_experts()
    assert np.isfinite(aggregate(MLPoly(initial=float(np.exp(700.0))), X, y).predictions).all()


# ---------------------------------------------------------------------------------------------------------------------
# Arguments


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


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: EWA(0.0), "eta"),
        (lambda: EWA.over_range(1.0, 1.0), "high.*1"),
        (lambda: Aggregating(1.0, 0.0), "high"),
        (lambda: Truncated(EWA(0.5), 1.0, 0.0), "high"),
        (lambda: BOA(initial=0.0), "initial"),
        (lambda: MLPoly(initial=-1.0), "initial"),
        (lambda: MLProd(initial=np.inf), "initial"),
        (lambda: aggregate(BOA(), np.ones((3, 2)), np.ones(2)), "targets: .*experts"),
        (lambda: aggregate(BOA(), np.ones(3), np.ones(3)), "experts"),
        (lambda: aggregate(BOA(), [[np.nan]], [1.0]), "experts.*nan"),
    ],
)
def test_error_names_the_argument(x64, call, text):
    with pytest.raises(ValueError, match=rf"^{text}\b"):
        call()


def test_aggregate_needs_float64_unless_dtype_is_float32():
    X, y = game_of_experts()
    with pytest.raises(ValueError, match="enable_x64"):
        aggregate(BOA(), X, y)
    assert aggregate(BOA(), X, y, dtype="float32").predictions.dtype == np.float32


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in RULES if name not in ("vaw", "ridge")])
def test_float32_predictions_are_close_to_float64(name):
    X, y = game_of_experts()
    single = aggregate(RULES[name], X, y, dtype="float32").predictions
    with jax.enable_x64(True):
        double = np.asarray(aggregate(RULES[name], X, y).predictions)
    np.testing.assert_allclose(single, double, rtol=0, atol=2e-3)
