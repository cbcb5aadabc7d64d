"""Losses: value and gradient of a prediction; some know the Taylor series of their derivative."""

from jaxonline.losses.base import Loss
from jaxonline.losses.series import Exponential, Logistic, SmoothedAbsolute, SmoothedHinge, Squared

__all__ = ["Exponential", "Logistic", "Loss", "SmoothedAbsolute", "SmoothedHinge", "Squared"]
