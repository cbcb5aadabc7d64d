"""Bounds for kernels on noisy data: by hand, against the exact moments of estimates, and regret below them."""

import math

import numpy as np
import pytest
from bad_calls import check, row
from scipy import special

from jaxonline.bounds import (
    factor_moment,
    ml_poly,
    noisy_kernel,
    noisy_kernel_geometric,
    surrogate_kernel,
    surrogate_radial_kernel,
    two_copies,
)
from jaxonline.estimators import (
    DotProductFeatureMap,
    FiniteDistribution,
    GaussianFeatureMap,
    Geometric,
    GradientLength,
    minimum_variance,
)
from jaxonline.estimators.series import exact_second_moment
from jaxonline.estimators.surrogates import radial_surrogate
from jaxonline.kernels import Binomial, ExponentialKernel, Gaussian, Homogeneous, Linear
from jaxonline.kernels.shift_invariant import Cauchy
from jaxonline.losses import Exponential, Logistic, SmoothedAbsolute, SmoothedHinge, Squared


def numbers(bound):
    return bound.value, *bound.parameters.values()


MAJORANTS = {  # l'_+ by NumPy and SciPy
    "squared": (Squared(), lambda a: 2 * a),
    "absolute": (SmoothedAbsolute(0.5), lambda a: special.erfi(0.5 * a)),
    "exponential": (Exponential(), np.exp),
}


ONE_COPY = DotProductFeatureMap(Linear(), FiniteDistribution([0.0, 1.0]))
SQUARED = GradientLength.for_loss(Squared(), minimum_variance, 1.0)


@pytest.mark.parametrize("name", MAJORANTS)
@pytest.mark.parametrize("p", [1.2, 2.0, 4.0])
def test_theorems_1_and_2_match_hand_calculations(name, p):
    """l'_+(sqrt((p-1) u)) sqrt(u T) and eta = B_w / (sqrt(u) l'_+(sqrt((p-1) u))), with y for regression losses."""
    loss, majorant = MAJORANTS[name]
    B_w, B, T, Y = 0.25, 0.3, 400, 0.7
    grow = p / (p - 1)
    features = {
        Homogeneous(3): grow * (p * B) ** 3,
        ExponentialKernel(): grow * np.exp(p * B),
        Gaussian(1.5): grow**2 * special.i0(2 * np.sqrt(p) * B / 1.5**2) * np.exp(2 * p * B / 1.5**2),
    }
    for kernel, B_Psi in features.items():
        u = B_w * grow * B_Psi
        y_bound, shift = (Y, np.sqrt(p) * Y) if loss.kind == "regression" else (None, 0.0)
        length = majorant(np.sqrt((p - 1) * u) + shift)
        got = noisy_kernel_geometric(kernel, loss, p, 0.5, B, T, y_bound)
        np.testing.assert_allclose(got.value, length * np.sqrt(u * T), rtol=1e-10)
        np.testing.assert_allclose(got.step_size * np.sqrt(T), B_w / (np.sqrt(u) * length), rtol=1e-10)
        np.testing.assert_allclose(got.at_rounds(np.array([T])), got.value, rtol=1e-12)
        assert got.radius == 0.5


@pytest.mark.parametrize("kernel", [ExponentialKernel(), Binomial(1.5), Gaussian(1.3)], ids=lambda k: type(k).__name__)
def test_noisy_kernel_contains_the_closed_forms(kernel):
    """For the paper's distribution: equal for the squared loss (one term), smaller for others."""
    feature_map = (GaussianFeatureMap if isinstance(kernel, Gaussian) else DotProductFeatureMap)(kernel, Geometric(1.5))
    for loss, Y in ((Squared(), 0.6), (SmoothedAbsolute(0.5), 0.6), (Exponential(), None), (SmoothedHinge(0.5), None)):
        closed = noisy_kernel_geometric(kernel, loss, 1.5, 0.3, 0.4, 100, Y)
        features = feature_map.second_moment(0.4)
        factors = (0.3 * np.sqrt(features) + (Y or 0.0)) ** 2
        general = noisy_kernel(feature_map, GradientLength.for_loss(loss, Geometric(1.5), factors), 0.3, 0.4, 100, Y)
        lengths = 3.0 * np.sum(loss.coefficients(80) ** 2 * (1.5 * factors) ** np.arange(80))  # p/(p-1) = 3
        np.testing.assert_allclose(general.G, features * lengths, rtol=1e-10)
        assert general.value <= closed.value * (1 + 1e-12)
        if isinstance(loss, Squared):
            np.testing.assert_allclose(numbers(general), numbers(closed), rtol=1e-12)


