"""Models of river: its own checks and evaluation, and the same predictions as its linear models."""

import pickle
import random

import numpy as np
import pytest
from fresh_python import run_python

import jaxonline as jo
from jaxonline.losses import Hinge, Logistic

river = pytest.importorskip("river", reason="river is in the extras `river` and `test-all`")

from river import checks, evaluate, linear_model, metrics, multiclass, optim, preprocessing  # noqa: E402

RNG = np.random.default_rng(3)
NAMES = ["age", "height", "size", "weight"]
ROWS = RNG.normal(size=(60, 4))
SCORES = ROWS @ [1.0, -0.5, 0.0, 2.0] + 0.3 * RNG.normal(size=60)


def examples(rows=ROWS):
    """Dictionaries in which each feature appears first in another round, and is missing in every seventh example."""
    return [
        {
            name: float(value)
            for i, (name, value) in enumerate(zip(NAMES, row, strict=True))
            if t >= 3 * i and (t + i) % 7
        }
        for t, row in enumerate(rows)
    ]


def gradient_learner(loss=None, step_size=0.05):
    estimator = jo.estimators.FullGradient() if loss is None else jo.estimators.FullGradient(loss)
    return jo.GradientLearner(estimator, step_size=step_size)


SEGMENTS = ("brickface", "cement", "foliage", "grass", "path", "sky", "window")  # of the data in river's checks

