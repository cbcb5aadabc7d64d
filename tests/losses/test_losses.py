"""Losses against mpmath, SciPy and the numbers worked out for the paper's errata."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from loss_table import LOSSES, PLAIN
from scipy import special

from jaxonline.losses import (
    Absolute,
    Exponential,
    Hinge,
    Huber,
    Logistic,
    LogLoss,
    Pinball,
    SmoothedAbsolute,
    SmoothedHinge,
    Squared,
)

pytestmark = pytest.mark.fast_compile


NAMES = sorted(LOSSES)


def taylor(function, centre, order, points=96):
    """Taylor coefficients by Cauchy's integral, with the trapezoidal rule on half a circle (f is real on the line).

    What it leaves out is gamma_(n + 96) 2^-96, below 1e-50 for the functions here; mpmath.taylor takes 1 s each.
    """
    radius = mpmath.mpf("0.5")
    angles = [2 * mpmath.pi * k / points for k in range(points // 2 + 1)]
    values = [function(centre + radius * mpmath.expjpi(angle / mpmath.pi)) for angle in angles]
    weights = [1 if k in (0, points // 2) else 2 for k in range(points // 2 + 1)]
    return [
        sum(w * (v * mpmath.expjpi(-n * a / mpmath.pi)).real for w, v, a in zip(weights, values, angles, strict=True))
        / (points * radius**n)
        for n in range(order + 1)
    ]


@pytest.mark.parametrize("centre", [0.0, 1.0, -0.7, 0.35])
@pytest.mark.parametrize("name", NAMES)
def test_coefficients_agree_with_mpmath_to_order_30(name, centre):
    loss, _, derivative = LOSSES[name]
    with mpmath.workdps(60):
        expected = taylor(lambda a: mpmath.mpc(derivative(a)), mpmath.mpf(centre), 30)
        for n, (found, right) in enumerate(zip(loss.coefficients(31, centre), expected, strict=True)):
            # 1e-40: the rounding of the integral, where the coefficient is 0.
            assert abs(found - right) <= 1e-12 * abs(right) + mpmath.mpf(10) ** -40, n


@pytest.mark.parametrize("scale", [0.5, 1.0, 2.5])
def test_hinge_coefficients_are_hermite_numbers_to_order_120(scale):
    found = SmoothedHinge(scale).coefficients(121)
    assert found[0] == pytest.approx((special.erf(-scale) - 1) / 2, rel=1e-14)
    with mpmath.workdps(40):
        s = mpmath.mpf(scale)
        gauss = mpmath.exp(-(s**2)) / mpmath.sqrt(mpmath.pi)
        right = [float(-gauss * (-s) ** k * mpmath.hermite(k - 1, -s) / mpmath.factorial(k)) for k in range(1, 121)]
    np.testing.assert_allclose(found[1:], right, rtol=1e-13, atol=0)


def test_coefficients_agree_with_closed_forms_to_order_160():
    """-1/(1 + e^a) = -1/2 + sum over k of (2^2k - 1) B_2k a^(2k-1) / (2k)!, B the Bernoulli numbers."""
    factorial, two = mpmath.factorial, mpmath.mpf(2)
    right = [-((-1.0) ** k) / float(factorial(k)) for k in range(160)]
    np.testing.assert_allclose(Exponential().coefficients(160), right, rtol=1e-14)
    found, root = SmoothedAbsolute(2.0).coefficients(160), mpmath.sqrt(mpmath.pi)
    assert not found[::2].any()
    right = [float(2 / root * (-1) ** k * two ** (2 * k + 1) / (factorial(k) * (2 * k + 1))) for k in range(80)]
    np.testing.assert_allclose(found[1::2], right, rtol=1e-13)
    right = [float((two ** (2 * k) - 1) * mpmath.bernoulli(2 * k) / factorial(2 * k)) for k in range(1, 80)]
    np.testing.assert_allclose(Logistic().coefficients(160)[1:158:2], right, rtol=1e-13)


@pytest.mark.parametrize("loss", [SmoothedHinge(10.0), SmoothedAbsolute(10.0), Exponential(), Logistic()])
def test_long_tables_are_finite(loss):
    for centre in (0.0, 1.0, -4.0):
        assert np.isfinite(loss.coefficients(300, centre)).all()


@jax.jit
def parts(loss, a):
    """Value, derivative, and the slope of the value by jax: one program a class of losses."""
    return loss.value(a), loss.derivative(a), jax.vmap(jax.grad(loss.value))(a)


@pytest.mark.parametrize("name", NAMES)
def test_values_and_derivatives_agree_with_mpmath(name, both_precisions):
    loss, value, derivative = LOSSES[name]
    a = np.linspace(-4, 4, 41).astype(both_precisions)
    eps = np.finfo(both_precisions).eps
    found_value, found_derivative, slope = parts(loss, jnp.asarray(a))
    for found, right in ((found_value, value), (found_derivative, derivative)):
        assert found.dtype == both_precisions
        expected = np.array([float(right(mpmath.mpf(float(x)))) for x in a])
        np.testing.assert_allclose(found, expected, rtol=32 * eps, atol=32 * eps)
    np.testing.assert_allclose(slope, found_derivative, rtol=64 * eps, atol=64 * eps)


@jax.jit
def predicted(loss, y_hat, y, a):
    return loss(y_hat, y), loss.gradient(y_hat, y), loss.value(a), jax.vmap(jax.grad(loss))(y_hat, y)


@pytest.mark.parametrize("name", [*NAMES, *(f"plain {name}" for name in PLAIN)])
def test_loss_and_gradient_of_a_prediction_use_its_residual_or_margin(name):
    loss = (LOSSES | {f"plain {key}": row for key, row in PLAIN.items()})[name][0]
    y_hat, y = jnp.asarray([-1.3, 0.2, 0.9]), jnp.asarray([1.0, -1.0, 1.0])
    a = y_hat - y if loss.kind == "regression" else y_hat * y
    found, gradient, value, slope = predicted(loss, y_hat, y, a)
    np.testing.assert_array_equal(found, value)
    np.testing.assert_allclose(gradient, slope, rtol=1e-5)


def test_smoothed_losses_approach_the_plain_losses():
    """The plain losses, by NumPy and by the losses of this package."""
    a = jnp.linspace(-4.0, 4.0, 41)
    absolute, hinge = (parts(loss, a)[0] for loss in (SmoothedAbsolute(1e4), SmoothedHinge(1e4)))
    np.testing.assert_allclose(absolute, np.abs(a), atol=1e-4)
    np.testing.assert_allclose(hinge, np.maximum(1 - np.asarray(a), 0), atol=1e-4)
    np.testing.assert_allclose(absolute, parts(Absolute(), a)[0], atol=1e-4)
    np.testing.assert_allclose(hinge, parts(Hinge(), a)[0], atol=1e-4)
    np.testing.assert_allclose(parts(Pinball(0.5), a)[0], 0.5 * np.abs(a), rtol=1e-6)
    np.testing.assert_allclose(2 * parts(Huber(100.0), a)[0], np.asarray(a) ** 2, rtol=1e-6)
    assert float(SmoothedHinge(1.0).value(1000.0)) == 0.0


def test_the_scale_must_be_known_for_a_series():
    with pytest.raises(TypeError, match=r"^scale\b"):
        jax.jit(lambda loss: jnp.asarray(loss.coefficients(3)))(SmoothedAbsolute(1.0))


def test_losses_have_the_numbers_of_the_errata():
    hinge = SmoothedHinge(1.0)
    n = np.arange(40)
    assert float(hinge.coefficients(40) @ 0.3**n) == pytest.approx(-0.839, abs=5e-4)
    assert float(hinge.coefficients(40, 1.0) @ (0.3 - 1) ** n) == pytest.approx(-0.839, abs=5e-4)
    assert hinge.majorant(0.2) == pytest.approx(0.972, abs=5e-4)
    assert SmoothedAbsolute(1.0).majorant(3.0) == pytest.approx(special.erfi(3.0), rel=1e-12)


@pytest.mark.parametrize("centre", [0.0, 1.0, -0.7])
@pytest.mark.parametrize("name", NAMES)
def test_majorant_and_tail_bound_agree_with_long_sums(name, centre):
    loss = LOSSES[name][0]
    gammas = np.abs(loss.coefficients(400, centre))
    for a in (0.0, 0.2, 1.0, 2.0):
        terms = gammas * a ** np.arange(400)
        assert loss.majorant(a, centre) == pytest.approx(terms.sum(), rel=1e-11)
        for n in (0, 1, 2, 5, 30, 100):
            bound = loss.tail_bound(n, a, centre)
            assert bound >= terms[n:].sum() * (1 - 1e-12)
        assert loss.tail_bound(400, a, centre) <= 1e-12
    assert Exponential().majorant(1000.0) == SmoothedHinge(20.0).majorant(5.0) == np.inf


@pytest.mark.parametrize("centre", [0.0, 2.0])
def test_the_logistic_series_has_its_radius_of_convergence(centre):
    loss = Logistic()
    radius = np.hypot(np.pi, centre)
    assert loss.radius(centre) == pytest.approx(radius, rel=1e-15)
    # Root test, over a window that no run of small coefficients fills.
    gammas = np.abs(loss.coefficients(500, centre))
    assert max(gammas[n] ** (1 / n) for n in range(470, 500)) == pytest.approx(1 / radius, rel=0.01)
    assert loss.majorant(radius, centre) == np.inf
    assert loss.tail_bound(5, radius, centre) == np.inf
    assert Squared().radius() == np.inf


A = np.linspace(-4.0, 4.0, 41)  # with every kink


@pytest.mark.parametrize("name", PLAIN)
def test_plain_losses_agree_with_their_definitions(name, both_precisions):
    """Value and derivative by the cases of the definition, and by central differences away from the kinks; at a kink
    the stated derivative is a subgradient, where the loss is convex."""
    loss, value, derivative, kinks = PLAIN[name]
    assert np.isnan(float(loss(np.nan, 1.0)))
    a, eps = A.astype(both_precisions), np.finfo(both_precisions).eps
    found, slope, _ = parts(loss, jnp.asarray(a))
    assert found.dtype == slope.dtype == both_precisions
    np.testing.assert_allclose(found, [value(x) for x in a.tolist()], rtol=8 * eps, atol=8 * eps)
    np.testing.assert_allclose(slope, [derivative(x) for x in a.tolist()], rtol=8 * eps, atol=8 * eps)
    for x in [x for x in A.tolist() if min((abs(x - kink) for kink in kinks), default=1.0) > 1e-3]:
        assert derivative(x) == pytest.approx((value(x + 1e-6) - value(x - 1e-6)) / 2e-6, abs=1e-6)
    if name != "zero-one":
        grid = np.linspace(-4.0, 4.0, 81)
        for x in A.tolist():
            assert all(value(z) >= value(x) + derivative(x) * (z - x) - 1e-12 for z in grid)


def test_log_loss_agrees_with_relative_entropy(both_precisions):
    """Against scipy's relative entropies; certain predictions cost nothing or everything, and no NaN."""
    eps = np.finfo(both_precisions).eps
    value_and_slope = jax.jit(lambda p, y: (LogLoss()(p, y), LogLoss().gradient(p, y)))

    def at(p, y):
        p, y = np.broadcast_arrays(np.asarray(p, both_precisions), np.asarray(y, both_precisions))
        found = value_and_slope(jnp.asarray(np.resize(p, 6)), jnp.asarray(np.resize(y, 6)))
        assert found[0].dtype == found[1].dtype == both_precisions
        return (np.asarray(part)[: p.size] for part in found)

    p = np.array([0.01, 0.3, 0.5, 0.99]).astype(both_precisions)
    for y in (0.0, 1.0):
        value, slope = at(p, y)
        exact = p.astype(float)
        right = special.rel_entr(y, exact) + special.rel_entr(1 - y, 1 - exact)
        np.testing.assert_allclose(value, right, rtol=4 * eps, atol=4 * eps)
        np.testing.assert_allclose(slope, (exact - y) / (exact * (1 - exact)), rtol=16 * eps)
    value, slope = at([1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0])
    assert value.tolist() == [0.0, 0.0, np.inf, np.inf]
    assert slope.tolist() == [-1.0, 1.0, -np.inf, np.inf]
    for part in at([-0.1, 1.1, np.nan, -0.1, 1.1, np.nan], [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]):
        assert np.isnan(part).all()
