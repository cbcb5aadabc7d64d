"""Gradient descent on the logistic loss from a random number of attributes: a NumPy loop, and its theorem."""

import jax
import numpy as np
import pytest
from attribute_efficient import LOGISTIC, logistic_reference, project
from scipy import optimize

import jaxonline as jo
from benchmarks.papers.estimators.attributes import AttributeSeriesGradient, attribute_series_regret
from benchmarks.papers.estimators.limits import limit_bias
from jaxonline.environments import DataStream
from jaxonline.estimators import minimum_variance
from jaxonline.feedback import Attributes
from jaxonline.game.keys import part_key, stream_keys
from jaxonline.learners import GradientLearner
from jaxonline.learners.attributes import project_l1_ball
from jaxonline.losses import Logistic

pytestmark = pytest.mark.fast_compile

D, RADIUS = 9, 1.0


def labelled(n, seed=0):
    """Rows of the cube with labels that a vector of the l1 ball predicts in part."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, D))
    return X, np.where(X[:, 0] - X[:, 1] + rng.normal(size=n) > 0, 1.0, -1.0)


def logistic(max_copies=7, n_subset=2):
    return AttributeSeriesGradient.for_loss(
        Logistic(), minimum_variance, RADIUS**2, n_subset, max_copies=max_copies, reach=RADIUS
    )


def learner(step, estimator):
    return GradientLearner(estimator, step, radius=RADIUS, projection=project_l1_ball)


@pytest.mark.long
def test_descent_on_the_logistic_loss_equals_its_numpy_loop(x64):
    X, y = labelled(30)
    estimator, key, step = logistic(), jax.random.key(5), 0.4
    np.testing.assert_allclose(estimator.derivative.coefficients, LOGISTIC, rtol=1e-15, atol=1e-60)
    game = jo.Game(DataStream(X, y), Attributes(estimator.max_attributes), loss=Logistic())
    _, rounds = jo.play(game, learner(step, estimator), key, 30)

    @jax.jit
    def random_numbers(t, w):
        count_key, index_key = jax.random.split(part_key(stream_keys(key).learner, t, 1))
        return estimator.derivative.law.sample(count_key), *estimator.choose(index_key, w)

    path, charged = logistic_reference(X, y, random_numbers, radius=RADIUS, step=step, n_subset=2)
    np.testing.assert_allclose(rounds.y_hat, np.sum(path * X, axis=1), atol=1e-12)
    np.testing.assert_array_equal(rounds.queries, charged)
    assert np.ptp(rounds.y_hat) > 0.3
    assert len(set(charged)) > 1


@pytest.mark.long
def test_regret_of_the_logistic_loss_is_below_its_bound():
    """The interval of the mean regret of 400 runs is below the bound, to the best vector of the l1 ball in hindsight.

    The bias of the limit of 7 factors adds 2 b B T to the bound, with b <= 1e-5.
    """
    n_rounds = 300
    X, y = labelled(n_rounds, seed=1)
    estimator = logistic()
    bound = attribute_series_regret(estimator, D, RADIUS, n_rounds)
    game = jo.Game(DataStream(X, y), Attributes(estimator.max_attributes), loss=Logistic())
    result = jo.simulate(game, learner(bound.step_size, estimator), n_runs=400, n_rounds=n_rounds, record_at=1)
    interval = result.mean("cumulative_loss")
    total = lambda w: np.logaddexp(0, -y * (X @ w)).sum()  # noqa: E731
    w = np.zeros(D)
    for step in (0.01,) * 2000:
        w = project(w + step * X.T @ (y / (1 + np.exp(y * (X @ w)))) / 10, RADIUS)
    polished = optimize.minimize(lambda u: total(u[:D] - u[D:]), np.concatenate([np.maximum(w, 0), np.maximum(-w, 0)]),
                                 bounds=[(0, None)] * (2 * D),
                                 constraints={"type": "ineq", "fun": lambda u: RADIUS - u.sum()})  # fmt: skip
    best = min(total(w), polished.fun)
    assert total(w) == pytest.approx(best, rel=1e-6)
    bias = max(abs(limit_bias(Logistic(), estimator.derivative, a)) for a in (-1.0, 1.0))
    assert bias < 1e-4
    low, high = (float(end[0, -1]) - best for end in (interval.low, interval.high))
    assert 0 < low < high < bound.value + 2 * bias * RADIUS * n_rounds
    assert bound.value < n_rounds * np.log(2), "otherwise the bound says nothing"


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
