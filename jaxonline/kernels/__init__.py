"""Kernels: positive semi-definite functions of two vectors; some have a power series, some a spectrum."""

from jaxonline.kernels.base import Kernel, Scaled, Sum
from jaxonline.kernels.standard import (
    Binomial,
    DotProductKernel,
    ExponentialKernel,
    Gaussian,
    Homogeneous,
    Inhomogeneous,
    Laplacian,
    Linear,
    PowerSeries,
)

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
    "Sum",
]
