"""Comparators: the best fixed predictor in hindsight.

A comparator of a simulation has two halves. `statistic(x, y)` is what a round adds to a sum (inside the simulation,
any device); `best_loss(sums)` turns sums into the loss of the best fixed predictor (on the host, float64, batched over
runs): `l2_ball`, `l1_ball`. In an RKHS no sums are enough: `rkhs` and `kernel_choice` compute it from the instances
themselves, `rkhs_geometry` lengths and angles of what they find.
"""

from jaxonline.comparators.best_arm import BestArm
from jaxonline.comparators.kernel_choice import BestKernel, best_kernel
from jaxonline.comparators.l1_ball import L1Ball, L1Solution, best_in_l1_ball
from jaxonline.comparators.l2_ball import L2Ball, QuadraticSums, best_in_ball
from jaxonline.comparators.rkhs import RKHSBall, RKHSPredictor, rkhs_ball
from jaxonline.comparators.rkhs_geometry import positive_negative_angle, rkhs_norm
from jaxonline.comparators.sums import sums_of

__all__ = [
    "BestArm",
    "BestKernel",
    "L1Ball",
    "L1Solution",
    "L2Ball",
    "QuadraticSums",
    "RKHSBall",
    "RKHSPredictor",
    "best_in_ball",
    "best_in_l1_ball",
    "best_kernel",
    "positive_negative_angle",
    "rkhs_ball",
    "rkhs_norm",
    "sums_of",
]
