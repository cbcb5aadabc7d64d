"""Gradients of the logistic, hinge and other losses from a random number of attributes.

Exact means and second moments are compared with loops over every outcome in NumPy. Their coefficients are those of
textbooks: -1/(1 + e^a) = -1/2 + a/4 - a^3/48 + a^5/480 - 17 a^7/80640 + ...
"""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from attribute_efficient import LOGISTIC, optimal_counts
from tiers import some

import jaxonline as jo
from benchmarks.papers.estimators.attributes import AttributeSeriesGradient
from benchmarks.papers.estimators.limits import limit_bias
from benchmarks.papers.estimators.series import PolynomialSequenceEstimator, chebyshev
from jaxonline import verify
from jaxonline.estimators import AttributeGradient, Geometric, minimum_variance
from jaxonline.feedback import Attributes
from jaxonline.losses import Logistic, SmoothedAbsolute, SmoothedHinge, Squared

pytestmark = pytest.mark.fast_compile

W, X = np.array([0.5, -0.7, 0.25]), np.array([0.3, 0.8, 0.6])
NORM = np.abs(W).sum()


def limited(loss, law="l1", max_copies=5, counts=minimum_variance, n_subset=1):
    """An estimator with few factors, so that all outcomes can be listed."""
    moment = NORM**2 if loss.kind == "classification" else (NORM + 1) ** 2
    return AttributeSeriesGradient.for_loss(loss, counts, moment, n_subset, law, max_copies=max_copies)


def moments(support):
    """The mean and the trace of the second moment, of outcomes with probabilities."""
    assert sum(p for p, _ in support) == pytest.approx(1.0, abs=1e-12)
    return sum(p * g for p, g in support), sum(p * g @ g for p, g in support)


def numpy_outcomes(y, law, gammas, pmf, n_subset):
    """All (probability, gradient) of the logistic loss, loop by loop."""
    d = len(W)
    weights = np.abs(W) if law == "l1" else W**2
    outcomes = []
    for subset in itertools.combinations(range(d), n_subset):
        v = np.zeros(d)
        for j in subset:
            v[j] = d / n_subset * X[j]
        for n, (gamma, p) in enumerate(zip(gammas, pmf, strict=True)):
            if p == 0:
                continue
            for draws in itertools.product(range(d), repeat=n):
                probability, slope = p / math.comb(d, n_subset), gamma / p
                for i in draws:
                    probability *= weights[i] / weights.sum()
                    slope *= y * (np.sign(W[i]) * NORM if law == "l1" else W @ W / W[i]) * X[i]
                outcomes.append((probability, y * slope * v))
    return outcomes


@pytest.mark.parametrize(
    ("law", "y", "n_subset"), some([("l1", -1.0, 1), ("l2", 1.0, 2), ("l1", 1.0, 2)], ("l1", -1.0, 1))
)
def test_mean_and_second_moment_equal_a_loop_over_all_outcomes(law, y, n_subset, x64):
    support = limited(Logistic(), law, n_subset=n_subset).support(W, X, y)
    mean, second = moments(support)
    expected = numpy_outcomes(y, law, LOGISTIC[:6], optimal_counts(LOGISTIC[:6], NORM), n_subset)
    expected_mean, expected_second = moments(expected)
    np.testing.assert_allclose(mean, expected_mean, atol=1e-14)
    assert second == pytest.approx(expected_second, rel=1e-12)
    np.testing.assert_allclose(mean, y * np.polyval(LOGISTIC[5::-1], y * W @ X) * X, atol=1e-14)


LOSSES = {
    "logistic": Logistic(), "hinge": SmoothedHinge(1.0), "absolute": SmoothedAbsolute(0.5), "squared": Squared(),
}  # fmt: skip


@pytest.mark.parametrize("name", some(LOSSES, "hinge"))
def test_mean_is_the_gradient_plus_the_bias_of_the_limit(name, x64):
    """With the table's end as the only bias: 7e-5 for the logistic loss and 6 factors, 3e-3 for the smoothed hinge."""
    loss, y = LOSSES[name], -1.0
    estimator = limited(loss, max_copies=6)
    mean, second = moments(estimator.support(W, X, y))
    margin = loss.kind == "classification"
    a = y * (W @ X) if margin else W @ X - y
    slope = float(loss.derivative(a)) + limit_bias(loss, estimator.derivative, a)
    np.testing.assert_allclose(mean, (y if margin else 1.0) * slope * X, atol=1e-13)
    factor = NORM * np.abs(W) @ X**2 + (0 if margin else y**2 - 2 * y * (W @ X))  # E X^2 of a factor
    assert second == pytest.approx(estimator.length_moment(factor) * len(X) * X @ X, rel=1e-9)


def test_squared_loss_equals_the_gradient_of_AER(x64):
    """With one attribute each for v and y^, the outcomes are those of `AttributeGradient(2)`."""
    estimator = AttributeSeriesGradient.for_loss(Squared(), minimum_variance, 4.0)
    assert (estimator.max_attributes, estimator.mean_attributes) == (2, 2.0)
    values = [
        sorted(map(tuple, np.round([g for _, g in e.support(W, X, 0.7)], 12)))
        for e in (estimator, AttributeGradient(2))
    ]
    assert values[0] == values[1]


