"""Probabilities of classes from the scores of learners that minimise the logistic loss."""

from typing import Any

import numpy as np
from scipy import special

from jaxonline.game import WithFeedback
from jaxonline.losses import Logistic


def loss_of(learner: Any) -> Any:
    """Return the loss that a learner, or the learner of a `WithFeedback`, minimises; None if unknown."""
    return getattr(learner.learner if isinstance(learner, WithFeedback) else learner, "loss", None)


def scores_are_log_odds(learner: Any) -> bool:
    """Whether a learner minimises the logistic loss, of which the best score is the logarithm of the odds."""
    return isinstance(loss_of(learner), Logistic)


def class_probabilities(scores: np.ndarray) -> np.ndarray:
    """Return the probabilities of the classes [n, K] from the log odds of the second class [n, 1], or of each [n, K].

    The probabilities of more than two classes, each against the others, are divided by their sum, as in scikit-learn's
    `SGDClassifier`. If all of them are 0, the classes have equal probabilities.

    Example:
        >>> import numpy as np
        >>> from jaxonline.live.probabilities import class_probabilities
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
