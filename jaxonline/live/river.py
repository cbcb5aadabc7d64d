"""Learners as models of river: `learn_one` and `predict_one` with dictionaries of features."""

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from jaxonline.learners import VAW, PassiveAggressive
from jaxonline.live.named_features import NamedFeatures, NamedLearners
from jaxonline.live.probabilities import class_probabilities, loss_of, scores_are_log_odds
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.optional_packages import optional_class

EXTRA = "river"
Example = Mapping[Hashable, Any]

BaseRegressor = optional_class("river.base", "Regressor", EXTRA)
BaseClassifier = optional_class("river.base", "Classifier", EXTRA)


class RiverRegressor(BaseRegressor):
    """A learner whose moves are numbers, as a regressor of river.

    It works in river's pipelines and with `river.evaluate`. A feature that is missing in an example has the value 0, as
    in river's linear models. Numbers are float64.

    Args:
        learner: the learner; None for online ridge regression, `learners.VAW(forward=False)`.
        feedback: the information that the learner may query about each example; None for `FullInformation()`.
        n_features: the number of features that can appear. A feature has the value 0 until it appears. None for the
            features of the first example; a feature that appears later then raises an error.
        fit_intercept: whether instances get a last coordinate 1.
        seed: the seed of the learner's key; None for another seed in each object.

    Raises:
        ModuleNotFoundError: river is not installed.
        ValueError, TypeError: an argument is invalid; in `learn_one` and `predict_one`, an example has too many
            features, or values that are not finite numbers, or the learner is unsuitable.

    Example:
        >>> import jaxonline as jo
        >>> model = jo.RiverRegressor()
        >>> for step in range(200):
        ...     x = {"hour": step % 24 / 24, "weekend": step % 7 > 4}
        ...     model.learn_one(x, 3.0 * x["hour"] - x["weekend"])
        >>> round(model.predict_one({"hour": 0.5, "weekend": True}), 1)
        0.5
    """

    def __init__(
        self, learner: Any = None, *, feedback: Any = None, n_features: int | None = None, fit_intercept: bool = True,
        seed: int | None = None,
    ):  # fmt: skip
        self.learner, self.feedback, self.n_features = learner, feedback, n_features
        self.fit_intercept, self.seed = fit_intercept, seed
        features = NamedFeatures(n_features, fit_intercept)
        self._learners = NamedLearners(
            VAW(forward=False) if learner is None else learner, feedback, features, number=1, seed=seed
        )

    def learn_one(self, x: Example, y: float) -> None:
        """Play a round: the learner learns from an example and its target."""
        self._learners.learn(x, [check.number("y", y)])

    def predict_one(self, x: Example) -> float:
        """Return the learner's prediction for an example, as if this example came next."""
        return self._learners.scores(x)[0]


class RiverClassifier(BaseClassifier):
    """A learner of scores, with labels -1 and +1, as a classifier of river.

    Two classes need one learner. More classes need one learner for each class, against all other classes. For classes
    that are unknown in advance, use `river.multiclass.OneVsRestClassifier(jo.RiverClassifier(...))`.

    Args:
        learner: a learner whose moves are scores; None for `learners.PassiveAggressive("PA-I")`.
        feedback: as in `RiverRegressor`.
        classes: all labels that can occur; by default those of river's binary data.
        n_features: as in `RiverRegressor`.
        fit_intercept: as in `RiverRegressor`.
        seed: as in `RiverRegressor`.

    Raises:
        ModuleNotFoundError: river is not installed.
        ValueError, TypeError: as in `RiverRegressor`, or in `learn_one` if a label is not among `classes`.

    Example:
        >>> import jaxonline as jo
        >>> gradient = jo.estimators.FullGradient(jo.losses.Logistic())
        >>> model = jo.RiverClassifier(jo.GradientLearner(gradient, step_size=0.5), classes=("ham", "spam"))
        >>> for words in range(50):
        ...     model.learn_one({"links": words % 2}, "spam" if words % 2 else "ham")
        >>> model.predict_one({"links": 1}), model.predict_proba_one({"links": 0})["ham"] > 0.5
        ('spam', True)
    """

    def __init__(
        self, learner: Any = None, *, feedback: Any = None, classes: tuple[Hashable, ...] = (False, True),
        n_features: int | None = None, fit_intercept: bool = True, seed: int | None = None,
    ):  # fmt: skip
        self.learner, self.feedback, self.classes = learner, feedback, classes
        self.n_features, self.fit_intercept, self.seed = n_features, fit_intercept, seed
        self._labels = list(check.sequence("classes", classes, "label"))
        check.instance("classes", classes, all(isinstance(each, Hashable) for each in self._labels), "a list of labels")
        if None in self._labels or len(self._labels) < 2 or len(set(self._labels)) < len(self._labels):
            raise ArgumentError("classes", f"must be at least two different labels (got {check.quote(classes)})")
        self._played = PassiveAggressive() if learner is None else learner
        number = len(self._labels) if self._multiclass else 1
        self._learners = NamedLearners(
            self._played, feedback, NamedFeatures(n_features, fit_intercept), number=number, seed=seed
        )

    @property
    def _multiclass(self) -> bool:
        """Whether there are more than two classes, for river."""
        return len(self.classes) > 2

    def learn_one(self, x: Example, y: Hashable) -> None:
        """Play a round: the learner learns from an example and its label."""
        if y not in self._labels:
            raise ArgumentError("y", f"must be one of the classes {check.quote(self.classes)} (got {check.quote(y)})")
        positive = self._labels if self._multiclass else self._labels[1:]
        self._learners.learn(x, [1.0 if y == label else -1.0 for label in positive])

    def predict_one(self, x: Example, **kwargs: Any) -> Hashable:
        """Return the class with the largest score."""
        del kwargs  # of river
        scores = self._learners.scores(x)
        return self._labels[int(np.argmax(scores)) if self._multiclass else int(scores[0] > 0.0)]

    def predict_proba_one(self, x: Example, **kwargs: Any) -> dict[Hashable, float]:
        """Return the probability of each class, as `OnlineClassifier.predict_proba` does.

        Raises:
            NotImplementedError: the learner does not minimise the logistic loss.
        """
        del kwargs  # of river
        if not scores_are_log_odds(self._played):
            raise NotImplementedError(
                "predict_proba_one: needs a learner of the logistic loss, as "
                f"GradientLearner(FullGradient(Logistic()), ...) is (got the loss {loss_of(self._played)})"
            )
        (probabilities,) = class_probabilities(np.array([self._learners.scores(x)]))
        return dict(zip(self._labels, probabilities.tolist(), strict=True))