def test_constant_outside_the_draw_and_geometric_counts_keep_the_mean(x64):
    means = []
    for options in ({"constant_outside": True}, {"counts": Geometric(1.5)}):
        counts = options.pop("counts", minimum_variance)
        estimator = AttributeSeriesGradient.for_loss(Logistic(), counts, NORM**2, max_copies=5, **options)
        mean, second = moments(estimator.support(W, X, -1.0))
        bound = estimator.length_moment(NORM * np.abs(W) @ X**2) * len(X) * X @ X
        assert 0.1 * bound < second <= bound * (1 + 1e-9)
        means.append(mean)
    np.testing.assert_allclose(means[0], means[1], atol=1e-14)
    np.testing.assert_allclose(means[0], -np.polyval(LOGISTIC[5::-1], -W @ X) * X, atol=1e-14)


def test_polynomials_serve_beyond_the_radius_of_convergence(x64):
    """|<w, x>| up to 4 > pi: the series raises an error; the mean of the Chebyshev estimate is its polynomial."""
    w = W * 4 / NORM
    with pytest.raises(ValueError, match=r"^second_moment\b.*pi|^second_moment\b.*9\.8696"):
        AttributeSeriesGradient.for_loss(Logistic(), minimum_variance, 16.0)
    derivative = lambda a: -1 / (1 + np.exp(a))  # noqa: E731
    sequence = chebyshev(derivative, 5, -4.0, 4.0)
    assert sequence.largest_bias(derivative) < 0.0065
    estimator = AttributeSeriesGradient(PolynomialSequenceEstimator.for_sequence(sequence, 16.0), Logistic())
    for y in (1.0, -1.0):
        mean, second = moments(estimator.support(w, X, y))
        np.testing.assert_allclose(mean, y * sequence.value(y * w @ X) * X, atol=1e-12)
        bound = estimator.length_moment(4 * np.abs(w) @ X**2) * len(X) * X @ X
        assert 0.2 * bound < second <= bound


def test_an_estimate_from_given_copies_equals_numpy_polynomials():
    """Given N = n the estimate is (Q'_n - Q'_(n-1)) / p_n, with the first n copies; 0 for n beyond the last one."""
    sequence = chebyshev(np.abs, 4, -1.0, 3.0)
    estimator = PolynomialSequenceEstimator.for_sequence(sequence, 2.0)
    copies = np.array([0.5, -0.3, 1.2, 0.8])
    powers = np.cumprod([1.0, *((copies - 1.0) / 2.0)])
    expected = np.append(sequence.differences @ powers / estimator.law.probabilities, 0.0)
    given = jax.jit(jax.vmap(lambda n: estimator.estimate_from(jnp.asarray(copies, jnp.float32), n)))
    np.testing.assert_allclose(given(jnp.arange(6)), expected, rtol=1e-5)


@pytest.mark.long
def test_the_sampler_agrees_with_the_enumeration():
    """False alarms 1e-9, an error of 4 % is detected. One index for all factors has another mean: it is caught."""
    estimator = limited(Logistic(), max_copies=5)
    support = estimator.support(W, X, -1.0)
    mean, second = moments(support)[0], sum(p * g**2 for p, g in support)
    w, x, y = jnp.asarray(W, jnp.float32), jnp.asarray(X, jnp.float32), jnp.float32(-1.0)

    def sample(key):
        return estimator(key, w, jo.feedback.Attributes(6).open(None, None, x, y, 0.0))

    def with_one_index(key):
        count_key, key = jax.random.split(key)
        seen = estimator.choose(key, w)
        seen = seen._replace(weighted=jnp.full_like(seen.weighted, seen.weighted[0]))
        n = estimator.derivative.law.sample(count_key)
        return estimator.gradient(w, y, n, seen, x[seen.subset], x[seen.weighted])

    assert verify.unbiased(sample, mean, second_moment=second).verdict == "within tolerance"
    assert verify.unbiased(with_one_index, mean, kurtosis=100.0).verdict == "biased"


def test_the_attributes_of_the_factors_are_charged():
    """Over 4,000 rounds the mean number is within 5 standard errors of n_subset + E N (by chance: 1e-6)."""
    estimator = limited(SmoothedHinge(1.0), n_subset=2)

    @jax.jit
    @jax.vmap
    def queries(key):
        oracle = Attributes(7).open(None, None, jnp.asarray(X, jnp.float32), jnp.float32(1.0), 0.0)
        estimator(key, jnp.asarray(W, jnp.float32), oracle)
        return oracle.queries()

    counts = np.asarray(queries(jax.random.split(jax.random.key(0), 4000)))
    assert set(counts) <= set(range(2, 8))
    assert abs(counts.mean() - estimator.mean_attributes) < 5 * counts.std() / np.sqrt(4000)
    assert estimator.max_attributes == 7


def test_zero_hypothesis_estimates_the_slope_at_zero(x64):
    mean, _ = moments(limited(Logistic()).support(np.zeros(3), X, -1.0))
    np.testing.assert_allclose(mean, 0.5 * X, atol=1e-14)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: limited(Logistic(), "l3"), r"\blaw\b.*'l3'"),
        (lambda: limited(Logistic(), n_subset=0), r"\bn_subset\b.*0"),
        (lambda: AttributeSeriesGradient.for_loss(jo.losses.Hinge(), minimum_variance, 1.0), r"\bloss\b.*Hinge"),
        (lambda: AttributeSeriesGradient.for_loss(Logistic(), Geometric(2.0), 5.0), r"\bsecond_moment\b"),
        (lambda: limited(Logistic(), n_subset=4).choose(jax.random.key(0), jnp.ones(3)), r"\bn_subset\b.*d = 3.*4"),
        (lambda: limited(SmoothedHinge(1.0), max_copies=14).support(W, X, 1.0), "enumerate"),
    ],
)
def test_invalid_arguments_raise_errors(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()
