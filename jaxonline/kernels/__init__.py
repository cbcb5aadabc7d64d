"""Kernels: positive semi-definite functions of two vectors, some with a power series or a spectral distribution."""

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
from jaxonline.kernels.matern import Matern
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
    "Matern",
    "PowerSeries",
    "Scaled",
    "ShiftInvariantKernel",
    "Sum",
]
