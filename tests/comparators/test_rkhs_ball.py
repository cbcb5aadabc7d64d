"""The best predictor in a ball of an RKHS: SciPy's optimiser, optimality conditions, closed forms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, special
from tiers import some

from jaxonline.bounds import surrogate_radius
from jaxonline.comparators import RKHSBall, best_in_rkhs_ball, positive_negative_angle, rkhs_norm
from jaxonline.comparators.linear import _minimise_quadratic
from jaxonline.estimators.surrogates import Surrogate, radial_surrogate
from jaxonline.kernels import ExponentialKernel, Gaussian, Laplacian, Linear
from jaxonline.kernels.shift_invariant import Cauchy
from jaxonline.losses import Exponential, Logistic, SmoothedAbsolute, SmoothedHinge, Squared

pytestmark = pytest.mark.fast_compile


def erf_integral(b, s):
    return b * special.erf(s * b) + np.exp(-((s * b) ** 2)) / (s * np.sqrt(np.pi))


# losses and derivatives in the prediction, by NumPy and SciPy
LOSSES = {
    "squared": (Squared(), lambda f, y: (f - y) ** 2, lambda f, y: 2 * (f - y)),
    "absolute": (SmoothedAbsolute(2.0), lambda f, y: erf_integral(f - y, 2.0), lambda f, y: special.erf(2 * (f - y))),
    "sharp absolute": (
        SmoothedAbsolute(8.0), lambda f, y: erf_integral(f - y, 8.0), lambda f, y: special.erf(8 * (f - y))
    ),
    "exponential": (Exponential(), lambda f, y: np.exp(-y * f), lambda f, y: -y * np.exp(-y * f)),
    "hinge": (
        SmoothedHinge(1.5),
        lambda f, y: (erf_integral(y * f - 1, 1.5) - (y * f - 1)) / 2,
        lambda f, y: y * (special.erf(1.5 * (y * f - 1)) - 1) / 2,
    ),
    "logistic": (Logistic(), lambda f, y: np.log1p(np.exp(-y * f)), lambda f, y: -y * special.expit(-y * f)),
}  # fmt: skip

# kernels and what they are by NumPy
KERNELS = {
    "linear": (Linear(), lambda X, Z: X @ Z.T),
    "exponential": (ExponentialKernel(), lambda X, Z: np.exp(X @ Z.T)),
    "gaussian": (Gaussian(0.9), lambda X, Z: np.exp(-((X[:, None] - Z) ** 2).sum(-1) / 0.81)),
    "laplacian": (Laplacian(1.3), lambda X, Z: np.exp(-np.abs(X[:, None] - Z).sum(-1) / 1.3)),
}


def data(name: str, n: int = 14, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows with three entries, two rows repeated, and targets that fit the loss."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) / np.sqrt(3)
    X[-2:] = X[:2]
    y = np.sin(3 * X[:, 0]) + 0.5 * rng.normal(size=n)
    return X, y if LOSSES[name][0].kind == "regression" else np.where(y > 0, 1.0, -1.0)


def coordinates(gram: np.ndarray) -> np.ndarray:
    """B with K = B B', from the eigenvalues above rounding."""
    values, vectors = linalg.eigh(gram)
    kept = values > 1e-12 * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])


