"""Parameters inside the learner of an estimator: they are listed, searched and cloned as scikit-learn's own."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import jaxonline as jo
from jaxonline.live.estimators import nested_parameters, replace_nested
from jaxonline.losses import Hinge, Logistic, SmoothedHinge

RNG = np.random.default_rng(1)
X = RNG.normal(size=(60, 3))
LABELS = np.where(X @ [1.0, -2.0, 0.5] + RNG.normal(size=60) > 0.3, "yes", "no")
STEPS = [0.001, 0.1, 30.0]


def gradient_learner(loss, step_size=0.1):
    return jo.GradientLearner(jo.estimators.FullGradient(loss), step_size=step_size)


def stochastic_gradient(**options):
    """The same algorithm in scikit-learn: one pass in the given order, a constant step."""
    options = {"loss": "log_loss", "eta0": 0.1} | options
    return SGDClassifier(learning_rate="constant", alpha=0.0, shuffle=False, max_iter=1, tol=None, **options)


def test_get_params_lists_the_fields_of_learner_and_feedback():
    learner = gradient_learner(SmoothedHinge(2.0), jo.InverseSqrt(0.5))
    params = jo.OnlineClassifier(learner, feedback=jo.FullInformation(), passes=3).get_params()
    assert sorted(params) == [
        "feedback", "fit_intercept", "learner", "learner__estimator", "learner__estimator__loss",
        "learner__estimator__loss__scale", "learner__hypothesis", "learner__optimizer", "learner__projection",
        "learner__radius", "learner__step_size", "learner__step_size__eta", "passes", "random_state",
    ]  # fmt: skip
    assert (params["learner__step_size__eta"], params["learner__estimator__loss__scale"]) == (0.5, 2.0)
    assert params["learner__estimator"] is learner.estimator
    assert sorted(jo.OnlineClassifier(learner).get_params(deep=False)) == [
        "feedback", "fit_intercept", "learner", "passes", "random_state",
    ]  # fmt: skip
    assert sorted(jo.OnlineRegressor().get_params()) == [
        "feedback", "fit_intercept", "learner", "passes", "random_state",
    ]  # fmt: skip


def test_an_estimator_equals_one_with_its_own_parameters():
    """Also a clone, and an estimator whose learner has its own feedback."""
    entrant = jo.WithFeedback(gradient_learner(Logistic(), jo.InverseSqrt(0.5)), jo.FullInformation())
    estimator = jo.OnlineClassifier(entrant, random_state=3)
    params = estimator.get_params()
    assert params["learner__learner__step_size__eta"] == 0.5
    for other in (clone(estimator), jo.OnlineClassifier().set_params(**params)):
        assert repr(other.get_params()) == repr(params)
    copied = clone(estimator).set_params(learner__learner__step_size__eta=0.25)
    assert copied.learner.learner.step_size.eta == 0.25
    assert estimator.learner.learner.step_size.eta == 0.5


def test_outer_parameters_are_set_before_inner_ones():
    learner = gradient_learner(Logistic())
    estimator = jo.OnlineClassifier().set_params(
        learner__step_size__eta=2.0, learner__step_size=jo.InverseSqrt(1.0), learner=learner
    )
    assert estimator.learner.step_size.eta == 2.0
    assert learner.step_size.value == 0.1


@pytest.mark.parametrize("before", [0.1, jo.InverseSqrt(0.1)])
def test_a_number_may_replace_a_schedule(before):
    """A grid may list numbers and schedules, as scikit-learn sets one after the other."""
    estimator = jo.OnlineRegressor(jo.GradientLearner(jo.estimators.FullGradient(), step_size=before))
    assert repr(estimator.set_params(learner__step_size=0.3).learner.step_size) == "Constant(value=0.3)"
    estimator.set_params(learner__step_size=jo.InverseSqrt(0.2))
    assert repr(estimator.learner.step_size) == "InverseSqrt(eta=0.2)"


def test_fields_of_the_feedback_can_be_set():
    feedback = jo.NoisyCopies(jo.noise.gaussian(0.1))
    estimator = jo.OnlineRegressor(jo.GradientLearner(jo.estimators.TwoCopies(), 0.1), feedback=feedback)
    other = jo.noise.gaussian(0.3)
    estimator.set_params(feedback__noise=other)
    assert estimator.feedback.noise is other
    assert estimator.get_params()["feedback__noise"] is other
    assert feedback.noise is not other


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


def test_values_that_are_no_structs_have_no_parameters():
    assert nested_parameters("learner", None) == nested_parameters("learner", jo.GradientLearner) == {}
    assert replace_nested({"learner": 1}, {}) == {"learner": 1}


def test_a_search_over_the_step_size_equals_that_of_scikit_learn():
    """Accuracies of all steps in all folds, and the best step."""
    ours = GridSearchCV(jo.OnlineClassifier(gradient_learner(Logistic())), {"learner__step_size": STEPS}, cv=3)
    theirs = GridSearchCV(stochastic_gradient(), {"eta0": STEPS}, cv=3)
    scores = [search.fit(X, LABELS).cv_results_["mean_test_score"] for search in (ours, theirs)]
    np.testing.assert_array_equal(*scores)
    assert len(set(scores[0])) > 1
    assert ours.best_params_["learner__step_size"] == theirs.best_params_["eta0"]
    assert ours.best_estimator_.learner.step_size.value == theirs.best_params_["eta0"]


def test_a_search_in_a_pipeline_reaches_the_loss_of_the_estimator():
    """The names of a pipeline are longer, and the grid has two levels of the learner."""
    prefix = "onlineclassifier__learner"
    learner = gradient_learner(Logistic(), jo.Constant(0.1))
    ours = GridSearchCV(
        make_pipeline(StandardScaler(), jo.OnlineClassifier(learner)),
        {f"{prefix}__estimator__loss": [Logistic(), Hinge()], f"{prefix}__step_size__value": STEPS},
        cv=3,
    )
    theirs = GridSearchCV(
        make_pipeline(StandardScaler(), stochastic_gradient()),
        {"sgdclassifier__loss": ["log_loss", "hinge"], "sgdclassifier__eta0": STEPS},
        cv=3,
    )
    ours.fit(X, LABELS)
    theirs.fit(X, LABELS)

    def scores(search, loss, step):
        """By loss and step, since the two grids have other orders."""
        results = search.cv_results_
        return {
            (str(a).split("(")[0], b): score
            for a, b, score in zip(results[loss], results[step], results["mean_test_score"], strict=True)
        }

    found = scores(ours, f"param_{prefix}__estimator__loss", f"param_{prefix}__step_size__value")
    wanted = scores(theirs, "param_sgdclassifier__loss", "param_sgdclassifier__eta0")
    names = {"log_loss": "Logistic", "hinge": "Hinge"}
    assert found == {(names[loss], step): score for (loss, step), score in wanted.items()}
    assert len(set(found.values())) > 1
