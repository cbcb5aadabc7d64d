"""The perceptron against a NumPy loop."""

import jax
import numpy as np

import jaxonline as jo
from jaxonline.learners import Perceptron


def test_perceptron_equals_its_numpy_loop(x64):
    rng, u = np.random.default_rng(0), np.array([0.6, -0.8, 0.0])
    X = rng.normal(size=(300, 3))
    y = np.where(X @ u > 0, 1.0, -1.0)
    X, w, scores = X - 0.3 * y[:, None] * u, np.zeros(3), []
    for x, label in zip(X, y, strict=True):
        scores.append(w @ x)
        w = w + label * x * (label * scores[-1] <= 0)
    game = jo.Game(jo.environments.DataStream(X, y), jo.FullInformation())
    state, history = jo.play(game, Perceptron(), jax.random.key(0), 300)
    np.testing.assert_allclose(history.y_hat, scores, rtol=0, atol=1e-12)
    np.testing.assert_allclose(state, w, rtol=0, atol=1e-12)
    assert history.info.mistake.tolist() == (y * scores <= 0).tolist()
