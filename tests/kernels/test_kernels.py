"""Kernels against mpmath's Taylor expansions, scikit-learn, and integrals of their spectral and mixing laws."""

import functools
import math

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy import stats
from sklearn import gaussian_process
from sklearn.metrics import pairwise
from tiers import some

from jaxonline.kernels import (
    Binomial,
    ExponentialKernel,
    Gaussian,
    Homogeneous,
    Inhomogeneous,
    Laplacian,
    Linear,
    Matern,
    PowerSeries,
    Scaled,
    Sum,
)
from jaxonline.kernels.shift_invariant import (
    Cauchy,
    GaussianMixture,
    RadialExponential,
    quadrature_error,
    truncate,
)

pytestmark = pytest.mark.fast_compile

ORDER = 30
DOT_PRODUCT = {
    "linear": (Linear(), lambda a: a),
    "homogeneous": (Homogeneous(3), lambda a: a**3),
    "inhomogeneous": (Inhomogeneous(40), lambda a: (1 + a) ** 40),
    "exponential": (ExponentialKernel(), mpmath.exp),
    "binomial": (Binomial(0.3), lambda a: (1 - a) ** (-mpmath.mpf(0.3))),
    "steep binomial": (Binomial(7.5), lambda a: (1 - a) ** (-mpmath.mpf(7.5))),
    "power series": (PowerSeries([0.5, 0.0, 2.0]), lambda a: mpmath.mpf(0.5) + 2 * a**2),
}
SHIFT_INVARIANT = {
    "gaussian": Gaussian(1.3),
    "laplacian": Laplacian(1.7),
    "radial exponential": RadialExponential(1.2),
    "cauchy": Cauchy(2.0, 1.5),
    "mixture": GaussianMixture([0.1, 2.0], [0.75, 0.5]),
    "sum": Sum([Gaussian(1.0), Laplacian(2.0)]),
    "scaled": Scaled(Gaussian(1.0), 2.5),
    "matern": Matern(1.2, order=1),
}


@pytest.mark.parametrize("name", DOT_PRODUCT)
def test_coefficients_equal_the_taylor_coefficients(name, x64):
    """Relative 1e-12 to order 30 against mpmath with 60 digits; so is the JAX code for a random order."""
    kernel, function = DOT_PRODUCT[name]
    with mpmath.workdps(60):
        expected = np.array([float(c) for c in mpmath.taylor(function, 0, ORDER)])
    np.testing.assert_allclose(kernel.coefficients(ORDER + 1), expected, rtol=1e-12, atol=1e-40)
    logs = jax.jit(kernel.log_coefficient)(jnp.arange(ORDER + 1))
    np.testing.assert_allclose(np.exp(logs), kernel.coefficients(ORDER + 1), rtol=1e-12, atol=1e-40)


@pytest.mark.parametrize("name", DOT_PRODUCT)
def test_series_equals_the_kernel_as_a_function_of_the_inner_product(name, both_precisions):
    kernel, function = DOT_PRODUCT[name]
    x, x2 = np.array([0.3, -0.5, 0.2], both_precisions), np.array([0.6, 0.4, 0.9], both_precisions)
    value = kernel(jnp.asarray(x), jnp.asarray(x2))
    assert value.dtype == both_precisions
    expected = float(function(mpmath.mpf(float(x.astype(float) @ x2.astype(float)))))
    np.testing.assert_allclose(value, expected, rtol=1e-5 if both_precisions == np.float32 else 1e-13)
    assert kernel.radius() == (1.0 if name in ("binomial", "steep binomial", "sum", "product") else math.inf)


@pytest.mark.parametrize("name", DOT_PRODUCT)
@pytest.mark.parametrize("n_terms", [0, 1, 5, 25])
def test_tail_bound_equals_the_rest_of_the_series(name, n_terms):
    """mpmath sums the series itself; near the top of float64 resolution the two agree to 1e-9 relative."""
    kernel, function = DOT_PRODUCT[name]
    with mpmath.workdps(60):
        a = mpmath.mpf(0.7)
        head = sum(c * a**n for n, c in enumerate(mpmath.taylor(function, 0, max(n_terms - 1, 0))[:n_terms]))
        rest = float(function(a) - head)
    np.testing.assert_allclose(kernel.tail_bound(n_terms, 0.7), rest, rtol=1e-9, atol=1e-18)


def test_gram_matrices_agree_with_scikit_learn(x64):
    X, X2 = np.random.default_rng(0).normal(size=(2, 5, 3))
    for kernel, expected in [
        (Linear(), pairwise.linear_kernel(X, X2)),
        (Inhomogeneous(3), pairwise.polynomial_kernel(X, X2, degree=3, gamma=1.0, coef0=1.0)),
        (Gaussian(1.7), pairwise.rbf_kernel(X, X2, gamma=1 / 1.7**2)),
        (Gaussian.from_standard_deviation(1.7), pairwise.rbf_kernel(X, X2, gamma=1 / (2 * 1.7**2))),
        (Laplacian(1.7), pairwise.laplacian_kernel(X, X2, gamma=1 / 1.7)),
        (RadialExponential(1.7), np.exp(-pairwise.euclidean_distances(X, X2) / 1.7)),
        (Matern(1.7, order=1), gaussian_process.kernels.Matern(1.7, nu=1.5)(X, X2)),
        (Matern(0.7, order=3), gaussian_process.kernels.Matern(0.7, nu=3.5)(X, X2)),
        (Cauchy(1.7, 0.6), (1 + pairwise.euclidean_distances(X, X2) ** 2 / 1.7) ** -0.6),
    ]:
        np.testing.assert_allclose(kernel.gram(X, X2), expected, rtol=1e-12)


