"""Learners: one paper's algorithm is one file.

Gradient descent: `gradient`, with `step_sizes`; `perceptron`. Forecasters of the squared loss: `vaw`, also over the
kernels of a dictionary (`multikernel`, `raker`, `omkl_gf`). Combiners of experts, in `experts/`: `ewa`, `boa`,
`ml_poly`, `ml_prod`, of which `over_advice` and `hedge` make learners; `aggregating`; `truncated` for any learner over
advice. Learners that see the loss of their arm only, in `bandits/`: `explore_then_commit`, `epsilon_greedy`, `ucb1`,
`kl_ucb`, `moss`, `thompson`, `exp3`, `exp3_ix`, `exp3_p`; with contexts `exp4`, `lin_ucb`, `lin_thompson`. Kernels:
`kernel_gradient`, and on noisy data `noisy_kernel` (any noise) and `surrogate_kernel` (Gaussian noise); `featured` for
any learner in feature space. `offline` plays learners of full information over whole sequences, in blocks.
"""

from jaxonline.learners.bandits.epsilon_greedy import EpsilonGreedy
from jaxonline.learners.bandits.exp3 import EXP3
from jaxonline.learners.bandits.exp3_ix import EXP3IX
from jaxonline.learners.bandits.exp3_p import EXP3P
from jaxonline.learners.bandits.exp4 import EXP4
from jaxonline.learners.bandits.explore_then_commit import ExploreThenCommit
from jaxonline.learners.bandits.kl_ucb import KLUCB
from jaxonline.learners.bandits.lin_thompson import LinThompson
from jaxonline.learners.bandits.lin_ucb import LinUCB
from jaxonline.learners.bandits.moss import MOSS
from jaxonline.learners.bandits.thompson import BernoulliThompson, GaussianThompson
from jaxonline.learners.bandits.ucb1 import UCB1
from jaxonline.learners.experts.aggregating import Aggregating
from jaxonline.learners.experts.boa import BOA
from jaxonline.learners.experts.combiner import Combiner
from jaxonline.learners.experts.ewa import EWA
from jaxonline.learners.experts.hedge import Hedge
from jaxonline.learners.experts.ml_poly import MLPoly
from jaxonline.learners.experts.ml_prod import MLProd
from jaxonline.learners.experts.over_advice import OverAdvice
from jaxonline.learners.experts.truncated import Truncated
from jaxonline.learners.featured import WithFeatures
from jaxonline.learners.gradient import GradientLearner, GradientState
from jaxonline.learners.kernel_gradient import KernelGradient
from jaxonline.learners.multikernel import MultiKernel
from jaxonline.learners.noisy_kernel import NoisyKernel
from jaxonline.learners.omkl_gf import OMKLGF
from jaxonline.learners.perceptron import Perceptron
from jaxonline.learners.raker import Raker
from jaxonline.learners.step_sizes import Constant, InverseSqrt, Schedule
from jaxonline.learners.storage import Storage
from jaxonline.learners.surrogate_kernel import SurrogateKernel
from jaxonline.learners.vaw import VAW

__all__ = [
    "BOA",
    "EWA",
    "EXP3",
    "EXP3IX",
    "EXP3P",
    "EXP4",
    "KLUCB",
    "MOSS",
    "OMKLGF",
    "UCB1",
    "VAW",
    "Aggregating",
    "BernoulliThompson",
    "Combiner",
    "Constant",
    "EpsilonGreedy",
    "ExploreThenCommit",
    "GaussianThompson",
    "GradientLearner",
    "GradientState",
    "Hedge",
    "InverseSqrt",
    "KernelGradient",
    "LinThompson",
    "LinUCB",
    "MLPoly",
    "MLProd",
    "MultiKernel",
    "NoisyKernel",
    "OverAdvice",
    "Perceptron",
    "Raker",
    "Schedule",
    "Storage",
    "SurrogateKernel",
    "Truncated",
    "WithFeatures",
]