def test_linear_kernel_and_squared_loss_give_the_bound_of_two_copies():
    """One copy for Psi~, one for g~: G = 4 (B_w B + Y)^2 B^2 of the second paper, with its corrected cross term."""
    for radius, B, Y in ((1.0, 1.0, 1.0), (2.0, 0.5, 3.0)):
        got = noisy_kernel(ONE_COPY, SQUARED, radius, B**2, 50, Y)
        np.testing.assert_allclose(numbers(got), numbers(two_copies(radius, B, Y, 50)), rtol=1e-12)


def test_repetitions_divide_the_variance_and_not_the_mean():
    """By hand, with |x|^2 <= 0.3 and E|x~|^2 <= 0.8: for the linear kernel and the squared loss M = 4 (B_w |x| + Y)^2
    |x|^2; for e^<x, x'> and the exponential loss M = k e^(2 B_w sqrt k), k = e^0.3."""
    powers, law = DotProductFeatureMap(ExponentialKernel(), Geometric(1.5)), Geometric(1.5)
    exponential = GradientLength.for_loss(Exponential(), law, factor_moment(0.5, powers.second_moment(0.8)))
    gaussian = GaussianFeatureMap(Gaussian(2.0), law)
    on_gaussian = GradientLength.for_loss(Exponential(), law, factor_moment(0.5, gaussian.second_moment(0.8)))
    k = math.exp(0.3)
    cases = [
        (ONE_COPY, SQUARED, 0.7, 4 * (0.5 * math.sqrt(0.3) + 0.7) ** 2 * 0.3),
        (powers, exponential, None, k * math.exp(2 * 0.5 * math.sqrt(k))),
        (gaussian, on_gaussian, None, math.exp(2 * 0.5)),
    ]
    for feature_map, length, Y, mean in cases:
        args = feature_map, length, 0.5, 0.8, 100, Y
        one = noisy_kernel(*args)
        assert noisy_kernel(*args, squared_norm=0.3) == one
        assert mean < one.G
        for r in (2, 7):
            got = noisy_kernel(*args, repetitions=r, squared_norm=0.3)
            np.testing.assert_allclose(got.G, mean + (one.G - mean) / r, rtol=1e-12)
            np.testing.assert_allclose(got.value, 0.5 * math.sqrt(got.G * 100), rtol=1e-12)
            assert got.value <= noisy_kernel(*args, repetitions=r).value <= one.value * (1 + 1e-12)


def test_pair_moment_matters_for_the_gaussian_kernel_only():
    """E <x~, x~'>^2 is far below (E |x~|^2)^2 if noise in many dimensions makes x~ long."""
    length = GradientLength.for_loss(Exponential(), Geometric(2.0), 1.0)
    gaussian, linear = GaussianFeatureMap(Gaussian(1.0), Geometric(2.0)), DotProductFeatureMap(Linear(), Geometric(2.0))
    known, unknown = (noisy_kernel(gaussian, length, 0.1, 1.0, 100, pair_moment=pair) for pair in (0.2, None))
    assert known.value < unknown.value
    squared = noisy_kernel(gaussian, length, 0.1, 1.0, 100, pair_moment=1.0)
    assert squared == unknown
    given, other = (noisy_kernel(linear, length, 0.1, 1.0, 100, pair_moment=pair) for pair in (0.2, None))
    assert numbers(given) == numbers(other)


