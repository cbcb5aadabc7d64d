"""The mean over all pairs of copies: exact moments, by enumerating all signs of two-point noise."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxonline.estimators import MeanOfCopies, PairsOfCopies, TwoCopies
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

    @jax.jit
    @jax.vmap
    def estimate(copies, label):
        return estimator(None, jnp.asarray(w, jnp.float32), ReplicatesOracle(copies, label[None], label))

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


def test_the_estimate_is_unbiased_and_pairs_of_a_copy_with_itself_are_not():
    """With the pairs (i, i) the estimate is that of the mean of the copies, whose bias is 2 Sigma w / n."""
    w = PREDICTORS[0]
    gradient = 2 * (w @ X - Y) * X
    np.testing.assert_allclose(np.mean(estimates(PairsOfCopies(N), w), axis=0), gradient, atol=1e-5)
    with_itself = enumerated(w, list(itertools.product(range(N), repeat=2)))
    np.testing.assert_allclose(with_itself.mean(axis=0), gradient + 2 * COVARIANCE @ w / N, rtol=1e-12)
    np.testing.assert_allclose(estimates(MeanOfCopies(N), w), with_itself, rtol=1e-5, atol=1e-5)


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
