"""Losses against mpmath, SciPy and the numbers worked out for the paper's errata."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy import special

from jaxonline.claims import printed_losses
from jaxonline.losses import Exponential, Logistic, Loss, SmoothedAbsolute, SmoothedHinge, Squared

LOSSES = {
    "squared": (Squared(), lambda a: a**2, lambda a: 2 * a),
    "exponential": (Exponential(), lambda a: mpmath.exp(-a), lambda a: -mpmath.exp(-a)),
    "logistic": (Logistic(), lambda a: mpmath.log1p(mpmath.exp(-a)), lambda a: -1 / (1 + mpmath.exp(a))),
}


def _absolute(s):
    s = mpmath.mpf(s)

    def value(a):
        return a * mpmath.erf(s * a) + mpmath.exp(-((s * a) ** 2)) / (s * mpmath.sqrt(mpmath.pi))

    return SmoothedAbsolute(float(s)), value, lambda a: mpmath.erf(s * a)


def _hinge(s):
    s = mpmath.mpf(s)

    def value(a):
        b = a - 1
        gauss = mpmath.exp(-((s * b) ** 2)) / (2 * s * mpmath.sqrt(mpmath.pi))
        return b * (mpmath.erf(s * b) - 1) / 2 + gauss

    return SmoothedHinge(float(s)), value, lambda a: (mpmath.erf(s * (a - 1)) - 1) / 2


# 1/sqrt(2): the argument of the Hermite polynomials is then almost a zero of H_2, where a recurrence cancels.
for scale in (0.5, 0.5**0.5, 1.0, 3.0):
    LOSSES[f"absolute {scale:.3g}"] = _absolute(scale)
    LOSSES[f"hinge {scale:.3g}"] = _hinge(scale)

NAMES = sorted(LOSSES)


@pytest.mark.parametrize("centre", [0.0, 1.0, -0.7, 0.35])
@pytest.mark.parametrize("name", NAMES)
def test_coefficients_agree_with_mpmath_to_order_30(name, centre):
    loss, _, derivative = LOSSES[name]
    with mpmath.workdps(90):
        expected = mpmath.taylor(derivative, mpmath.mpf(centre), 30)
        for n, (found, right) in enumerate(zip(loss.coefficients(31, centre), expected, strict=True)):
            # 1e-40: mpmath's own numerical differentiation, where the coefficient is 0.
            assert abs(found - right) <= 1e-12 * abs(right) + mpmath.mpf(10) ** -40, n


@pytest.mark.parametrize("scale", [0.5, 1.0, 2.5])
def test_hinge_coefficients_are_hermite_numbers_to_order_120(scale):
    n = np.arange(1, 121)
    found = SmoothedHinge(scale).coefficients(121)
    assert found[0] == pytest.approx((special.erf(-scale) - 1) / 2, rel=1e-14)
    with mpmath.workdps(40):
        s = mpmath.mpf(scale)
        right = [
            s**k * (-1) ** (k - 1) * mpmath.hermite(k - 1, -s) * mpmath.exp(-(s**2)) / mpmath.sqrt(mpmath.pi)
            / mpmath.factorial(k)
            for k in map(int, n)
        ]  # fmt: skip
    np.testing.assert_allclose(found[1:], np.array([float(r) for r in right]), rtol=1e-13, atol=0)


def test_closed_forms_to_order_160():
    n = np.arange(160)
    np.testing.assert_allclose(
        Exponential().coefficients(160), [-((-1.0) ** k) / float(mpmath.factorial(int(k))) for k in n], rtol=1e-14
    )
    found = SmoothedAbsolute(2.0).coefficients(160)
    assert not found[::2].any()
    k = np.arange(80)
    right = [
        float(2 / mpmath.sqrt(mpmath.pi) * (-1) ** int(j) * mpmath.mpf(2) ** (2 * int(j) + 1)
              / (mpmath.factorial(int(j)) * (2 * int(j) + 1)))
        for j in k
    ]  # fmt: skip
    np.testing.assert_allclose(found[1::2], right, rtol=1e-13)
    # -1/(1 + e^a) = -1/2 + sum over k of (2^2k - 1) B_2k a^(2k-1) / (2k)!, B the Bernoulli numbers.
    right = [
        float((mpmath.mpf(2) ** (2 * int(j)) - 1) * mpmath.bernoulli(2 * int(j)) / mpmath.factorial(2 * int(j)))
        for j in k[1:]
    ]
    np.testing.assert_allclose(Logistic().coefficients(160)[1:158:2], right, rtol=1e-13)


@pytest.mark.parametrize("loss", [SmoothedHinge(10.0), SmoothedAbsolute(10.0), Exponential(), Logistic()])
def test_long_tables_are_finite(loss):
    for centre in (0.0, 1.0, -4.0):
        assert np.isfinite(loss.coefficients(300, centre)).all()


@pytest.mark.parametrize("name", NAMES)
def test_values_and_derivatives_agree_with_mpmath(name, both_precisions):
    loss, value, derivative = LOSSES[name]
    a = np.linspace(-4, 4, 41).astype(both_precisions)
    eps = np.finfo(both_precisions).eps
    for function, right in ((loss.value, value), (loss.derivative, derivative)):
        found = function(jnp.asarray(a))
        assert found.dtype == both_precisions
        expected = np.array([float(right(mpmath.mpf(float(x)))) for x in a])
        np.testing.assert_allclose(found, expected, rtol=32 * eps, atol=32 * eps)
    np.testing.assert_allclose(
        jax.vmap(jax.grad(loss.value))(jnp.asarray(a)), loss.derivative(jnp.asarray(a)), rtol=64 * eps, atol=64 * eps
    )


@pytest.mark.parametrize("name", NAMES)
def test_loss_and_gradient_of_a_prediction(name):
    loss = LOSSES[name][0]
    y_hat, y = jnp.asarray([-1.3, 0.2, 0.9]), jnp.asarray([1.0, -1.0, 1.0])
    a = y_hat - y if loss.kind == "regression" else y_hat * y
    np.testing.assert_array_equal(loss(y_hat, y), loss.value(a))
    grad = jax.vmap(jax.grad(lambda p, t: loss(p, t)))(y_hat, y)
    np.testing.assert_allclose(loss.gradient(y_hat, y), grad, rtol=1e-5)


def test_losses_approach_their_limits():
    a = jnp.linspace(-3.0, 3.0, 25)
    np.testing.assert_allclose(SmoothedAbsolute(1e4).value(a), jnp.abs(a), atol=1e-4)
    np.testing.assert_allclose(SmoothedHinge(1e4).value(a), jnp.maximum(1 - a, 0), atol=1e-4)
    assert float(SmoothedHinge(1.0).value(1000.0)) == 0.0


def test_the_scale_is_a_leaf():
    scales = jnp.asarray([0.5, 1.0, 2.0])
    found = jax.jit(jax.vmap(lambda loss: loss.derivative(0.3)))(SmoothedAbsolute(scales))
    np.testing.assert_allclose(found, special.erf(0.3 * np.asarray(scales)), rtol=1e-6)
    with pytest.raises(TypeError, match="scale must be a known number here"):
        jax.jit(lambda loss: jnp.asarray(loss.coefficients(3)))(SmoothedAbsolute(1.0))


def test_worked_numbers_of_the_errata():
    hinge = SmoothedHinge(1.0)
    n = np.arange(40)
    assert float(hinge.coefficients(40) @ 0.3**n) == pytest.approx(-0.839, abs=5e-4)
    assert float(hinge.coefficients(40, 1.0) @ (0.3 - 1) ** n) == pytest.approx(-0.839, abs=5e-4)
    assert float(printed_losses.printed_hinge_coefficients(40, 1.0) @ 0.3**n) == pytest.approx(-0.336, abs=5e-4)
    assert hinge.majorant(0.2) == pytest.approx(0.972, abs=5e-4)
    assert printed_losses.printed_absolute_majorant(0.2, 1.0) == pytest.approx(0.615, abs=5e-4)


def test_printed_bounds_are_violated():
    """E4: each bound printed in an example fails for the loss of that example."""
    assert printed_losses.printed_absolute_majorant(1.0, 1.0) < special.erfi(1.0)
    assert printed_losses.printed_hinge_majorant(1.0, 1.0) < SmoothedHinge(1.0).majorant(1.0)


def test_printed_antiderivative_needs_sigma_equal_to_s(x64):
    slope = jax.grad(printed_losses.printed_smoothed_absolute)
    assert float(slope(0.3, 2.0, 2.0)) == pytest.approx(special.erf(0.6), rel=1e-12)
    assert abs(float(slope(0.3, 2.0, 1.0)) - special.erf(0.6)) > 0.4


def test_printed_exponential_is_the_mirror_image():
    assert float(printed_losses.printed_exponential(0.4)) == pytest.approx(np.exp(0.4), rel=1e-6)
    right = Exponential().coefficients(20)
    np.testing.assert_allclose(printed_losses.printed_exponential_coefficients(20), np.abs(right), rtol=1e-14)


@pytest.mark.parametrize("centre", [0.0, 1.0, -0.7])
@pytest.mark.parametrize("name", NAMES)
def test_majorant_and_tail_bound_against_long_sums(name, centre):
    loss = LOSSES[name][0]
    gammas = np.abs(loss.coefficients(400, centre))
    for a in (0.0, 0.2, 1.0, 2.0):
        terms = gammas * a ** np.arange(400)
        assert loss.majorant(a, centre) == pytest.approx(terms.sum(), rel=1e-11)
        for n in (0, 1, 2, 5, 30, 100):
            bound = loss.tail_bound(n, a, centre)
            assert bound >= terms[n:].sum() * (1 - 1e-12)
        assert loss.tail_bound(400, a, centre) <= 1e-12


def test_majorants_in_closed_form():
    for a in (0.1, 1.0, 3.0):
        assert Squared().majorant(a) == 2 * a
        assert Exponential().majorant(a) == pytest.approx(np.exp(a), rel=1e-14)
        assert SmoothedAbsolute(1.3).majorant(a) == pytest.approx(float(mpmath.erfi(1.3 * a)), rel=1e-13)
        assert Logistic().majorant(a) == pytest.approx((1 + np.tan(a / 2)) / 2, rel=1e-13)
    assert Exponential().majorant(1000.0) == np.inf
    assert SmoothedHinge(20.0).majorant(5.0) == np.inf


@pytest.mark.parametrize("centre", [0.0, 2.0])
def test_radius_of_the_logistic_series(centre):
    loss = Logistic()
    radius = np.hypot(np.pi, centre)
    assert loss.radius(centre) == pytest.approx(radius, rel=1e-15)
    # Root test, over a window that no run of small coefficients fills.
    gammas = np.abs(loss.coefficients(500, centre))
    assert max(gammas[n] ** (1 / n) for n in range(470, 500)) == pytest.approx(1 / radius, rel=0.01)
    assert loss.majorant(radius, centre) == np.inf
    assert loss.tail_bound(5, radius, centre) == np.inf
    assert Squared().radius() == np.inf


def test_bad_input():
    for cls in (SmoothedAbsolute, SmoothedHinge):
        for scale in (0.0, -1.0, np.nan):
            with pytest.raises(ValueError, match="scale must be above 0"):
                cls(scale)
    with pytest.raises(ValueError, match="n_terms must be at least 1, got 0"):
        Exponential().coefficients(0)
    with pytest.raises(TypeError, match="n_terms must be an integer"):
        Exponential().coefficients(2.5)
    with pytest.raises(ValueError, match="centre must be finite"):
        Exponential().coefficients(3, np.inf)
    for loss in (Squared(), Exponential(), SmoothedAbsolute(1.0), SmoothedHinge(1.0), Logistic()):
        with pytest.raises(ValueError, match="a must be at least 0"):
            loss.majorant(-0.1)
    assert issubclass(Squared, Loss)