@jax.jit
@functools.partial(jax.vmap, in_axes=(None, None, 0))
def row(kernel, x, x2):
    return kernel(x, x2)


@functools.partial(jax.jit, static_argnums=2)
def frequencies(kernel, key, n):
    return kernel.frequencies(key, 2, n)


@pytest.mark.parametrize("name", some(SHIFT_INVARIANT, "gaussian", "mixture"))
def test_the_characteristic_function_of_the_frequencies_is_the_kernel(name):
    """E cos<omega, x - x'> = k(x, x')/k(x, x). Cosines lie in [-1, 1], so Hoeffding's bound holds: with 2^18 draws a
    right sampler is rejected with probability below 1e-9 at each of 3 points, and a bias of 0.026 is always found."""
    kernel, n = SHIFT_INVARIANT[name], 1 << 18
    omega = np.asarray(frequencies(kernel, jax.random.key(7), n), np.float64)
    tolerance = math.sqrt(2 * math.log(2 / 1e-9) / n)
    assert tolerance < 0.013
    differences = jnp.array([[0.3, -0.2], [1.0, 0.5], [0.0, 2.0]])
    at_zero = jax.jit(lambda kernel: kernel.at_zero())(kernel)
    for difference, value in zip(differences, row(kernel, jnp.zeros(2), differences), strict=True):
        expected = float(value / at_zero)
        assert abs(np.cos(omega @ np.asarray(difference, float)).mean() - expected) < tolerance
        if name == "gaussian":  # a mutant: the frequencies of paper D's convention at the same width
            assert abs(np.cos(omega @ np.asarray(difference, float) / math.sqrt(2)).mean() - expected) > tolerance


def test_frequencies_have_the_stated_distributions():
    """Kolmogorov-Smirnov at level 1e-6 on 20,000 draws each: a wrong scale of 5 % is rejected."""
    key, n = jax.random.key(3), 1 << 18
    normal = np.asarray(frequencies(Gaussian.from_standard_deviation(2.0), key, n), float).ravel()[:20_000]
    assert stats.kstest(normal, stats.norm(scale=0.5).cdf).pvalue > 1e-6
    assert stats.kstest(1.05 * normal, stats.norm(scale=0.5).cdf).pvalue < 1e-3
    cauchy = np.asarray(frequencies(Laplacian(2.0), key, n), float).ravel()[:20_000]
    assert stats.kstest(cauchy, stats.cauchy(scale=0.5).cdf).pvalue > 1e-6


MIXTURES = [RadialExponential(0.8), Matern(0.8, 2), Cauchy(4.0), Cauchy(2.0, 0.4), Cauchy(1.5, 3.2)]


@pytest.mark.parametrize("kernel", MIXTURES)
def test_mixing_density_gives_the_kernel(kernel, x64):
    """Schoenberg's integral by mpmath, whole and cut: the closed forms agree to 1e-8."""
    for r2 in (0.0, 0.5, 6.0):

        def integrand(u, r2=r2):
            return mpmath.exp(-u * r2) * float(kernel.mixture_density(np.float64(u)))

        cut = float(mpmath.quad(integrand, [0.0, 1e-4, 0.01, 0.1, 0.5, 1.0]))
        np.testing.assert_allclose(kernel.truncated_profile(r2, 1.0), cut, rtol=1e-8)
        whole = kernel.truncated_profile(r2, 1e12 if isinstance(kernel, RadialExponential | Matern) else 1e4)
        np.testing.assert_allclose(kernel.profile(jnp.asarray(r2)), whole, rtol=1e-5)
    np.testing.assert_allclose(1 - kernel.truncated_profile(0.0, 0.3), kernel.truncation_error(0.3), rtol=1e-12)


@pytest.mark.parametrize("kernel", MIXTURES)
def test_truncated_kernel_agrees_with_its_quadrature(kernel):
    """The closed form and Gauss-Jacobi quadrature share no code; they agree for the kernel cut at u = 2 to 1e-12."""
    assert quadrature_error(kernel, 2.0) < 1e-12
    assert quadrature_error(kernel, 2.0, n_nodes=4) > 1e-6


def test_the_example_of_appendix_e(x64):
    """Appendix E: g = (1 + r^2/d)^-1 cut at u = c/d is g (1 - exp(-c/g)); with c = 2 and d = 4."""
    d, c = 4, 2.0
    mixture = truncate(Cauchy(float(d)), c / d)
    r2 = np.linspace(0.0, 30.0, 50)
    g = 1 / (1 + r2 / d)
    np.testing.assert_allclose(mixture.profile(jnp.asarray(r2)), g * (1 - np.exp(-c / g)), rtol=1e-12)
    np.testing.assert_allclose(Cauchy(float(d)).truncation_error(c / d), math.exp(-c), rtol=1e-12)


def test_binomial_kernel_outside_the_disc_raises_or_is_nan():
    with pytest.raises(ValueError, match="inner product of a binomial kernel"):
        Binomial(1.0)(jnp.array([1.0, 0.5]), jnp.array([1.0, 0.0]))
    assert np.isnan(jax.jit(Binomial(1.0))(jnp.array([1.0, 0.5]), jnp.array([1.0, 0.0])))
    assert Binomial(1.0).tail_bound(3, 1.0) == math.inf


def test_truncation_needs_known_numbers():
    with pytest.raises(TypeError, match=r"^scale\b"):
        jax.jit(lambda scale: truncate(Cauchy(scale), 1.0))(1.0)
