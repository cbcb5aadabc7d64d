"""VAW and online ridge in the game against the normal equations, their regret, and what they are made of."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from kernel_dictionary import features_in_numpy, small_problem
from tiers import some
from vaw_equations import normal_equations, sequence

import jaxonline as jo
from benchmarks.papers.engines.kernels import aggregate, forecast
from jaxonline import bounds
from jaxonline.learners.linear.vaw import VAW, absorb, initial_state
from jaxonline.numerics.elementwise import sincos
from jaxonline.numerics.triangular import cholesky_and_inverse


def test_vaw_on_a_dictionary_concatenates_its_features(x64):
    """Theorem 1's forecaster is VAW on the features of all kernels together."""
    X, y, dictionary = small_problem()
    game = jo.Game(jo.environments.DataStream(X, y), jo.FullInformation())
    history = jo.play(game, VAW(features=dictionary), jax.random.key(0), 40)[1]
    Z = features_in_numpy(dictionary, X).reshape(40, -1)
    np.testing.assert_allclose(history.y_hat, normal_equations(Z, y, 1.0)[1], rtol=0, atol=1e-12)


absorb_one = jax.jit(lambda state, z, target: absorb(state, z[:, None], target[None])[0])


@pytest.mark.long
@pytest.mark.parametrize("spikes", [False, True])
def test_regret_is_below_the_bound_of_equation_11(x64, spikes):
    """Labels are against the predictions of online ridge, which violates the bound where a long instance comes once in
    a while. Against every w at once: the worst one minimises loss(w) + lambda/2 |w|^2."""
    T, m, Y = 400, 8, 1.0
    Z = np.random.default_rng(2).normal(size=(T, m))
    Z = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    if spikes:
        Z = Z * np.where(np.arange(T) % 20 == 19, 30.0, 0.3)[:, None]
    y, state = np.zeros(T), initial_state(m, 1.0, np.float64)
    for t in range(T):
        y[t] = -Y if np.asarray(state.w) @ Z[t] > 0 else Y
        state = absorb_one(state, jnp.asarray(Z[t]), jnp.asarray(y[t]))
    ridge, predictions = map(np.asarray, forecast(Z, y)[0])
    S = np.eye(m) + Z.T @ Z
    w = np.linalg.solve(S, Z.T @ y)
    best = 0.5 * np.sum((Z @ w - y) ** 2) + 0.5 * w @ w
    regret = 0.5 * np.sum((predictions - y) ** 2) - best
    assert regret <= bounds.vaw(0.0, m, np.linalg.norm(Z, axis=1).max(), Y, T) + 1e-9
    assert regret <= Y**2 / 2 * np.linalg.slogdet(S)[1] + 1e-9
    if spikes:
        assert 0.5 * np.sum((ridge - y) ** 2) - best > bounds.vaw(0.0, m, np.linalg.norm(Z, axis=1).max(), Y, T)


def test_vaw_requires_float64_unless_float32_is_allowed():
    Z, y = sequence(10, 2)
    how = r"jax.enable_x64\(True\).*JAX_ENABLE_X64=1.*dtype='float32'"
    for offline in (forecast, lambda Z, y: aggregate(VAW(), Z, y)):
        with pytest.raises(ValueError, match=how):
            offline(Z, y)
    game = jo.Game(jo.environments.DataStream(Z, y), jo.FullInformation())
    with pytest.raises(ValueError, match=r"float32.*enable_x64.*allow_float32=True"):
        jo.play(game, VAW(), jax.random.key(0), 10)
    assert jo.play(game, VAW(allow_float32=True), jax.random.key(0), 10)[1].y_hat.dtype == np.float32


@pytest.mark.parametrize("n", some([1, 9, 32, 100], 1, 9))
def test_cholesky_and_inverse_agree_with_numpy(both_precisions, n):
    A = np.random.default_rng(n).normal(size=(n, n + 3))
    A = (A @ A.T / n + np.eye(n)).astype(both_precisions)
    L, L_inverse = jax.jit(cholesky_and_inverse)(jnp.asarray(A))
    expected = np.linalg.cholesky(A.astype(float))
    tolerance = 200 * np.finfo(both_precisions).eps
    np.testing.assert_allclose(L, expected, rtol=0, atol=tolerance)
    np.testing.assert_allclose(L_inverse, np.linalg.inv(expected), rtol=0, atol=tolerance)


def test_cholesky_of_an_indefinite_matrix_is_nan(x64):
    assert np.isnan(np.asarray(cholesky_and_inverse(jnp.diag(jnp.asarray([1.0, -1.0, 1.0])))[0])).any()


@pytest.mark.long
def test_sincos_agrees_with_mpmath(x64):
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


def test_sincos_in_float32_agrees_with_float64():
    angles = jnp.linspace(-50.0, 50.0, 1001)
    np.testing.assert_allclose(np.stack(sincos(angles)), [jnp.sin(angles), jnp.cos(angles)], rtol=0, atol=0)
