"""Learners: one paper's algorithm is one file.

Gradient descent: `gradient`, with `step_sizes`; `perceptron`. Forecasters of the squared loss: `vaw`, also over the
kernels of a dictionary (`multikernel`, `raker`, `omkl_gf`). Combiners of experts, in `experts/`: `ewa`, `boa`,
`ml_poly`, `ml_prod`, of which `over_advice` and `hedge` make learners, and `bandits/exp3` one that sees the loss of its
arm only; `aggregating`; `truncated` for any learner over advice. Kernels: `kernel_gradient`, and on
noisy data `noisy_kernel` (any noise) and `surrogate_kernel` (Gaussian noise); `featured` for any learner in feature
space. A few attributes of each instance: `attributes/aer`, `attributes/baseline`. `offline` plays learners of full
information over whole sequences, in blocks; `attributes/streams` plays AER and AERR over many at once.
"""

from jaxonline.learners.attributes.aer import aer, aerr
from jaxonline.learners.attributes.baseline import Baseline
from jaxonline.learners.bandits.exp3 import EXP3
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
from jaxonline.learners.step_sizes import Constant, InverseSqrt, InverseTime, Schedule
from jaxonline.learners.storage import Storage
from jaxonline.learners.surrogate_kernel import SurrogateKernel
from jaxonline.learners.vaw import VAW

__all__ = [
    "BOA",
    "EWA",
    "EXP3",
    "OMKLGF",
    "VAW",
    "Aggregating",
    "Baseline",
    "Combiner",
    "Constant",
    "GradientLearner",
    "GradientState",
    "Hedge",
    "InverseSqrt",
    "InverseTime",
    "KernelGradient",
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
    "aer",
    "aerr",
]
