"""Limits on the number of copies: means by enumeration, and bounds on the bias of a round and of a run."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxonline as jo
from benchmarks.papers.estimators.limits import limit_bias, limited_regret, round_bias_bound
from benchmarks.papers.estimators.series import SequenceLength, chebyshev
from jaxonline.estimators import (
    DotProductFeatureMap,
    FiniteDistribution,
    GaussianFeatureMap,
    Geometric,
    GradientLength,
    SeriesEstimator,
    cost_aware,
    limit_counts,
)
from jaxonline.losses import Exponential, Logistic, SmoothedAbsolute, SmoothedHinge, Squared

pytestmark = pytest.mark.fast_compile

estimate_from = jax.jit(jax.vmap(lambda estimator, copies, n: estimator.estimate_from(copies, n), (None, 0, None)))


def enumerated_mean(estimator, values, max_copies):
    """E theta over N and over copies that are each of two values with probability 1/2: no formula of the package."""
    mean, draws = 0.0, np.array(list(itertools.product(values, repeat=max_copies)))
    for n, probability in enumerate(np.asarray(estimator.law.probabilities)):
        mean += probability * np.mean(estimate_from(estimator, jnp.asarray(draws), n))
    return mean


def test_mean_with_a_limit_is_the_truncated_series(x64):
    """-1 + a - a^2/2 of the exponential loss at a = 0.5, and l'(a) plus the stated bias; the limit 3 differs."""
    law = Geometric(2.0)
    limited, other = (SeriesEstimator.for_loss(Exponential(), law, 1.0, max_copies=k) for k in (2, 3))
    mean = enumerated_mean(limited, (1.2, -0.2), 2)
    assert mean == pytest.approx(-1 + 0.5 - 0.125, rel=1e-12)
    assert mean == pytest.approx(-math.exp(-0.5) + limit_bias(Exponential(), limited, 0.5), rel=1e-12)
    assert abs(limit_bias(Exponential(), other, 0.5) - limit_bias(Exponential(), limited, 0.5)) > 0.01


@pytest.mark.parametrize(
    "loss", [SmoothedHinge(0.8), SmoothedAbsolute(1.3), Logistic()], ids=lambda x: type(x).__name__
)
@pytest.mark.parametrize("law", [Geometric(1.5), cost_aware], ids=["geometric", "cost-aware"])
def test_bias_is_the_rest_of_the_series(loss, law, x64):
    for centre in (0.0, 0.3):
        estimator = SeriesEstimator.for_loss(loss, law, 1.0, centre=centre, max_copies=3, constant_outside=True)
        assert len(estimator.law.probabilities) == 4
        derivative = float(loss.derivative(np.float64(0.7)))
        mean = jo.estimators.series.exact_mean(estimator, 0.7)
        assert mean == pytest.approx(derivative + limit_bias(loss, estimator, 0.7), rel=1e-12)


def test_a_limit_above_the_series_changes_only_the_distribution():
    loss, law = Squared(), Geometric(2.0)
    whole, limited = (SeriesEstimator.for_loss(loss, law, 1.0, max_copies=k) for k in (None, 5))
    assert limit_bias(loss, limited, 0.4) == 0.0
    assert math.isinf(limited.reach)
    assert np.array_equal(whole.coefficients, limited.coefficients)
    assert limited.law.mean() < whole.law.mean()


def exact_round_bias(feature_map, length, loss, weight, x, y):
    """|E g~ Psi~ - g Psi(x)| for w = weight Psi(x), level by level, with E g~ from the coefficients of the table."""
    s = float(x @ x)
    terms = np.array([feature_map.kernel.coefficients(60)[n] * s**n for n in range(60)])
    used = np.exp(feature_map.law.log_table(60)) > 0
    whole, limited = weight * terms.sum() - y, weight * terms[used].sum() - y
    g = np.polynomial.polynomial.polyval(limited, np.asarray(length.series.coefficients))
    with jax.enable_x64(True):
        target = float(loss.derivative(np.float64(whole)))
    return math.sqrt(terms @ (np.where(used, g, 0.0) - target) ** 2), abs(weight) * math.sqrt(terms.sum())