@pytest.mark.parametrize("kernel", some(KERNELS, "linear"))
@pytest.mark.parametrize("name", LOSSES)
def test_rkhs_ball_satisfies_the_optimality_conditions(name, kernel):
    """Loss, norm and predictions are those of the coefficients; in the coordinates of the span the gradient is
    -mu w with mu >= 0, 0 inside the ball: with a convex loss that is sufficient."""
    loss, value, slope = LOSSES[name]
    X, y = data(name, 40)
    k, k_numpy = KERNELS[kernel]
    gram = k_numpy(X, X)
    B = coordinates(gram)
    for radius in (0.3, 2.0, 8.0):
        best = best_in_rkhs_ball(k, X, y, radius, loss)
        f = gram @ best.coefficients
        np.testing.assert_allclose(best.loss, value(f, y).sum(), rtol=1e-8)
        np.testing.assert_allclose(best.norm, np.sqrt(best.coefficients @ f), rtol=1e-6)
        assert best.norm <= radius * (1 + 1e-9)
        new = np.random.default_rng(1).normal(size=(5, 3))
        np.testing.assert_allclose(best.predict(new), k_numpy(new, X) @ best.coefficients, rtol=1e-6, atol=1e-8)
        scale = value(np.zeros(40), y).sum()
        assert 0 <= best.gap <= 1e-8 * scale
        w, force = np.linalg.lstsq(B, f, rcond=None)[0], B.T @ slope(f, y)
        gap = force @ w + radius * np.linalg.norm(force)
        assert gap <= 2e-8 * scale
        if best.norm < radius * (1 - 1e-6):
            np.testing.assert_allclose(force, 0.0, atol=1e-6 * np.abs(B).sum())


def test_rkhs_ball_matches_closed_forms():
    """One instance: f(x) = radius sqrt(k(x, x)) y at most. A ball that is large enough: every target is met."""
    x, root = np.array([[0.6, 0.8]]), np.exp(0.5)
    one = np.ones(1)
    best = best_in_rkhs_ball(ExponentialKernel(), x, one, 3.0, Exponential())
    np.testing.assert_allclose([best.loss, best.norm], [np.exp(-3 * root), 3.0], rtol=1e-9)
    best = best_in_rkhs_ball(ExponentialKernel(), x, -one, 3.0, Logistic())
    np.testing.assert_allclose(best.loss, np.log1p(np.exp(-3 * root)), rtol=1e-9)
    np.testing.assert_allclose(best.predict(x), [-3 * root], rtol=1e-9)

    X, y = data("absolute")
    X, y = X[:-2], y[:-2]  # no instance twice
    met = best_in_rkhs_ball(Laplacian(1.0), X, y, 100.0, SmoothedAbsolute(2.0))
    assert met.norm < 99
    np.testing.assert_allclose(met.loss, len(y) / (2 * np.sqrt(np.pi)), rtol=1e-8)
    np.testing.assert_allclose(met.predict(X), y, atol=1e-4)

    nothing = best_in_rkhs_ball(Linear(), np.zeros((3, 2)), np.array([1.0, -1.0, 1.0]), 5.0, Logistic())
    assert (nothing.loss, nothing.norm, nothing.gap) == (pytest.approx(3 * np.log(2)), 0.0, 0.0)


@pytest.mark.parametrize("loss", [Squared(), Logistic()])
def test_repeated_rows_count_repeatedly(loss):
    """Several passes over data, with one instance that has two targets, against the same rows one by one."""
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(9, 2)), rng.choice([-1.0, 1.0], 9)
    X[5], y[5] = X[2], -y[2]
    X, y, rounds = np.tile(X, (4, 1)), np.tile(y, 4), [3, 7, 9, 13, 36]
    losses = RKHSBall(Gaussian(1.0), 1.5, loss, 1e-10).best_losses(X, y, rounds)
    alone = [best_in_rkhs_ball(Gaussian(1.0), X[:t], y[:t], 1.5, loss, 1e-10).loss for t in rounds]
    np.testing.assert_allclose(losses, alone, rtol=1e-8)


def test_wrong_rows_and_rounds_raise_errors():
    X, y = data("squared")
    with pytest.raises(ValueError, match=r"^X: "):
        best_in_rkhs_ball(Linear(), X, y, 1.0).predict(X[0])
    with pytest.raises(ValueError, match=r"^rounds: must rise"):
        RKHSBall(Linear(), 1.0).best_losses(X, y, [3, 3])


def test_a_gap_above_the_tolerance_warns():
    """At a minimum inside the ball the gap is the radius times a gradient of the size of rounding."""
    X, y = data("absolute")
    with pytest.warns(RuntimeWarning, match="tolerance"):
        best_in_rkhs_ball(Gaussian(0.9), X, y, 1e4, SmoothedAbsolute(2.0), tolerance=1e-25)
    with pytest.warns(RuntimeWarning, match="tolerance"):
        RKHSBall(Gaussian(0.9), 1e4, SmoothedAbsolute(2.0), tolerance=1e-25).best_losses(X, y, [5])


