"""Losses of residuals, margins, probabilities, thresholds, arms, sets and pairs of arms, weights and points.

A loss has a value, and a gradient in the prediction.
"""

from jaxonline.losses.arms import ArmLoss as ArmLoss
from jaxonline.losses.arms import ExpectedLoss as ExpectedLoss
from jaxonline.losses.arms import PairLoss as PairLoss
from jaxonline.losses.arms import SmallestArms as SmallestArms
from jaxonline.losses.arms import SumOfArms as SumOfArms
from jaxonline.losses.base import Loss as Loss
from jaxonline.losses.base import ScalarLoss as ScalarLoss
from jaxonline.losses.scalar import Absolute as Absolute
from jaxonline.losses.scalar import Exponential as Exponential
from jaxonline.losses.scalar import Hinge as Hinge
from jaxonline.losses.scalar import Huber as Huber
from jaxonline.losses.scalar import Logistic as Logistic
from jaxonline.losses.scalar import LogLoss as LogLoss
from jaxonline.losses.scalar import Pinball as Pinball
from jaxonline.losses.scalar import SmoothedAbsolute as SmoothedAbsolute
from jaxonline.losses.scalar import SmoothedHinge as SmoothedHinge
from jaxonline.losses.scalar import Squared as Squared
from jaxonline.losses.scalar import SquaredDistance as SquaredDistance
from jaxonline.losses.scalar import ZeroOne as ZeroOne
from jaxonline.losses.series import SeriesLoss as SeriesLoss
