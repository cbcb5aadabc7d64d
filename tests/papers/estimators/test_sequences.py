"""Polynomial sequences, and the absolute loss smoothed by a semicircle: SciPy, NumPy, and enumeration."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, interpolate, special

import jaxonline as jo
from benchmarks.papers.estimators.series import (
    DiscreteLomax,
    PolynomialSequence,
    PolynomialSequenceEstimator,
    SemicircleAbsolute,
    SequenceLength,
    bernstein,
    chebyshev,
)
from jaxonline.estimators import GradientLength
from jaxonline.estimators.counts import FiniteDistribution, Geometric
from jaxonline.estimators.series import expected_queries

pytestmark = pytest.mark.fast_compile


def clip(x):
    return np.clip(x, -0.3, 0.3)


def partial_polynomial(sequence, n, x):
    z = (np.asarray(x) - sequence.centre) / sequence.scale
    return np.polynomial.Polynomial(sequence.differences[: n + 1].sum(axis=0))(z)


def test_bernstein_agrees_with_scipy():
    lower, upper = -1.0, 2.0
    x = np.linspace(lower, upper, 7)
    sequence = bernstein(clip, 20, lower, upper)
    for n in (1, 5, 20):
        values = clip(np.linspace(lower, upper, n + 1))
        right = interpolate.BPoly(values[:, None], [lower, upper])(x)
        np.testing.assert_allclose(partial_polynomial(sequence, n, x), right, atol=1e-12)
    np.testing.assert_allclose(partial_polynomial(sequence, 0, x), clip(0.5))


def test_chebyshev_series_in_closed_form():
    """e^x = I_0(1) + 2 sum I_n(1) T_n(x); the error is about its first omitted coefficient."""
    sequence = chebyshev(np.exp, 12, -1.0, 1.0)
    for n in range(13):
        top = special.iv(n, 1.0) * (2.0 if n else 1.0)
        right = top * np.polynomial.chebyshev.cheb2poly(np.eye(13)[n][: n + 1])
        np.testing.assert_allclose(sequence.differences[n, : n + 1], right, atol=1e-13)
    short = chebyshev(np.exp, 5, -1.0, 1.0)
    assert short.largest_bias(np.exp) == pytest.approx(2 * special.iv(6, 1.0), rel=0.15)
    shifted = chebyshev(np.exp, 15, 1.0, 3.0)
    assert shifted.largest_bias(np.exp) < 1e-12
    assert not chebyshev(np.exp, 30, -1.0, 1.0).differences[25:].any()  # nothing but rounding there


@pytest.mark.parametrize("make", [bernstein, chebyshev])
def test_exact_moments_match_enumeration(make, x64):
    values, probabilities = np.array([-0.4, 0.9, 1.6]), np.array([0.3, 0.5, 0.2])
    sequence = make(clip, 5, -0.5, 1.5)
    mean, second = probabilities @ values, probabilities @ (values - sequence.centre) ** 2
    best = PolynomialSequenceEstimator.for_sequence(sequence, second, mean)
    for estimator in (best, PolynomialSequenceEstimator(sequence, Geometric(1.8))):
        first = square = 0.0
        for n in range(6):
            p = float(estimator.law.pmf(n))
            for copies in itertools.product(range(3), repeat=n):
                z = (values[list(copies)] - sequence.centre) / sequence.scale
                theta = sequence.differences[n, : n + 1] @ np.append(1.0, np.cumprod(z)) / p if p else 0.0
                weight = p * np.prod(probabilities[list(copies)])
                first, square = first + weight * theta, square + weight * theta**2
        assert first == pytest.approx(sequence.value(mean), rel=1e-12)
        assert estimator.exact_second_moment(second, mean) == pytest.approx(square, rel=1e-12)
    assert square >= sequence.magnitudes(second, mean).sum() ** 2 * (1 - 1e-12)
    assert best.exact_second_moment(second, mean) == pytest.approx(sequence.magnitudes(second, mean).sum() ** 2)


def test_bound_of_the_mean_has_all_terms_of_the_last_polynomial():
    """Q_2(x) = 1 - 2 z + 3 z^2 with z = (x - 1) / 2, at |z| = 1.5; the mean attains the bound at z = -1.5."""
    sequence = PolynomialSequence([[1.0, 0.0, 0.0], [0.5, -1.0, 0.0], [-0.5, -1.0, 3.0]], centre=1.0, scale=2.0)
    estimator = PolynomialSequenceEstimator(sequence, Geometric(1.5))
    assert estimator.mean_bound(3.0) == pytest.approx(1.0 + 3.0 + 6.75) == pytest.approx(sequence.value(-2.0))


def slope(a, width):
    """l'(a) = P(width Z < a) - P(width Z > a)."""
    u = np.clip(np.asarray(a) / width, -1, 1)
    return 2 / np.pi * (u * np.sqrt(1 - u**2) + np.arcsin(u))


