"""Estimators from a few attributes: enumeration of every outcome, and the sampler against the enumeration."""

import collections
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from tiers import some

from jaxonline import verify
from jaxonline.estimators.attributes import (
    AttributeGradient,
    AttributePairs,
    PairMoments,
    pair_loss,
    project_psd,
    uniform_subset,
    weighted_indices,
)

pytestmark = pytest.mark.fast_compile

W = np.array([0.5, -1.0, 0.0, 0.25])
X = np.array([0.3, -0.8, 0.6, 1.0])
Y = 0.7


class Oracle:
    """An oracle of X and Y."""

    def attributes(self, indices):
        return jnp.asarray(X, jnp.float32)[indices]

    def label(self):
        return jnp.float32(Y)


def numpy_gradients(w, x, y, sizes, law):
    """Algorithm 2, loop by loop: `(probability, 2 (y^ - y) v)` for every outcome."""
    d, (n_subset, n_weighted) = len(w), sizes
    weights = np.abs(w) if law == "l1" else w**2
    outcomes = []
    for C in itertools.combinations(range(d), n_subset):
        v = np.zeros(d)
        for j in C:
            v[j] += d / n_subset * x[j]
        for draws in itertools.product(range(d), repeat=n_weighted):
            probability, y_hat = 1.0, 0.0
            for i in draws:
                probability *= weights[i] / weights.sum()
                if weights[i] == 0:
                    continue
                scale = np.sign(w[i]) * np.abs(w).sum() if law == "l1" else (w @ w) / w[i]
                y_hat += scale * x[i] / n_weighted
            outcomes.append((probability, 2 * (y_hat - y) * v))
    return [(p / math.comb(d, n_subset), value) for p, value in outcomes if p > 0]


@pytest.mark.parametrize("law", ["l1", "l2"])
@pytest.mark.parametrize(("n_subset", "n_weighted"), some([(1, 1), (2, 2), (3, 3), (3, 1), (1, 4)], (2, 2), (3, 1)))
def test_gradient_is_unbiased_outcome_by_outcome(n_subset, n_weighted, law):
    """Also if more attributes serve to estimate x than to estimate the prediction, or fewer."""
    target = 2 * (W @ X - Y) * X
    n_for_prediction = None if n_subset == n_weighted else n_weighted
    support = AttributeGradient(n_subset + n_weighted, law, n_for_prediction).support(W, X, Y)
    result = verify.unbiased(None, target, support=support)
    assert abs(result.bias) < 1e-14
    ours, reference = collections.Counter(), collections.Counter()
    for counter, outcomes in ((ours, support), (reference, numpy_gradients(W, X, Y, (n_subset, n_weighted), law))):
        for p, value in outcomes:
            counter[tuple(np.round(value, 10) + 0.0)] += p
    assert ours.keys() == reference.keys()
    assert all(ours[value] == pytest.approx(reference[value], abs=1e-12) for value in ours)


def test_pair_moments_follow_algorithm_1_line_by_line():
    d, k = 3, 4
    seen = jnp.array([0, 2, 2, 2])  # the pairs (0, 2) and (2, 2)
    values = jnp.asarray(X[np.array(seen)], jnp.float32)
    moments = jax.jit(lambda seen, values: AttributePairs(k).moments(d, seen, values))(seen, values)
    v, A = np.zeros(d), np.zeros((d, d))
    for i, j in [(0, 2), (2, 2)]:
        v[i] += d / k * X[i]
        v[j] += d / k * X[j]
        A[i, j] += d**2 / k * X[i] * X[j]
        A[j, i] += d**2 / k * X[i] * X[j]
    np.testing.assert_allclose(moments.A, A, rtol=1e-6)
    np.testing.assert_allclose(moments.v, v, rtol=1e-6)


def test_pairs_and_their_loss_are_unbiased(x64):
    support = list(AttributePairs(4).support(X))
    np.testing.assert_allclose(sum(p * moments.A for p, moments in support), np.outer(X, X), atol=1e-14)
    np.testing.assert_allclose(sum(p * moments.v for p, moments in support), X, atol=1e-14)
    loss = jax.jit(lambda moments: pair_loss(jnp.asarray(W), moments, Y))
    mean = sum(p * float(loss(PairMoments(*moments))) for p, moments in support)
    assert mean == pytest.approx((W @ X - Y) ** 2, rel=1e-12)


