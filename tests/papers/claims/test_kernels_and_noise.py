"""Kernels, surrogates and noise (papers A and B): printed formulas and claims against independent programs."""

import math

import jax
import numpy as np
import pytest
from scipy import integrate

import jaxonline as jo
from benchmarks.papers.claims import kernels, lengths, series, surrogates
from benchmarks.papers.claims.registry import run_claims
from jaxonline.simulation.blocks import default_mesh

pytestmark = pytest.mark.fast_compile
ONE = default_mesh(jax.devices()[:1])

REACHED = ["distance of the smoothed*", "gradient descent on any*", "R of the surrogate for widths*", "1 - k/g*"]


def test_printed_step_of_lemma_5():
    p, B, n = 1.5, 4.0, range(60)
    pairs, wrong, right = (
        sum(a**k / math.factorial(k) ** 2 for k in n) for a in (p * B**2, 4 * p**2 * B, 4 * p * B)
    )  # fmt: skip
    printed, corrected = (f(p, B, 1.0) for f in (kernels.printed_lemma5_step, kernels.printed_gaussian_second_moment))
    assert printed == pytest.approx(9 * pairs * wrong) == pytest.approx(3.965e8, rel=1e-3)
    assert corrected == pytest.approx(9 * pairs * right) == pytest.approx(4.865e7, rel=1e-3)


def test_printed_prod_does_not_compare_the_numbers_of_factors():
    """Subroutine 6 equals the inner product of two estimates of Eq. 6 if their numbers of factors are equal."""
    rng, p, width = np.random.default_rng(0), 1.5, 0.9

    def tensor(copies, n1, n2):
        weight = (-1) ** n1 * p ** (n1 + n2 + 2) * 2**n2
        weight /= math.factorial(n1) * math.factorial(n2) * width ** (2 * n1 + 2 * n2) * (p - 1) ** 2
        product = np.array(weight * np.prod([a @ b for a, b in copies.pairs]))
        for factor in copies.factors:
            product = np.multiply.outer(product, factor)
        return product

    for n1, n1_second, n2 in ((0, 0, 0), (1, 0, 2), (2, 1, 1), (1, 2, 3)):
        first = kernels.GaussianCopies(rng.normal(size=(n1, 2, 2)), rng.normal(size=(n2, 2)))
        second = kernels.GaussianCopies(rng.normal(size=(n1_second, 2, 2)), rng.normal(size=(n2, 2)))
        right = np.sum(tensor(first, n1, n2) * tensor(second, n1_second, n2))
        assert kernels.printed_prod(p, width, first, second) == pytest.approx(right)
    none = np.zeros((0, 2, 2))
    first, second = (kernels.GaussianCopies(none, factors) for factors in (none[:, 0], np.ones((1, 2))))
    assert kernels.printed_prod(2.0, 1.0, first, second) == 16.0


def test_printed_calls_of_prod():
    """The mean of 10^6 numbers N is 10 with a standard error of 0.0105; six of them."""
    n = np.random.default_rng(0).geometric(1 - 1 / 1.1, 1_000_000) - 1
    assert 20 * n.mean() == pytest.approx(10 * lengths.printed_calls_of_prod(21), abs=20 * 0.063)


def test_printed_factors_of_the_surrogate():
    """The integral is that of a product of two normal densities, in closed form."""
    s, sigmas, a, x = 2.0, np.array([0.5, 0.9]), np.array([0.3, -0.2]), np.array([1.0, 0.4])
    kernel, shrunk = np.exp(-((a - x) ** 2) / 4), np.sqrt(1 - 2 * sigmas**2 / 4)
    np.testing.assert_allclose(
        surrogates.surrogate_integrals(s, sigmas, a - x), np.sqrt(2 * np.pi) * sigmas * shrunk * kernel, rtol=1e-12
    )
    R = 1 / np.sqrt(shrunk.prod())  # R^(2/d) for d = 2
    printed = surrogates.printed_surrogate_factors(s, sigmas, a, x)
    np.testing.assert_allclose(printed, R * sigmas / s * shrunk * kernel, rtol=1e-12)
    with_sigma = printed * s / sigmas
    np.testing.assert_allclose(with_sigma, [0.974, 0.830], atol=5e-4)
    assert with_sigma.prod() == pytest.approx(kernel.prod())  # Lemma 4 holds


