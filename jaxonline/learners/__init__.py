"""Learners: one paper's algorithm is one file.

Gradient descent: `gradient`, with `step_sizes`. Forecasters of the squared loss: `vaw`, also over the kernels of a
dictionary (`multikernel`, `raker`, `omkl_gf`). Combiners of experts: `ewa`, `aggregating`, `boa`, `ml_poly`, `ml_prod`,
and `truncated` for any of them. Kernels: `kernel_gradient`, and on noisy data `noisy_kernel` (any noise) and
`surrogate_kernel` (Gaussian noise); `featured` for any learner in feature space.
"""

from jaxonline.learners.experts.aggregating import Aggregating
from jaxonline.learners.experts.boa import BOA
from jaxonline.learners.experts.ewa import EWA
from jaxonline.learners.experts.ml_poly import MLPoly
from jaxonline.learners.experts.ml_prod import MLProd
from jaxonline.learners.experts.truncated import Truncated
from jaxonline.learners.featured import WithFeatures
from jaxonline.learners.gradient import GradientLearner, GradientState
from jaxonline.learners.kernel_gradient import KernelGradient
from jaxonline.learners.multikernel import MultiKernel
from jaxonline.learners.noisy_kernel import NoisyKernel, Storage
from jaxonline.learners.omkl_gf import OMKLGF
from jaxonline.learners.raker import Raker
from jaxonline.learners.step_sizes import Constant, InverseSqrt, Schedule
from jaxonline.learners.surrogate_kernel import SurrogateKernel
from jaxonline.learners.vaw import VAW

__all__ = [
    "BOA",
    "EWA",
    "OMKLGF",
    "VAW",
    "Aggregating",
    "Constant",
    "GradientLearner",
    "GradientState",
    "InverseSqrt",
    "KernelGradient",
    "MLPoly",
    "MLProd",
    "MultiKernel",
    "NoisyKernel",
    "Raker",
    "Schedule",
    "Storage",
    "SurrogateKernel",
    "Truncated",
    "WithFeatures",
]
