"""Gradients from noisy copies: exact moments, by enumerating all signs of two-point noise."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxonline import bounds
from jaxonline.estimators import KnownCovariance, MeanOfCopies, NaiveCopy, PairsOfCopies, Regularised, TwoCopies
from jaxonline.feedback import ReplicatesOracle

N = 3
X, Y, LABEL_NOISE = np.array([0.6, -0.4]), 0.7, 0.5
FACTOR = np.array([[0.9, 0.0], [0.4, 0.5]])  # noise: the factor times a vector of two independent signs
COVARIANCE = FACTOR @ FACTOR.T
PREDICTORS = np.array([[0.5, -1.0], [1.5, 0.2]])


def all_examples(n):
    """n copies and a label, for all signs of their noise."""
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=2 * n + 1)))
    return X + signs[:, :-1].reshape(-1, n, 2) @ FACTOR.T, Y + LABEL_NOISE * signs[:, -1]


COPIES, LABELS = all_examples(N)


def enumerated(w, pairs):
    """The mean over the pairs (i, j) of 2 (<w, x_i> - y) x_j, for all signs."""
    terms = [2 * (COPIES[:, i] @ w - LABELS)[:, None] * COPIES[:, j] for i, j in pairs]
    return np.mean(terms, axis=0)


def estimates(estimator, w, examples=(COPIES, LABELS)):
    """The estimates of the package for all signs."""

    sigma = jnp.asarray(COVARIANCE, jnp.float32)

    @jax.jit
    @jax.vmap
    def estimate(copies, label):
        return estimator(None, jnp.asarray(w, jnp.float32), ReplicatesOracle(copies, label[None], label, sigma))

    return estimate(*(jnp.asarray(array, jnp.float32) for array in examples))


def noise_trace(estimator, w):
    """The trace of the exact covariance of the estimate."""
    examples = all_examples(getattr(estimator, "n_copies", 2))
    return np.asarray(estimates(estimator, w, examples), float).var(axis=0).sum()


def test_the_estimate_is_the_mean_over_ordered_pairs():
    w = PREDICTORS[0]
    np.testing.assert_allclose(
        estimates(PairsOfCopies(N), w), enumerated(w, itertools.permutations(range(N), 2)), rtol=1e-5, atol=1e-5
    )


BIASES = {  # by estimator: the covariance of the noise times w, and w, in the bias
    TwoCopies(): (0, 0), PairsOfCopies(N): (0, 0), KnownCovariance(): (0, 0), NaiveCopy(): (2, 0),
    MeanOfCopies(N): (2 / N, 0), Regularised(TwoCopies(), 0.3): (0, 0.3),
}  # fmt: skip


@pytest.mark.parametrize("estimator", BIASES, ids=repr)
def test_the_mean_over_all_signs_is_the_gradient_and_the_stated_bias(estimator):
    w, (of_noise, of_w) = PREDICTORS[0], BIASES[estimator]
    gradient = 2 * (w @ X - Y) * X
    mean = np.mean(np.asarray(estimates(estimator, w), float), axis=0)
    np.testing.assert_allclose(mean - gradient, of_noise * COVARIANCE @ w + of_w * w, atol=5e-6)


def test_exact_second_moments_of_one_pair_and_of_a_known_covariance():
    """Of one pair 4 ((<w, x> - y)^2 + w'Sw + label variance) (|x|^2 + tr S); a sum over the signs for one copy. Both
    are below the G of their theorem, with the moments of the copies."""
    w, residuals = PREDICTORS[1], COPIES[:, 0] @ PREDICTORS[1] - LABELS
    found = (np.asarray(estimates(estimator, w), float) for estimator in (TwoCopies(), KnownCovariance()))
    squares = [np.mean((each**2).sum(axis=1)) for each in found]
    factor = (w @ X - Y) ** 2 + w @ COVARIANCE @ w + LABEL_NOISE**2
    one = 2 * residuals[:, None] * COPIES[:, 0] - 2 * COVARIANCE @ w
    np.testing.assert_allclose(
        squares, [4 * factor * (X @ X + np.trace(COVARIANCE)), np.mean((one**2).sum(axis=1))], rtol=1e-5
    )
    lengths, radius = (COPIES[:, 0] ** 2).sum(axis=1), np.linalg.norm(w)
    second, fourth, label = np.mean(lengths) ** 0.5, np.mean(lengths**2) ** 0.25, np.mean(LABELS**2) ** 0.5
    assert squares[0] <= bounds.two_copies(radius, second, label, 1).G
    assert squares[1] <= bounds.known_covariance(radius, fourth, label, 1).G


@pytest.mark.parametrize("w", PREDICTORS)
def test_all_pairs_vary_less_than_one_pair(w):
    """All pairs of two copies vary at most as much as one pair, and more copies less; the label's noise remains.

    The variance of such a mean over pairs is a + b / n + c / (n (n - 1)), and a is the variance from the label."""
    numbers = np.array([2, 3, 4])
    traces = [noise_trace(PairsOfCopies(n), w) for n in (*numbers.tolist(), 6)]
    assert (np.diff([noise_trace(TwoCopies(), w), *traces]) < 0).all()
    terms = np.linalg.solve(np.stack([numbers**0.0, 1 / numbers, 1 / (numbers * (numbers - 1))], axis=1), traces[:3])
    assert terms[0] == pytest.approx(4 * LABEL_NOISE**2 * (X @ X), rel=1e-3)
    assert terms @ [1, 1 / 6, 1 / 30] == pytest.approx(traces[3], rel=1e-4)
