"""Learners: each file implements a family of algorithms.

`gradient`: gradient descent, AdaGrad, online Newton steps, and descent from the loss of the move only (`descent`), and
mirror descent (`mirror`). `linear`: classifiers, and `vaw`, the forecaster for the squared loss. `kernels`: kernel
gradient descent (`supports`), many kernels (`dictionaries`), and noisy instances (`noisy`). `experts`: combiners,
learners built on them (`hedge`), and learners that follow advice or vote (`advice`). `bandits`: learners that observe
the loss of one arm (`contextual` and EXP4 also see contexts), the losses of a set of arms, or the winner of a pair
(`sets_and_duels`), a part of the losses or a symbol (`partial`). `attributes`: learners that observe a few attributes
of each instance. `wrappers`: learners for delayed feedback, for an unknown horizon or with feature maps, and the risk
of all hypotheses on held-out rows.
the loss of one arm (`contextual`, `logistic`, `reductions` and EXP4 also see contexts), the losses of a set of arms, or
the winner of a pair (`sets_and_duels`). `attributes`: learners that observe a few attributes of each instance.
`wrappers`: learners for delayed feedback, for an unknown horizon or with feature maps, and the risk of all hypotheses
on held-out rows.
"""

from jaxonline.learners.attributes import AER as AER
from jaxonline.learners.attributes import AERR as AERR
from jaxonline.learners.attributes import Baseline as Baseline
from jaxonline.learners.bandits.best_arm import APT as APT
from jaxonline.learners.bandits.best_arm import SequentialHalving as SequentialHalving
from jaxonline.learners.bandits.best_arm import SuccessiveElimination as SuccessiveElimination
from jaxonline.learners.bandits.best_arm import SuccessiveRejects as SuccessiveRejects
from jaxonline.learners.bandits.best_arm import UniformAllocation as UniformAllocation
from jaxonline.learners.bandits.contextual import LinThompson as LinThompson
from jaxonline.learners.bandits.contextual import LinUCB as LinUCB
from jaxonline.learners.bandits.detecting import CUSUMUCB as CUSUMUCB
from jaxonline.learners.bandits.detecting import GLRKLUCB as GLRKLUCB
from jaxonline.learners.bandits.detecting import MonitoredUCB as MonitoredUCB
from jaxonline.learners.bandits.exponential import EXP3 as EXP3
from jaxonline.learners.bandits.exponential import EXP3IX as EXP3IX
from jaxonline.learners.bandits.exponential import EXP3P as EXP3P
from jaxonline.learners.bandits.exponential import EXP4 as EXP4
from jaxonline.learners.bandits.exponential import TsallisINF as TsallisINF
from jaxonline.learners.bandits.fixed_confidence import LUCB as LUCB
from jaxonline.learners.bandits.fixed_confidence import LilUCB as LilUCB
from jaxonline.learners.bandits.fixed_confidence import TopTwoThompson as TopTwoThompson
from jaxonline.learners.bandits.fixed_confidence import TrackAndStop as TrackAndStop
from jaxonline.learners.bandits.index_policies import KLUCB as KLUCB
from jaxonline.learners.bandits.index_policies import MOSS as MOSS
from jaxonline.learners.bandits.index_policies import UCB1 as UCB1
from jaxonline.learners.bandits.index_policies import UCB2 as UCB2
from jaxonline.learners.bandits.index_policies import AsymptoticUCB as AsymptoticUCB
from jaxonline.learners.bandits.index_policies import FixedConfidenceUCB as FixedConfidenceUCB
from jaxonline.learners.bandits.index_policies import IndexPolicy as IndexPolicy
from jaxonline.learners.bandits.index_policies import UCB1Tuned as UCB1Tuned
from jaxonline.learners.bandits.logistic import LogisticThompson as LogisticThompson
from jaxonline.learners.bandits.logistic import LogisticUCB as LogisticUCB
from jaxonline.learners.bandits.moving import EXP3S as EXP3S
from jaxonline.learners.bandits.moving import DiscountedThompson as DiscountedThompson
from jaxonline.learners.bandits.moving import DiscountedUCB as DiscountedUCB
from jaxonline.learners.bandits.moving import Restarting as Restarting
from jaxonline.learners.bandits.moving import SlidingWindowThompson as SlidingWindowThompson
from jaxonline.learners.bandits.moving import SlidingWindowUCB as SlidingWindowUCB
from jaxonline.learners.bandits.partial import EXP3G as EXP3G
from jaxonline.learners.bandits.partial import FeedExp3 as FeedExp3
from jaxonline.learners.bandits.reductions import BaggingCB as BaggingCB
from jaxonline.learners.bandits.reductions import EpsilonGreedyCB as EpsilonGreedyCB
from jaxonline.learners.bandits.reductions import ExploreFirstCB as ExploreFirstCB
from jaxonline.learners.bandits.reductions import SquareCB as SquareCB
from jaxonline.learners.bandits.sets_and_duels import CUCB as CUCB
from jaxonline.learners.bandits.sets_and_duels import RUCB as RUCB
from jaxonline.learners.bandits.thompson import BernoulliThompson as BernoulliThompson
from jaxonline.learners.bandits.thompson import EpsilonGreedy as EpsilonGreedy
from jaxonline.learners.bandits.thompson import ExploreThenCommit as ExploreThenCommit
from jaxonline.learners.bandits.thompson import GaussianThompson as GaussianThompson
from jaxonline.learners.experts.advice import Aggregating as Aggregating
from jaxonline.learners.experts.advice import Halving as Halving
from jaxonline.learners.experts.advice import OverAdvice as OverAdvice
from jaxonline.learners.experts.advice import Truncated as Truncated
from jaxonline.learners.experts.advice import WeightedMajority as WeightedMajority
from jaxonline.learners.experts.combiners import BOA as BOA
from jaxonline.learners.experts.combiners import EWA as EWA
from jaxonline.learners.experts.combiners import FixedShare as FixedShare
from jaxonline.learners.experts.combiners import FollowTheLeader as FollowTheLeader
from jaxonline.learners.experts.combiners import FollowThePerturbedLeader as FollowThePerturbedLeader
from jaxonline.learners.experts.combiners import FollowTheRegularizedLeader as FollowTheRegularizedLeader
from jaxonline.learners.experts.combiners import MLPoly as MLPoly
from jaxonline.learners.experts.combiners import MLProd as MLProd
from jaxonline.learners.experts.hedge import DrawnExpert as DrawnExpert
from jaxonline.learners.experts.hedge import Hedge as Hedge
from jaxonline.learners.experts.hedge import LabelEfficientHedge as LabelEfficientHedge
from jaxonline.learners.experts.weights import Combiner as Combiner
from jaxonline.learners.gradient.descent import AdaGrad as AdaGrad
from jaxonline.learners.gradient.descent import Constant as Constant
from jaxonline.learners.gradient.descent import GradientBandit as GradientBandit
from jaxonline.learners.gradient.descent import GradientLearner as GradientLearner
from jaxonline.learners.gradient.descent import GradientState as GradientState
from jaxonline.learners.gradient.descent import InverseSqrt as InverseSqrt
from jaxonline.learners.gradient.descent import InverseTime as InverseTime
from jaxonline.learners.gradient.descent import OnlineNewtonStep as OnlineNewtonStep
from jaxonline.learners.gradient.descent import Schedule as Schedule
from jaxonline.learners.gradient.mirror import Entropy as Entropy
from jaxonline.learners.gradient.mirror import ExponentiatedGradient as ExponentiatedGradient
from jaxonline.learners.gradient.mirror import LogBarrier as LogBarrier
from jaxonline.learners.gradient.mirror import MirrorLearner as MirrorLearner
from jaxonline.learners.gradient.mirror import MirrorMap as MirrorMap
from jaxonline.learners.gradient.mirror import PNorm as PNorm
from jaxonline.learners.kernels.dictionaries import MultiKernel as MultiKernel
from jaxonline.learners.kernels.dictionaries import Raker as Raker
from jaxonline.learners.kernels.expansion import Storage as Storage
from jaxonline.learners.kernels.noisy import NoisyKernel as NoisyKernel
from jaxonline.learners.kernels.supports import KernelGradient as KernelGradient
from jaxonline.learners.kernels.supports import SurrogateKernel as SurrogateKernel
from jaxonline.learners.linear.classifiers import PassiveAggressive as PassiveAggressive
from jaxonline.learners.linear.classifiers import Perceptron as Perceptron
from jaxonline.learners.linear.classifiers import PNormPerceptron as PNormPerceptron
from jaxonline.learners.linear.classifiers import Winnow as Winnow
from jaxonline.learners.linear.vaw import VAW as VAW
from jaxonline.learners.wrappers import BOLD as BOLD
from jaxonline.learners.wrappers import Doubling as Doubling
from jaxonline.learners.wrappers import HeldOutRisk as HeldOutRisk
from jaxonline.learners.wrappers import UpdateOnArrival as UpdateOnArrival
from jaxonline.learners.wrappers import WithFeatures as WithFeatures
from jaxonline.learners.wrappers import held_out_risk as held_out_risk
