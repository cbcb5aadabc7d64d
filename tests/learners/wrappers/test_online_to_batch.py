"""From online to batch: the mean hypothesis of what was played, its certificate, and what has none."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from convex_rows import KEY, D, data, rows
from full_rounds import played

import jaxonline as jo
from jaxonline.environments import DataStream
from jaxonline.estimators import FullGradient
from jaxonline.learners import (
    ExponentiatedGradient,
    GradientLearner,
    Perceptron,
    online_to_batch,
)
from jaxonline.losses import Hinge

pytestmark = pytest.mark.fast_compile


def test_online_to_batch_averages_the_hypotheses_of_the_run(x64):
    X, y = data(6, 40, classes=True)
    loss, learner = Hinge(), GradientLearner(FullGradient(Hinge()), 0.2, radius=2.0)
    found = online_to_batch(learner, X, y, loss)
    moves, states, _ = played(learner, rows(X, y))
    hypotheses = np.vstack([np.zeros((1, D)), states.w[:-1]])
    np.testing.assert_allclose(found.hypothesis, hypotheses.mean(axis=0), rtol=1e-12)
    assert found.mean_loss == pytest.approx(np.maximum(0, 1 - y * np.asarray(moves)).mean())
    assert found.risk_bound(0.9, 2.0) == pytest.approx(found.mean_loss + 2 * np.sqrt(np.log(10) / 80))
    perceptron = online_to_batch(Perceptron(), X, y, Hinge())
    twice = online_to_batch(Perceptron(), X, y, Hinge(), hypothesis=lambda state: 2 * state)
    np.testing.assert_allclose(twice.hypothesis, 2 * perceptron.hypothesis)


@pytest.mark.parametrize(
    ("learner", "w"),
    [
        (GradientLearner(FullGradient(Hinge()), 0.2, hypothesis="average"), lambda state: state.average),
        (jo.learners.PNormPerceptron(3.0), jo.learners.PNormPerceptron(3.0).w),
        (ExponentiatedGradient(FullGradient(Hinge()), 0.2), ExponentiatedGradient(FullGradient(), 0.2).w),
    ],
    ids=lambda each: type(each).__name__,
)
def test_online_to_batch_uses_the_weights_of_the_predictions(x64, learner, w):
    X, y = data(6, 40, classes=True)
    moves, states, _ = played(learner, rows(X, y))
    first = learner.init(None, jo.game.Specs.of_vectors(D, np.float64)) if hasattr(learner, "init") else jnp.zeros(D)
    hypotheses = np.vstack([w(first), jax.vmap(w)(states)[:-1]])
    np.testing.assert_allclose((hypotheses * X).sum(axis=1), moves, rtol=1e-12, atol=1e-14)
    found = online_to_batch(learner, X, y, Hinge())
    np.testing.assert_allclose(found.hypothesis, hypotheses.mean(axis=0), rtol=1e-12)


def test_online_to_batch_rejects_a_hypothesis_that_does_not_predict(x64):
    """The forward forecaster shrinks <w, x>, and ridge does not."""
    from jaxonline.learners.linear.vaw import VAW

    X, y = data(6, 40)
    state = jo.play(jo.Game(DataStream(X[:-1], y[:-1]), jo.FullInformation()), VAW(forward=False), KEY, 39)[0]
    found = online_to_batch(VAW(forward=False), X, y, jo.losses.Squared())
    assert found.hypothesis.shape == state.w.shape
    with pytest.raises(TypeError, match=r"^hypothesis\b.*round 2"):
        online_to_batch(VAW(), X, y, jo.losses.Squared())


@pytest.mark.long
def test_the_risk_of_the_mean_hypothesis_is_below_its_bound(x64):
    """Of 200 runs with confidence 0.9 on hinge losses in [0, 3], fewer than 45 may fail (20 are expected at most, and
    more than 44 have a probability below 1e-6); with no deviation at all, M itself, some do."""
    learner = GradientLearner(FullGradient(Hinge()), 0.2, radius=1.0)
    X, y = data(7, 100_000, classes=True)
    failed, below = 0, 0
    for run in range(200):
        part = slice(100 * run, 100 * (run + 1))
        found = online_to_batch(learner, X[part], y[part], Hinge())
        risk = np.maximum(0, 1 - y * (X @ found.hypothesis)).mean()
        failed += risk > found.risk_bound(0.9, loss_range=3.0)
        below += risk > found.mean_loss
    assert failed < 45
    assert below > failed


def test_a_learner_of_a_kernel_and_a_diverged_run_are_named():
    X, y = data(6, 10)
    feature_map = jo.estimators.best_feature_map(jo.kernels.Linear(), 1.0)
    length = jo.estimators.GradientLength.for_loss(jo.losses.Squared(), jo.estimators.minimum_variance, 1.0)
    storage = jo.learners.Storage.for_horizon(feature_map, length, D, 10)
    kernel = jo.learners.NoisyKernel(feature_map, length, 0.01, 1.0, storage)
    noisy = jo.NoisyCopies(jo.noise.gaussian(0.1))
    with pytest.raises(TypeError, match=r"^learner: .*NoisyKernel.*; use held_out_risk"):
        online_to_batch(kernel, X, y, jo.losses.Squared(), feedback=noisy)
    with pytest.raises(ValueError, match=r"^learner: must have finite losses.*in round \d"):
        online_to_batch(GradientLearner(FullGradient(), 1e30), X, y, jo.losses.Squared())


def test_a_state_without_weights_requires_a_hypothesis_function():
    with pytest.raises(TypeError, match=r"^hypothesis\b"):
        online_to_batch(jo.learners.VotedPerceptron(5), *data(8, 10, classes=True), Hinge())
