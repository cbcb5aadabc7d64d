"""Bounds of gradient descent: any sequence, and the moments of noisy data by enumeration."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jaxonline as jo
from benchmarks.papers.claims.noise import printed_two_copies
from jaxonline.bounds import (
    gradient_descent,
    moment_bounds,
    two_copies,
)
from jaxonline.feedback.noise import gaussian, laplace, student_t, uniform

MATRIX = np.array([[0.3, 0.1], [0.1, 0.2]])
LAWS = {"gaussian": gaussian, "laplace": laplace, "uniform": uniform, "student": lambda s: student_t(s, 12.0)}


@given(st.integers(0, 10_000), st.floats(0.05, 3.0), st.floats(0.01, 2.0))
def test_gradient_descent_satisfies_both_bounds_on_any_sequence(seed, radius, eta):
    """Zinkevich's bounds hold for any sequence, at every round, with G the largest squared gradient (a NumPy loop)."""
    rng = np.random.default_rng(seed)
    d, horizon = rng.integers(1, 4), 30
    X, y = rng.normal(size=(horizon, d)), rng.normal(size=horizon) * rng.choice([0.1, 1.0, 3.0])
    ball = jo.L2Ball(radius)
    rounds = np.arange(1, horizon + 1)
    cumulative = [np.cumsum(X[:, :, None] * X[:, None, :], 0), np.cumsum(X * y[:, None], 0), np.cumsum(y**2)]
    best = ball.best_loss(jo.comparators.QuadraticSums(*cumulative))
    for steps in (np.full(horizon, eta), eta / np.sqrt(rounds)):
        w, losses, squares = np.zeros(d), [], []
        for x, target, step in zip(X, y, steps, strict=True):
            losses.append((w @ x - target) ** 2)
            gradient = 2 * (w @ x - target) * x
            squares.append(gradient @ gradient)
            w = w - step * gradient
            w = w * min(1.0, radius / max(np.linalg.norm(w), 1e-300))
        bound = gradient_descent(radius, max(squares), horizon)
        promise = bound.at_rounds(rounds, step_size=eta) if steps[-1] == eta else bound.at_rounds(rounds, eta=eta)
        assert (np.cumsum(losses) - best <= promise * (1 + 1e-9) + 1e-9).all()


def three_points(kurtosis: float) -> tuple[np.ndarray, np.ndarray]:
    """Values and probabilities of a symmetric distribution on three points with variance 1 and this fourth moment."""
    a = np.sqrt(kurtosis)
    return np.array([-a, 0.0, a]), np.array([0.5, kurtosis - 1, 0.5]) / kurtosis


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("form", [0.25, [0.1, 0.4], MATRIX], ids=["number", "vector", "matrix"])
def test_moment_bounds_match_enumeration(law, form):
    """The fourth moment of x + F z depends on z only through its variance and kurtosis: sum over three points."""
    noise, label_noise = LAWS[law](form), LAWS[law](0.3)
    X, y = np.array([[1.0, -0.5], [0.2, 0.9], [0.0, 0.0]]), np.array([0.5, -2.0, 1.0])
    points, weights = three_points(noise.kurtosis)
    second, fourth, pair = np.zeros(3), np.zeros(3), np.zeros(3)
    for index in itertools.product(range(3), repeat=2):
        probability = np.prod(weights[list(index)])
        copy = X + noise.factor_matrix(2) @ points[list(index)]
        squares = np.sum(copy**2, axis=1)
        second += probability * squares
        fourth += probability * squares**2
        for index2 in itertools.product(range(3), repeat=2):
            other = X + noise.factor_matrix(2) @ points[list(index2)]
            pair += probability * np.prod(weights[list(index2)]) * np.sum(copy * other, axis=1) ** 2
    got = moment_bounds(X, y, noise, label_noise)
    np.testing.assert_allclose(got.x_second, np.sqrt(second.max()), rtol=1e-12)
    np.testing.assert_allclose(got.x_fourth, fourth.max() ** 0.25, rtol=1e-12)
    np.testing.assert_allclose(got.x_pair, np.sqrt(pair.max()), rtol=1e-12)
    np.testing.assert_allclose(got.y_second, np.sqrt(4 + 0.3), rtol=1e-12)
    S = noise.factor_matrix(2) @ noise.factor_matrix(2).T
    np.testing.assert_allclose(got.covariance_norm, np.linalg.eigvalsh(S).max(), rtol=1e-12)


def test_moment_bounds_of_flipped_labels():
    """|y~| = |y| / (1 - 2q) in every draw; for q = 0 it is |y|."""
    X, y, flips = np.eye(3), np.array([0.5, -2.0, 1.0]), jo.noise.FlippedLabels(0.3)
    got = moment_bounds(X, y, gaussian(0.1), flips)
    assert got.y_second == pytest.approx(2.0 / 0.4, rel=1e-12)
    assert got[:3] == moment_bounds(X, y, gaussian(0.1))[:3]
    assert moment_bounds(X, y, label_noise=jo.noise.FlippedLabels(0.0)).y_second == 2.0
    with pytest.raises(ValueError, match=r"noise.*fourth moment"):
        moment_bounds(X, y, student_t(0.1, 4.0))


def test_the_corrected_second_moment_is_attained():
    """E10: x = 1, w = -1, y = 1 and no noise. The gradient is 2 (-1 - 1) = -4; its square 16 is the corrected G, to
    the last bit, and twice the printed one."""
    x, y, w = 1.0, 1.0, -1.0
    square = (2 * (w * x - y) * x) ** 2
    assert square == two_copies(1.0, 1.0, 1.0, 10).G == 2 * printed_two_copies(1.0, 1.0, 1.0, 10).G == 16
