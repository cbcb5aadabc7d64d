"""Theorems as numbers: what a theorem promises, and the step size with which it promises it.

Gradient descent and linear predictors: `linear`, with the `moments` of data and noise. Kernels on noisy data:
`noisy_kernels` (any noise) and `gaussian_noise`. Multi-kernel online least squares: `multikernel`. A few attributes of
each instance: `attributes`.
"""

from jaxonline.bounds.attributes import (
    StronglyConvexBound,
    aer_regret,
    aerr_regret,
    baseline_risk,
    hidden_attribute_examples,
)
from jaxonline.bounds.gaussian_noise import surrogate_kernel, surrogate_radial_kernel, surrogate_radius
from jaxonline.bounds.linear import full_information, known_covariance, two_copies
from jaxonline.bounds.moments import MomentBounds, moment_bounds
from jaxonline.bounds.multikernel import Features, aggregating, concatenated, ewa, vaw, vaw2, vaw_ewa
from jaxonline.bounds.noisy_kernels import factor_moment, noisy_kernel, noisy_kernel_geometric, unbiased_steps
from jaxonline.bounds.regret_bound import RegretBound, gradient_descent

__all__ = [
    "Features",
    "MomentBounds",
    "RegretBound",
    "StronglyConvexBound",
    "aer_regret",
    "aerr_regret",
    "aggregating",
    "baseline_risk",
    "concatenated",
    "ewa",
    "factor_moment",
    "full_information",
    "gradient_descent",
    "hidden_attribute_examples",
    "known_covariance",
    "moment_bounds",
    "noisy_kernel",
    "noisy_kernel_geometric",
    "surrogate_kernel",
    "surrogate_radial_kernel",
    "surrogate_radius",
    "two_copies",
    "unbiased_steps",
    "vaw",
    "vaw2",
    "vaw_ewa",
]
