"""Learners: one paper's algorithm is one file."""

from jaxonline.learners.gradient import GradientLearner, GradientState
from jaxonline.learners.step_sizes import Constant, InverseSqrt, Schedule

__all__ = ["Constant", "GradientLearner", "GradientState", "InverseSqrt", "Schedule"]
