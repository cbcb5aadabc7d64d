"""Surrogate kernels under Laplace noise: expectations by Gauss-Laguerre quadrature, bounds, bad arguments."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxonline as jo
from benchmarks.papers.estimators.kernels_under_noise import LaplaceSurrogate
from jaxonline.estimators import Surrogate
from jaxonline.kernels import Gaussian, Linear
from jaxonline.kernels.shift_invariant import Cauchy, GaussianMixture, truncate
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


def test_the_ratio_of_the_kernels_is_bounded_only_for_near_instances(x64):
    """k^/k <= R^2 while z_i^2 <= (1 + s_i u) / (s_i u^2) for all i; beyond, two negative factors exceed it."""
    s, u = 0.5, 1.0
    surrogate, kernel = LaplaceSurrogate(Gaussian(1.0), s, 2), Gaussian(1.0)
    limit = math.sqrt((1 + s * u) / (s * u**2))
    z = limit * np.random.default_rng(1).uniform(-1, 1, size=(200, 2))
    zero = jnp.zeros(2)
    ratio = np.asarray(row(surrogate, zero, jnp.asarray(z)) / row(kernel, zero, jnp.asarray(z)))
    assert np.abs(ratio).max() <= (1 + s * u) ** 2 * (1 + 1e-12)
    far = jnp.full((1, 2), 1.1 * limit)
    assert float((row(surrogate, zero, far) / row(kernel, zero, far))[0]) > 1.5 * (1 + s * u) ** 2


def test_wrong_noise_and_bad_arguments_raise():
    surrogate = LaplaceSurrogate(truncate(Cauchy(2.0), 5.0, 8), 0.5, 2)  # no limit on the cut
    assert np.isfinite(float(surrogate.constant()))
    learner = SurrogateKernel(surrogate, step_size=0.1, n_rounds=4)
    environment = jo.environments.DataStream(np.eye(2), np.ones(2))
    jo.play(jo.Game(environment, jo.NoisyCopies(jo.noise.laplace(0.5))), learner, 0, 2)
    with pytest.raises(ValueError, match=r"^noise\b.*Laplace.*LaplaceSurrogate.*gaussian"):
        jo.play(jo.Game(environment, jo.NoisyCopies(jo.noise.gaussian(0.5))), learner, 0, 2)
    with pytest.raises(ValueError, match=r"^noise\b.*covariance"):
        jo.play(jo.Game(environment, jo.NoisyCopies(jo.noise.laplace(0.4))), learner, 0, 2)
    with pytest.raises(ValueError, match=r"^dimension\b"):
        LaplaceSurrogate(Gaussian(1.0), 0.5)
    with pytest.raises(TypeError, match=r"^kernel\b"):
        LaplaceSurrogate(Linear(), 0.5, 2)
