"""Surrogate kernels: expectations by Gauss-Hermite quadrature, their mixtures by scipy's."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate
from tiers import some

from jaxonline.estimators.surrogates import Surrogate, lemma7_bound, radial_surrogate, surrogate_error
from jaxonline.kernels import Gaussian
from jaxonline.kernels.shift_invariant import Cauchy, GaussianMixture, RadialExponential

pytestmark = pytest.mark.fast_compile

A, X = np.array([0.4, -0.7]), np.array([-0.3, 0.5])
MATRIX = np.array([[0.5, 0.3], [0.3, 0.6]])
COVARIANCES = {
    "number": (0.35, 0.35 * np.eye(2)),
    "variances": (np.array([0.1, 0.6]), np.diag([0.1, 0.6])),
    "matrix": (MATRIX, MATRIX),
    "one direction": (np.outer([1.0, 2.0], [1.0, 2.0]) / 8, np.outer([1.0, 2.0], [1.0, 2.0]) / 8),
}


@jax.jit
@functools.partial(jax.vmap, in_axes=(None, None, 0))
def row(kernel, a, x):
    return kernel(a, x)


def expectation(kernel, a, matrix, nodes=64, x=X):
    """E k(a, x + noise) for noise N(0, matrix), by a tensor grid of Gauss-Hermite nodes.

    The factor of the covariance is a Cholesky factor, not the eigenvectors of the code under test.
    """
    d = len(x)
    t, w = np.polynomial.hermite.hermgauss(nodes)
    grid = math.sqrt(2) * np.stack(np.meshgrid(*[t] * d, indexing="ij"), -1).reshape(-1, d)
    weights = functools.reduce(np.multiply.outer, [w / math.sqrt(math.pi)] * d).ravel()
    factor = np.linalg.cholesky(matrix + 1e-14 * np.eye(d))
    values = row(kernel, jnp.asarray(a), jnp.asarray(x + grid @ factor.T))
    return float(weights @ np.asarray(values, float))


@pytest.mark.parametrize("name", some(COVARIANCES, "one direction"))
def test_gaussian_surrogate_is_exact(name, x64):
    """E k^(a, x~) = k(a, x) to 1e-9, and the stated constant is the product of the paper."""
    covariance, matrix = COVARIANCES[name]
    width = 1.6
    surrogate = Surrogate(Gaussian(width), covariance, dimension=2)
    a = jnp.asarray(A)
    value = expectation(surrogate, a, matrix)
    np.testing.assert_allclose(value, math.exp(-np.sum((A - X) ** 2) / width**2), rtol=1e-9)
    eigenvalues = np.linalg.eigvalsh(matrix)
    constant = np.prod(width**2 / (width**2 - 2 * eigenvalues)) ** 0.25
    np.testing.assert_allclose(surrogate.constant(), constant, rtol=1e-12)
    np.testing.assert_allclose(surrogate(a, a), constant**2, rtol=1e-12)
    points = np.random.default_rng(0).normal(size=(20, 2))
    assert np.linalg.eigvalsh(surrogate.gram(points)).min() > -1e-12


def test_full_covariance_in_three_dimensions_is_exact(x64):
    """A full covariance whose matrix of eigenvectors is not symmetric (in two dimensions it may be a reflection)."""
    matrix = np.array([[0.5, 0.2, 0.1], [0.2, 0.4, -0.15], [0.1, -0.15, 0.3]])
    a, x = jnp.array([0.4, -0.7, 0.2]), jnp.array([-0.3, 0.5, 0.6])
    surrogate = Surrogate(Gaussian(1.6), matrix)
    assert np.abs(surrogate.rotation - np.asarray(surrogate.rotation).T).max() > 0.1
    value = expectation(surrogate, a, matrix, nodes=32, x=np.asarray(x))
    np.testing.assert_allclose(value, Gaussian(1.6)(a, x), rtol=1e-6)


@pytest.mark.parametrize("kernel", [Cauchy(2.0), Cauchy(1.5, 0.4), RadialExponential(1.3)])
@pytest.mark.parametrize("name", ["number", "matrix"])
def test_radial_surrogate_is_exact(kernel, name, x64):
    """E k^(a, x~) is the truncated kernel in closed form, for isotropic and for full covariances (B has the first)."""
    covariance, matrix = COVARIANCES[name]
    cut = 0.3 / np.linalg.eigvalsh(matrix).max()
    surrogate = radial_surrogate(kernel, covariance, cut, dimension=2)
    value = expectation(surrogate, A, matrix)
    expected = kernel.truncated_profile(np.sum((A - X) ** 2), cut)
    np.testing.assert_allclose(value, expected, rtol=1e-9)
    np.testing.assert_allclose(surrogate.kernel(jnp.asarray(A), jnp.asarray(X)), expected, rtol=1e-9)
    assert surrogate_error(kernel, covariance, cut, dimension=2) < 1e-9
    assert surrogate_error(kernel, covariance, cut, dimension=2, n_nodes=3) > 1e-6


def test_radial_surrogate_matches_its_integral(x64):
    """Equation 17, corrected: the integral by scipy, for d = 4 and for a distance of 1.5."""
    d, c, variance = 4, 3.0, 0.25
    surrogate = radial_surrogate(Cauchy(float(d)), variance, c / d, dimension=d)
    r2 = 2.25

    def integrand(u):
        shrinkage = 1 - 2 * variance * u
        return d * shrinkage ** (-d / 2) * math.exp(-u * r2 / shrinkage - u * d)

    expected = integrate.quad(integrand, 0, c / d, epsabs=1e-13)[0]
    np.testing.assert_allclose(surrogate(jnp.zeros(d), jnp.array([1.5, 0, 0, 0.0])), expected, rtol=1e-11)


@pytest.mark.parametrize(("variance", "c", "d"), [(0.25, 2.0, 4), (1.0, 1.2, 5), (0.01, 9.0, 2), (4.0, 5.9, 100)])
def test_constant_is_below_lemma_7(variance, c, d):
    """R^2 <= exp(2 sigma^2 c) in the worked case."""
    surrogate = radial_surrogate(Cauchy(float(d)), variance, c / d, dimension=d)
    assert float(surrogate.constant()) ** 2 <= lemma7_bound(variance, c, d)
    assert lemma7_bound(variance, c, d) == pytest.approx(math.exp(2 * variance * c), rel=1e-12)


def test_surrogate_of_a_constant_is_the_constant():
    """A mixture with the rate 0 has no width, and allows any noise."""
    constant = Surrogate(GaussianMixture([0.0], [2.0]), [100.0])
    assert float(constant(jnp.ones(1, jnp.float32), jnp.zeros(1, jnp.float32))) == pytest.approx(2.0, rel=1e-6)
