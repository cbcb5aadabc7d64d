"""Losses of residuals, margins, probabilities, thresholds, arms, sets and pairs of arms, weights and points.

A loss has a value, and a gradient in the prediction.
"""

from jaxonline.losses.arms import ArmLoss, ExpectedLoss, PairLoss, SmallestArms, SumOfArms
from jaxonline.losses.base import Loss, ScalarLoss
from jaxonline.losses.scalar import (
    Absolute,
    Exponential,
    Hinge,
    Huber,
    Logistic,
    LogLoss,
    Pinball,
    SmoothedAbsolute,
    SmoothedHinge,
    Squared,
    SquaredDistance,
    ZeroOne,
)
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
