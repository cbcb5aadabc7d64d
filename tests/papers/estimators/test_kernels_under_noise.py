"""Kernels and features of noisy copies: their means by quadrature, and a learner that uses them."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxonline as jo
from benchmarks.papers.estimators.kernels_under_noise import (
    DebiasedFourierFeatures,
    DebiasedPolynomialFeatures,
    LaplaceSurrogate,
    PolynomialFeatures,
)
from jaxonline.estimators import FourierFeatures, Surrogate
from jaxonline.kernels import Gaussian, Homogeneous, Inhomogeneous, PowerSeries
from jaxonline.kernels.shift_invariant import GaussianMixture
from jaxonline.learners import SurrogateKernel

pytestmark = pytest.mark.fast_compile


A, X = np.array([0.4, -0.7]), np.array([-0.3, 0.5])
MATRIX = np.array([[0.4, 0.25], [0.25, 0.5]])


@jax.jit
@functools.partial(jax.vmap, in_axes=(None, None, 0))
def row(kernel, a, x):
    return kernel(a, x)


def expectation(kernel, covariance, nodes=60):
    """E k(A, X + noise) for the noise F z of `jo.noise.laplace`, by Gauss-Laguerre nodes on both sides of 0."""
    t, w = np.polynomial.laguerre.laggauss(nodes)
    z, weights = np.concatenate([-t, t]) / math.sqrt(2), np.concatenate([w, w]) / 2
    grid = np.stack(np.meshgrid(z, z, indexing="ij"), -1).reshape(-1, 2)
    points = X + grid @ jo.noise.laplace(covariance).factor_matrix(2).T
    return float(
        np.outer(weights, weights).ravel() @ np.asarray(row(kernel, jnp.asarray(A), jnp.asarray(points)), float)
    )


@pytest.mark.parametrize("covariance", [0.35, np.array([0.1, 2.6]), MATRIX], ids=["number", "wide", "matrix"])
def test_the_mean_of_the_surrogate_is_the_kernel(covariance, x64):
    """To 1e-7 (the quadrature), also for noise that is wider than the kernel; Surrogate has another mean."""
    kernel = GaussianMixture([0.2, 0.6], [0.7, 0.4])
    surrogate = LaplaceSurrogate(kernel, covariance, 2)
    target = float(kernel(A, X))
    np.testing.assert_allclose(expectation(surrogate, covariance), target, rtol=1e-7)
    if np.max(covariance) < 0.8:
        assert abs(expectation(Surrogate(kernel, covariance, 2), covariance) - target) > 0.01 * target


def test_the_surrogate_is_positive_semi_definite_and_largest_at_zero(x64):
    """k^(x, x) = prod_i (1 + s_i u) is the largest |k^|, and differs from the value far away, which may be negative."""
    surrogate = LaplaceSurrogate(Gaussian(1.6), [0.5, 2.0])
    points = np.random.default_rng(0).normal(size=(40, 2))
    gram = np.asarray(surrogate.gram(points))
    assert np.linalg.eigvalsh(gram).min() > -1e-12
    top = (1 + 0.5 / 1.6**2) * (1 + 2.0 / 1.6**2)
    np.testing.assert_allclose([surrogate.at_zero(), surrogate.constant() ** 2, gram[3, 3]], top, rtol=1e-12)
    assert np.abs(gram).max() < top * (1 + 1e-12)
    assert gram.min() < -0.05


@pytest.mark.long
@pytest.mark.parametrize("kernel", [Homogeneous(3), Inhomogeneous(4), PowerSeries([0.5, 0.0, 2.0, 0.3])])
def test_features_have_the_kernel_as_inner_product(kernel, x64):
    features = PolynomialFeatures(kernel, 2)
    np.testing.assert_allclose(features(X) @ features(A), kernel(X, A), rtol=1e-12)
    assert features(X).shape == (features.size,)


FREQUENCIES, PHASES = np.array([[0.8, -0.5], [-1.2, 0.4], [0.0, 0.0]]), np.array([0.3, 2.0, 1.0])


POLYNOMIALS = PolynomialFeatures(Inhomogeneous(5), 2)
FEATURES = [
    (POLYNOMIALS, DebiasedPolynomialFeatures, np.array([0.3, 0.8])),
    (POLYNOMIALS, DebiasedPolynomialFeatures, MATRIX),
    (FourierFeatures(FREQUENCIES, None, 2.5), DebiasedFourierFeatures, MATRIX),
    (FourierFeatures(FREQUENCIES, PHASES, 2.5), DebiasedFourierFeatures, np.array([0.3, 0.8])),
    (FourierFeatures(FREQUENCIES, PHASES, 2.5), DebiasedFourierFeatures, 0.5),
]


@pytest.mark.parametrize(("features", "debias", "covariance"), FEATURES)
def test_the_mean_of_the_features_is_the_feature_of_the_instance(features, debias, covariance, x64):
    """By Gauss-Hermite quadrature, to 1e-10; without the correction the mean of Fourier features is smaller by the
    stated factor, and that of polynomials is biased."""
    matrix = covariance if np.ndim(covariance) == 2 else np.diag(np.broadcast_to(covariance, 2))
    t, w = np.polynomial.hermite.hermgauss(40)
    grid = np.sqrt(2) * np.stack(np.meshgrid(t, t, indexing="ij"), -1).reshape(-1, 2)
    weights, points = np.outer(w, w).ravel() / np.pi, X + grid @ np.linalg.cholesky(matrix).T
    debiased = debias(features, covariance)
    corrected, naive = (weights @ np.asarray(jax.vmap(map_)(jnp.asarray(points))) for map_ in (debiased, features))
    np.testing.assert_allclose(corrected, features(X), rtol=1e-10, atol=1e-11)
    if features is POLYNOMIALS:
        assert np.abs(naive - np.asarray(features(X))).max() > 0.1
    else:
        factors = np.exp(0.5 * np.einsum("mi,ij,mj->m", FREQUENCIES, matrix, FREQUENCIES))
        np.testing.assert_allclose(debiased.inflation(), factors, rtol=1e-12)
        np.testing.assert_allclose(naive * np.tile(factors, debiased.size // 3), corrected, rtol=1e-10, atol=1e-12)


def test_noise_of_another_law_or_covariance_raises():
    learner = SurrogateKernel(LaplaceSurrogate(Gaussian(2.0), 0.5, 2), step_size=0.1, n_rounds=4)
    for noise in (jo.noise.gaussian(0.5), jo.noise.laplace(0.4)):
        with pytest.raises(ValueError, match=r"^noise\b"):
            jo.play(jo.Game(jo.environments.DataStream(np.eye(2), np.ones(2)), jo.NoisyCopies(noise)), learner, 0, 2)
