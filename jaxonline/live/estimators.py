"""Learners as estimators of scikit-learn, for its pipelines and searches, and for river through its converter.

Estimators use `Live` learners in float64. `fit` and `partial_fit` play one round for each row in the given order;
`predict` returns the moves of the learner in the next round, without learning.
"""

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, Self

import jax
import numpy as np
from numpy.typing import ArrayLike
from scipy import special
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import check_is_fitted, validate_data

from jaxonline.game import Learner, WithFeedback
from jaxonline.game.roles import Feedback
from jaxonline.learners import VAW, PassiveAggressive
from jaxonline.live.live import Live, is_finite
from jaxonline.losses import Logistic
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import replace_at

PARTS = ("learner", "feedback")  # parameters with fields that searches can set


def nested_parameters(name: str, part: Any) -> dict[str, Any]:
    """Return the fields of a struct, and the fields inside them, by name; empty if `part` is no struct.

    Example:
        >>> import jaxonline as jo
        >>> from jaxonline.live.estimators import nested_parameters
        >>> sorted(nested_parameters("noise", jo.WithFeedback(jo.learners.UCB1(2.0), jo.Bandit())))
        ['noise__feedback', 'noise__learner', 'noise__learner__exploration', 'noise__learner__ties']
    """
    parameters: dict[str, Any] = {}
    if dataclasses.is_dataclass(part) and not isinstance(part, type):
        for field in dataclasses.fields(part):
            if field.init:
                path, value = f"{name}__{field.name}", getattr(part, field.name)
                parameters |= {path: value} | nested_parameters(path, value)
    return parameters


