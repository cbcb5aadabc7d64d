"""Unbiased estimators from limited information, as pure functions and small frozen classes.

Of gradients: `gradients` (noisy copies), `attributes` and `attribute_pairs` (k attributes). Of functions of a mean,
from a random number of copies: `series`, `sequences`, with their laws (`laws`) and exact moments (`series_moments`). Of
kernels' feature maps: `feature_maps`, with exact moments (`feature_moments`) and the best laws (`best_laws`), and
`noisy_features`, what is kept of a noisy instance; of the gradient's length: `gradient_length`. Of kernels:
`surrogates`, `fourier`. `index_sampling` draws the coordinates that are asked for.
"""

from jaxonline.estimators.attribute_pairs import AttributePairs
from jaxonline.estimators.attributes import AttributeGradient
from jaxonline.estimators.count_distributions import FiniteDistribution, Geometric, cost_aware, minimum_variance
from jaxonline.estimators.feature_maps import DotProductFeatureMap, GaussianFeatureMap
from jaxonline.estimators.fourier import FourierFeatures
from jaxonline.estimators.gradient_length import GradientLength
from jaxonline.estimators.gradients import (
    FullGradient,
    KnownCovariance,
    MeanOfCopies,
    NaiveCopy,
    Regularised,
    TwoCopies,
)
from jaxonline.estimators.optimal_feature_maps import best_feature_map
from jaxonline.estimators.sequences import PolynomialSequenceEstimator, bernstein, chebyshev
from jaxonline.estimators.series import SeriesEstimator
from jaxonline.estimators.surrogates import Surrogate, radial_surrogate

__all__ = [
    "AttributeGradient",
    "AttributePairs",
    "DotProductFeatureMap",
    "FiniteDistribution",
    "FourierFeatures",
    "FullGradient",
    "GaussianFeatureMap",
    "Geometric",
    "GradientLength",
    "KnownCovariance",
    "MeanOfCopies",
    "NaiveCopy",
    "PolynomialSequenceEstimator",
    "Regularised",
    "SeriesEstimator",
    "Surrogate",
    "TwoCopies",
    "bernstein",
    "best_feature_map",
    "chebyshev",
    "cost_aware",
    "minimum_variance",
    "radial_surrogate",
]
