"""Losses: value and gradient of a prediction or a move.

`base` has the protocol, `series` losses with a Taylor series of the derivative. Losses of a residual y_hat - y are in
`residuals`, of a margin y * y_hat in `margins`, of a predicted probability in `probabilities`, of an arm or of weights
on arms in `actions`, of a point in `points`.
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
