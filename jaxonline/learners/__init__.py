"""Learners: each file implements the algorithm of a paper.

`gradient`: gradient descent, with `step_sizes`, mirror descent (`mirror_descent`, `mirror_maps`), and
`gradient_bandit`, which observes only the loss of the move. `linear`: classifiers, and `vaw`, the forecaster for the
squared loss. `kernels`: kernel gradient descent, many kernels (`multikernel`, `raker`, `omkl_gf`), and noisy instances
(`noisy_kernel`, `surrogate_kernel`). `experts`: combiners, learners built on them (such as `over_advice` and `hedge`),
`aggregating`, and votes (`halving`, `weighted_majority`). `bandits`: learners that observe the loss of one arm (`exp4`,
`lin_ucb` and `lin_thompson` also see contexts), the losses of a set of arms (`cucb`), or the winner of a pair (`rucb`).
`attributes`: learners that observe a few attributes of each instance. `wrappers`: learners for an unknown horizon
(`doubling`) or with feature maps (`with_features`), and the risk of all hypotheses on held-out rows (`held_out`).
"""

from jaxonline.learners.attributes import Baseline, aer, aerr
from jaxonline.learners.bandits.best_arm import SequentialHalving, SuccessiveElimination
from jaxonline.learners.bandits.contextual import LinThompson, LinUCB
from jaxonline.learners.bandits.exponential import EXP3, EXP3IX, EXP3P, EXP4, TsallisINF
from jaxonline.learners.bandits.index_policies import (
    KLUCB,
    MOSS,
    UCB1,
    UCB2,
    AsymptoticUCB,
    FixedConfidenceUCB,
    UCB1Tuned,
)
from jaxonline.learners.bandits.moving import DiscountedUCB, SlidingWindowUCB
from jaxonline.learners.bandits.sets_and_duels import CUCB, RUCB
from jaxonline.learners.bandits.thompson import BernoulliThompson, EpsilonGreedy, ExploreThenCommit, GaussianThompson
from jaxonline.learners.experts.advice import Aggregating, OverAdvice, ThresholdAdvice, Truncated
from jaxonline.learners.experts.combiners import (
    BOA,
    EWA,
    FixedShare,
    FollowTheLeader,
    FollowThePerturbedLeader,
    FollowTheRegularizedLeader,
    MLPoly,
    MLProd,
)
from jaxonline.learners.experts.hedge import DrawnExpert, Hedge, LabelEfficientHedge
from jaxonline.learners.experts.votes import Halving, WeightedMajority
from jaxonline.learners.experts.weights import Combiner
from jaxonline.learners.gradient.descent import (
    AdaGrad,
    GradientBandit,
    GradientLearner,
    GradientState,
    OnlineNewtonStep,
)
from jaxonline.learners.gradient.mirror import (
    Entropy,
    ExponentiatedGradient,
    LogBarrier,
    MirrorLearner,
    MirrorMap,
    PNorm,
)
from jaxonline.learners.gradient.step_sizes import Constant, InverseSqrt, InverseTime, Schedule
from jaxonline.learners.kernels.capacity import Storage
from jaxonline.learners.kernels.kernel_gradient import KernelGradient
from jaxonline.learners.kernels.multikernel import MultiKernel
from jaxonline.learners.kernels.noisy_kernel import NoisyKernel
from jaxonline.learners.kernels.omkl_gf import OMKLGF
from jaxonline.learners.kernels.raker import Raker
from jaxonline.learners.kernels.surrogate_kernel import SurrogateKernel
from jaxonline.learners.linear.classifiers import (
    PassiveAggressive,
    Perceptron,
    PNormPerceptron,
    Winnow,
)
from jaxonline.learners.linear.vaw import VAW
from jaxonline.learners.wrappers.delay import BOLD, UpdateOnArrival
from jaxonline.learners.wrappers.doubling import Doubling
from jaxonline.learners.wrappers.held_out import HeldOutRisk, held_out_risk
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
    "Aggregating",
    "AsymptoticUCB",
    "Baseline",
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
    "WeightedMajority",
    "Winnow",
    "WithFeatures",
    "aer",
    "aerr",
    "held_out_risk",
]