def test_a_slightly_indefinite_matrix_is_solved():
    hessian = np.diag([1.0, -1e-13])
    w, mu = _minimise_quadratic(hessian, np.array([0.5, 0.0]), 2.0, 0.0, 1e-20)
    np.testing.assert_allclose(w, [0.5, 0.0], rtol=1e-9)
    assert mu < 1e-10


def test_angles_match_those_of_vectors():
    """With the linear kernel they are the angles in the plane."""
    for degrees in (1.0, 30.0, 90.0, 179.0):
        X = np.array([[2.0, 0.0], [np.cos(np.radians(degrees)), np.sin(np.radians(degrees))]])
        for a in ([3.0, -0.2], [-3.0, 0.2]):
            assert np.degrees(positive_negative_angle(Linear(), X, a)) == pytest.approx(degrees, abs=1e-6)
            assert rkhs_norm(Linear(), X, a) == pytest.approx(np.linalg.norm(np.array(a) @ X), rel=1e-12)
    for a in ([1.0, 1.0], [-1.0, -1.0], [0.0, 0.0], [0.0, 2.0]):  # one part is empty
        assert positive_negative_angle(Linear(), np.eye(2), a) == np.pi / 2
    assert positive_negative_angle(Linear(), np.array([[1.0], [1.0]]), [2.0, -1.0]) == pytest.approx(0.0, abs=1e-7)


SURROGATES = {
    "one variance": Surrogate(Gaussian(1.0), 0.2, dimension=2),
    "two variances": Surrogate(Gaussian(1.0), [0.45, 0.02]),
    "a matrix": Surrogate(Gaussian(1.0), np.array([[0.3, 0.1], [0.1, 0.2]])),
    "radial": radial_surrogate(Cauchy(2.0), [0.3, 0.1], cut=1.2, dimension=2),
}
AT_ZERO = {name: (float(s.at_zero()), float(s.kernel.at_zero())) for name, s in SURROGATES.items()}


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.sampled_from(sorted(SURROGATES)), st.floats(0.0, 1.0))
def test_surrogate_norms_are_below_the_radius(seed, name, closeness):
    """Lemmas 5, 6 and 9: |u^| is below the sharp radius. (A mixture's k^/k is largest at distance 0: there it is
    k^(x, x)/k(x, x), which is above R^2 = k^(x, x).)"""
    surrogate = SURROGATES[name]
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(8, 2)) * rng.choice([0.1, 1.0])
    X[4:] = X[:4] + (1 - closeness) * rng.normal(size=(4, 2))
    a = rng.normal(size=8)
    a[4:] = -a[:4]  # positive and negative parts that are close
    norm, angle = (measure(surrogate.kernel, X, a) for measure in (rkhs_norm, positive_negative_angle))
    if angle < 1e-3:
        return
    ratio = np.sqrt(AT_ZERO[name][0] / AT_ZERO[name][1])
    assert rkhs_norm(surrogate, X, a) <= surrogate_radius(norm, ratio, angle) * (1 + 1e-5)


class Quartic:
    """A user's loss."""

    def __call__(self, f, y):
        return (f - y) ** 4

    def gradient(self, f, y):
        return 4 * (f - y) ** 3


def test_custom_losses_are_accepted():
    """A plain class with value and gradient: the loss of a prediction w x for two targets, by hand."""
    X, y = np.ones((2, 1)), np.array([0.0, 2.0])
    best = best_in_rkhs_ball(Linear(), X, y, 3.0, Quartic())
    assert best.loss == pytest.approx(2.0, rel=1e-7)  # at w = 1
    assert RKHSBall(Linear(), 0.5, Quartic()).best_losses(X, y, [2])[0] == pytest.approx(0.5**4 + 1.5**4, rel=1e-7)
