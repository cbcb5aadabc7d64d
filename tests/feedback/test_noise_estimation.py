"""The covariance of noise from measured copies: against NumPy, its mean, and the naive estimate."""

import numpy as np
import pytest

import jaxonline as jo
from jaxonline.feedback import replicate_covariance

COVARIANCE = np.array([[0.5, 0.2], [0.2, 0.3]])


def measured(n_rounds, n_copies, seed=0):
    """Copies [T, m, 2] of instances that differ between rounds."""
    rng = np.random.default_rng(seed)
    instances = 10 * rng.normal(size=(n_rounds, 1, 2))
    return instances + rng.multivariate_normal(np.zeros(2), COVARIANCE, size=(n_rounds, n_copies))


def test_it_is_the_mean_of_the_sample_covariances_of_the_rounds():
    X = measured(7, 4)
    expected = np.mean([np.cov(copies, rowvar=False) for copies in X], axis=0)
    np.testing.assert_allclose(replicate_covariance(X), expected, rtol=1e-12)


def test_it_is_unbiased_with_two_copies():
    """20,000 rounds, standard error at most 0.005: a false alarm at 6 standard errors has probability 1e-8.

    The divisor m instead of m - 1 halves the estimate, which is 50 standard errors.
    """
    estimate = replicate_covariance(measured(20_000, 2))
    np.testing.assert_allclose(estimate, COVARIANCE, atol=0.03)
    assert np.abs(estimate / 2 - COVARIANCE).max() > 0.03


def test_one_copy_of_an_instance_raises_an_error():
    with pytest.raises(ValueError, match=r"X: must have at least two copies .*got 1"):
        replicate_covariance(measured(5, 1))


@pytest.mark.long
def test_a_learner_with_the_estimated_covariance_is_less_biased_than_a_naive_one():
    """Noisy linear regression from four measured copies: the estimated covariance removes the bias of one copy."""
    rng, w = np.random.default_rng(1), np.array([0.6, -0.5])
    X = rng.normal(size=(4000, 2)).astype(np.float32)
    copies = X[:, None] + rng.multivariate_normal(np.zeros(2), COVARIANCE, size=(4000, 4)).astype(np.float32)
    feedback = jo.Replicates(copies, covariance=replicate_covariance(copies))
    game = jo.Game(jo.environments.DataStream(X, X @ w), feedback)
    errors = {}
    for estimator in (jo.estimators.KnownCovariance(), jo.estimators.NaiveCopy()):
        learner = jo.GradientLearner(estimator, jo.InverseSqrt(0.1), radius=1.0)
        errors[type(estimator).__name__] = np.linalg.norm(np.asarray(jo.play(game, learner, 0, 4000)[0].w) - w)
    assert errors["KnownCovariance"] < 0.5 * errors["NaiveCopy"]
