"""Losses of residuals, margins, probabilities, arms, weights and points: value, and gradient in the prediction."""

from jaxonline.losses.actions import ArmLoss, ExpectedLoss
from jaxonline.losses.base import Loss, ScalarLoss
from jaxonline.losses.margins import Exponential, Hinge, Logistic, SmoothedHinge, ZeroOne
from jaxonline.losses.points import SquaredDistance
from jaxonline.losses.probabilities import LogLoss
from jaxonline.losses.residuals import Absolute, Huber, Pinball, SmoothedAbsolute, Squared
from jaxonline.losses.series import SeriesLoss

__all__ = [
    "Absolute",
    "ArmLoss",
    "ExpectedLoss",
    "Exponential",
    "Hinge",
    "Huber",
    "LogLoss",
    "Logistic",
    "Loss",
    "Pinball",
    "ScalarLoss",
    "SeriesLoss",
    "SmoothedAbsolute",
    "SmoothedHinge",
    "Squared",
    "SquaredDistance",
    "ZeroOne",
]
