"""VAW and online ridge against a direct solve of the normal equations, and what they are made of."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from tiers import some

import jaxonline as jo
from jaxonline import bounds
from jaxonline.engines import expert_sequences as offline
from jaxonline.engines.expert_sequences import expert_forecasts, forecast
from jaxonline.estimators.dictionary import Dictionary
from jaxonline.learners.linear.vaw import VAW, absorb, initial_state
from jaxonline.linalg.triangular import cholesky_and_inverse
from jaxonline.linalg.trigonometry import sincos


def normal_equations(Z, y, regularizer):
    """Both forecasters by solving a linear system every round."""
    S, b = regularizer * np.eye(Z.shape[1]), np.zeros(Z.shape[1])
    ridge, vaw = [], []
    for z, target in zip(Z, y, strict=True):
        ridge.append(z @ np.linalg.solve(S, b))
        S = S + np.outer(z, z)
        vaw.append(z @ np.linalg.solve(S, b))
        b = b + target * z
    return np.array(ridge), np.array(vaw), np.linalg.solve(S, b)


def sequence(T=300, m=20, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(T, m)) / np.sqrt(m), rng.uniform(-1.0, 1.0, size=T)


@pytest.mark.parametrize(
    ("m", "regularizer"), some([(1, 1.0), (20, 1.0), (100, 1.0), (20, 0.01), (20, 100.0)], (1, 1.0))
)
def test_direct_solve(x64, m, regularizer):
    Z, y = sequence(m=m)
    ridge, vaw, w = normal_equations(Z, y, regularizer)
    for block in (1, 7, 32, 300) if m == 20 else (1, 32):
        forecasts, state = forecast(Z, y, regularizer=regularizer, block=block)
        np.testing.assert_allclose(forecasts.ridge, ridge, rtol=0, atol=1e-9)
        np.testing.assert_allclose(forecasts.vaw, vaw, rtol=0, atol=1e-9)
        np.testing.assert_allclose(state.w, w, rtol=0, atol=1e-9)


@pytest.mark.long
def test_direct_solve_after_many_rounds(x64):
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
def test_the_learner_in_the_game(x64, forward):
    Z, y = sequence(60, 5)
    game = jo.Game(jo.environments.DataStream(Z, y), jo.FullInformation())
    state, history = jo.play(game, VAW(0.3, forward), jax.random.key(0), 60)
    ridge, vaw, w = normal_equations(Z, y, 0.3)
    np.testing.assert_allclose(history.y_hat, vaw if forward else ridge, rtol=0, atol=1e-12)
    np.testing.assert_allclose(state.w, w, rtol=0, atol=1e-12)
    quadratic = np.einsum("ti,ij,tj->t", Z[-1:], np.linalg.inv(0.3 * np.eye(5) + Z[:-1].T @ Z[:-1]), Z[-1:])
    assert history.info.leverage[-1] == pytest.approx(1 + quadratic[0], abs=1e-12)


def test_concatenated_dictionary(x64):
    """Theorem 1's forecaster is VAW on the features of all kernels together."""
    X, y = sequence(40, 3)
    dictionary = Dictionary(np.random.default_rng(1).normal(size=(4, 3, 3)))
    game = jo.Game(jo.environments.DataStream(X, y), jo.FullInformation())
    history = jo.play(game, VAW(features=dictionary), jax.random.key(0), 40)[1]
    angles = np.einsum("kmd,td->tkm", dictionary.frequencies, X)
    Z = np.concatenate([np.sin(angles), np.cos(angles)], axis=2).reshape(40, -1) / np.sqrt(3)
    np.testing.assert_allclose(history.y_hat, normal_equations(Z, y, 1.0)[1], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("N", "cores", "shapes"),
    some(
        [(2, 3, [(1, 1)] * 2), (30, 2, [(2, 8)] * 2), (131, 2, [(3, 11)] * 4), (30, 1, [(3, 10)])],
        (30, 2, [(2, 8)] * 2),
    ),
)
def test_experts_are_independent_forecasters(x64, monkeypatch, N, cores, shapes):
    """In jobs of one shape, turns and kernels that are played at once; the last one is filled up with the first."""
    monkeypatch.setattr(offline, "default_at_once", lambda: cores)
    played, play = [], offline._forecast_in_turns
    monkeypatch.setattr(offline, "_forecast_in_turns", lambda part, *rest: played.append(part) or play(part, *rest))
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


