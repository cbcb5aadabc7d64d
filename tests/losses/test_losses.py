"""Losses against mpmath, SciPy and the numbers worked out for the paper's errata."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from loss_table import LOSSES
from scipy import special

from jaxonline.losses import (
    Absolute,
    Exponential,
    Hinge,
    Huber,
    Logistic,
    LogLoss,
    PairLoss,
    Pinball,
    SmoothedAbsolute,
    SmoothedHinge,
    Squared,
    SquaredDistance,
    ZeroOne,
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


def smoothed(a, scale):
    return a * special.erf(scale * a) + np.exp(-((scale * a) ** 2)) / (scale * np.sqrt(np.pi))


F, LABELS = (grid.ravel() for grid in np.meshgrid(np.linspace(-2.5, 2.5, 11), [-1.0, 1.0]))  # with every kink
POINTS = np.stack([F, LABELS], axis=1), np.stack([LABELS * F, F - 0.25], axis=1)
DUELS = np.tile([[0.5, 0.75, 1.0], [0.25, 0.5, 0.625], [0.0, 0.375, 0.5]], (9, 1, 1))
ARMS = np.stack([np.arange(9) // 3, np.arange(9) % 3], axis=1).astype(np.int32)
FORMULAS = {  # value and derivative in the residual or margin; or of predictions and outcomes, which are given
    "squared": (Squared(), lambda a, *, p=2.0: (np.abs(a) ** p, p * np.abs(a) ** (p - 1) * np.sign(a))),
    "absolute": (Absolute(), lambda a, *, slope=1.0: (slope * np.abs(a), slope * np.sign(a))),
    "huber": (
        Huber(1.5),
        lambda a, *, delta=1.5, half=0.5: (
            np.where(np.abs(a) <= delta, half * a**2, delta * (np.abs(a) - half * delta)), np.clip(a, -delta, delta)
        ),
    ),
    "pinball": (
        Pinball(0.25),
        lambda a, *, tau=0.25, one=1.0: (np.maximum((one - tau) * a, -tau * a), (a > 0) * (one - tau) - (a < 0) * tau),
    ),
    "smoothed absolute": (SmoothedAbsolute(1.5), lambda a, *, s=1.5: (smoothed(a, s), special.erf(s * a))),
    "exponential": (Exponential(), lambda a, *, rate=1.0: (np.exp(-rate * a), -rate * np.exp(-rate * a))),
    "logistic": (
        Logistic(), lambda a, *, one=1.0, rate=1.0: (np.log(one + np.exp(-rate * a)), -rate / (one + np.exp(rate * a)))
    ),
    "hinge": (Hinge(), lambda a, *, edge=1.0: (np.maximum(edge - a, 0), np.where(a < edge, -1.0, 0.0))),
    "smoothed hinge": (
        SmoothedHinge(1.5),
        lambda a, *, s=1.5, edge=1.0, half=0.5: (
            half * (smoothed(a - edge, s) - (a - edge)), half * (special.erf(s * (a - edge)) - 1)
        ),
    ),
    "zero-one": (ZeroOne(), lambda a, *, one=1.0, limit=0: (one * (a <= limit), 0 * a)),
    "log loss": (
        LogLoss(),
        lambda p, y, *, one=1.0: (-(y * np.log(p) + (one - y) * np.log(one - p)), (one - y) / (one - p) - y / p),
        (F + 4) / 8, (LABELS + 1) / 2,
    ),
    "squared distance": (
        SquaredDistance(),
        lambda f, y, *, p=2.0: (np.sum(np.abs(f - y) ** p, axis=1), p * np.abs(f - y) ** (p - 1) * np.sign(f - y)),
        *POINTS,
    ),
    "pair": (
        PairLoss(1),
        lambda f, y, *, winner=1, half=0.5: (half * y[0, winner, f].sum(axis=1) - half, y[:, winner] - half),
        ARMS, DUELS,
    ),
}  # fmt: skip


def expected(loss, formula, f, y, **constants):
    kind = getattr(loss, "kind", None)
    if kind is None:
        return formula(f, y, **constants)
    value, slope = formula(f - y if kind == "regression" else y * f, **constants)
    return value, slope if kind == "regression" else y * slope


@pytest.mark.parametrize("name", FORMULAS)
def test_loss_equals_its_formula_in_which_every_constant_decides(name, both_precisions):
    (loss, formula, *rows), eps = FORMULAS[name], np.finfo(both_precisions).eps
    f, y = rows or (F, LABELS)
    given = jnp.asarray(f, both_precisions if f.dtype == float else np.int32), jnp.asarray(y, both_precisions)
    found = jax.jit(jax.vmap(lambda f, y: (loss(f, y), loss.gradient(f, y))))(*given)
    right = expected(loss, formula, f, y)
    for part, values in zip(found, right, strict=True):
        assert part.dtype == both_precisions
        np.testing.assert_allclose(part, values, rtol=64 * eps, atol=64 * eps)
    for constant, value in formula.__kwdefaults__.items():
        for other in (value - 1, value + 1) if isinstance(value, int) else (value - 0.05, value + 0.05):
            changed = expected(loss, formula, f, y, **{constant: other})
            assert max(np.abs(a - b).max() for a, b in zip(changed, right, strict=True)) > 1e-3, (constant, other)


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
