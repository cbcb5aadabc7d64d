"""Estimators of scikit-learn: its own checks, its pipelines and searches, and what they learn."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

import jaxonline as jo
from jaxonline.learners import EXP3, UCB1

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(21, 3)), RNG.normal(size=21)
CLASSES = np.array(["a", "b", "c"])[RNG.integers(3, size=21)]
LARGE = np.array([0.0, 0.0, 1e200])
BOTH = [jo.OnlineRegressor(), jo.OnlineClassifier()]


@pytest.mark.long
@parametrize_with_checks(BOTH)
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


def with_ones(X):
    return np.column_stack([X, np.ones(len(X))])


def test_the_regressor_is_ridge_regression():
    """scikit-learn's own, of which the coordinate 1 is shrunk like the others."""
    regressor = jo.OnlineRegressor().fit(X, Y)
    ridge = Ridge(alpha=1.0, fit_intercept=False).fit(with_ones(X), Y)
    np.testing.assert_allclose(regressor.predict(X[:5]), ridge.predict(with_ones(X[:5])), rtol=1e-9)
    assert regressor.predict(X).dtype == np.float64


def test_partial_fits_equal_one_fit():
    """The same program plays eight rows or one: the same bits."""
    pieces = jo.OnlineRegressor()
    for first, last in [(0, 1), (1, 2), (2, 13), (13, 21)]:
        pieces.partial_fit(X[first:last], Y[first:last])
    assert np.array_equal(pieces.predict(X), jo.OnlineRegressor().fit(X, Y).predict(X))
    again = pieces.fit(X[:4], Y[:4])
    assert again.lives_[0].round == 4


def passive_aggressive(X, signs, C=1.0):
    """PA-I, with a coordinate 1."""
    Z = with_ones(X)
    w = np.zeros(Z.shape[1])
    for z, sign in zip(Z, signs, strict=True):
        w = w + min(C, max(0.0, 1.0 - sign * (w @ z)) / (z @ z)) * sign * z
    return w


def test_the_classifier_is_one_learner_for_each_class():
    classifier = jo.OnlineClassifier(passes=2).fit(X, CLASSES)
    weights = [
        passive_aggressive(np.tile(X, (2, 1)), np.tile(np.where(each == CLASSES, 1.0, -1.0), 2)) for each in "abc"
    ]
    scores = with_ones(X) @ np.transpose(weights)
    np.testing.assert_allclose(classifier.decision_function(X), scores, rtol=1e-9, atol=1e-12)
    assert classifier.predict(X).tolist() == ["abc"[k] for k in scores.argmax(axis=1)]
    two = jo.OnlineClassifier().partial_fit(X[:9], CLASSES[:9] == "a", classes=[False, True])
    two.partial_fit(X[9:], CLASSES[9:] == "a")
    w = passive_aggressive(X, np.where(CLASSES == "a", 1.0, -1.0))
    np.testing.assert_allclose(two.decision_function(X), X @ w[:-1] + w[-1], rtol=1e-9, atol=1e-12)
    assert len(two.lives_) == 1


@jo.struct
class Tosses(jo.game.Learner):
    """Moves with a uniform number of the round's key."""

    def init(self, key, specs):
        return ()

    def predict(self, key, state, x):
        return jo.random.uniform(key, (), x.dtype)

    def update(self, key, state, oracle):
        return state, ()


@pytest.mark.long
def test_learners_of_classes_draw_independently_and_scores_are_those_of_the_next_round():
    classifier, scores = jo.OnlineClassifier(Tosses(), random_state=1), []
    for rounds in (9, 1):
        classifier.partial_fit(X[:rounds], CLASSES[:rounds], classes=list("abc"))
        scores.append(classifier.decision_function(X[:2]))
        assert scores[-1][1].tolist() == [live.predict(with_ones(X)[1]) for live in classifier.lives_]
    assert len(np.unique(scores)) == 6, "every class and round has a number of its own"


def test_bad_calls():
    two, words = {"classes": ["a", "b"]}, pd.DataFrame({"size": Y, "city": CLASSES})
    for says, call in [
        ("passes: must be at least 1", lambda: jo.OnlineRegressor(passes=0).fit(X, Y)),
        ("fit_intercept: must be True or", lambda: jo.OnlineRegressor(fit_intercept="no").fit(X, Y)),
        ("learner: must be a learner", lambda: jo.OnlineRegressor(3).fit(X, Y)),
        ("X: must hold real numbers .* in column 'city'", lambda: jo.OnlineRegressor().fit(words, Y)),
        ("EXP3 cannot play", lambda: jo.OnlineRegressor(EXP3(0.3)).fit(X, Y)),
        ("classes: must be given", lambda: jo.OnlineClassifier().partial_fit(X, CLASSES)),
        ("at least two classes", lambda: jo.OnlineClassifier().fit(X, np.ones(21, int))),
        ("y: must hold labels among", lambda: jo.OnlineClassifier().partial_fit(X, CLASSES, **two)),
        ("X: .* squares .*float64.* in row 1, column 2", lambda: jo.OnlineRegressor().fit([X[0], LARGE], Y[:2])),
        ("X: must have a sum of squares", lambda: jo.OnlineClassifier().fit(1e200 * X, CLASSES)),
        ("X: must have a sum of squares", lambda: jo.OnlineRegressor().fit(X, Y).predict([LARGE])),
        ("classes: must stay", lambda: jo.OnlineClassifier().fit(X, CLASSES).partial_fit(X, CLASSES, **two)),
    ]:
        with pytest.raises((ValueError, TypeError), match=says):
            call()


def test_a_call_that_fails_leaves_no_half_fitted_model():
    """Not fitted before, not fitted after; another set of classes, or another number of features, may come next."""
    classifier, labels = jo.OnlineClassifier(), CLASSES == "a"
    with pytest.raises(ValueError, match="y: must hold"):
        classifier.partial_fit(X[:, :2], np.full(21, 7), classes=[0, 1])
    assert vars(classifier) == vars(jo.OnlineClassifier())
    with pytest.raises(NotFittedError):
        classifier.predict(X)
    classifier.partial_fit(X, labels, classes=[False, True])
    assert np.array_equal(classifier.predict(X), jo.OnlineClassifier().fit(X, labels).predict(X))


@pytest.mark.parametrize("model", BOTH, ids=str)
def test_a_refit_that_fails_leaves_the_model(model):
    """With what it knew of the features: their number, and no names."""
    labels = np.where(CLASSES == "a", 1.0, 0.0)
    model = clone(model).fit(X, labels)
    before, predicted = dict(vars(model)), model.predict(X)
    model.set_params(learner=UCB1())
    with pytest.raises(ValueError, match="UCB1 cannot play"):
        model.fit(pd.DataFrame(X[:, :2], columns=["p", "q"]), 1.0 - labels)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is each for name, each in before.items() if name != "learner")
    assert np.array_equal(model.predict(X), predicted)
