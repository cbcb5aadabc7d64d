"""Unbiased estimators of gradients, functions of a mean, feature vectors and kernels from limited information.

* Gradients: `gradients` (noisy copies), `attributes` and `attribute_pairs` (k attributes of an instance),
  `attribute_series` (attributes, for losses other than the squared loss).
* Functions of a mean, from a random number of copies: `series` and `sequences`, with the distributions of that number
  (`count_distributions`, `count_protocol` for your own) and exact moments (`series_moments`).
* Feature maps of kernels: `feature_maps` and, for sums and products, `combined_feature_maps`, with exact moments
  (`feature_moments`), optimal distributions (`optimal_feature_maps`) and stored estimates (`noisy_features`);
  `gradient_length` for the derivative of the loss;
  `query_counts` for the exact distribution of the number of copies, `query_limits` for the bias of a limit on it.
* Kernels: `surrogates` under Gaussian noise, `laplace_surrogates` under Laplace noise; `fourier` and `dictionary` for
  random Fourier features, `debiased_fourier` for those of noisy copies, `polynomial_features` for polynomial kernels.
* `index_sampling` draws the coordinates to observe.
"""

from jaxonline.estimators.attribute_pairs import AttributePairs
from jaxonline.estimators.attribute_series import AttributeSeriesGradient
from jaxonline.estimators.attributes import AttributeGradient
from jaxonline.estimators.combined_feature_maps import CombinedFeatureMap
from jaxonline.estimators.count_distributions import (
    FiniteDistribution,
    Geometric,
    cost_aware,
    limit_counts,
    minimum_variance,
)
from jaxonline.estimators.count_protocol import CountDistribution
from jaxonline.estimators.debiased_fourier import DebiasedFourierFeatures
from jaxonline.estimators.feature_maps import DotProductFeatureMap, GaussianFeatureMap
from jaxonline.estimators.fourier import FourierFeatures
from jaxonline.estimators.gradient_length import GradientLength
from jaxonline.estimators.gradients import (
    FullGradient,
    KnownCovariance,
    KnownJointCovariance,
    MeanOfCopies,
    NaiveCopy,
    PairsOfCopies,
    Regularised,
    TwoCopies,
)
from jaxonline.estimators.laplace_surrogates import LaplaceSurrogate
from jaxonline.estimators.optimal_feature_maps import best_feature_map
from jaxonline.estimators.polynomial_counts import DiscreteLomax
from jaxonline.estimators.polynomial_features import DebiasedPolynomialFeatures, PolynomialFeatures
from jaxonline.estimators.query_counts import round_query_probabilities
from jaxonline.estimators.query_limits import limit_bias, limited_regret, round_bias_bound
from jaxonline.estimators.sequences import PolynomialSequenceEstimator, bernstein, chebyshev
from jaxonline.estimators.series import SeriesEstimator
from jaxonline.estimators.surrogates import Surrogate, radial_surrogate

__all__ = [
    "AttributeGradient",
    "AttributePairs",
    "AttributeSeriesGradient",
    "CombinedFeatureMap",
    "CountDistribution",
    "DebiasedFourierFeatures",
    "DebiasedPolynomialFeatures",
    "DiscreteLomax",
    "DotProductFeatureMap",
    "FiniteDistribution",
    "FourierFeatures",
    "FullGradient",
    "GaussianFeatureMap",
    "Geometric",
    "GradientLength",
    "KnownCovariance",
    "KnownJointCovariance",
    "LaplaceSurrogate",
    "MeanOfCopies",
    "NaiveCopy",
    "PairsOfCopies",
    "PolynomialFeatures",
    "PolynomialSequenceEstimator",
    "Regularised",
    "SeriesEstimator",
    "Surrogate",
    "TwoCopies",
    "bernstein",
    "best_feature_map",
    "chebyshev",
    "cost_aware",
    "limit_bias",
    "limit_counts",
    "limited_regret",
    "minimum_variance",
    "radial_surrogate",
    "round_bias_bound",
    "round_query_probabilities",
]
