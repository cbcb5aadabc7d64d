"""Exact kernels, Nystroem features, a budget and OGD-OGD against NumPy loops, scikit-learn and other learners."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from references.vaw_equations import normal_equations

import jaxonline as jo
from benchmarks.papers.engines.kernels import (
    budgeted_forecasts,
    exact_forecasts,
    nystroem_forecasts,
    two_level_descent,
)
from jaxonline.estimators.dictionary import Dictionary


def problem(T=60, d=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(T, d))
    return X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=T)


def gaussian(X, Z):
    return np.exp(-((X[:, None] - Z[None]) ** 2).sum(axis=-1) / 2)


def test_an_exact_linear_kernel_is_the_linear_forecaster():
    X, y = problem()
    ridge, vaw, _ = normal_equations(X, y, 0.7)
    found = exact_forecasts(X @ X.T, y, 0.7)
    np.testing.assert_allclose(found.ridge, ridge, atol=1e-10)
    np.testing.assert_allclose(found.vaw, vaw, atol=1e-10)


def test_exact_kernel_ridge_equals_scikit_learn_fitted_on_the_rounds_before():
    from sklearn.kernel_ridge import KernelRidge

    X, y = problem()
    found = exact_forecasts(gaussian(X, X), y, 0.3).ridge
    for t in (1, 20, 59):
        model = KernelRidge(alpha=0.3, kernel="rbf", gamma=0.5).fit(X[:t], y[:t])
        assert found[t] == pytest.approx(model.predict(X[t : t + 1])[0], abs=1e-10)
    with pytest.raises(ValueError, match="rounds"):
        exact_forecasts(np.zeros((10_001, 1)), np.zeros(10_001))


@pytest.mark.long
def test_nystroem_with_all_landmarks_is_the_exact_kernel_and_scikit_learn_has_the_same_features():
    from sklearn.kernel_approximation import Nystroem

    X, y = problem()
    with jax.enable_x64(True):
        whole = nystroem_forecasts(gaussian(X, X), y, 0.3)
        few = nystroem_forecasts(gaussian(X, X[:8]), y, 0.3)
    exact = exact_forecasts(gaussian(X, X), y, 0.3)
    np.testing.assert_allclose(whole.ridge, exact.ridge, atol=1e-7)
    np.testing.assert_allclose(whole.vaw, exact.vaw, atol=1e-7)
    Z = Nystroem(kernel="rbf", gamma=0.5, n_components=8).fit(X[:8]).transform(X)  # all eight rows are components
    ridge, vaw, _ = normal_equations(Z, y, 0.3)
    np.testing.assert_allclose(few.ridge, ridge, atol=1e-9)
    np.testing.assert_allclose(few.vaw, vaw, atol=1e-9)


def test_a_budget_drops_the_oldest_points():
    X, y = problem()
    K = gaussian(X, X)
    points, expected = [], []
    for t in range(len(y)):
        prediction = sum(alpha * K[t, i] for i, alpha in points)
        expected.append(prediction)
        points = [*((i, 0.99 * alpha) for i, alpha in points), (t, 0.2 * (y[t] - prediction))][-7:]
    np.testing.assert_allclose(budgeted_forecasts(K, y, 0.2, 7, penalty=0.05), expected, atol=1e-12)


@pytest.mark.long
def test_without_a_budget_norma_is_kernel_gradient_descent():
    """`KernelGradient` with the squared loss, whose gradient is twice that of the half squared loss."""
    X, y = problem(20)
    estimator = jo.estimators.FullGradient(jo.losses.Squared())
    with jax.enable_x64(True):
        learner = jo.learners.KernelGradient(jo.kernels.Gaussian.from_standard_deviation(1.0), estimator, 0.1, 20)
        game = jo.Game(jo.environments.DataStream(X, y), jo.FullInformation())
        found = jo.play(game, learner, jax.random.key(0), 20)[1].y_hat
    np.testing.assert_allclose(budgeted_forecasts(gaussian(X, X), y, 0.2, 20), found, atol=1e-10)


def test_two_level_descent_is_the_loop():
    X, y = problem()
    frequencies = np.random.default_rng(1).normal(size=(4, 5, 3))
    theta, w, expected = np.zeros((4, 10)), np.full(4, 0.25), []
    for t in range(len(y)):
        angles = frequencies @ X[t]
        features = np.concatenate([np.sin(angles), np.cos(angles)], axis=1) / np.sqrt(5)
        z = (theta * features).sum(axis=1)
        expected.append(w @ z)
        w = w - 0.5 / (4 * np.sqrt(t + 1)) * 2 * (expected[-1] - y[t]) * z
        theta = theta - 0.3 / np.sqrt(t + 1) * (2 * (z - y[t])[:, None] * features + 2 * 0.01 * theta)
    with jax.enable_x64(True):
        found = two_level_descent(Dictionary(frequencies), jnp.asarray(X), jnp.asarray(y), 0.3, 0.5, 0.01)
    np.testing.assert_allclose(found, expected, atol=1e-10)
    assert expected[:1] == [0.0]
