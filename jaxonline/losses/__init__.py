"""Losses of residuals, margins, probabilities, thresholds, arms, sets and pairs of arms, weights and points.

A loss has a value, and a gradient in the prediction.
"""

from jaxonline.losses.actions import ArmLoss, ExpectedLoss
from jaxonline.losses.base import Loss, ScalarLoss
from jaxonline.losses.intervals import Miscoverage
from jaxonline.losses.margins import Exponential, Hinge, Logistic, SmoothedHinge, ZeroOne
from jaxonline.losses.pairs import PairLoss
from jaxonline.losses.points import SquaredDistance
from jaxonline.losses.probabilities import LogLoss
from jaxonline.losses.residuals import Absolute, Huber, Pinball, SmoothedAbsolute, Squared
from jaxonline.losses.series import SeriesLoss
from jaxonline.losses.sets import SmallestArms, SumOfArms

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
    "Miscoverage",
    "PairLoss",
    "Pinball",
    "ScalarLoss",
    "SeriesLoss",
    "SmallestArms",
    "SmoothedAbsolute",
    "SmoothedHinge",
    "Squared",
    "SquaredDistance",
    "SumOfArms",
    "ZeroOne",
]
