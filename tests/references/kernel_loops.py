"""Kernel learners as NumPy loops, for tests: pseudocode, one pair of vectors at a time, without the package."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy import special

import jaxonline as jo


class Seen(NamedTuple):
    """What a learner may see of a round, and where it is judged."""

    x: np.ndarray
    y: float
    copies: np.ndarray
    label: float


def rounds_of(feedback: Any, key: jax.Array, X: np.ndarray, y: np.ndarray, n_copies: int) -> list[Seen]:
    """What the referee's oracles answer in a run with this key."""
    oracle_key = jo.game.stream_keys(key).oracle

    @jax.jit
    def answers(feedback, X, y):
        def one(t, x, y):
            oracle = feedback.open(jax.random.fold_in(oracle_key, t), t, x, y, jnp.zeros((), x.dtype))
            return jnp.stack([oracle.copy(j) for j in range(n_copies)]), oracle.label()

        return jax.vmap(one)(jnp.arange(1, len(y) + 1, dtype=jnp.int32), X, y)

    copies, labels = map(np.asarray, answers(feedback, jnp.asarray(X), jnp.asarray(y)))
    assert copies.dtype == X.dtype == np.float64
    return [Seen(*each) for each in zip(X, y, copies, labels, strict=True)]


class Play(NamedTuple):
    """A run of a loop: predictions [T], coefficients [T] and stored points [T, d] at the end, |w|^2 after each round,
    and the number of projections."""

    y_hat: np.ndarray
    alpha: np.ndarray
    points: np.ndarray
    squared_norms: np.ndarray
    projections: int


def kernel_loop(
    rounds: list[Seen],
    learns_from: Callable[[Seen], tuple[np.ndarray, np.ndarray, float]],
    slope: Callable[[float, float], float],
    step: Callable[[int], float],
    radius: float | None,
    learning_kernel: Callable[[np.ndarray, np.ndarray], float],
    predicting_kernel: Callable[[np.ndarray, np.ndarray], float],
) -> Play:
    """Paper B, Algorithm 2, with the two kernels, the loss and the instances left open.

    `learns_from(seen)` is the stored point, the point at which the gradient is taken, and the label. |w|^2 is the
    double sum of the pseudocode.
    """
    points: list[np.ndarray] = []
    alpha: list[float] = []
    gram, y_hat, norms, projections = np.zeros((0, 0)), [], [], 0
    for t, seen in enumerate(rounds, start=1):
        y_hat.append(sum(a * predicting_kernel(p, seen.x) for a, p in zip(alpha, points, strict=True)))
        stored, at, label = learns_from(seen)
        value = sum(a * learning_kernel(p, at) for a, p in zip(alpha, points, strict=True))
        points.append(stored)
        alpha.append(-step(t) * slope(value, label))
        row = np.array([learning_kernel(p, stored) for p in points])
        gram = np.block([[gram, row[:-1, None]], [row[None]]])
        r = np.array(alpha) @ gram @ np.array(alpha)
        if radius is not None and r > radius**2:
            alpha = [a * radius / np.sqrt(r) for a in alpha]
            projections += 1
            r = radius**2
        norms.append(r)
    return Play(np.array(y_hat), np.array(alpha), np.array(points), np.array(norms), projections)


def stored(state: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The coefficients [n] and points [n, d] of a learner's state; all others are zero."""
    alpha = np.asarray(state.alpha).ravel()
    points = np.moveaxis(np.asarray(state.points), 1, 2).reshape(len(alpha), -1)
    assert not alpha[n:].any()
    return alpha[:n], points[:n]


def gaussian(width: float) -> Callable:
    return lambda x, z: np.exp(-np.sum((x - z) ** 2) / width**2)


def laplace_surrogate(width: float, matrix: np.ndarray) -> Callable[[np.ndarray, np.ndarray], float]:
    """prod_i (1 - (sigma_i^2 / 2) d^2/dz_i^2) exp(-|z|^2 / width^2), one eigenvector of the covariance at a time."""
    variances, vectors = np.linalg.eigh(matrix)

    def kernel(x, x2):
        value = 1.0
        for variance, z in zip(variances, vectors.T @ (x - x2), strict=True):
            second = (4 * z**2 / width**4 - 2 / width**2) * np.exp(-(z**2) / width**2)
            value *= np.exp(-(z**2) / width**2) - variance / 2 * second
        return float(value)

    return kernel


def gaussian_surrogate(width: float, covariance: np.ndarray) -> Callable:
    """Eq. 5 of paper B in matrices: det(I - 2 Sigma/s^2)^(-1/2) exp(-(x - z)'(s^2 I - 2 Sigma)^-1 (x - z))."""
    remaining = width**2 * np.eye(len(covariance)) - 2 * covariance
    inverse, size = np.linalg.inv(remaining), np.linalg.det(remaining / width**2) ** -0.5
    return lambda x, z: size * np.exp(-(x - z) @ inverse @ (x - z))


def cauchy_part(scale: float, cut: float) -> Callable:
    """The part u <= cut of 1/(1 + r^2/scale): g (1 - e^(-cut scale / g))."""

    def kernel(x, z):
        g = 1 / (1 + np.sum((x - z) ** 2) / scale)
        return g * (1 - np.exp(-cut * scale / g))

    return kernel


def cauchy_surrogate(scale: float, cut: float, covariance: np.ndarray, nodes: int = 200) -> Callable:
    """The integral of paper B's appendix E (with E13) for any covariance, by Gauss-Legendre quadrature in u."""
    t, weights = np.polynomial.legendre.leggauss(nodes)
    u, weights = cut * (t + 1) / 2, cut * weights / 2
    shrunk = np.eye(len(covariance)) - 2 * u[:, None, None] * covariance
    sizes = weights * scale * np.exp(-scale * u) * np.linalg.det(shrunk) ** -0.5
    forms = u[:, None, None] * np.linalg.inv(shrunk)
    return lambda x, z: float(sizes @ np.exp(-np.einsum("i,mij,j->m", x - z, forms, x - z)))


def squared(y_hat: float, y: float) -> float:
    return 2 * (y_hat - y)


def smoothed_absolute(scale: float) -> Callable:
    return lambda y_hat, y: special.erf(scale * (y_hat - y))


def exponential(y_hat: float, y: float) -> float:
    return -y * np.exp(-y * y_hat)


def smoothed_hinge(scale: float) -> Callable:
    return lambda y_hat, y: y * (special.erf(scale * (y * y_hat - 1)) - 1) / 2
