"""Exact distribution of the number of noisy copies of an estimate and of a round of Algorithm 1.

A round asks for 1 + N estimates of a feature vector, and each asks for its own random number of copies. For a
dot-product kernel and P(N = n) = (p - 1) / p^(n + 1) in both places, the total M is geometric again: P(M >= m) =
(p / (p^2 - p + 1))^m with E M = p / (p - 1)^2. With r repetitions M is a sum of r such numbers. Source of the protocol
and of E M: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Online learning of noisy data with kernels" (COLT 2010), Algorithm 1
and Theorems 1 and 2.
"""

import functools

import numpy as np

from jaxonline.estimators.count_protocol import AnyCountDistribution, CountDistribution
from jaxonline.estimators.feature_maps import FeatureMap
from jaxonline.estimators.paired_feature_maps import PairedFeatureMap
from jaxonline.parameters.citations import cites
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.types import Count

_NEGLIGIBLE = 1e-30  # probability of the rounds that are left out
_FIRST_SIZE = 32


@validate_arguments
def estimate_query_probabilities(feature_map: FeatureMap, n_terms: Count) -> np.ndarray:
    """Probabilities that one estimate of a feature vector asks for 0, 1, ..., n_terms - 1 copies.

    Args:
        feature_map: `DotProductFeatureMap` (N copies), `GaussianFeatureMap` or `CombinedFeatureMap` (2 N1 + N2 copies).
        n_terms: length of the result.

    Example:
        >>> import jaxonline as jo
        >>> from jaxonline.estimators.query_counts import estimate_query_probabilities
        >>> law = jo.estimators.Geometric(2.0)
        >>> gaussian = jo.estimators.GaussianFeatureMap(jo.kernels.Gaussian(1.0), law)
        >>> estimate_query_probabilities(gaussian, 3).round(6).tolist()
        [0.25, 0.125, 0.1875]
    """
    levels = np.exp(feature_map.law.log_table(n_terms))  # type: ignore[attr-defined]
    if not isinstance(feature_map, PairedFeatureMap):
        return levels
    pairs = np.zeros(n_terms)
    pairs[::2] = np.exp(feature_map.pair_distribution().log_table((n_terms + 1) // 2))
    return np.convolve(pairs, levels)[:n_terms]


@cites("cesabianchi2010online")
@validate_arguments
def round_query_probabilities(
    feature_map: FeatureMap, law: AnyCountDistribution, n_terms: Count, repetitions: Count = 1
) -> np.ndarray:
    """Probabilities that a round of `NoisyKernel` asks for 0, 1, ..., n_terms - 1 copies.

    The round estimates Psi(x) 1 + N times, also where the term n = N of the series of the loss is 0. The result is
    exact up to rounding, by convolution in float64: values of N are left out only if their total probability is below
    1e-30. The probability of `n_terms` copies or more is 1 minus the sum.

    Args:
        feature_map: estimator of the feature vectors.
        law: distribution of N (`gradient_length.series.law`).
        n_terms: length of the result. The computing time grows as the cube of this length.
        repetitions: number r of pairs (g~, Psi~) in a round (`NoisyKernel.repetitions`); r times as many copies.

    Example:
        >>> import jaxonline as jo
        >>> from jaxonline.estimators import Geometric
        >>> feature_map = jo.estimators.DotProductFeatureMap(jo.kernels.Linear(), Geometric(2.0))
        >>> pmf = jo.estimators.round_query_probabilities(feature_map, Geometric(2.0), n_terms=10)
        >>> round(float(1 - pmf.sum()), 9), round((2 / 3) ** 10, 9)  # P(M >= 10)
        (0.01734153, 0.01734153)
    """
    pair = _pair_query_probabilities(feature_map, law, n_terms)
    return functools.reduce(lambda total, more: np.convolve(total, more)[:n_terms], [pair] * repetitions)


def _pair_query_probabilities(feature_map: FeatureMap, law: CountDistribution, n_terms: int) -> np.ndarray:
    """Return the probabilities for one pair (g~, Psi~)."""
    one = estimate_query_probabilities(feature_map, n_terms)
    if one[0] == 1.0:
        return one
    total, copies, start, size = np.zeros(n_terms), one, 0, _FIRST_SIZE  # copies: distribution for 1 + start estimates
    while copies.sum() * float(law.tail(start)) > _NEGLIGIBLE:
        for probability in np.exp(law.log_table(size)[start:]):
            total += probability * copies
            copies = np.convolve(copies, one)[:n_terms]
        start, size = size, 2 * size
    return total
