"""Learners: each file implements the algorithm of a paper.

`gradient`: gradient descent, with `step_sizes`, mirror descent (`mirror_descent`, `mirror_maps`), and
`gradient_bandit`, which observes only the loss of the move. `linear`: classifiers, and `vaw`, the forecaster for the
squared loss. `kernels`: kernel gradient descent and perceptron, many kernels (`multikernel`, `raker`, `omkl_gf`), and
noisy instances (`noisy_kernel`, `surrogate_kernel`). `experts`: combiners, learners built on them (such as
`over_advice` and `hedge`), `aggregating`, and votes (`halving`, `weighted_majority`). `bandits`: learners that observe
the loss of one arm (`exp4`, `lin_ucb` and `lin_thompson` also see contexts), the losses of a set of arms (`cucb`), or
the winner of a pair (`rucb`). `attributes`: learners that observe a few attributes of each instance. `conformal`:
thresholds of prediction sets. `wrappers`: learners for an unknown horizon (`doubling`) or with feature maps
(`with_features`), and one predictor from all hypotheses (`batch_conversion`).
"""

from jaxonline.learners.attributes.aer import aer, aerr
from jaxonline.learners.attributes.baseline import Baseline
from jaxonline.learners.bandits.asymptotic_ucb import AsymptoticUCB
from jaxonline.learners.bandits.cucb import CUCB
from jaxonline.learners.bandits.discounted_ucb import DiscountedUCB
from jaxonline.learners.bandits.epsilon_greedy import EpsilonGreedy
from jaxonline.learners.bandits.exp3 import EXP3
from jaxonline.learners.bandits.exp3_ix import EXP3IX
from jaxonline.learners.bandits.exp3_p import EXP3P
from jaxonline.learners.bandits.exp4 import EXP4
from jaxonline.learners.bandits.explore_then_commit import ExploreThenCommit
from jaxonline.learners.bandits.fixed_confidence_ucb import FixedConfidenceUCB
from jaxonline.learners.bandits.kl_ucb import KLUCB
from jaxonline.learners.bandits.lin_thompson import LinThompson
from jaxonline.learners.bandits.lin_ucb import LinUCB
from jaxonline.learners.bandits.moss import MOSS
from jaxonline.learners.bandits.rucb import RUCB
from jaxonline.learners.bandits.sequential_halving import SequentialHalving
from jaxonline.learners.bandits.sliding_window_ucb import SlidingWindowUCB
from jaxonline.learners.bandits.successive_elimination import SuccessiveElimination
from jaxonline.learners.bandits.thompson import BernoulliThompson, GaussianThompson
from jaxonline.learners.bandits.tsallis_inf import TsallisINF
from jaxonline.learners.bandits.ucb1 import UCB1
from jaxonline.learners.bandits.ucb1_tuned import UCB1Tuned
from jaxonline.learners.bandits.ucb2 import UCB2
from jaxonline.learners.conformal.adaptive_conformal import AdaptiveConformal
from jaxonline.learners.experts.aggregating import Aggregating
from jaxonline.learners.experts.boa import BOA
from jaxonline.learners.experts.combiner import Combiner
from jaxonline.learners.experts.drawn_expert import DrawnExpert
from jaxonline.learners.experts.ewa import EWA
from jaxonline.learners.experts.fixed_share import FixedShare
from jaxonline.learners.experts.follow_the_leader import FollowTheLeader
from jaxonline.learners.experts.follow_the_perturbed_leader import FollowThePerturbedLeader
from jaxonline.learners.experts.follow_the_regularized_leader import FollowTheRegularizedLeader
from jaxonline.learners.experts.halving import Halving
from jaxonline.learners.experts.hedge import Hedge
from jaxonline.learners.experts.label_efficient_hedge import LabelEfficientHedge
from jaxonline.learners.experts.ml_poly import MLPoly
from jaxonline.learners.experts.ml_prod import MLProd
from jaxonline.learners.experts.over_advice import OverAdvice
from jaxonline.learners.experts.threshold_advice import ThresholdAdvice
from jaxonline.learners.experts.truncated import Truncated
from jaxonline.learners.experts.weighted_majority import WeightedMajority
from jaxonline.learners.gradient.adagrad import AdaGrad
from jaxonline.learners.gradient.exponentiated_gradient import ExponentiatedGradient
from jaxonline.learners.gradient.gradient_bandit import GradientBandit
from jaxonline.learners.gradient.gradient_learner import GradientLearner, GradientState
from jaxonline.learners.gradient.mirror_descent import MirrorLearner
from jaxonline.learners.gradient.mirror_maps import Entropy, LogBarrier, MirrorMap, PNorm
from jaxonline.learners.gradient.online_newton_step import OnlineNewtonStep
from jaxonline.learners.gradient.step_sizes import Constant, InverseSqrt, InverseTime, Schedule
from jaxonline.learners.kernels.capacity import Storage
from jaxonline.learners.kernels.kernel_gradient import KernelGradient
from jaxonline.learners.kernels.kernel_perceptron import KernelPerceptron
from jaxonline.learners.kernels.multikernel import MultiKernel
from jaxonline.learners.kernels.noisy_kernel import NoisyKernel
from jaxonline.learners.kernels.omkl_gf import OMKLGF
from jaxonline.learners.kernels.raker import Raker
from jaxonline.learners.kernels.surrogate_kernel import SurrogateKernel
from jaxonline.learners.linear.p_norm_perceptron import PNormPerceptron
from jaxonline.learners.linear.passive_aggressive import PassiveAggressive
from jaxonline.learners.linear.perceptron import Perceptron
from jaxonline.learners.linear.vaw import VAW
from jaxonline.learners.linear.voted_perceptron import VotedPerceptron
from jaxonline.learners.linear.winnow import Winnow
from jaxonline.learners.wrappers.batch_conversion import BatchPredictor, online_to_batch
from jaxonline.learners.wrappers.bold import BOLD
from jaxonline.learners.wrappers.doubling import Doubling
from jaxonline.learners.wrappers.held_out import HeldOutRisk, held_out_risk
from jaxonline.learners.wrappers.update_on_arrival import UpdateOnArrival
from jaxonline.learners.wrappers.with_features import WithFeatures

