"""The perceptron against a NumPy loop, and Novikoff's bound."""

import jax
import numpy as np
import pytest

import jaxonline as jo
from jaxonline.learners import Perceptron

T, D = 300, 3


def data(gap, seed=0):
    """Labels of a half-space through 0, whose instances keep a distance from its edge, and some wrong ones if it is
    negative."""
    rng = np.random.default_rng(seed)
    u = np.array([0.6, -0.8, 0.0])
    X = rng.normal(size=(T, D))
    y = np.where(X @ u > 0, 1.0, -1.0)
    return X + gap * y[:, None] * u, y, u


@pytest.mark.parametrize("gap", [0.3, -0.3])
def test_perceptron_equals_its_numpy_loop(x64, gap):
    X, y, _ = data(gap)
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


@pytest.mark.parametrize("seed", range(5))
def test_mistakes_are_at_most_the_bound(x64, seed):
    """(r / gamma)^2 with the margin of the half-space that made the labels; after it there is none."""
    X, y, u = data(0.3, seed)
    bound = (np.linalg.norm(X, axis=1).max() / (y * (X @ u)).min()) ** 2
    game = jo.Game(jo.environments.DataStream(X, y), jo.FullInformation())
    mistakes = int(jo.play(game, Perceptron(), jax.random.key(0), T)[1].info.mistake.sum())
    assert 0 < mistakes <= bound < T


def test_instances_must_be_vectors():
    with pytest.raises(ValueError, match="instance"):
        Perceptron().init(None, jo.game.Specs.of_vectors((2, 2)))
