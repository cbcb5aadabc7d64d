"""Fourier features of noisy copies: their mean by quadrature, and a learner that uses them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxonline as jo
from benchmarks.papers.estimators.kernels_under_noise import DebiasedFourierFeatures
from jaxonline.estimators import FourierFeatures, TwoCopies
from jaxonline.learners import WithFeatures

MATRIX = np.array([[0.4, 0.25], [0.25, 0.5]])
FREQUENCIES, PHASES = np.array([[0.8, -0.5], [-1.2, 0.4], [0.0, 0.0]]), np.array([0.3, 2.0, 1.0])
X = np.array([0.6, -0.4])


@pytest.mark.parametrize(("covariance", "phases"), [(MATRIX, None), (np.array([0.3, 0.8]), PHASES), (0.5, PHASES)])
def test_the_mean_of_the_features_is_the_feature_of_the_instance(covariance, phases, x64):
    """By Gauss-Hermite quadrature, to 1e-10; without the correction the mean is smaller by the stated factor."""
    matrix = covariance if np.ndim(covariance) == 2 else np.diag(np.broadcast_to(covariance, 2))
    t, w = np.polynomial.hermite.hermgauss(40)
    grid = np.sqrt(2) * np.stack(np.meshgrid(t, t, indexing="ij"), -1).reshape(-1, 2)
    weights, points = np.outer(w, w).ravel() / np.pi, X + grid @ np.linalg.cholesky(matrix).T
    phi = FourierFeatures(FREQUENCIES, phases, 2.5)
    debiased = DebiasedFourierFeatures(phi, covariance)
    means = [weights @ np.asarray(jax.vmap(map_)(jnp.asarray(points))) for map_ in (debiased, phi)]
    np.testing.assert_allclose(means[0], phi(X), rtol=1e-10, atol=1e-12)
    factors = np.exp(0.5 * np.einsum("mi,ij,mj->m", FREQUENCIES, matrix, FREQUENCIES))
    np.testing.assert_allclose(debiased.inflation(), factors, rtol=1e-12)
    np.testing.assert_allclose(means[1] * np.tile(factors, debiased.size // 3), means[0], rtol=1e-10, atol=1e-12)


@pytest.mark.long
def test_the_learner_equals_a_loop(x64):
    """Two copies in NumPy: gradients from the corrected features, predictions from the others; to 1e-10."""
    rng, key = np.random.default_rng(0), jax.random.key(5)
    instances, y = rng.normal(size=(12, 2)), rng.normal(size=12)
    feedback = jo.NoisyCopies(jo.noise.gaussian(MATRIX))
    factors = np.exp(0.5 * np.einsum("mi,ij,mj->m", FREQUENCIES, MATRIX, FREQUENCIES))

    def features(x):
        return np.concatenate([np.cos(FREQUENCIES @ x), np.sin(FREQUENCIES @ x)]) / np.sqrt(3)

    w, predictions = np.zeros(6), []
    keys = jo.game.stream_keys(key).oracle
    for t, (x, label) in enumerate(zip(instances, y, strict=True), start=1):
        predictions.append(w @ features(x))
        oracle = feedback.open(jax.random.fold_in(keys, t), jnp.int32(t), jnp.asarray(x), jnp.asarray(label), 0.0)
        one, other = (np.tile(factors, 2) * features(np.asarray(oracle.copy(j))) for j in (0, 1))
        w = w - 0.1 * 2 * (w @ one - label) * other
    phi = FourierFeatures(FREQUENCIES)
    learner = jo.GradientLearner(TwoCopies(), step_size=0.1)
    game = jo.Game(jo.environments.DataStream(instances, y), feedback)
    _, history = jo.play(game, WithFeatures(learner, phi, DebiasedFourierFeatures(phi, MATRIX)), key, 12)
    np.testing.assert_allclose(history.y_hat, predictions, rtol=1e-10, atol=1e-12)


def test_a_covariance_of_another_dimension_raises_an_error():
    with pytest.raises(ValueError, match=r"^covariance\b.*2 coordinates"):
        DebiasedFourierFeatures(FourierFeatures(FREQUENCIES), np.ones(3))