MODELS = {
    "regressor": lambda: jo.RiverRegressor(n_features=30),
    "classifier": lambda: jo.RiverClassifier(n_features=30),
    "probabilities": lambda: jo.RiverClassifier(gradient_learner(Logistic()), n_features=30, seed=1),
    "classes": lambda: jo.RiverClassifier(n_features=30, classes=(False, True, *SEGMENTS)),
}
QUICK_CHECKS = {
    "check_repr", "check_clone_same_class", "check_clone_is_idempotent", "check_init_default_params_are_not_mutable",
    "check_pickling_supports_roundtrip", "check_repr_roundtrips_clone", "check_get_params_matches_signature",
    "check_predict_one_before_any_learn", "check_clone_is_independent",
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_some_checks_of_river(name):
    model, done = MODELS[name](), set()
    for check in checks.yield_checks(model):
        if check.__name__ in QUICK_CHECKS - done:
            check(model.clone())
            done.add(check.__name__)
    assert len(done) >= 8


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
def test_the_checks_of_river(name):
    """All of them: features that appear late or vanish, shuffled features, pickles, memory, probabilities."""
    random.seed(0)  # the checks shuffle
    model = MODELS[name]()
    assert model._unit_test_skips() == set()
    checks.check_estimator(model)


def predictions(model, stream, predict="predict_one"):
    """Predict, then learn, as river's evaluation does."""
    found = []
    for x, y in stream:
        found.append(getattr(model, predict)(x))
        model.learn_one(x, y)
    return found


def test_the_regressor_predicts_as_the_linear_regression_of_river():
    """Also while features appear and vanish."""
    stream = list(zip(examples(), SCORES.tolist(), strict=True))
    ours = jo.RiverRegressor(gradient_learner(), n_features=5)
    theirs = linear_model.LinearRegression(optimizer=optim.SGD(0.05), intercept_lr=0.05)
    np.testing.assert_allclose(predictions(ours, stream), predictions(theirs, stream), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("labels", [(False, True), ("bad", "good")])
def test_the_classifier_has_the_probabilities_of_the_logistic_regression_of_river(labels):
    """Also while features appear and vanish."""
    signs = [bool(score > 0.2) for score in SCORES]
    ours = jo.RiverClassifier(gradient_learner(Logistic()), n_features=5, classes=labels)
    theirs = linear_model.LogisticRegression(optimizer=optim.SGD(0.05), intercept_lr=0.05)
    found = predictions(ours, zip(examples(), [labels[sign] for sign in signs], strict=True), "predict_proba_one")
    wanted = predictions(theirs, zip(examples(), signs, strict=True), "predict_proba_one")
    for name, sign in zip(labels, (False, True), strict=True):
        np.testing.assert_allclose([p[name] for p in found], [p[sign] for p in wanted], rtol=1e-9)
    assert ours.predict_one(examples()[-1]) == labels[theirs.predict_one(examples()[-1])]


def ridge_predictions(rows, targets):
    """Ridge regression on the past, with a coordinate 1, in NumPy."""
    Z, found = np.column_stack([rows, np.ones(len(rows))]), []
    for t, z in enumerate(Z):
        found.append(z @ np.linalg.solve(np.eye(Z.shape[1]) + Z[:t].T @ Z[:t], Z[:t].T @ targets[:t]))
    return np.array(found)


def test_the_default_regressor_is_ridge_regression_in_the_evaluation_of_river():
    stream = [(dict(zip(NAMES, row.tolist(), strict=True)), y) for row, y in zip(ROWS, SCORES.tolist(), strict=True)]
    metric = evaluate.progressive_val_score(stream, jo.RiverRegressor(), metrics.MSE())
    expected = np.mean((ridge_predictions(ROWS, SCORES) - SCORES) ** 2)
    assert metric.get() == pytest.approx(expected, rel=1e-9)


def test_models_work_behind_a_scaler_of_river():
    """The logarithmic loss is that of river's own logistic regression behind the same scaler."""
    stream = [(dict(zip(NAMES, row.tolist(), strict=True)), bool(y > 0)) for row, y in zip(ROWS, SCORES, strict=True)]
    losses = [
        evaluate.progressive_val_score(stream, preprocessing.StandardScaler() | model, metrics.LogLoss()).get()
        for model in (
            jo.RiverClassifier(gradient_learner(Logistic())),
            linear_model.LogisticRegression(optimizer=optim.SGD(0.05), intercept_lr=0.05),
        )
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-9)
    assert losses[0] < 0.6


THREE = ["abc"[number] for number in np.digitize(SCORES, [-0.8, 0.8])]


def test_many_classes_are_learned_one_against_the_others():
    """As by one estimator of scikit-learn; river's own wrapper learns classes that are unknown in advance."""
    stream = [(dict(zip(NAMES, row.tolist(), strict=True)), y) for row, y in zip(ROWS, THREE, strict=True)]
    model = jo.RiverClassifier(gradient_learner(Logistic()), classes=("a", "b", "c"))
    assert model._multiclass
    predictions(model, stream)
    estimator = jo.OnlineClassifier(gradient_learner(Logistic())).fit(ROWS, THREE)
    for row, (x, _) in zip(ROWS[:5], stream, strict=False):
        np.testing.assert_allclose(list(model.predict_proba_one(x).values()), estimator.predict_proba([row])[0])
        assert model.predict_one(x) == estimator.predict([row])[0]
    unknown = multiclass.OneVsRestClassifier(jo.RiverClassifier(gradient_learner(Logistic())))
    accuracy = evaluate.progressive_val_score(stream, unknown, metrics.Accuracy())
    assert accuracy.get() > 0.6
    assert set(unknown.classifiers) == {"a", "b", "c"}


def test_the_order_of_the_features_does_not_matter():
    """Bit for bit: new features get their entries in the order of their names."""
    stream = list(zip(examples(), SCORES.tolist(), strict=True))
    shuffled = [(dict(reversed(x.items())), y) for x, y in stream]
    first, second = (
        predictions(jo.RiverRegressor(gradient_learner(), n_features=4), each) for each in (stream, shuffled)
    )
    assert first == second


def test_a_prediction_does_not_decide_which_features_exist():
    model = jo.RiverRegressor(gradient_learner())
    assert model.predict_one({"other": 1.0, "features": 2.0, "than later": 3.0}) == 0.0
    model.learn_one({"p": 1.0, "q": 2.0}, 1.0)
    assert model.predict_one({"p": 1.0}) == pytest.approx(0.2)  # weights 2 * 0.05 * (1, 2, 1)
    with pytest.raises(ValueError, match="got the new 'r'"):
        model.predict_one({"p": 1.0, "r": 1.0})


def test_the_seed_decides_the_noise():
    feedback = jo.NoisyCopies(jo.noise.gaussian(0.3))
    stream = [(dict(zip(NAMES, row.tolist(), strict=True)), y) for row, y in zip(ROWS, SCORES.tolist(), strict=True)]

    def last(seed):
        learner = jo.GradientLearner(jo.estimators.TwoCopies(), step_size=0.02)
        model = jo.RiverRegressor(learner, feedback=feedback, fit_intercept=False, seed=seed)
        return predictions(model, stream[:10])[-1]

    assert last(1) == last(1)
    assert last(1) != last(2)
    assert last(None) != last(None)


def test_a_pickled_model_goes_on():
    stream = list(zip(examples(), SCORES.tolist(), strict=True))
    model = jo.RiverRegressor(gradient_learner(), n_features=4)
    predictions(model, stream[:30])
    other = pickle.loads(pickle.dumps(model))
    assert predictions(other, stream[30:]) == predictions(model, stream[30:])


@pytest.mark.parametrize(
    ("message", "kind", "call"),
    [
        ("x: must be a dictionary", TypeError, lambda model: model.learn_one([1.0], 1.0)),
        (
            "x: must have numbers as values .got 'red' for 'q'",
            TypeError,
            lambda model: model.learn_one({"q": "red"}, 1.0),
        ),
        ("x: must have numbers as values .got None", TypeError, lambda model: model.predict_one({"q": None})),
        ("n_features=, at least 3", ValueError, lambda model: model.learn_one({"p": 1.0, "r": 1.0}, 1.0)),
        ("X: must be finite", ValueError, lambda model: model.learn_one({"p": float("nan")}, 1.0)),
        ("y: must be finite", ValueError, lambda model: model.learn_one({"p": 1.0}, float("inf"))),
        ("y: must be a number", TypeError, lambda model: model.learn_one({"p": 1.0}, "high")),
    ],
)
def test_bad_examples_change_nothing(message, kind, call):
    model = jo.RiverRegressor(gradient_learner())
    model.learn_one({"p": 1.0, "q": 1.0}, 1.0)
    before = model.predict_one({"p": 1.0, "q": 1.0})
    with pytest.raises(kind, match=message):
        call(model)
    assert model.predict_one({"p": 1.0, "q": 1.0}) == before == pytest.approx(0.3)


def test_an_error_in_the_first_example_decides_nothing():
    model = jo.RiverClassifier(gradient_learner(Logistic()))
    with pytest.raises(ValueError, match="X: must be finite"):
        model.learn_one({"p": float("inf"), "q": 1.0}, True)
    model.learn_one({"r": 1.0}, True)
    assert model.predict_one({"r": 1.0}) is True


def test_bad_arguments():
    for message, kind, make in [
        ("n_features: must be", ValueError, lambda: jo.RiverRegressor(n_features=0)),
        ("fit_intercept: must be True or", TypeError, lambda: jo.RiverRegressor(fit_intercept="yes")),
        ("seed: must be", ValueError, lambda: jo.RiverRegressor(seed=-1)),
        ("learner: must be a learner", TypeError, lambda: jo.RiverClassifier(3)),
        ("classes: must be at least two", ValueError, lambda: jo.RiverClassifier(classes=("a",))),
        ("classes: must be at least two different", ValueError, lambda: jo.RiverClassifier(classes=("a", "a"))),
        ("classes: must be a list", TypeError, lambda: jo.RiverClassifier(classes="ab")),
        ("y: must be one of the classes", ValueError, lambda: jo.RiverClassifier().learn_one({"p": 1.0}, "spam")),
        ("got the loss None", NotImplementedError, lambda: jo.RiverClassifier().predict_proba_one({"p": 1.0})),
        (
            r"got the loss Hinge\(\)",
            NotImplementedError,
            lambda: jo.RiverClassifier(gradient_learner(Hinge())).predict_proba_one({"p": 1.0}),
        ),
    ]:
        with pytest.raises(kind, match=message):
            make()


@pytest.mark.long
def test_the_package_does_not_import_river():
    code = """
import sys
import jaxonline as jo
jo.OnlineRegressor, jo.Live
print("river" in sys.modules)
jo.RiverRegressor
print("river" in sys.modules)
"""
    assert run_python(code).split() == ["False", "True"]
