"""Copies and labels with correlated noise: moments, exact mean of the gradient, a NumPy loop, wrong uses."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxonline as jo
from benchmarks.papers.estimators.copies import CorrelatedCopies, JointNoise, KnownJointCovariance
from jaxonline.estimators import KnownCovariance

JOINT = np.array([[0.5, 0.1, 0.2], [0.1, 0.4, -0.15], [0.2, -0.15, 0.3]])
FEEDBACK = CorrelatedCopies(JointNoise(jo.noise.gaussian(JOINT)), reveal_covariance=True)
X, Y, W = np.array([0.6, -0.3]), 0.8, np.array([1.2, 0.7])


def opened(feedback, key):
    return feedback.open(key, jnp.int32(1), jnp.asarray(X, jnp.float32), jnp.float32(Y), jnp.float32(0.0))


@pytest.mark.long
def test_label_j_is_correlated_with_copy_j_only():
    """20,000 draws: each entry of the covariance within 6 standard errors (0.03; false alarm 1e-7 in all)."""

    @jax.jit
    @jax.vmap
    def drawn(key):
        oracle = opened(FEEDBACK, key)
        return jnp.concatenate([oracle.copy(0), oracle.copy(1), oracle.label(0)[None], oracle.labels(3, 2)])

    draws = np.asarray(drawn(jax.random.split(jax.random.key(0), 20_000)), float)
    np.testing.assert_array_equal(draws[:, 4], draws[:, 5])  # labels(...)[0] is label 0
    np.testing.assert_allclose(draws[:, :7].mean(axis=0), [*X, *X, Y, Y, Y], atol=0.03)
    expected = np.zeros((6, 6))
    for measurement in ([0, 1, 4], [2, 3, 5]):
        expected[np.ix_(measurement, measurement)] = JOINT
    np.testing.assert_allclose(np.cov(draws[:, [0, 1, 2, 3, 4, 6]].T), expected, atol=0.03)
    oracle = opened(FEEDBACK, jax.random.key(0))
    np.testing.assert_allclose(oracle.covariance, JOINT[:2, :2], rtol=1e-6)
    np.testing.assert_allclose(oracle.cross_covariance, JOINT[:2, 2], rtol=1e-6)


def test_the_gradient_is_unbiased_by_enumeration(x64):
    """Noise +v or -v of the copy and its label: the mean of the two gradients is the clean one, to rounding; without
    the covariance c of copy and label the bias is -2 c."""
    v = np.array([0.4, -0.7, 0.5])
    feedback = CorrelatedCopies(JointNoise(jo.noise.TwoPoints(v)), reveal_covariance=True)
    gradients = {}
    for seed in range(12):
        oracle = feedback.open(jax.random.key(seed), jnp.int32(1), jnp.asarray(X), jnp.asarray(Y), jnp.asarray(0.0))
        sign = np.sign(float(oracle.copy(0)[0]) - X[0])
        pair = [estimator(None, jnp.asarray(W), oracle) for estimator in (KnownJointCovariance(), KnownCovariance())]
        gradients[sign] = np.asarray(pair)
    assert set(gradients) == {-1.0, 1.0}
    joint, separate = (gradients[-1.0] + gradients[1.0]) / 2
    clean = 2 * (W @ X - Y) * X
    np.testing.assert_allclose(joint, clean, rtol=1e-12)
    np.testing.assert_allclose(separate - clean, -2 * v[:2] * v[2], rtol=1e-12)


@pytest.mark.parametrize(
    "law", [jo.noise.FlippedLabels(0.1), jo.noise.CustomNoise(lambda key, t, x: x)], ids=["flips", "custom"]
)
def test_noise_that_may_depend_on_the_instance_is_rejected(law):
    """It is drawn for the vector 0, at which flipped labels have no noise."""
    with pytest.raises(TypeError, match=r"^joint: must not depend on the instance"):
        JointNoise(law)
    JointNoise(jo.noise.RareErrors(1.0, 0.1))
