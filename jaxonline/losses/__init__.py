"""Losses: value and gradient of a prediction or a move.

`base` says what a loss is, `series` what one with the Taylor series of its derivative can do beyond that. Losses of a
residual y_hat - y: `residuals`; of a margin y * y_hat: `margins`; of a predicted probability: `probabilities`; of an
arm or of weights on arms: `actions`; of a point: `points`.
"""

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
