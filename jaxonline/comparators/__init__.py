"""Comparators: the best predictor in hindsight.

Most comparators sum `statistic(x, y)` over the rounds (inside the simulation, on any device). From these sums
`best_loss(sums)` computes the loss of the best fixed predictor (on the host, in float64, batched over runs). The
comparators in `rkhs` need all instances and outcomes instead.
"""

from jaxonline.comparators.arms import (
    BestArm,
    BestExpert,
    BestOfEachRound,
    BestSegments,
    BestSet,
    CondorcetWinner,
    best_segments,
    cumulative_statistic,
)
from jaxonline.comparators.linear import L1Ball, L1Solution, L2Ball, QuadraticSums, best_in_l1_ball, best_in_l2_ball
from jaxonline.comparators.rkhs import (
    RKHSBall,
    RKHSPredictor,
    best_in_rkhs_ball,
    positive_negative_angle,
    rkhs_norm,
)

__all__ = [
    "BestArm",
    "BestExpert",
    "BestOfEachRound",
    "BestSegments",
    "BestSet",
    "CondorcetWinner",
    "L1Ball",
    "L1Solution",
    "L2Ball",
    "QuadraticSums",
    "RKHSBall",
    "RKHSPredictor",
    "best_in_l1_ball",
    "best_in_l2_ball",
    "best_in_rkhs_ball",
    "best_segments",
    "cumulative_statistic",
    "positive_negative_angle",
    "rkhs_norm",
]
