"""Exponentiated gradient from k attributes: a NumPy loop, the moments of its bound, and its regret."""

import itertools
import math

import jax
import numpy as np
import pytest
from attribute_efficient import exponentiated_reference

import jaxonline as jo
from jaxonline import bounds
from jaxonline.environments import DataStream, LinearModel
from jaxonline.estimators import AttributeGradient
from jaxonline.feedback import Attributes
from jaxonline.game.keys import part_key, stream_keys
from jaxonline.learners import ExponentiatedGradient

pytestmark = pytest.mark.fast_compile

K = 4


def test_exponentiated_gradient_from_attributes_equals_its_numpy_loop(x64):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(40, 6))
    y, key, radius, step = X[:, 0] - 0.5 * X[:, 3], jax.random.key(7), 1.5, 0.02
    learner = ExponentiatedGradient(AttributeGradient(K), step, scale=radius, signed=True)
    _, rounds = jo.play(jo.Game(DataStream(X, y), Attributes(K)), learner, key, len(y))
    choose = jax.jit(lambda t, w: AttributeGradient(K).choose(part_key(stream_keys(key).learner, t, 1), w))
    path = exponentiated_reference(X, y, choose, radius=radius, step=step, k=K)
    np.testing.assert_allclose(rounds.y_hat, np.sum(path * X, axis=1), atol=1e-10)
    assert rounds.queries.tolist() == [K] * len(y)
    assert np.ptp(rounds.y_hat) > 0.3


def test_moments_of_the_bound_are_reached_and_never_exceeded():
    """L, the range and the dual norm of the bound, from the outcomes at random corners: the worst corner has L."""
    d, radius, y_bound = 4, 1.5, 0.7
    L = 8 * (radius + y_bound) ** 2 * d / K
    largest = 4 * (radius + y_bound) * d / K
    worst = 0.0
    rng = np.random.default_rng(1)
    for corner, y in itertools.product(range(4), (-y_bound, y_bound)):
        x = rng.choice([-1.0, 1.0], size=d)
        w = radius * np.eye(d)[corner] if corner else rng.dirichlet(np.ones(d)) * radius
        support = AttributeGradient(K).support(w, x, y)
        p = rng.dirichlet(np.ones(d))
        moment = sum(q * (p @ g**2) for q, g in support)
        worst = max(worst, moment)
        assert moment <= L * (1 + 1e-12)
        assert max(np.abs(g).max() for _, g in support) <= largest * (1 + 1e-12)
        assert sum(q * np.abs(g).max() ** 2 for q, g in support) <= largest**2 * (1 + 1e-12)
    assert worst == pytest.approx(L), "half of L, or d for the root of d, is exceeded"
    bound = bounds.attribute_exponentiated_regret(d, K, radius, 500, y_bound=y_bound)
    assert bound.value == pytest.approx(2 * radius * math.sqrt((math.e - 2) * L * 500 * math.log(2 * d)))
    assert bound.step_size == pytest.approx(math.log(2 * d) / (bound.value / 2))
    assert 2 * bound.step_size * radius * largest < 1  # the steps are small enough for the proof


def test_too_few_rounds_raise_an_error():
    least = math.ceil(8 * 10 * math.log(20) / ((math.e - 2) * K))
    bounds.attribute_exponentiated_regret(10, K, 1.0, least)
    with pytest.raises(ValueError, match=rf"^n_rounds\b.*at least {least},.*got {least - 1}"):
        bounds.attribute_exponentiated_regret(10, K, 1.0, least - 1)


@pytest.mark.long
def test_regret_is_below_the_bound():
    """The interval of the mean regret of 40 runs (95 %) is below the theorem. Labels are <w*, x>: w* loses nothing."""
    d, rounds = 16, 2000
    environment = LinearModel(0.9 * np.eye(d)[0], instances="cube")
    bound = bounds.attribute_exponentiated_regret(d, K, 1.0, rounds)
    learner = ExponentiatedGradient(AttributeGradient(K), bound.step_size, scale=1.0, signed=True)
    result = jo.simulate(jo.Game(environment, Attributes(K)), learner, n_runs=40, n_rounds=rounds, record_at=1)
    regret = result.mean("cumulative_loss")
    assert 0 < regret.low[0, -1] < regret.high[0, -1] < bound.value
    assert regret.high[0, -1] < 0.9 * rounds * 0.9**2 / 3, "the predictor 0 has 540"