@pytest.mark.parametrize("centre", [0.0, -0.3])
@pytest.mark.parametrize("outside", [False, True])
def test_bounds_have_a_centre_a_constant_and_label_noise(centre, outside):
    """For r pairs G is M + (B - M) / r. B is B_Psi E y~^2 (|gamma_0| + sqrt(sum over n >= 1 of gamma_n^2 F^n / p_n))^2
    if the constant is outside of the series, F = (R sqrt(B_Psi) + |c|)^2, and M is the square of sum |gamma_n| (R
    sqrt(k) + |c|)^n times k. The geometric bound has l'_+ at sqrt(p F). All means of the factors are below."""
    radius, p, loss, kernel, n = 0.4, 1.5, SmoothedHinge(0.7), ExponentialKernel(), np.arange(80)
    feature_map = DotProductFeatureMap(kernel, Geometric(p))
    features, k, c = p / (p - 1) * math.exp(p * 0.3), math.exp(0.2), abs(centre)
    factors, gammas = (radius * math.sqrt(features) + c) ** 2, np.abs(loss.coefficients(80, centre))
    length = GradientLength.for_loss(loss, Geometric(p), factors, centre=centre, constant_outside=outside)
    assert factor_moment(radius, features, centre=centre) == pytest.approx(factors, rel=1e-12)
    squares = gammas**2 * factors**n * p ** (n + 1.0) / (p - 1)
    lengths = (gammas[0] + math.sqrt(squares[1:].sum())) ** 2 if outside else squares.sum()
    mean = k * (gammas @ (radius * math.sqrt(k) + c) ** n) ** 2
    for y_bound, label_factor in ((None, 1.0), (0.5, 1.0), (1.5, 2.25)):
        one, three = (
            noisy_kernel(feature_map, length, radius, 0.3, 100, y_bound, repetitions=r, squared_norm=0.2)
            for r in (1, 3)
        )
        np.testing.assert_allclose(one.G, features * label_factor * lengths, rtol=1e-10)
        np.testing.assert_allclose(three.G, mean + (one.G - mean) / 3, rtol=1e-10)
        geometric = noisy_kernel_geometric(kernel, loss, p, radius, 0.3, 100, y_bound, centre)
        majorant = gammas @ math.sqrt(p * factors) ** n
        np.testing.assert_allclose(geometric.G, features * label_factor * p / (p - 1) * majorant**2, rtol=1e-10)
    worst = radius * math.sqrt(features)
    for m in np.linspace(-worst, worst, 5):
        exact = exact_second_moment(length.series, (worst + c) ** 2, mean=m)
        assert features * exact <= noisy_kernel(feature_map, length, radius, 0.3, 100).G * (1 + 1e-12)


def test_bounds_beyond_float64_are_infinite():
    """The exponential loss and a Gaussian map with the second moment 4e7 give about e^8000."""
    bound = noisy_kernel_geometric(Gaussian(1.0), Exponential(), 1.5, 1.0, 4.0, 100)
    assert (bound.value, bound.step_size, bound.G) == (math.inf, 0.0, math.inf)
    assert np.isinf(bound.at_rounds(np.arange(1, 4), step_size=0.1)).all()
    assert noisy_kernel_geometric(Gaussian(0.01), Squared(), 1.5, 1.0, 4.0, 100, 1.0).value == math.inf
    length = GradientLength.for_loss(Exponential(), Geometric(1.5), 1.0)
    wide, narrow = (GaussianFeatureMap(Gaussian(width), Geometric(1.5)) for width in (1.0, 0.01))
    assert math.isfinite(noisy_kernel(wide, length, 1.0, 4.0, 100).value)  # the table of the series ends somewhere
    assert noisy_kernel(narrow, length, 1.0, 4.0, 100).value == math.inf


def test_theorem_3_bounds_the_second_moment():
    """w^ = W Psi^(x)/R at the instance itself and y = -B_y, without noise: |g~ Psi^|^2 = 4 (W R + B_y)^2 R^2."""
    W, R, B_y = 2.0, 1.0, 1.5
    bound = surrogate_kernel(W, R, B_y, 1)
    assert (2 * (W * R + B_y) * R) ** 2 == bound.G
    assert (bound.radius, bound.step_size) == pytest.approx((W, W / math.sqrt(bound.G)))


def test_theorem_5_bounds_theorem_3():
    """sigma = 0.5, c = 3, d = 6: R = e^0.75; the kernel's own R is below that."""
    surrogate = radial_surrogate(Cauchy(6.0), 0.25, cut=0.5, dimension=6)
    bound = surrogate_radial_kernel(2.0, 0.25, 3.0, 6, 1.0, 100)
    assert surrogate_kernel(2.0, float(surrogate.constant()), 1.0, 100).value < bound.value


WRONG = [
    ("y_bound: must be given", lambda: noisy_kernel_geometric(Linear(), Squared(), 2.0, 1.0, 1.0, 10)),
    ("y_bound: must be given", lambda: noisy_kernel(ONE_COPY, SQUARED, 1.0, 1.0, 10)),
    ("radius of convergence", lambda: noisy_kernel_geometric(Binomial(1.0), Squared(), 2.0, 1.0, 0.6, 10, 1.0)),
    ("infinite", lambda: noisy_kernel_geometric(Linear(), Logistic(), 2.0, 3.0, 1.0, 10)),
    ("c: must", lambda: surrogate_radial_kernel(1.0, 0.25, 4.0, 4, 1.0, 10)),
    *[
        ("regrets", lambda regrets=r: ml_poly(regrets))
        for r in ([[0.1], [0.2]], [0.1, 0.2], [[np.nan, 0.0]], np.zeros((0, 2)))
    ],
]


def test_wrong_arguments_raise_errors():
    check([row(call, ValueError, text) for text, call in WRONG])
