"""Comparators: the best predictor in hindsight.

Most comparators sum `statistic(x, y)` over the rounds (inside the simulation, on any device). From these sums
`best_loss(sums)` computes the loss of the best fixed predictor (on the host, in float64, batched over runs). The
comparators in `rkhs` need all instances and outcomes instead.
"""

from jaxonline.comparators.arms import BestArm as BestArm
from jaxonline.comparators.arms import BestExpert as BestExpert
from jaxonline.comparators.arms import BestOfEachRound as BestOfEachRound
from jaxonline.comparators.arms import BestPulls as BestPulls
from jaxonline.comparators.arms import BestSegments as BestSegments
from jaxonline.comparators.arms import BestSet as BestSet
from jaxonline.comparators.arms import CondorcetWinner as CondorcetWinner
from jaxonline.comparators.arms import cumulative_statistic as cumulative_statistic
from jaxonline.comparators.linear import L1Ball as L1Ball
from jaxonline.comparators.linear import L1Solution as L1Solution
from jaxonline.comparators.linear import L2Ball as L2Ball
from jaxonline.comparators.linear import QuadraticSums as QuadraticSums
from jaxonline.comparators.linear import best_in_l1_ball as best_in_l1_ball
from jaxonline.comparators.linear import best_in_l2_ball as best_in_l2_ball
from jaxonline.comparators.rkhs import RKHSBall as RKHSBall
from jaxonline.comparators.rkhs import RKHSPredictor as RKHSPredictor
from jaxonline.comparators.rkhs import best_in_rkhs_ball as best_in_rkhs_ball
from jaxonline.comparators.rkhs import positive_negative_angle as positive_negative_angle
from jaxonline.comparators.rkhs import rkhs_norm as rkhs_norm
