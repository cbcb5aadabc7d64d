"""Estimators beside those of scikit-learn: nested parameters, searches over them, and probabilities of classes."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import jaxonline as jo
from jaxonline.live.estimators import class_probabilities
from jaxonline.losses import Hinge, Logistic

RNG = np.random.default_rng(1)
X = RNG.normal(size=(60, 3))
SCORES = X @ RNG.normal(size=(3, 3)) + RNG.normal(size=(60, 3))
THREE, TWO = np.array(["a", "b", "c"])[SCORES.argmax(axis=1)], SCORES[:, 0] > 0.2


def gradient_learner(loss, step_size=0.1):
    return jo.GradientLearner(jo.estimators.FullGradient(loss), step_size=step_size)


def stochastic_gradient():
    """The same algorithm in scikit-learn: one pass in the given order, a constant step."""
    return SGDClassifier(
        loss="log_loss", learning_rate="constant", eta0=0.1, alpha=0.0, shuffle=False, max_iter=1, tol=None
    )


def test_an_estimator_equals_one_with_its_own_parameters():
    """Also a clone, and an estimator whose learner has its own feedback."""
    entrant = jo.WithFeedback(gradient_learner(Logistic(), jo.InverseSqrt(0.5)), jo.FullInformation())
    estimator = jo.OnlineClassifier(entrant, random_state=3)
    params = estimator.get_params()
    assert params["learner__learner__step_size__eta"] == 0.5
    for other in (clone(estimator), jo.OnlineClassifier().set_params(**params)):
        assert repr(other.get_params()) == repr(params)
    copied = clone(estimator).set_params(learner__learner__step_size__eta=0.25, passes=3)
    assert (copied.learner.learner.step_size.eta, copied.passes) == (0.25, 3)
    assert estimator.learner.learner.step_size.eta == 0.5


@pytest.mark.parametrize("before", [0.1, jo.InverseSqrt(0.1)])
def test_a_number_may_replace_a_schedule(before):
    """A grid may list numbers and schedules, as scikit-learn sets one after the other."""
    estimator = jo.OnlineRegressor(jo.GradientLearner(jo.estimators.FullGradient(), step_size=before))
    assert repr(estimator.set_params(learner__step_size=0.3).learner.step_size) == "Constant(value=0.3)"
    estimator.set_params(learner__step_size=jo.InverseSqrt(0.2))
    assert repr(estimator.learner.step_size) == "InverseSqrt(eta=0.2)"


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"passes": 5, "learner__step": 0.1}, "learner__step: .*did you mean 'step_size'"),
        ({"passes": 5, "learner__radius": -1.0}, "radius: must be above 0"),
        ({"passes": 5, "learner": None, "learner__radius": 1.0}, "learner__radius: must be a parameter of the learner"),
        ({"passes": 5, "feedback__noise": 1.0}, "feedback__noise: must be a parameter of the feedback, but feedback"),
        ({"nothing__step_size": 0.1}, "Invalid parameter 'nothing'"),
    ],
)
def test_bad_parameters_change_nothing(params, message):
    estimator = jo.OnlineClassifier(gradient_learner(Logistic()))
    before = vars(estimator).copy()
    with pytest.raises(ValueError, match=message):
        estimator.set_params(**params)
    assert vars(estimator) == before


def test_a_search_in_a_pipeline_equals_that_of_scikit_learn():
    """Accuracies of all losses and steps; the grid has two levels of the learner. The orders of the grids differ."""
    steps, prefix = [0.001, 0.1, 30.0], "onlineclassifier__learner"
    ours = GridSearchCV(
        make_pipeline(StandardScaler(), jo.OnlineClassifier(gradient_learner(Logistic(), jo.Constant(0.1)))),
        {f"{prefix}__estimator__loss": [Logistic(), Hinge()], f"{prefix}__step_size__value": steps},
        cv=3,
    )
    theirs = GridSearchCV(
        make_pipeline(StandardScaler(), stochastic_gradient()),
        {"sgdclassifier__eta0": steps, "sgdclassifier__loss": ["log_loss", "hinge"]},
        cv=3,
    )
    scores, wanted = (search.fit(X, TWO).cv_results_["mean_test_score"] for search in (ours, theirs))
    np.testing.assert_array_equal(scores.reshape(2, 3), wanted.reshape(3, 2).T)
    assert len(set(scores)) > 1
    best = ours.best_estimator_[-1].learner
    assert ours.best_params_[f"{prefix}__step_size__value"] == best.step_size.value


@pytest.mark.parametrize("labels", [TWO, THREE], ids=["two classes", "three classes"])
def test_probabilities_equal_those_of_scikit_learn(labels):
    ours = jo.OnlineClassifier(gradient_learner(Logistic())).fit(X, labels)
    theirs = stochastic_gradient().fit(X, labels)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-9)
    np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=1e-9)
    assert ours.predict(X).tolist() == ours.classes_[ours.predict_proba(X).argmax(axis=1)].tolist()


def test_probabilities_of_large_scores_do_not_overflow():
    """Sigmoid in NumPy, with the sums that are too small to divide by."""
    scores = np.array([[-800.0, -800.0, -800.0], [800.0, -800.0, 0.0], [-1.0, 2.0, 0.5]])
    probabilities = class_probabilities(scores)
    each = 1.0 / (1.0 + np.exp(-scores[2]))
    np.testing.assert_allclose(probabilities[2], each / each.sum(), rtol=1e-14)
    np.testing.assert_allclose(probabilities[:2], [[1 / 3, 1 / 3, 1 / 3], [2 / 3, 0.0, 1 / 3]], rtol=1e-14)
    np.testing.assert_allclose(class_probabilities(np.array([[-800.0], [1.5]]))[:, 1], [0.0, 1 / (1 + np.exp(-1.5))])


@pytest.mark.parametrize(
    ("learner", "loss"),
    [
        (None, "None"), (jo.learners.Perceptron(), "None"), (gradient_learner(Hinge()), "Hinge()"),
        (jo.WithFeedback(gradient_learner(Hinge()), jo.FullInformation()), "Hinge()"),
    ],
    ids=str,
)  # fmt: skip
def test_other_losses_have_no_probabilities(learner, loss):
    classifier = jo.OnlineClassifier(learner)
    for name in ("predict_proba", "predict_log_proba"):
        assert not hasattr(classifier, name)
        with pytest.raises(AttributeError, match=name) as caught:
            getattr(classifier, name)
        assert f"got the loss {loss}" in str(caught.value.__cause__)


def test_the_fitted_learner_decides_whether_there_are_probabilities():
    """New parameters change nothing before the next fit."""
    classifier = jo.OnlineClassifier(jo.WithFeedback(gradient_learner(Logistic()), jo.FullInformation()))
    assert hasattr(classifier, "predict_proba")
    before = classifier.fit(X, TWO).predict_proba(X)
    classifier.set_params(learner=None)
    assert np.array_equal(classifier.predict_proba(X), before)
    assert not hasattr(classifier.fit(X, TWO), "predict_proba")