def test_project_psd_returns_the_nearest_psd_matrix():
    """E16: a single symmetrised outcome has a negative eigenvalue; the projection is the nearest matrix without one."""
    A = jax.jit(lambda x: AttributePairs(2).moments(4, jnp.array([0, 1]), x).A)(jnp.asarray(X[:2], jnp.float32))
    assert np.linalg.eigvalsh(A)[0] < -0.9
    projected = np.asarray(jax.jit(project_psd)(A), float)
    assert np.linalg.eigvalsh(projected)[0] > -1e-6
    negative = np.minimum(np.linalg.eigvalsh(np.asarray(A, float)), 0)
    assert np.linalg.norm(projected - A) == pytest.approx(np.linalg.norm(negative), rel=1e-5)


@pytest.mark.long
@pytest.mark.parametrize(("d", "size"), [(5, 2), (4, 4), (6, 5)])
def test_subsets_are_uniform(d, size):
    """Chi-square of 40,000 draws with a false alarm of 1e-6; it detects a probability that is off by a tenth."""
    subsets_of = jax.jit(jax.vmap(lambda key: uniform_subset(key, d, size)))
    draws = subsets_of(jax.random.split(jax.random.key(3), 40_000))
    counts = collections.Counter(tuple(sorted(map(int, draw))) for draw in np.asarray(draws))
    subsets = list(itertools.combinations(range(d), size))
    assert set(counts) == set(subsets)
    if len(subsets) > 1:
        assert stats.chisquare([counts[s] for s in subsets]).pvalue > 1e-6


def test_weighted_indices_follow_the_weights():
    """Chi-square of 2^18 indices with a false alarm of 1e-6; it detects draws from the weights to the power 1.03."""
    weights, n = np.array([1.0, 0.0, 10.0, 900.0, 100.0, 0.0]), 1 << 18
    draws = jax.jit(weighted_indices, static_argnums=2)(jax.random.key(4), jnp.asarray(weights, jnp.float32), n)
    counts = np.bincount(np.asarray(draws), minlength=6)
    live = weights > 0
    assert counts[live].sum() == n
    right, wrong = (n * power / power.sum() for power in (weights[live], weights[live] ** 1.03))
    assert stats.chisquare(counts[live], right).pvalue > 1e-6 > stats.chisquare(counts[live], wrong).pvalue


@pytest.mark.parametrize("law", some(["l1", "l2"], "l1"))
def test_the_sampler_agrees_with_the_enumeration(law):
    """The draws have the enumerated mean and second moment (false alarms 1e-9, an error of 4 % is detected)."""
    estimator = AttributeGradient(4, law, 1)
    support = estimator.support(W, X, Y)
    second = sum(p * g**2 for p, g in support)
    w = jnp.asarray(W, jnp.float32)
    result = verify.unbiased(lambda key: estimator(key, w, Oracle()), 2 * (W @ X - Y) * X, second_moment=second)
    assert result.verdict == "within tolerance"


@pytest.mark.long
def test_pairs_sampler_agrees_with_the_enumeration():
    pairs = AttributePairs(4)
    second = sum(p * m.A**2 for p, m in pairs.support(X))
    result = verify.unbiased(lambda key: pairs(key, 4, Oracle()).A, np.outer(X, X), second_moment=second)
    assert result.verdict == "within tolerance"


@pytest.mark.parametrize("law", ["l1", "l2"])
def test_zero_hypothesis_predicts_zero(law):
    estimator = AttributeGradient(2, law=law)
    mean = sum(p * g for p, g in estimator.support(np.zeros(4), X, Y))
    np.testing.assert_allclose(mean, -2 * Y * X, atol=1e-14)
    gradient = jax.jit(lambda key: estimator(key, jnp.zeros(4), Oracle()))(jax.random.key(0))
    assert np.all(np.isfinite(gradient))
    assert np.count_nonzero(gradient) == 1