@pytest.mark.long
def test_predictions_do_not_know_the_future(x64):
    Z, y = sequence()
    before = forecast(Z, y)[0]
    after = forecast(Z, np.where(np.arange(300) >= 40, 1e6, y))[0]
    for ours, theirs in zip(before, after, strict=True):
        assert np.array_equal(ours[:41], theirs[:41])
        assert not np.array_equal(ours[41:], theirs[41:])


absorb_one = jax.jit(lambda state, z, target: absorb(state, z[:, None], target[None])[0])


@pytest.mark.long
@pytest.mark.parametrize("labels", ["random", "adversarial", "adversarial, spikes", "constant"])
def test_regret_bound(x64, labels):
    """Eq. 11 against every w at once: the worst one minimises loss(w) + lambda/2 |w|^2. Online ridge violates it where
    a long instance comes once in a while, and its label is against the prediction."""
    T, m, Y = 400, 8, 1.0
    Z = np.random.default_rng(2).normal(size=(T, m))
    Z = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    if "spikes" in labels:
        Z = Z * np.where(np.arange(T) % 20 == 19, 30.0, 0.3)[:, None]
    rho = np.linalg.norm(Z, axis=1).max()
    if labels == "constant":
        y = np.full(T, Y)
    elif labels == "random":
        y = np.random.default_rng(3).uniform(-Y, Y, T)
    else:  # against the prediction, round by round
        y, state = np.zeros(T), initial_state(m, 1.0, np.float64)
        for t in range(T):
            y[t] = -Y if np.asarray(state.w) @ Z[t] > 0 else Y
            state = absorb_one(state, jnp.asarray(Z[t]), jnp.asarray(y[t]))
    ridge, predictions = map(np.asarray, forecast(Z, y)[0])
    S = np.eye(m) + Z.T @ Z
    w = np.linalg.solve(S, Z.T @ y)
    best = 0.5 * np.sum((Z @ w - y) ** 2) + 0.5 * w @ w
    regret = 0.5 * np.sum((predictions - y) ** 2) - best
    assert regret <= bounds.vaw(0.0, m, rho, Y, T) + 1e-9
    # and the sharper statement it comes from
    assert regret <= Y**2 / 2 * np.linalg.slogdet(S)[1] + 1e-9
    if "spikes" in labels:
        assert 0.5 * np.sum((ridge - y) ** 2) - best > bounds.vaw(0.0, m, rho, Y, T)


@pytest.mark.parametrize("T", some([1, 2, 31, 32, 33], 33))
def test_short_sequences_and_constant_features(x64, T):
    Z, y = np.ones((T, 3)), np.linspace(-1, 1, T)
    ridge, vaw, _ = normal_equations(Z, y, 1.0)
    forecasts, _ = forecast(Z, y)
    np.testing.assert_allclose(forecasts.ridge, ridge, rtol=0, atol=1e-12)
    np.testing.assert_allclose(forecasts.vaw, vaw, rtol=0, atol=1e-12)


def test_float64_is_needed_and_says_how():
    Z, y = sequence(10, 2)
    how = r"jax.enable_x64\(True\).*JAX_ENABLE_X64=1.*dtype='float32'"
    with pytest.raises(ValueError, match=how):
        forecast(Z, y)
    game = jo.Game(jo.environments.DataStream(Z, y), jo.FullInformation())
    with pytest.raises(ValueError, match=r"VAW needs float64 instances, got float32.*enable_x64.*allow_float32=True"):
        jo.play(game, VAW(), jax.random.key(0), 10)
    assert jo.play(game, VAW(allow_float32=True), jax.random.key(0), 10)[1].y_hat.dtype == np.float32
    assert jnp.zeros(1).dtype == jnp.float32, "nobody touched the configuration"