__all__ = [
    "BOA",
    "BOLD",
    "CUCB",
    "EWA",
    "EXP3",
    "EXP3IX",
    "EXP3P",
    "EXP4",
    "KLUCB",
    "MOSS",
    "OMKLGF",
    "RUCB",
    "UCB1",
    "UCB2",
    "VAW",
    "AdaGrad",
    "AdaptiveConformal",
    "Aggregating",
    "AsymptoticUCB",
    "Baseline",
    "BatchPredictor",
    "BernoulliThompson",
    "Combiner",
    "Constant",
    "DiscountedUCB",
    "Doubling",
    "DrawnExpert",
    "Entropy",
    "EpsilonGreedy",
    "ExploreThenCommit",
    "ExponentiatedGradient",
    "FixedConfidenceUCB",
    "FixedShare",
    "FollowTheLeader",
    "FollowThePerturbedLeader",
    "FollowTheRegularizedLeader",
    "GaussianThompson",
    "GradientBandit",
    "GradientLearner",
    "GradientState",
    "Halving",
    "Hedge",
    "HeldOutRisk",
    "InverseSqrt",
    "InverseTime",
    "KernelGradient",
    "KernelPerceptron",
    "LabelEfficientHedge",
    "LinThompson",
    "LinUCB",
    "LogBarrier",
    "MLPoly",
    "MLProd",
    "MirrorLearner",
    "MirrorMap",
    "MultiKernel",
    "NoisyKernel",
    "OnlineNewtonStep",
    "OverAdvice",
    "PNorm",
    "PNormPerceptron",
    "PassiveAggressive",
    "Perceptron",
    "Raker",
    "Schedule",
    "SequentialHalving",
    "SlidingWindowUCB",
    "Storage",
    "SuccessiveElimination",
    "SurrogateKernel",
    "ThresholdAdvice",
    "Truncated",
    "TsallisINF",
    "UCB1Tuned",
    "UpdateOnArrival",
    "VotedPerceptron",
    "WeightedMajority",
    "Winnow",
    "WithFeatures",
    "aer",
    "aerr",
    "held_out_risk",
    "online_to_batch",
]
