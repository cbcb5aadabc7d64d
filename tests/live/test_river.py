"""Estimators behind river's own adapter: the predictions of river's linear models, and its evaluation and checks."""

import numpy as np
import pytest

import jaxonline as jo
from jaxonline.losses import Logistic

river = pytest.importorskip("river", reason="river is in the extras `river` and `test-all`")

from river import checks, compat, evaluate, linear_model, metrics, optim, preprocessing  # noqa: E402

RNG = np.random.default_rng(3)
NAMES = ["age", "height", "size", "weight"]
ROWS = RNG.normal(size=(60, 4))
SCORES = ROWS @ [1.0, -0.5, 0.0, 2.0] + 0.3 * RNG.normal(size=60)
EXAMPLES = [dict(zip(NAMES, row, strict=True)) for row in ROWS.tolist()]


def gradient_learner(loss=None):
    estimator = jo.estimators.FullGradient() if loss is None else jo.estimators.FullGradient(loss)
    return jo.GradientLearner(estimator, step_size=0.05)


def regressor(learner=None):
    return compat.convert_sklearn_to_river(jo.OnlineRegressor(learner))


def classifier(labels=(False, True)):
    return compat.convert_sklearn_to_river(jo.OnlineClassifier(gradient_learner(Logistic())), classes=list(labels))


def predictions(model, targets, predict="predict_one"):
    """Predict, then learn, as river's evaluation does."""
    predicted = []
    for x, y in zip(EXAMPLES, targets, strict=True):
        predicted.append(getattr(model, predict)(x))
        model.learn_one(x, y)
    return predicted


def test_the_regressor_predicts_as_the_linear_regression_of_river():
    theirs = linear_model.LinearRegression(optimizer=optim.SGD(0.05), intercept_lr=0.05)
    ours = predictions(regressor(gradient_learner()), SCORES.tolist())
    np.testing.assert_allclose(ours, predictions(theirs, SCORES.tolist()), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("labels", [(False, True), ("bad", "good")])
def test_the_classifier_has_the_probabilities_of_the_logistic_regression_of_river(labels):
    signs = [bool(score > 0.2) for score in SCORES]
    model, theirs = classifier(labels), linear_model.LogisticRegression(optim.SGD(0.05), intercept_lr=0.05)
    ours = predictions(model, [labels[sign] for sign in signs], "predict_proba_one")
    wanted = predictions(theirs, signs, "predict_proba_one")
    for name, sign in zip(labels, (False, True), strict=True):
        np.testing.assert_allclose([p[name] for p in ours], [p[sign] for p in wanted], rtol=1e-9)
    assert model.predict_one(EXAMPLES[-1]) == labels[theirs.predict_one(EXAMPLES[-1])]


def test_the_evaluation_of_river_accepts_the_models_behind_a_scaler():
    """As in docs/other-libraries.md. The loss is that of river's own logistic regression behind the same scaler."""
    stream = [(x, bool(y > 0)) for x, y in zip(EXAMPLES, SCORES, strict=True)]
    losses = [
        evaluate.progressive_val_score(stream, preprocessing.StandardScaler() | model, metrics.LogLoss()).get()
        for model in (classifier(), linear_model.LogisticRegression(optim.SGD(0.05), intercept_lr=0.05))
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("make", [regressor, classifier])
def test_the_checks_of_river(make):
    """All but those of features that appear or vanish, which river's adapter does not support."""
    checks.check_estimator(make())
