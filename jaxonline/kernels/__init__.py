"""Kernels: positive semi-definite functions of two vectors.

`base` has the abstract class, `dot_product` kernels of the inner product (with a power series), `shift_invariant`
kernels of the difference (with a spectral distribution), `radial` kernels of the distance, as mixtures of Gaussian
kernels, and `combined` sums and multiples.
"""

from jaxonline.kernels.base import Kernel
from jaxonline.kernels.combined import Scaled, Sum
from jaxonline.kernels.dot_product import (
    Binomial,
    DotProductKernel,
    ExponentialKernel,
    Homogeneous,
    Inhomogeneous,
    Linear,
    PowerSeries,
)
from jaxonline.kernels.shift_invariant import Gaussian, Laplacian, ShiftInvariantKernel

__all__ = [
    "Binomial",
    "DotProductKernel",
    "ExponentialKernel",
    "Gaussian",
    "Homogeneous",
    "Inhomogeneous",
    "Kernel",
    "Laplacian",
    "Linear",
    "PowerSeries",
    "Scaled",
    "ShiftInvariantKernel",
    "Sum",
]
