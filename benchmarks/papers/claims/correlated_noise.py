"""Claims on copies and labels with correlated noise, which paper B does not have (section 5 has independent noise)."""

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.papers.claims.noise import COVARIANCE, W, X, Y, gradient_sample
from benchmarks.papers.claims.registry import SamplingOptions, claim, control
from benchmarks.papers.estimators.copies import (
    CorrelatedCopies,
    JointNoise,
    KnownJointCovariance,
    known_joint_covariance,
)
from jaxonline.bounds import two_copies
from jaxonline.estimators.gradients import GradientEstimator, KnownCovariance, TwoCopies
from jaxonline.feedback.noise import gaussian
from jaxonline.verify.bias import unbiased
from jaxonline.verify.moments import bound
from jaxonline.verify.result import Verification

CROSS = np.array([0.3, -0.2, 0.25])
JOINT = np.block([[COVARIANCE, CROSS[:, None]], [CROSS[None], np.array([[0.9]])]])


def _gradient(estimator: GradientEstimator, options: SamplingOptions) -> Verification:
    # products of four Gaussian numbers have a kurtosis below 50
    feedback = CorrelatedCopies(JointNoise(gaussian(JOINT)), reveal_covariance=True)
    arrays = (jnp.asarray(a, jnp.float32) for a in (W, X, Y))
    sampler = jax.tree_util.Partial(gradient_sample, feedback, estimator, *arrays)
    return unbiased(sampler, 2 * (W @ X - Y) * X, kurtosis=50.0, **options.sampling())


@claim("gradient from one copy and its label, correlated noise", "B, Lemma 2", improved="within tolerance")
def _joint(form: str, options: SamplingOptions) -> Verification:
    return _gradient(KnownJointCovariance(), options)


@control("known-covariance gradient, label with correlated noise", "biased")
def _without_cross_covariance(form: str, options: SamplingOptions) -> Verification:
    """The mean of y~ x~ is y x + c, so that the bias is -2 c."""
    return _gradient(KnownCovariance(), options)


@claim("two-copy gradient, label correlated with the other copy", "B, Lemma 1", improved="within tolerance")
def _two_copies(form: str, options: SamplingOptions) -> Verification:
    """The label belongs to the copy in the residual, and is independent of the copy that it is multiplied by."""
    return _gradient(TwoCopies(), options)


def _relative_moment(p: np.ndarray, copies: np.ndarray, labels: np.ndarray, w: np.ndarray, theorem) -> float:
    """Return E|g|^2 / G for a distribution of copies and labels with finitely many values of probability p."""
    noise, errors = copies - p @ copies, labels - p @ labels
    covariance, cross = (p[:, None] * noise).T @ noise, noise.T @ (p * errors)
    g = 2 * (copies @ w - labels)[:, None] * copies - 2 * covariance @ w + 2 * cross
    fourth = (float(p @ values) ** 0.25 for values in (np.sum(copies**2, axis=1) ** 2, labels**4))
    return float(p @ np.sum(g**2, axis=1)) / theorem(max(float(np.linalg.norm(w)), 1e-9), *fourth, 1).G


@claim("second moment of the gradient with correlated noise", "B, Lemma 2", cost="exact", improved="respected")
def _second_moment(form: str, options: SamplingOptions) -> Verification:
    """The largest E|g|^2 / (4 (B_w B + sqrt(2) B_y)^2 B^2) of 500 random distributions with up to five values."""
    rng, largest = np.random.default_rng(0), 0.0
    for _ in range(500):
        n, d = rng.integers(2, 6), rng.integers(1, 4)
        copies = rng.normal(size=(n, d)) * np.exp(rng.normal(size=(n, 1))) + rng.choice([0.0, 3.0]) * rng.normal(size=d)
        labels = rng.normal(size=n) + rng.normal() * copies[:, 0]
        w = rng.normal(size=d) * rng.choice([0.01, 1.0])
        largest = max(largest, _relative_moment(rng.dirichlet(np.ones(n)), copies, labels, w, known_joint_covariance))
    return bound(largest, 1.0)


@control("second moment of the gradient with correlated noise, G of independent noise", "violated", cost="exact")
def _smaller_second_moment(form: str, options: SamplingOptions) -> Verification:
    """4 (B_w B + B_y)^2 B^2 is too small: w = 0, and (x~, y~) = (1, 1) with probability 0.9, (-3, 3) with 0.1."""
    p, copies, labels = np.array([0.9, 0.1]), np.array([[1.0], [-3.0]]), np.array([1.0, 3.0])
    return bound(_relative_moment(p, copies, labels, np.zeros(1), two_copies), 1.0)
