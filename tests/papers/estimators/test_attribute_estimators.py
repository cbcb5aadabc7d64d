"""Gradients of losses from a random number of attributes: loops over all outcomes, and descent in NumPy."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from attribute_efficient import LOGISTIC, logistic_reference, optimal_counts
from tiers import some

import jaxonline as jo
from benchmarks.papers.estimators.attributes import AttributeSeriesGradient, attribute_series_regret
from benchmarks.papers.estimators.limits import limit_bias
from benchmarks.papers.estimators.series import PolynomialSequenceEstimator, chebyshev
from jaxonline.environments import DataStream
from jaxonline.estimators import Geometric, minimum_variance
from jaxonline.feedback import Attributes
from jaxonline.game.keys import part_key, stream_keys
from jaxonline.learners import GradientLearner
from jaxonline.learners.attributes import project_l1_ball
from jaxonline.losses import Logistic, SmoothedAbsolute, SmoothedHinge, Squared

pytestmark = pytest.mark.fast_compile


W, X = np.array([0.5, -0.7, 0.25]), np.array([0.3, 0.8, 0.6])
NORM = np.abs(W).sum()


def limited(loss, law="l1", max_copies=5, counts=minimum_variance, n_subset=1):
    moment = NORM**2 if loss.kind == "classification" else (NORM + 1) ** 2
    return AttributeSeriesGradient.for_loss(loss, counts, moment, n_subset, law, max_copies=max_copies)


def moments(support):
    assert sum(p for p, _ in support) == pytest.approx(1.0, abs=1e-12)
    return sum(p * g for p, g in support), sum(p * g @ g for p, g in support)


def numpy_outcomes(y, law, gammas, pmf, n_subset):
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


def test_an_estimate_from_given_copies_equals_numpy_polynomials():
    """Given N = n the estimate is (Q'_n - Q'_(n-1)) / p_n, with the first n copies; 0 for n beyond the last one."""
    sequence = chebyshev(np.abs, 4, -1.0, 3.0)
    estimator = PolynomialSequenceEstimator.for_sequence(sequence, 2.0)
    copies = np.array([0.5, -0.3, 1.2, 0.8])
    powers = np.cumprod([1.0, *((copies - 1.0) / 2.0)])
    expected = np.append(sequence.differences @ powers / estimator.law.probabilities, 0.0)
    given = jax.jit(jax.vmap(lambda n: estimator.estimate_from(jnp.asarray(copies, jnp.float32), n)))
    np.testing.assert_allclose(given(jnp.arange(6)), expected, rtol=1e-5)


D, RADIUS = 9, 1.0


@pytest.mark.long
def test_descent_on_the_logistic_loss_equals_its_numpy_loop(x64):
    rng, key, step = np.random.default_rng(0), jax.random.key(5), 0.4
    X = rng.uniform(-1, 1, size=(30, D))
    y = np.where(X[:, 0] - X[:, 1] + rng.normal(size=30) > 0, 1.0, -1.0)
    estimator = AttributeSeriesGradient.for_loss(Logistic(), minimum_variance, RADIUS**2, 2, max_copies=7, reach=RADIUS)
    learner = GradientLearner(estimator, step, radius=RADIUS, projection=project_l1_ball)
    np.testing.assert_allclose(estimator.derivative.coefficients, LOGISTIC, rtol=1e-15, atol=1e-60)
    game = jo.Game(DataStream(X, y), Attributes(estimator.max_attributes), loss=Logistic())
    _, rounds = jo.play(game, learner, key, 30)

    @jax.jit
    def random_numbers(t, w):
        count_key, index_key = jax.random.split(part_key(stream_keys(key).learner, t, 1))
        return estimator.derivative.law.sample(count_key), *estimator.choose(index_key, w)

    path, charged = logistic_reference(X, y, random_numbers, radius=RADIUS, step=step, n_subset=2)
    np.testing.assert_allclose(rounds.y_hat, np.sum(path * X, axis=1), atol=1e-12)
    np.testing.assert_array_equal(rounds.queries, charged)
    assert np.ptp(rounds.y_hat) > 0.3
    assert len(set(charged)) > 1


def test_the_bound_is_that_of_gradient_descent_with_the_moments():
    """G = (sum |gamma_n|)^2 d^2 / n_subset for B = X = 1; the logistic series has the sum (1 + tan(1/2)) / 2."""
    for law, norm_squared in (("l1", D), ("l2", 1)):
        estimator = AttributeSeriesGradient.for_loss(Logistic(), minimum_variance, 1.0, 2, law)
        bound = attribute_series_regret(estimator, D, RADIUS, 100, norm=0.5)
        assert pytest.approx((0.5 + 0.5 * np.tan(0.5)) ** 2 * D / 2 * norm_squared) == bound.G
        assert bound.value == pytest.approx(0.5 * np.sqrt(100 * bound.G))
    with pytest.raises(ValueError, match=r"^norm\b"):
        attribute_series_regret(estimator, D, RADIUS, 100, norm=2.0)
    with pytest.raises(ValueError, match=r"^second_moment\b"):
        attribute_series_regret(estimator, D, 3.2, 100)
