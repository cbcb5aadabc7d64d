"""Learners over whole sequences equal those of the game and the normal equations; forecasts of many kernels."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from expert_games import game_of_experts
from tiers import some
from vaw_equations import normal_equations, sequence

import jaxonline as jo
from benchmarks.papers.engines import kernels
from benchmarks.papers.engines.kernels import aggregate, expert_forecasts, forecast, play_sequence
from benchmarks.papers.engines.omkl_gf import OMKLGF
from benchmarks.papers.studies.multikernel import LateStart
from jaxonline.estimators.fourier import Dictionary
from jaxonline.learners.experts.advice import Aggregating, OverAdvice, Truncated, as_learner
from jaxonline.learners.experts.combiners import BOA, EWA, MLPoly, MLProd
from jaxonline.learners.linear.vaw import VAW

T = 200
TRUNCATED = Truncated(EWA(0.5))
RULES = {
    "ewa": EWA(0.5),
    "ewa, late start": LateStart(OverAdvice(EWA(0.5))),
    "aggregating": Aggregating(0.0, 1.0),
    "aggregating, late start": LateStart(Aggregating(0.0, 1.0)),
    "boa": BOA(),
    "ml-poly": MLPoly(),
    "ml-prod": MLProd(),
    "vaw": VAW(),
    "ridge": VAW(forward=False),
}


def small_problem(T=40, d=3, N=5, m=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(T, d))
    return X, rng.uniform(size=T), Dictionary(rng.normal(size=(N, m, d)))


@pytest.mark.parametrize("name", some(RULES, "ewa, late start"))
def test_play_sequence_matches_the_learner_in_the_game(x64, name):
    """The offline forecaster, in blocks or not, is the algorithm of the game."""
    X, y = game_of_experts()
    game, learner = jo.Game(jo.environments.DataStream(X, y), jo.FullInformation()), as_learner(RULES[name])
    state, history = jo.play(game, learner, jax.random.key(0), T)
    result = aggregate(RULES[name], X, y)
    np.testing.assert_allclose(history.y_hat, result.predictions, rtol=0, atol=1e-14)
    np.testing.assert_allclose(learner.weights(state), result.weights, rtol=1e-13)
    assert np.ptp(np.asarray(result.weights)) > 0.1, "weights that have not moved would be no test"


@pytest.mark.long
@pytest.mark.parametrize("name", some(["VAW", "VAW, truncated", "EWA, truncated", "OMKL-GF"], "VAW, truncated"))
def test_n_rounds_ignores_padding(x64, name):
    """By one program for all lengths: one round, a part of a block, and all of them; what follows changes nothing."""
    X, y, dictionary = small_problem(T=70)
    learner = {
        "VAW": VAW(features=dictionary),
        "VAW, truncated": Truncated(VAW(), -1.0, 1.0),
        "EWA, truncated": TRUNCATED,
        "OMKL-GF": OMKLGF(dictionary),
    }[name]
    X, y, key = jnp.asarray(X), jnp.asarray(np.clip(y, 0.0, 1.0)), jax.random.key(1)
    play = jax.jit(lambda X, y, n: play_sequence(learner, X, y, key, n))
    for n in (1, 40, 70):
        after = jnp.arange(70) >= n
        spoiled = jnp.where(after[:, None], 7.0, X), jnp.where(after, -7.0, y)
        (predictions, weights), state = play(*spoiled, n)
        (short, short_weights), short_state = play_sequence(learner, X[:n], y[:n], key)
        np.testing.assert_allclose(predictions[:n], short, rtol=0, atol=1e-12)
        np.testing.assert_allclose(weights, short_weights, rtol=0, atol=1e-12)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=0, atol=1e-11), state, short_state)
    assert play._cache_size() == 1


# ---------------------------------------------------------------------------------------------------------------------
# Forecasts of many kernels


@pytest.mark.parametrize(
    ("N", "cores", "shapes"),
    some(
        [(2, 3, [(1, 1)] * 2), (30, 2, [(2, 8)] * 2), (131, 2, [(3, 11)] * 4), (30, 1, [(3, 10)])],
        (30, 2, [(2, 8)] * 2),
    ),
)
def test_expert_forecasts_equal_single_forecasts(x64, monkeypatch, N, cores, shapes):
    """In jobs of one shape, turns and kernels that are played at once; the last one is filled up with the first."""
    monkeypatch.setattr(kernels, "default_threads", lambda: cores)
    played, play = [], kernels._forecast_batches
    monkeypatch.setattr(kernels, "_forecast_batches", lambda part, *rest: played.append(part) or play(part, *rest))
    X, y = sequence(50, 3)
    dictionary = Dictionary(np.random.default_rng(1).normal(size=(N, 4, 3)))
    forecasts = expert_forecasts(dictionary, X, y, regularizer=0.5)
    assert [part.frequencies.shape[:2] for part in played] == shapes
    assert forecasts.ridge.shape == forecasts.vaw.shape == (50, N)
    for kernel in {0, 1, N // 2 - 1, N // 2, N - 1}:
        angles = X @ dictionary.frequencies[kernel].T
        Z = np.concatenate([np.sin(angles), np.cos(angles)], axis=1) / 2
        ridge, vaw, _ = normal_equations(Z, y, 0.5)
        np.testing.assert_allclose(forecasts.ridge[:, kernel], ridge, rtol=0, atol=1e-12)
        np.testing.assert_allclose(forecasts.vaw[:, kernel], vaw, rtol=0, atol=1e-12)


def test_kernel_forecasts_match_the_learner_in_the_game(x64):
    X, y = sequence(30, 3)
    dictionary = Dictionary(np.random.default_rng(1).normal(size=(3, 4, 3)))
    forecasts = expert_forecasts(dictionary, X, y)
    game = jo.Game(jo.environments.DataStream(X, y), jo.FullInformation())
    learner = VAW(features=Dictionary(dictionary.frequencies[1:2]))
    history = jo.play(game, learner, jax.random.key(0), 30)[1]
    np.testing.assert_allclose(forecasts.vaw[:, 1], history.y_hat, rtol=0, atol=1e-12)


# ---------------------------------------------------------------------------------------------------------------------
# VAW and online ridge in blocks


@pytest.mark.parametrize(
    ("m", "regularizer"), some([(1, 1.0), (20, 1.0), (100, 1.0), (20, 0.01), (20, 100.0)], (1, 1.0))
)
def test_forecast_matches_direct_solve(x64, m, regularizer):
    Z, y = sequence(m=m)
    ridge, vaw, w = normal_equations(Z, y, regularizer)
    for block in (1, 7, 32, 300) if m == 20 else (1, 32):
        forecasts, state = forecast(Z, y, regularizer=regularizer, block=block)
        np.testing.assert_allclose(forecasts.ridge, ridge, rtol=0, atol=1e-9)
        np.testing.assert_allclose(forecasts.vaw, vaw, rtol=0, atol=1e-9)
        np.testing.assert_allclose(state.w, w, rtol=0, atol=1e-9)


@pytest.mark.long
def test_forecast_matches_direct_solve_after_many_rounds(x64):
    """The recursion does not drift in float64: T = 5000, features of unit norm."""
    X, y = sequence(5000, 4)
    dictionary = Dictionary.published(0, 4)
    Z = np.asarray(jax.vmap(Dictionary(dictionary.frequencies[30:31]))(jnp.asarray(X)))[:, 0]
    forecasts, _ = forecast(Z, y)
    S, b = np.eye(100) + Z[:4990].T @ Z[:4990], Z[:4990].T @ y[:4990]
    for t in range(4990, 5000):
        assert abs(forecasts.ridge[t] - Z[t] @ np.linalg.solve(S, b)) < 1e-11
        S, b = S + np.outer(Z[t], Z[t]), b + y[t] * Z[t]


@pytest.mark.parametrize("forward", [True, False])
def test_forecast_matches_the_learner_in_the_game(x64, forward):
    Z, y = sequence(60, 5)
    game = jo.Game(jo.environments.DataStream(Z, y), jo.FullInformation())
    state, history = jo.play(game, VAW(0.3, forward), jax.random.key(0), 60)
    forecasts, last = forecast(Z, y, regularizer=0.3, block=7)
    np.testing.assert_allclose(forecasts.vaw if forward else forecasts.ridge, history.y_hat, rtol=0, atol=1e-12)
    np.testing.assert_allclose(last.w, state.w, rtol=0, atol=1e-12)


@pytest.mark.long
def test_predictions_do_not_depend_on_later_targets(x64):
    Z, y = sequence()
    before = forecast(Z, y)[0]
    after = forecast(Z, np.where(np.arange(300) >= 40, 1e6, y))[0]
    for ours, theirs in zip(before, after, strict=True):
        assert np.array_equal(ours[:41], theirs[:41])
        assert not np.array_equal(ours[41:], theirs[41:])


@pytest.mark.parametrize("T", some([1, 2, 31, 32, 33], 33))
def test_short_sequences_and_constant_features(x64, T):
    Z, y = np.ones((T, 3)), np.linspace(-1, 1, T)
    ridge, vaw, _ = normal_equations(Z, y, 1.0)
    forecasts, _ = forecast(Z, y)
    np.testing.assert_allclose(forecasts.ridge, ridge, rtol=0, atol=1e-12)
    np.testing.assert_allclose(forecasts.vaw, vaw, rtol=0, atol=1e-12)


@pytest.mark.long
def test_float32_drifts_but_float64_does_not(x64):
    """The drift of float32 after 2000 rounds is a few 1e-5 to 1e-3 here; float64's is below 1e-12."""
    Z, y = sequence(2000, 50)
    exact = np.asarray(forecast(Z, y)[0].ridge)
    rough = np.asarray(forecast(Z, y, dtype="float32")[0].ridge)
    assert rough.dtype == np.float32
    assert 1e-7 < np.abs(rough - exact).max() < 1e-2
    assert np.abs(np.asarray(forecast(Z, y, block=5)[0].ridge) - exact).max() < 1e-12


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: forecast(np.ones((2, 2)), np.ones(3)), "must have as many rows as"),
        (lambda: forecast(np.ones((0, 2)), np.ones(0)), "at least one"),
        (lambda: forecast(np.array([[np.nan]]), np.ones(1)), r"Z: .*got nan at \[0, 0\]"),
        (lambda: forecast(np.ones((2, 2)), np.ones(2), block=0), "block: must be at least 1"),
        (lambda: forecast(np.ones((2, 2)), np.ones(2), regularizer=-1.0), "regularizer: must be above 0"),
        (lambda: forecast(np.ones((2, 2)), np.ones(2), dtype="float16"), "dtype: must be one of"),
    ],
)
def test_bad_arguments(x64, call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()