@pytest.mark.parametrize(("levels", "fresh"), [(1, 1), (2, 3), (6, 3), (3, 9), (12, 19)])
def test_bias_of_a_round_is_within_its_bound(levels, fresh):
    """The exact bias of random hypotheses and labels; the bound is not a hundred times too large, and decreases."""
    rng, loss = np.random.default_rng(levels), SmoothedAbsolute(1.0)
    feature_map = DotProductFeatureMap(jo.kernels.ExponentialKernel(), limit_counts(Geometric(2.0), levels))
    length = GradientLength.for_loss(loss, Geometric(2.0), 1.0, max_copies=fresh)
    largest = 0.0
    for _ in range(30):
        x, y, weight = rng.uniform(-0.6, 0.6, 2), rng.uniform(-0.3, 0.3), rng.uniform(-0.8, 0.8)
        bias, radius = exact_round_bias(feature_map, length, loss, weight, x, y)
        limit = round_bias_bound(feature_map, length, loss, radius, float(x @ x), abs(y))
        assert bias <= limit * (1 + 1e-9) + 1e-14
        largest = max(largest, bias / limit if limit > 1e-12 else 1.0)
    assert largest > 0.01


def test_bound_of_a_run_is_small_for_moderate_limits():
    """200 copies a round suffice for a bias of 1e-4 of the regret bound sqrt(T) in 10,000 rounds."""
    loss, law = Logistic(), limit_counts(Geometric(2.0), 12)
    length = GradientLength.for_loss(loss, Geometric(2.0), 1.0, reach=1.0, max_copies=15)
    arguments = (loss, 1.0, 0.25, 10_000)
    dot_product = DotProductFeatureMap(jo.kernels.ExponentialKernel(), law)
    gaussian = GaussianFeatureMap(jo.kernels.Gaussian(1.5), law)
    assert limited_regret(dot_product, length, *arguments) < 0.01
    assert limited_regret(gaussian, length, *arguments) < 0.01
    few = GradientLength.for_loss(loss, Geometric(2.0), 1.0, max_copies=1)
    assert limited_regret(dot_product, few, *arguments) > 100


@pytest.mark.long
def test_learner_keeps_the_limit():
    """A round has at most (1 + K) D copies; some of 500 rounds have more than half of them."""
    feature_map = DotProductFeatureMap(jo.kernels.ExponentialKernel(), limit_counts(Geometric(1.3), 3))
    length = GradientLength.for_loss(Exponential(), Geometric(1.3), 0.1, max_copies=2)
    storage = jo.learners.Storage(3, 3, 0, 2, 1)
    learner = jo.learners.NoisyKernel(feature_map, length, 0.01, None, storage)
    game = jo.Game(
        jo.environments.DataStream(0.1 * np.eye(2), np.ones(2)),
        jo.NoisyCopies(jo.noise.gaussian(0.01)),
        loss=Exponential(),
    )
    _, rounds = jo.play(game, learner, 3, 500)
    assert 4 < rounds.queries.max() <= 9
    assert not rounds.info.overflow.any()


def test_bounds_of_a_round_need_a_series_within_its_radius():
    """A sequence of polynomials has no such bound; the logistic loss has the radius of convergence pi."""
    feature_map = DotProductFeatureMap(jo.kernels.Linear(), FiniteDistribution([0.0, 1.0]))
    bound = round_bias_bound  # also a name of the package
    sequence = chebyshev(lambda a: a.clip(-0.5, 0.5), 3, -1.0, 1.0)
    polynomials = SequenceLength.for_sequence(sequence, "regression", second_moment=0.3)
    for loss in (Squared(), SmoothedAbsolute(1.0)):
        with pytest.raises(ValueError, match=r"length: must be made by GradientLength.for_loss"):
            bound(feature_map, polynomials, loss, 1.0, 0.25)
    length = GradientLength.for_loss(Logistic(), Geometric(2.0), 1.0, max_copies=9)
    assert math.isfinite(bound(feature_map, length, Logistic(), 3.1, 1.0))
    with pytest.raises(ValueError, match=r"radius: .*radius of convergence \(got the sum 10 for the radius 10\)"):
        bound(feature_map, length, Logistic(), 10.0, 1.0)


def test_invalid_limits_raise_errors():
    with pytest.raises(ValueError, match=r"\bmax_copies\b.*got 0"):
        SeriesEstimator.for_loss(Exponential(), Geometric(2.0), 1.0, max_copies=0)
    with pytest.raises(ValueError, match=r"\bmax_copies\b.*got 0"):
        limit_counts(FiniteDistribution([0.0, 1.0]), 0)
    with pytest.raises(ValueError, match=r"\bmax_copies\b.*got -1"):
        limit_counts(Geometric(2.0), -1)
