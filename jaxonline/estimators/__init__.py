"""Unbiased estimators of gradients, functions of a mean, feature vectors and kernels from limited information.

* Gradients: `gradients` (noisy copies), `attributes` and `attribute_pairs` (k attributes of an instance).
* Functions of a mean, from a random number of copies: `series`, with the distributions of that number
  (`count_distributions`, `count_protocol` for your own) and exact moments (`series_moments`).
* Feature maps of kernels: `feature_maps`, with exact moments (`feature_moments`), optimal distributions
  (`optimal_feature_maps`) and stored estimates (`noisy_features`); `gradient_length` for the derivative of the loss.
* Kernels: `surrogates` under Gaussian noise; `fourier` and `dictionary` for random Fourier features.
* `index_sampling` draws the coordinates to observe.
"""

from jaxonline.estimators.attribute_pairs import AttributePairs
from jaxonline.estimators.attributes import AttributeGradient
from jaxonline.estimators.count_distributions import (
    FiniteDistribution,
    Geometric,
    cost_aware,
    limit_counts,
    minimum_variance,
)
from jaxonline.estimators.count_protocol import CountDistribution
from jaxonline.estimators.feature_maps import DotProductFeatureMap, GaussianFeatureMap
from jaxonline.estimators.fourier import FourierFeatures
from jaxonline.estimators.gradient_length import GradientLength
from jaxonline.estimators.gradients import (
    FullGradient,
    KnownCovariance,
    MeanOfCopies,
    NaiveCopy,
    PairsOfCopies,
    Regularised,
    TwoCopies,
)
from jaxonline.estimators.optimal_feature_maps import best_feature_map
from jaxonline.estimators.series import SeriesEstimator
from jaxonline.estimators.surrogates import Surrogate, radial_surrogate

__all__ = [
    "AttributeGradient",
    "AttributePairs",
    "CountDistribution",
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
    "PairsOfCopies",
    "Regularised",
    "SeriesEstimator",
    "Surrogate",
    "TwoCopies",
    "best_feature_map",
    "cost_aware",
    "limit_counts",
    "minimum_variance",
    "radial_surrogate",
]
