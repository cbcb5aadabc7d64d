"""Comparators: the best fixed predictor in hindsight.

A comparator of a simulation has two halves. `statistic(x, y)` is what a round adds to a sum (inside the simulation,
any device); `best_loss(sums)` turns sums into the loss of the best fixed predictor (on the host, float64, batched over
runs): `l2_ball`, `l1_ball`, `best_arm`, `best_expert`. Where no sums are enough, it is computed from instances and
outcomes themselves: in an RKHS, `rkhs` and `kernel_choice`, with `rkhs_geometry` for lengths and angles of what they
find; and where the comparator changes from round to round, `changing`.
"""

from jaxonline.comparators.best_arm import BestArm
from jaxonline.comparators.best_expert import BestExpert
from jaxonline.comparators.kernel_choice import BestKernel, best_kernel
from jaxonline.comparators.l1_ball import L1Ball, L1Solution, best_in_l1_ball
from jaxonline.comparators.l2_ball import L2Ball, QuadraticSums, best_in_l2_ball
from jaxonline.comparators.rkhs import RKHSBall, RKHSPredictor, best_in_rkhs_ball
from jaxonline.comparators.rkhs_geometry import positive_negative_angle, rkhs_norm
from jaxonline.comparators.sums import cumulative_statistic
from jaxonline.comparators.time_varying import BestOfEachRound, BestSegments, best_segments

__all__ = [
    "BestArm",
    "BestExpert",
    "BestKernel",
    "BestOfEachRound",
    "BestSegments",
    "L1Ball",
    "L1Solution",
    "L2Ball",
    "QuadraticSums",
    "RKHSBall",
    "RKHSPredictor",
    "best_in_l1_ball",
    "best_in_l2_ball",
    "best_in_rkhs_ball",
    "best_kernel",
    "best_segments",
    "cumulative_statistic",
    "positive_negative_angle",
    "rkhs_norm",
]