def replace_nested(parts: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts with some parameters inside them changed; outer parameters are changed before inner ones.

    Args:
        parts: learner and feedback by name.
        changes: new values by names such as `learner__step_size`.

    Raises:
        ValueError: a name or a value is invalid.
    """
    changed = dict(parts)
    for name in sorted(changes, key=lambda name: name.count("__")):
        part, *path = name.split("__")
        if changed[part] is None:
            raise ArgumentError(name, f"must be a parameter of the {part}, but {part} is None; pass {part}= first")
        changed[part] = replace_at(changed[part], ".".join(path), changes[name], name, keep_classes=False)
    return changed


def class_probabilities(scores: np.ndarray) -> np.ndarray:
    """Return the probabilities of the classes [n, K] from the log odds of the second class [n, 1], or of each [n, K].

    The probabilities of more than two classes, each against the others, are divided by their sum, as in scikit-learn's
    `SGDClassifier`. If all of them are 0, the classes have equal probabilities.

    Example:
        >>> import numpy as np
        >>> from jaxonline.live.estimators import class_probabilities
        >>> class_probabilities(np.log([[3.0]])).round(2).tolist()
        [[0.25, 0.75]]
        >>> class_probabilities(np.log([[1.0, 3.0, 1 / 3]])).round(2).tolist()
        [[0.33, 0.5, 0.17]]
    """
    if scores.shape[1] == 1:
        return special.expit(np.column_stack([-scores, scores]))
    each = special.expit(scores)
    total = each.sum(axis=1, keepdims=True)
    return np.where(total > 0.0, each / np.where(total > 0.0, total, 1.0), 1.0 / scores.shape[1])


class OnlineEstimator(BaseEstimator):
    """Base of the regressor and the classifier: parameters, and learners that score instances."""

    def __init__(
        self, learner: Learner | WithFeedback | None = None, *, feedback: Feedback | None = None,
        fit_intercept: bool = True, passes: int = 1, random_state: int | np.random.RandomState | None = None,
    ):  # fmt: skip
        self.learner: Any = learner  # which `set_params` changes
        self.feedback = feedback
        self.fit_intercept = fit_intercept
        self.passes = passes
        self.random_state = random_state

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Args:
            deep: whether to include the fields of learner and feedback, by names such as `learner__step_size__eta`.

        Example:
            >>> import jaxonline as jo
            >>> jo.OnlineRegressor(jo.learners.VAW(2.0)).get_params()["learner__regularizer"]
            2.0
        """
        params = super().get_params(deep=False)
        if deep:
            for name in PARTS:
                params |= nested_parameters(name, params[name])
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, and fields of learner and feedback by names such as `learner__step_size__eta`.

        If this raises an error because of a field, all parameters stay unchanged.

        Raises:
            ValueError: a name or a value is invalid.

        Example:
            >>> import jaxonline as jo
            >>> jo.OnlineRegressor(jo.learners.VAW(1.0)).set_params(learner__regularizer=2.0).learner
            VAW(regularizer=2.0, forward=True, allow_float32=False)
        """
        nested = {name: value for name, value in params.items() if name.partition("__")[0] in PARTS and "__" in name}
        if nested:
            parts = {name: params.get(name, getattr(self, name)) for name in PARTS}
            params = {name: value for name, value in params.items() if name not in nested}
            params |= replace_nested(parts, nested)
        return super().set_params(**params)

    @contextlib.contextmanager
    def _fitted_or_as_before(self) -> Iterator[None]:
        """Restore the fitted attributes if an error occurs."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    def _begin(self, default: Any, number: int) -> None:
        """Create live learners, each with its own key."""
        check.flag("fit_intercept", self.fit_intercept)
        state = self.random_state
        valid = state is None or (isinstance(state, np.random.RandomState | int) and not isinstance(state, bool))
        check.instance("random_state", state, valid, "a seed, a RandomState or None")
        seed = check_random_state(state).randint(np.iinfo(np.int32).max)
        learner = self._fitted_learner = default if self.learner is None else self.learner
        with jax.enable_x64(True):
            keys = [jax.random.fold_in(jax.random.key(seed), i) for i in range(number)]
            self.lives_ = [Live(learner, self.feedback, key=key) for key in keys]

    def _instances(self, X: np.ndarray) -> np.ndarray:
        if not self.fit_intercept:
            return X
        instances = np.ones((len(X), X.shape[1] + 1))
        instances[:, :-1] = X
        return instances

    def _is_valid(self, X: Any) -> bool:
        """Whether scikit-learn's checks, which take longer than a round, would return a fitted estimator's rows."""
        return (
            _is_floating(X)
            and X.ndim == 2
            and len(X) > 0
            and X.shape[1] == getattr(self, "n_features_in_", None)
            and not hasattr(self, "feature_names_in_")
        )

    def _validated(self, X: Any, y: Any, **options: Any) -> tuple[np.ndarray, np.ndarray]:
        """Rows and targets as arrays, after scikit-learn's checks."""
        with _names_column(X):
            rows_and_targets: Any = validate_data(self, X, y, dtype=np.float64, **options)
        return rows_and_targets

    def _learn(self, X: np.ndarray, targets: np.ndarray, passes: int) -> None:
        """Play the rows: `targets` has a column for each live learner."""
        X = self._instances(X)
        for live, own in zip(self.lives_, targets.T, strict=True):
            for _ in range(passes):
                live.learn(X, own)

    def _scores(self, X: Any) -> np.ndarray:
        """The moves of all live learners, one column each."""
        if not (hasattr(self, "lives_") and self._is_valid(X)):
            check_is_fitted(self)
            with _names_column(X):
                X = validate_data(self, X, dtype=np.float64, reset=False)
        X = self._instances(X)
        return np.column_stack([live.moves(X) for live in self.lives_])


@contextlib.contextmanager
def _names_column(X: Any) -> Iterator[None]:
    """Context manager: the error for a DataFrame with words or gaps names the column."""
    try:
        yield
    except ValueError:
        if hasattr(X, "columns"):
            check.finite_array("X", X)
        raise


def _is_floating(array: Any) -> bool:
    """Whether this is an array of finite numbers in float32 or float64."""
    return type(array) is np.ndarray and array.dtype.char in "fd" and is_finite(array)


class OnlineRegressor(RegressorMixin, OnlineEstimator):
    """A learner whose moves are numbers, as a regressor of scikit-learn.

    Args:
        learner: the learner; None for online ridge regression, `learners.VAW(forward=False)`, which has no step size
            and stores d^2 numbers for d features. After n rows it predicts as ridge regression on these rows.
        feedback: the information that the learner may query about each row; None for `FullInformation()`.
        fit_intercept: whether instances get a last coordinate 1.
        passes: how often `fit` plays the rows.
        random_state: the seed of the learner's key, as in scikit-learn.

    Attributes:
        lives_: the `Live` learner, in a list.
        n_features_in_: the number of features.

    Raises:
        ValueError, TypeError: in `fit` and `partial_fit`, for an invalid parameter or an unsuitable learner.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> X = np.linspace(-1.0, 1.0, 200)[:, None]
        >>> regressor = jo.OnlineRegressor().fit(X, 3.0 * X[:, 0] - 1.0)
        >>> regressor.partial_fit([[0.0]], [-1.0]).predict([[0.0], [1.0]]).round(2).tolist()
        [-1.0, 1.96]
    """

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Forget the past, and play the rows `passes` times."""
        passes = check.count("passes", self.passes)
        with self._fitted_or_as_before():
            rows, targets = self._validated(X, y, y_numeric=True)
            self._begin(VAW(forward=False), 1)
            self._learn(rows, targets[:, None], passes)
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Play the rows once, after all earlier rows."""
        first = not hasattr(self, "lives_")
        with self._fitted_or_as_before():
            if first or not (self._is_valid(X) and _is_floating(y) and y.shape == X.shape[:1]):  # type: ignore[union-attr]
                X, y = self._validated(X, y, y_numeric=True, reset=first)
            if first:
                self._begin(VAW(forward=False), 1)
            self._learn(X, y[:, None], 1)  # type: ignore[arg-type, index, call-overload]
        return self

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return the learner's prediction for each row [n], as if this row came next."""
        return self._scores(X)[:, 0]


def _has_probabilities(classifier: "OnlineClassifier") -> bool:
    """Return True if the learner minimises the logistic loss, whose scores are log odds; else an AttributeError."""
    learner = getattr(classifier, "_fitted_learner", classifier.learner)
    loss = getattr(learner.learner if isinstance(learner, WithFeedback) else learner, "loss", None)
    if not isinstance(loss, Logistic):
        raise AttributeError(
            "predict_proba: needs a learner of the logistic loss, as GradientLearner(FullGradient(Logistic()), ...) is "
            f"(got the loss {loss}); or wrap the classifier with sklearn.calibration.CalibratedClassifierCV"
        )
    return True


class OnlineClassifier(ClassifierMixin, OnlineEstimator):
    """A learner of scores, with labels -1 and +1, as a classifier of scikit-learn.

    Two classes need one learner. More classes need one learner for each class, against all other classes. `fit` plays
    the rows in their order, as an online learner does. Shuffle rows that are sorted by class before you call it.

    Args:
        learner: a learner whose moves are scores; None for `learners.PassiveAggressive("PA-I")`.
        feedback: the information that the learner may query about each row; None for `FullInformation()`.
        fit_intercept: whether instances get a last coordinate 1.
        passes: how often `fit` plays the rows.
        random_state: the seed of the learners' keys, as in scikit-learn.

    Attributes:
        lives_: the `Live` learners: one for two classes, else one for each class.
        classes_: the classes, sorted.
        n_features_in_: the number of features.

    Raises:
        ValueError, TypeError: in `fit` and `partial_fit`, for an invalid parameter, an unsuitable learner, fewer than
            two classes or an unknown label.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]] * 5)
        >>> classifier = jo.OnlineClassifier().fit(X, np.where(X[:, 0] > 0.5, "right", "left"))
        >>> classifier.predict(X[:3]).tolist(), classifier.score(X, np.where(X[:, 0] > 0.5, "right", "left"))
        (['left', 'right', 'right'], 1.0)
    """

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Forget the past, and play the rows `passes` times."""
        passes = check.count("passes", self.passes)
        with self._fitted_or_as_before():
            rows, labels = self._validated(X, y)
            check_classification_targets(labels)
            self._begin_with(unique_labels(labels))
            self._learn(rows, self._signs(labels), passes)
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Play the rows once, after all earlier rows; the first call needs `classes`, all labels that can occur."""
        first = not hasattr(self, "lives_")
        if first and classes is None:
            raise ArgumentError(
                "classes", "must be given in the first call of partial_fit (got None); pass all labels that can occur"
            )
        with self._fitted_or_as_before():
            rows, labels = self._validated(X, y, reset=first)
            check_classification_targets(labels)
            if first:
                self._begin_with(unique_labels(classes))
            elif classes is not None and not np.array_equal(unique_labels(classes), self.classes_):
                raise ArgumentError("classes", f"must stay {self.classes_} (got {check.quote(classes)})")
            self._learn(rows, self._signs(labels), 1)
        return self

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Return the scores: of the second class [n] if there are two classes, else of every class [n, K]."""
        scores = self._scores(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return the class with the largest score for each row [n]."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the classes [n, K], of the logistic model that the learner learns.

        Only a learner of the logistic loss (`losses.Logistic`) has this method. With two classes, the score is the
        logarithm of the odds of the second class. More classes have one model each, against all other classes, and
        their probabilities are divided by the sum, as in scikit-learn's `SGDClassifier`.

        Raises:
            AttributeError: the learner minimises another loss, or declares none.

        Example:
            >>> import numpy as np, jaxonline as jo
            >>> gradient = jo.estimators.FullGradient(jo.losses.Logistic())
            >>> classifier = jo.OnlineClassifier(jo.GradientLearner(gradient, step_size=1.0), fit_intercept=False)
            >>> classifier.fit([[2.0], [-1.0]], ["yes", "no"]).predict_proba([[0.0], [1.0]]).round(2).tolist()
            [[0.5, 0.5], [0.22, 0.78]]
        """
        return class_probabilities(self._scores(X))

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of the probabilities of `predict_proba`."""
        return np.log(self.predict_proba(X))

    def _begin_with(self, classes: np.ndarray) -> None:
        if len(classes) < 2:
            raise ArgumentError("y", f"must have at least two classes (got {len(classes)} class)")
        self.classes_ = classes
        self._begin(PassiveAggressive(), len(classes) if len(classes) > 2 else 1)

    def _signs(self, y: np.ndarray) -> np.ndarray:
        """Labels as -1 and +1, one column for each live learner."""
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ArgumentError("y", f"must hold labels among {self.classes_} (got {check.quote(unknown[:3])})")
        positive = self.classes_ if len(self.lives_) > 1 else self.classes_[1:]
        return np.where(y[:, None] == positive[None], 1.0, -1.0)
