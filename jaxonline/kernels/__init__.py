"""Kernels: positive semi-definite functions of two vectors; some have a power series, some a spectrum.

`base` says what a kernel is, `dot_product` holds those of the inner product, with a power series, `shift_invariant`
those of the difference, with a spectral law, `radial` those of the distance, as mixtures of Gaussian kernels;
`combined` makes sums and multiples.
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
