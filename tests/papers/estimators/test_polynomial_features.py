"""Features of polynomial kernels, and of noisy copies: kernels, quadrature, Hermite polynomials of scipy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special

from benchmarks.papers.estimators.kernels_under_noise import DebiasedPolynomialFeatures, PolynomialFeatures
from jaxonline.kernels import ExponentialKernel, Homogeneous, Inhomogeneous, PowerSeries

pytestmark = pytest.mark.fast_compile
MATRIX = np.array([[0.4, 0.25], [0.25, 0.5]])
X, X2 = np.array([0.6, -0.4]), np.array([1.1, 0.7])


@pytest.mark.parametrize("kernel", [Homogeneous(3), Inhomogeneous(4), PowerSeries([0.5, 0.0, 2.0, 0.3])])
def test_features_have_the_kernel_as_inner_product(kernel, x64):
    features = PolynomialFeatures(kernel, 2)
    np.testing.assert_allclose(features(X) @ features(X2), kernel(X, X2), rtol=1e-12)
    assert features(X).shape == (features.size,)


@pytest.mark.parametrize(
    "covariance", [pytest.param(MATRIX, marks=pytest.mark.long), np.array([0.3, 0.8])], ids=["matrix", "variances"]
)
def test_the_mean_of_the_features_is_the_feature_of_the_instance(covariance, x64):
    """By Gauss-Hermite quadrature, which is exact for polynomials: to 1e-11. Without a correction there is a bias."""
    matrix = covariance if covariance.ndim == 2 else np.diag(covariance)
    t, w = np.polynomial.hermite.hermgauss(8)
    grid = np.sqrt(2) * np.stack(np.meshgrid(t, t, indexing="ij"), -1).reshape(-1, 2)
    weights, points = np.outer(w, w).ravel() / np.pi, X + grid @ np.linalg.cholesky(matrix).T
    features = PolynomialFeatures(Inhomogeneous(5), 2)
    debiased = DebiasedPolynomialFeatures(features, covariance)
    corrected, naive = (weights @ np.asarray(jax.vmap(map_)(jnp.asarray(points))) for map_ in (debiased, features))
    np.testing.assert_allclose(corrected, features(X), rtol=1e-11, atol=1e-11)
    assert np.abs(naive - np.asarray(features(X))).max() > 0.5


def test_features_of_one_coordinate_are_hermite_polynomials(x64):
    """sigma^n He_n(x / sigma), from scipy."""
    variance, x = 0.7, 1.3
    debiased = DebiasedPolynomialFeatures(PolynomialFeatures(PowerSeries(np.ones(7)), 1), variance)
    n, sigma = np.arange(7), np.sqrt(variance)
    np.testing.assert_allclose(debiased(np.array([x])), sigma**n * special.eval_hermitenorm(n, x / sigma), rtol=1e-11)


def test_bad_arguments_raise_errors():
    with pytest.raises(TypeError, match=r"^kernel\b"):
        PolynomialFeatures(ExponentialKernel(), 2)
    with pytest.raises(ValueError, match=r"^dimension\b.*4096"):
        PolynomialFeatures(Inhomogeneous(5), 50)
    with pytest.raises(ValueError, match=r"^covariance\b.*2 coordinates"):
        DebiasedPolynomialFeatures(PolynomialFeatures(Inhomogeneous(2), 2), np.ones(3))
