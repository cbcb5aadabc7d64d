"""The absolute loss smoothed by a semicircle: its value by quadrature, and its series against SciPy and mpmath."""

import functools
import math

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy import integrate, special

from benchmarks.papers.estimators.series import SemicircleAbsolute

pytestmark = pytest.mark.fast_compile


def slope(a, width):
    """l'(a) = P(width Z < a) - P(width Z > a)."""
    u = np.clip(np.asarray(a) / width, -1, 1)
    return 2 / np.pi * (u * np.sqrt(1 - u**2) + np.arcsin(u))


@functools.cache
def mean_distance(a, width):
    """E |a - width Z| by quadrature over z = sin t, of density (2/pi) cos^2 t."""
    kink = math.asin(min(max(a / width, -1.0), 1.0))

    def integrand(t):
        return 2 / math.pi * math.cos(t) ** 2 * abs(a - width * math.sin(t))

    return integrate.quad(integrand, -math.pi / 2, math.pi / 2, points=[kink], epsabs=1e-13)[0]


@pytest.mark.parametrize("width", [0.7, 2.0])
def test_value_is_a_mean_and_the_derivative_is_its_slope(width, both_precisions):
    """Also of automatic differentiation, where |a| is width or more; l'' is continuous there, so that no kink shows."""
    loss, a = SemicircleAbsolute(width), np.array([-3.0, -2.0, -1.1, -0.4, 0.0, 0.3, 0.69, 1.9, 2.5], both_precisions)
    parts = jax.jit(lambda a: (loss.value(a), loss.derivative(a), jax.vmap(jax.grad(loss.value))(a)))
    value, derivative, gradient = parts(jnp.asarray(a))
    eps = np.finfo(both_precisions).eps
    assert value.dtype == derivative.dtype == both_precisions
    right = np.array([mean_distance(float(x), width) for x in a])
    np.testing.assert_allclose(value, right, rtol=32 * eps, atol=max(32 * eps, 1e-12))
    np.testing.assert_allclose(derivative, slope(a.astype(float), width), rtol=64 * eps, atol=64 * eps)
    np.testing.assert_allclose(gradient, derivative, rtol=200 * eps, atol=200 * eps)


def test_coefficients_about_zero_are_binomial_and_decrease_as_a_power():
    """gamma_(2k+1) = (4/pi) (-1)^k C(1/2, k) / (2k + 1) for width 1; |gamma_n| n^(5/2) tends to a constant."""
    k = np.arange(200)
    right = 4 / np.pi * (-1.0) ** k * special.binom(0.5, k) / (2 * k + 1)
    found = SemicircleAbsolute(1.0).coefficients(400)
    assert not found[::2].any()
    np.testing.assert_allclose(found[1::2], right, rtol=1e-12)
    n = 2 * k + 1.0
    scaled = np.abs(found[1::2]) * n**2.5
    assert scaled[-1] == pytest.approx(scaled[100], rel=0.01)
    np.testing.assert_allclose(SemicircleAbsolute(3.0).coefficients(9), found[:9] / 3.0 ** np.arange(9), rtol=1e-14)


@pytest.mark.parametrize("centre", [0.4, -1.3])
def test_coefficients_about_other_centres_equal_mpmath(centre):
    with mpmath.workdps(60):
        v = mpmath.mpf(centre) / 2
        right = mpmath.taylor(lambda u: 2 / mpmath.pi * (u * mpmath.sqrt(1 - u * u) + mpmath.asin(u)), v, 12)
        right = [float(gamma / mpmath.mpf(2) ** n) for n, gamma in enumerate(right)]
    np.testing.assert_allclose(SemicircleAbsolute(2.0).coefficients(13, centre), right, rtol=1e-9)


@pytest.mark.parametrize("centre", [0.0, 0.4, -1.3])
def test_the_series_converges_in_its_radius_and_the_rest_is_below_its_bound(centre):
    loss = SemicircleAbsolute(2.0)
    gammas, radius = loss.coefficients(600, centre), 2.0 - abs(centre)
    assert loss.radius(centre) == pytest.approx(radius)
    for share in (0.3, 0.95):
        for a in (share * radius, -share * radius):
            value = np.polynomial.polynomial.polyval(a, gammas)
            assert value == pytest.approx(float(slope(centre + a, 2.0)), abs=1e-12)
        terms = np.abs(gammas) * (share * radius) ** np.arange(600)
        assert loss.majorant(share * radius, centre) == pytest.approx(terms.sum(), rel=1e-12)
        for n in (0, 1, 5, 40):
            assert terms[n:].sum() <= loss.tail_bound(n, share * radius, centre)
        assert loss.tail_bound(600, share * radius, centre) < 1e-12
    assert math.isinf(loss.tail_bound(5, radius, centre))
    assert math.isinf(loss.majorant(radius, centre))
    assert loss.radius(2.5) == 0.0
