"""What all learners that step with an estimated gradient declare."""

from typing import Any

from jaxonline.estimators.gradients import check_estimator
from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.traits import FeedbackTraits, LearnerTraits


class EstimatorLearner(LearnerDefaults):
    """Base class of learners with a field `estimator`, which estimates a gradient from the feedback."""

    estimator: Any

    @property
    def traits(self) -> LearnerTraits:
        """Declare the loss of the estimator, if the estimator has a loss."""
        return LearnerTraits(loss=getattr(self.estimator, "loss", None))

    def check_feedback(self, feedback: FeedbackTraits) -> None:
        """Raise a ValueError for noise that the estimator does not suit."""
        check_estimator(self.estimator, feedback)
