"""VAW and online ridge in blocks: against the normal equations, against the learner in the game, and in float32."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiers import some
from vaw_equations import normal_equations, sequence

import jaxonline as jo
from benchmarks.papers.engines.kernels import forecast
from jaxonline.estimators.dictionary import Dictionary
from jaxonline.learners.linear.vaw import VAW


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