def test_exact_claims_have_the_numbers_of_the_errata():
    mesh = default_mesh(jax.devices()[:1])

    def printed(number, pattern=""):
        return run_claims(f"*{pattern}*(E{number})*printed", sampled=False, mesh=mesh)[0].verification

    (one_label,) = run_claims("one noisy label in all factors", mesh=mesh)
    assert math.exp(0.6) * (1 + one_label.verification.bias) == pytest.approx(3.50, abs=5e-3)  # e^0.6 = 1.82 is right
    moments = [series.squared_moment(jo.estimators.Geometric(p)) for p in (1.1, 2.0)]
    np.testing.assert_allclose(moments, [48.4, 16.0], rtol=1e-9)  # E23: 4 p^2/(p - 1)
    assert printed(25).bias == pytest.approx(3.965e8 / 4.865e7 - 1, rel=2e-3)
    assert printed(26).second_moment == 16.0**2
    assert printed(27).bias == pytest.approx((-0.8 + 2.4) / 2.4)
    assert printed(29).second_moment == pytest.approx(0.25**2)
    assert printed(30, "calls").bias == pytest.approx(-0.9)
    assert math.acos(1 + printed(33).bias) == pytest.approx(0.380, abs=5e-4)
    assert "3958.31 against 403.429" in printed(13, "sigma = 3").notes[0]


def test_kernels_without_a_mixture_are_positive_definite():
    """Their Fourier transforms on R and R^3 are not negative, and mixtures of Gaussian kernels are positive."""
    r = np.linspace(0, 1, 20_001)
    for v in np.linspace(0.1, 60, 200):
        line = 2 * np.trapezoid(surrogates.triangle(r) * np.cos(v * r), r)
        assert line == pytest.approx((math.sin(v / 2) / (v / 2)) ** 2, abs=1e-6)
        assert 4 * np.pi / v * np.trapezoid(surrogates.wendland(r) * r * np.sin(v * r), r) > -1e-9
    assert surrogates.triangle(1.5) == surrogates.wendland(1.5) == 0


def test_u_of_theorem_2_is_no_function_of_the_ratio():
    """E53: B = sigma^2. The exponents of Lemma 5 as printed and as in E7."""
    p, ratios = 1.5, []
    for sigma in (1.0, 0.1):
        B = sigma**2
        printed = (math.sqrt(p) * B + 2 * p * math.sqrt(B)) / sigma**2
        ratios.append(printed - math.sqrt(p))
        assert (2 * math.sqrt(p) * B + 2 * p * B) / sigma**2 == pytest.approx(2 * math.sqrt(p) + 2 * p)
    assert ratios == pytest.approx([2 * p, 20 * p])


@pytest.mark.parametrize("pattern", REACHED)
def test_limits_are_reached(pattern):
    """So a limit that is smaller by a millionth is violated."""
    (row,) = run_claims(pattern)
    assert row.verification.verdict == "respected"
    assert abs(row.verification.bias) < 1e-6


def test_a_single_point_decides_lemma_9():
    """|u^|^2/|u|^2 = k^(0)/k(0) by quadrature, over W^2 = 5 exp(2 sigma c): above 1; over 5 exp(2 sigma^2 c): below."""
    sigma, d = 10.0, 16
    c = 0.999 * d / (4 * sigma**2)
    surrogate = integrate.quad(lambda u: (1 - 2 * sigma**2 * u) ** (-d / 2) * np.exp(-u * d), 0, c / d)[0]
    ratio = surrogate / integrate.quad(lambda u: np.exp(-u * d), 0, c / d)[0]
    printed, corrected, improved = (row.verification for row in run_claims("B, Lemma 9", mesh=ONE))
    assert printed.bias + 1 == pytest.approx(math.sqrt(ratio / (5 * np.exp(2 * sigma * c))), rel=1e-4)
    assert printed.bias > 0.5
    assert corrected.bias + 1 == pytest.approx(math.sqrt(ratio / (5 * np.exp(2 * sigma**2 * c))), rel=1e-4)
    assert improved.bias == pytest.approx(0, abs=1e-6)
