"""The perceptron against a NumPy loop."""

import jax
import numpy as np
import pytest

import jaxonline as jo
from jaxonline.learners import Perceptron

T, D = 300, 3


@pytest.mark.parametrize("gap", [0.3, -0.3])
def test_perceptron_equals_its_numpy_loop(x64, gap):
    rng, u = np.random.default_rng(0), np.array([0.6, -0.8, 0.0])
    X = rng.normal(size=(T, D))
    y = np.where(X @ u > 0, 1.0, -1.0)
    X = X + gap * y[:, None] * u
    w, scores, mistakes = np.zeros(D), [], []
    for x, label in zip(X, y, strict=True):
        score = float(sum(w[i] * x[i] for i in range(D)))
        scores.append(score)
        mistakes.append(not label * score > 0)
        if mistakes[-1]:
            w = w + label * x
    game = jo.Game(jo.environments.DataStream(X, y), jo.FullInformation())
    state, history = jo.play(game, Perceptron(), jax.random.key(0), T)
    np.testing.assert_allclose(history.y_hat, scores, rtol=0, atol=1e-12)
    np.testing.assert_allclose(state, w, rtol=0, atol=1e-12)
    assert history.info.mistake.tolist() == mistakes
    assert mistakes[0], "a score of 0 is a mistake"
    assert 1 < sum(mistakes) < T
