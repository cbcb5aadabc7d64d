"""Unbiased estimators of gradients, functions of a mean, feature vectors and kernels from limited information.

* Gradients: `gradients` (noisy copies) and `attributes` (k attributes of an instance).
* Functions of a mean, from a random number of copies: `series`, with the distributions of that number
  (`counts`); `multilevel` for functions with few derivatives.
* Feature maps of kernels: `feature_maps`, with moments and stored estimates (`noisy_features`) and optimal
  distributions (`optimal_feature_maps`); `gradient_length` for the derivative of the loss.
* Kernels: `surrogates` under Gaussian noise; `fourier` for random Fourier features.
"""

from jaxonline.estimators.attributes import AttributeGradient as AttributeGradient
from jaxonline.estimators.attributes import AttributePairs as AttributePairs
from jaxonline.estimators.counts import CountDistribution as CountDistribution
from jaxonline.estimators.counts import FiniteDistribution as FiniteDistribution
from jaxonline.estimators.counts import Geometric as Geometric
from jaxonline.estimators.counts import cost_aware as cost_aware
from jaxonline.estimators.counts import limit_counts as limit_counts
from jaxonline.estimators.counts import minimum_variance as minimum_variance
from jaxonline.estimators.feature_maps import DotProductFeatureMap as DotProductFeatureMap
from jaxonline.estimators.feature_maps import GaussianFeatureMap as GaussianFeatureMap
from jaxonline.estimators.fourier import Dictionary as Dictionary
from jaxonline.estimators.fourier import FourierFeatures as FourierFeatures
from jaxonline.estimators.gradient_length import GradientLength as GradientLength
from jaxonline.estimators.gradient_length import LengthTimesCopy as LengthTimesCopy
from jaxonline.estimators.gradients import FullGradient as FullGradient
from jaxonline.estimators.gradients import KnownCovariance as KnownCovariance
from jaxonline.estimators.gradients import MeanOfCopies as MeanOfCopies
from jaxonline.estimators.gradients import NaiveCopy as NaiveCopy
from jaxonline.estimators.gradients import PairsOfCopies as PairsOfCopies
from jaxonline.estimators.gradients import Regularised as Regularised
from jaxonline.estimators.gradients import TwoCopies as TwoCopies
from jaxonline.estimators.multilevel import MultilevelEstimator as MultilevelEstimator
from jaxonline.estimators.multilevel import PowersOfTwo as PowersOfTwo
from jaxonline.estimators.optimal_feature_maps import best_feature_map as best_feature_map
from jaxonline.estimators.series import SeriesEstimator as SeriesEstimator
from jaxonline.estimators.surrogates import Surrogate as Surrogate
from jaxonline.estimators.surrogates import radial_surrogate as radial_surrogate
