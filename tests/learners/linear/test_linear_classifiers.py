"""Perceptrons, Winnow and passive-aggressive: scikit-learn's own on real data, and their theorems."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from full_rounds import played
from sklearn import linear_model
from sklearn.datasets import load_breast_cancer, load_digits
from tiers import some

import jaxonline as jo
from jaxonline import bounds
from jaxonline.environments import DataStream, SeparableData
from jaxonline.learners import PassiveAggressive, Perceptron, PNormPerceptron, Winnow
from jaxonline.losses import ZeroOne

pytestmark = pytest.mark.fast_compile
KEY = jax.random.key(0)
T, D = 80, 3


def game_of(X, y):
    return jo.Game(DataStream(X, y), jo.FullInformation(), loss=ZeroOne())


@functools.cache
def data(gap=-0.3, seed=0):
    """Labels of a half-space through 0; instances keep a distance from its edge, or some are on the wrong side."""
    rng = np.random.default_rng(seed)
    u = np.array([0.6, -0.8, 0.0])
    X = rng.normal(size=(T, D))
    y = np.where(X @ u > 0, 1.0, -1.0)
    return X + gap * y[:, None] * u, y


@functools.cache
def real(name):
    """Rows in the order of the file, each attribute divided by its largest size, with an intercept."""
    if name == "breast cancer":
        X, y = load_breast_cancer(return_X_y=True)
    else:
        X, y = load_digits(n_class=2, return_X_y=True)
    X = X / np.maximum(np.abs(X).max(axis=0), 1)
    return np.hstack([X, np.ones((len(X), 1))]), np.where(y == 1, 1.0, -1.0)


def scikit_aggressive(loss):
    """Before scikit-learn 1.10."""
    return linear_model.PassiveAggressiveClassifier(C=0.1, loss=loss, shuffle=False, fit_intercept=False)


def scikit_descent(rate):
    """From scikit-learn 1.8 on."""
    return linear_model.SGDClassifier(
        loss="hinge", penalty=None, learning_rate=rate, eta0=0.1, shuffle=False, fit_intercept=False
    )


RATES = linear_model.SGDClassifier._parameter_constraints["learning_rate"][0].options
SCIKIT = {"perceptron": (Perceptron(), lambda: linear_model.Perceptron(shuffle=False, fit_intercept=False))}
if hasattr(linear_model, "PassiveAggressiveClassifier"):
    SCIKIT |= {
        "PA-I": (PassiveAggressive("PA-I", 0.1), lambda: scikit_aggressive("hinge")),
        "PA-II": (PassiveAggressive("PA-II", 0.1), lambda: scikit_aggressive("squared_hinge")),
    }
if "pa1" in RATES:
    SCIKIT |= {
        "PA-I as descent": (PassiveAggressive("PA-I", 0.1), lambda: scikit_descent("pa1")),
        "PA-II as descent": (PassiveAggressive("PA-II", 0.1), lambda: scikit_descent("pa2")),
    }


@pytest.mark.filterwarnings("ignore:Class PassiveAggressiveClassifier is deprecated:FutureWarning")
@pytest.mark.parametrize(
    ("name", "rows"), some([("breast cancer", 150), ("breast cancer", 569), ("digits", 360)], ("breast cancer", 150))
)
@pytest.mark.parametrize("kind", SCIKIT)
def test_scores_and_mistakes_agree_with_scikit_learn(x64, kind, name, rows):
    """One pass, row by row, with `partial_fit`: the same scores, and so the same mistakes."""
    X, y = (part[:rows] for part in real(name))
    assert len(X) == rows
    learner, make = SCIKIT[kind]
    model, scores = make(), [0.0]
    for x, label in itertools.pairwise(zip(X, y, strict=True)):
        model.partial_fit(x[0][None], [x[1]], classes=[-1.0, 1.0])
        scores.append(float(model.decision_function(label[0][None])[0]))
    history = jo.play(game_of(X, y), learner, KEY, len(X))[1]
    np.testing.assert_allclose(history.y_hat, scores, rtol=1e-7, atol=1e-9)
    mistakes = [not s * label > 0 for s, label in zip(scores, y, strict=True)]
    assert history.info.mistake.tolist() == mistakes
    assert 1 < sum(mistakes) < rows / 2


def test_orthonormal_instances_reach_novikoffs_bound():
    """d orthonormal instances, whatever their labels: d mistakes, and (r / gamma)^2 = d."""
    d = 5
    y = np.where(np.arange(d) % 3 == 0, 1.0, -1.0)
    u = y / np.sqrt(d)
    mistakes = int(jo.play(game_of(np.eye(d), y), Perceptron(), KEY, d)[1].info.mistake.sum())
    assert mistakes == d == pytest.approx(bounds.perceptron(1.0, float((y * (np.eye(d) @ u)).min())))


@pytest.mark.long
@pytest.mark.parametrize("learner", [Perceptron(), PassiveAggressive("PA")], ids=type)
def test_mistakes_on_separable_data_are_below_their_bounds(learner):
    """16 runs with the margin 0.1: the largest number of mistakes, and of the sum of squared hinge losses."""
    direction, margin = np.array([1.0, 2.0, -2.0, 4.0]), 0.1
    game = jo.Game(SeparableData(direction, margin=margin), jo.FullInformation(), loss=ZeroOne())
    found = jax.jit(jax.vmap(lambda key: jo.play(game, learner, key, 300)[1]))(jax.random.split(KEY, 16))
    X, y = np.asarray(found.x, float), np.asarray(found.y, float)
    margins = y * (X @ direction / 5.0)
    assert np.linalg.norm(X, axis=-1).max() <= 1 + 1e-6
    assert margin - 1e-6 <= margins.min() < margin + 0.01
    assert margins.max() > 0.98
    assert abs(y.mean()) < 6 / np.sqrt(y.size)  # 2e-9
    mistakes = np.asarray(found.loss, float).sum(axis=1)
    if isinstance(learner, Perceptron):
        assert 5 < mistakes.max() <= bounds.perceptron(1.0, margin) == pytest.approx(100)
    else:
        squares = (np.asarray(found.info.hinge_loss, float) ** 2).sum(axis=1)
        assert (mistakes <= squares).all()
        assert squares.max() <= bounds.passive_aggressive("PA", 1.0, 1 / margin, np.zeros(1)) == pytest.approx(100)


@pytest.mark.long
def test_passive_aggressive_with_noisy_labels_is_below_its_bounds(x64):
    X, y = data(-0.3)
    u = np.array([0.6, -0.8, 0.0]) * 2
    radius, losses = np.linalg.norm(X, axis=1).max(), np.maximum(0, 1 - y * (X @ u))
    for C in (0.05, 1.0):
        first = jo.play(game_of(X, y), PassiveAggressive("PA-I", C), KEY, T)[1].info
        assert int(first.mistake.sum()) <= bounds.passive_aggressive("PA-I", radius, 2.0, losses, C)
        second = jo.play(game_of(X, y), PassiveAggressive("PA-II", C), KEY, T)[1].info
        assert float((second.hinge_loss**2).sum()) <= bounds.passive_aggressive("PA-II", radius, 2.0, losses, C)


@pytest.mark.long
def test_winnow_and_the_p_norm_perceptron_make_few_mistakes_on_sparse_targets():
    """A disjunction of 2 of 64 attributes, on three orders of hard rows."""
    d, rng = 64, np.random.default_rng(1)
    X = (rng.uniform(size=(3, 400, d)) < 0.5).astype(np.float32)
    X[:, :, 0] = X[:, :, 1] = 0
    X[:, ::2, 0] = rng.uniform(size=(3, 200)) < 0.5
    X[:, ::2, 1] = 1 - X[:, ::2, 0]
    y = np.where(X[:, :, 0] + X[:, :, 1] > 0, 1.0, -1.0).astype(np.float32)

    def mistakes(learner, X):
        return np.asarray(jax.vmap(lambda X, y: played(learner, (X, y))[2].mistake.sum())(X, jnp.asarray(y)))

    winnow = mistakes(Winnow(), jnp.asarray(X))
    assert 5 < winnow.max() <= bounds.winnow(d, 2) == 44
    signs = np.concatenate([2 * X - 1, np.ones((3, 400, 1), np.float32)], axis=2)
    u = np.zeros(d + 1)
    u[:2], u[-1] = 1.0, 1.0  # 2 (x_0 + x_1) - 1 of the sign of the label
    p = 2 * np.log(d + 1)
    q_norm = np.sum(u ** (p / (p - 1))) ** ((p - 1) / p)
    margin = (y * (signs @ u)).min() / q_norm
    radius = (np.abs(signs) ** p).sum(axis=-1).max() ** (1 / p)
    p_norm = mistakes(PNormPerceptron(p), jnp.asarray(signs))
    assert p_norm.max() <= bounds.p_norm_perceptron(p, radius, margin)
