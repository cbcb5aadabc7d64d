"""Kernels: positive semi-definite functions of two vectors, some with a power series or a spectral distribution."""

from jaxonline.kernels.dot_product import Binomial as Binomial
from jaxonline.kernels.dot_product import DotProductKernel as DotProductKernel
from jaxonline.kernels.dot_product import ExponentialKernel as ExponentialKernel
from jaxonline.kernels.dot_product import Homogeneous as Homogeneous
from jaxonline.kernels.dot_product import Inhomogeneous as Inhomogeneous
from jaxonline.kernels.dot_product import Kernel as Kernel
from jaxonline.kernels.dot_product import Linear as Linear
from jaxonline.kernels.dot_product import PowerSeries as PowerSeries
from jaxonline.kernels.shift_invariant import Cauchy as Cauchy
from jaxonline.kernels.shift_invariant import Gaussian as Gaussian
from jaxonline.kernels.shift_invariant import GaussianMixture as GaussianMixture
from jaxonline.kernels.shift_invariant import Laplacian as Laplacian
from jaxonline.kernels.shift_invariant import Matern as Matern
from jaxonline.kernels.shift_invariant import RadialExponential as RadialExponential
from jaxonline.kernels.shift_invariant import Scaled as Scaled
from jaxonline.kernels.shift_invariant import ShiftInvariantKernel as ShiftInvariantKernel
from jaxonline.kernels.shift_invariant import Sum as Sum