@pytest.mark.long
def test_float32_drifts_and_float64_does_not(x64):
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
        (lambda: VAW(0.0), "regularizer must be above 0, got 0"),
        (lambda: VAW(features=3), "features must be a function of an instance, got 3"),
        (lambda: forecast(np.ones((2, 2)), np.ones(3)), "same number of rows"),
        (lambda: forecast(np.ones((0, 2)), np.ones(0)), "at least one"),
        (lambda: forecast(np.array([[np.nan]]), np.ones(1)), r"Z must be finite, got nan at \[0, 0\]"),
        (lambda: forecast(np.ones((2, 2)), np.ones(2), block=0), "block must be at least 1"),
        (lambda: forecast(np.ones((2, 2)), np.ones(2), regularizer=-1.0), "regularizer must be above 0"),
        (lambda: forecast(np.ones((2, 2)), np.ones(2), dtype="float16"), "dtype must be one of"),
    ],
)
def test_bad_arguments(x64, call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


@pytest.mark.parametrize("n", some([1, 2, 8, 9, 16, 32, 50, 100], 1, 9))
def test_cholesky_and_inverse(both_precisions, n):
    A = np.random.default_rng(n).normal(size=(n, n + 3))
    A = (A @ A.T / n + np.eye(n)).astype(both_precisions)
    L, L_inverse = jax.jit(cholesky_and_inverse)(jnp.asarray(A))
    expected = np.linalg.cholesky(A.astype(float))
    tolerance = 200 * np.finfo(both_precisions).eps
    np.testing.assert_allclose(L, expected, rtol=0, atol=tolerance)
    np.testing.assert_allclose(L_inverse, np.linalg.inv(expected), rtol=0, atol=tolerance)


def test_cholesky_of_a_matrix_that_is_not_positive_definite(x64):
    assert np.isnan(np.asarray(cholesky_and_inverse(jnp.diag(jnp.asarray([1.0, -1.0, 1.0])))[0])).any()


@pytest.mark.long
def test_sincos_against_mpmath(x64):
    """Absolute error below 3e-16 up to 1e8, at every scale and near multiples of pi/2; beyond, the angle's spacing."""
    rng = np.random.default_rng(0)
    angles = np.concatenate([rng.normal(size=60) * scale for scale in (1e-8, 1.0, 10.0, 1e3, 1e5, 3e7)])
    near = np.round(rng.uniform(0, 6e7, size=100)) * (np.pi / 2)
    angles = np.concatenate([angles, near, -near, np.arange(-8, 9) * np.pi / 4, [0.0]])
    sine, cosine = sincos(jnp.asarray(angles))
    with mpmath.workdps(40):
        exact = [(float(mpmath.sin(mpmath.mpf(a))), float(mpmath.cos(mpmath.mpf(a)))) for a in map(float, angles)]
    np.testing.assert_allclose(np.stack([sine, cosine], axis=1), exact, rtol=0, atol=3e-16)
    huge = rng.normal(size=100) * 1e12
    np.testing.assert_allclose(sincos(jnp.asarray(huge))[0], np.sin(huge), rtol=0, atol=2 * np.spacing(4e12))
    assert np.abs(np.stack(sincos(jnp.asarray([1e18, -1e300])))).max() <= 1.0
    assert np.isnan(np.stack(sincos(jnp.asarray([np.inf, np.nan])))).all()


def test_sincos_in_float32():
    angles = jnp.linspace(-50.0, 50.0, 1001)
    np.testing.assert_allclose(np.stack(sincos(angles)), [jnp.sin(angles), jnp.cos(angles)], rtol=0, atol=0)