def mean_distance(a, width):
    """E |a - width Z| by quadrature over z = sin t, of density (2/pi) cos^2 t."""
    kink = math.asin(min(max(a / width, -1.0), 1.0))

    def integrand(t):
        return 2 / math.pi * math.cos(t) ** 2 * abs(a - width * math.sin(t))

    return integrate.quad(integrand, -math.pi / 2, math.pi / 2, points=[kink], epsabs=1e-13)[0]


def test_semicircle_loss_is_a_mean_and_the_derivative_is_its_slope(both_precisions):
    """Also of automatic differentiation, where |a| is width or more; l'' is continuous there, so that no kink shows."""
    width = 0.7
    loss, a = SemicircleAbsolute(width), np.array([-3.0, -2.0, -1.1, -0.4, 0.0, 0.3, 0.69, 1.9, 2.5], both_precisions)
    parts = jax.jit(lambda a: (loss.value(a), loss.derivative(a), jax.vmap(jax.grad(loss.value))(a)))
    value, derivative, gradient = parts(jnp.asarray(a))
    eps = np.finfo(both_precisions).eps
    assert value.dtype == derivative.dtype == both_precisions
    right = np.array([mean_distance(float(x), width) for x in a])
    np.testing.assert_allclose(value, right, rtol=32 * eps, atol=max(32 * eps, 1e-12))
    np.testing.assert_allclose(derivative, slope(a.astype(float), width), rtol=64 * eps, atol=64 * eps)
    np.testing.assert_allclose(gradient, derivative, rtol=200 * eps, atol=200 * eps)


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


def huber(a):
    return np.clip(a, -0.5, 0.5)


def test_bound_of_algorithm_1_uses_the_second_moment_of_the_polynomials():
    linear = jo.estimators.DotProductFeatureMap(jo.kernels.Linear(), FiniteDistribution([0.0, 1.0]))
    length = SequenceLength.for_sequence(chebyshev(huber, 3, -1.0, 1.0), "regression", 0.5)
    bound = jo.bounds.noisy_kernel(linear, length, 1.0, 1.1, 100, y_bound=0.5)
    factors = (math.sqrt(1.1) + 0.5) ** 2
    table, p = np.abs(length.series.sequence.differences), np.exp(length.series.law.log_table(4))
    powers = math.sqrt(factors) ** np.arange(4)
    moment = sum((table[n] @ powers) ** 2 / p[n] for n in range(4) if table[n].any())
    np.testing.assert_allclose(bound.G, 1.1 * moment, rtol=1e-9)


def test_semicircle_loss_with_a_polynomial_tail():
    """E g~^2 = sum gamma_n^2 s^n / P(N = n) and E N = zeta(2) - 1; infinite from s = width^2 on."""
    loss, law, s = SemicircleAbsolute(1.5), DiscreteLomax(3.0), 1.2
    length = GradientLength.for_loss(loss, law, s)
    k = np.arange(2000)
    gammas = 4 / np.pi * (-1.0) ** k * special.binom(0.5, k) / (2 * k + 1)
    n = 2.0 * k + 1
    p = (1 + n) ** -2 - (2 + n) ** -2
    assert length.second_moment(s) == pytest.approx(float(np.sum(gammas**2 * (s / 1.5**2) ** n / p)), rel=1e-9)
    assert expected_queries(length.series) == pytest.approx(math.pi**2 / 6 - 1)
    with pytest.raises(ValueError, match=r"^second_moment: must be below radius\^2 = 2.25 .*infinite"):
        GradientLength.for_loss(loss, law, 2.25)
