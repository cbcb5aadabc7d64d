"""Claims on the feature maps of sums and products of kernels, which go beyond paper A's kernels (section 5.2).

The terms of the kernels are written out here. The points x and x' are those of `benchmarks.papers.claims.kernels`.
"""

import itertools
import math
from collections.abc import Callable

import jax
import numpy as np
from scipy import special

from benchmarks.papers.claims.kernels import VARIANCE, X2, P, X, map_strata, noisy_norm, noisy_point
from benchmarks.papers.claims.registry import SamplingOptions, claim
from jaxonline.estimators.combined_feature_maps import CombinedFeatureMap
from jaxonline.estimators.count_distributions import Geometric
from jaxonline.estimators.feature_moments import copy_moments
from jaxonline.kernels import Gaussian, Inhomogeneous, Kernel, Linear, Product, Scaled, Sum
from jaxonline.verify.bias import unbiased
from jaxonline.verify.moments import second_moment
from jaxonline.verify.result import Verification

INNER, SQUARES = float(X @ X2), (float(X @ X), float(X2 @ X2))
SUM = Sum([Linear(), Scaled(Gaussian(1.3), 0.5), Gaussian(2.0)])
PRODUCT = Product([Inhomogeneous(2), Gaussian(1.3)])
_MAX_SAMPLES = 1 << 19  # of a check


def _gaussian_term(n1: int, n2: int, rate: float) -> float:
    """Return the term of e^(-rate |x - x'|^2) from power n1 of e^(-rate |x|^2) and power n2 of e^(2 rate <x, x'>)."""
    pairs = (-rate * SQUARES[0]) ** n1 / math.factorial(n1)
    return pairs * (2 * rate * INNER) ** n2 / math.factorial(n2) * math.exp(-rate * SQUARES[1])


def _sum_term(n1: int, n2: int) -> float:
    linear = INNER if (n1, n2) == (0, 1) else 0.0
    return linear + 0.5 * _gaussian_term(n1, n2, 1.3**-2) + _gaussian_term(n1, n2, 0.25)


def _product_term(n1: int, n2: int) -> float:
    return sum(math.comb(2, a) * INNER**a * _gaussian_term(n1, n2 - a, 1.3**-2) for a in range(min(n2, 2) + 1))


def _check(kernel: Kernel, term: Callable[[int, int], float], target: float, options: SamplingOptions) -> Verification:
    feature_map, counts = CombinedFeatureMap(kernel, Geometric(P)), list(itertools.product(range(5), range(7)))
    terms = [term(*count) for count in counts]
    rest = sum(abs(term(*count)) for count in itertools.product(range(40), repeat=2) if count not in counts)
    strata = map_strata(feature_map, feature_map, counts, terms, rest + 1e-12)
    return unbiased(None, target, strata=strata, max_samples=_MAX_SAMPLES, **options.sampling())


@claim("feature map, sum of the linear and two Gaussian kernels", "A, section 5.2", improved="within tolerance")
def _sum(form: str, options: SamplingOptions) -> Verification:
    distance = float(np.sum((X - X2) ** 2))
    return _check(SUM, _sum_term, INNER + 0.5 * math.exp(-distance / 1.69) + math.exp(-distance / 4), options)


@claim("feature map, product of (1 + <x, x'>)^2 and a Gaussian kernel", "A, section 5.2", improved="within tolerance")
def _product(form: str, options: SamplingOptions) -> Verification:
    target = (1 + INNER) ** 2 * math.exp(-float(np.sum((X - X2) ** 2)) / 1.69)
    return _check(PRODUCT, _product_term, target, options)


@claim("second moment of the map of a sum", "A, section 5.2", improved="respected")
def _sum_moment(form: str, options: SamplingOptions) -> Verification:
    """The bound: E <x~, x~'>^2 is at most M^2 with M = E|x~|^2.

    The linear kernel has N1 = 0 and N2 = 1, with P(N2 = 1) = 1/4, and the factor p/(p-1) = 2 for N1 = 0. A kernel
    a exp(-u |x - x'|^2) has a (p/(p-1))^2 I_0(2 u sqrt(p) M) exp(2 u p M), as in Lemma 5.
    """
    feature_map, (moment, pairs) = CombinedFeatureMap(SUM, Geometric(P)), copy_moments(X, VARIANCE)
    gaussian = sum(a * 4 * special.i0(2 * u * math.sqrt(P) * moment) * math.exp(2 * u * P * moment)
                   for a, u in ((0.5, 1.3**-2), (1.0, 0.25)))  # fmt: skip
    limit = float(2 * 4 * moment + gaussian)
    draw = jax.tree_util.Partial(noisy_point, np.asarray(X, np.float32))
    return second_moment(
        jax.tree_util.Partial(noisy_norm, feature_map, draw),
        limit,
        exact=feature_map.second_moment(moment, pairs),
        kurtosis=200.0,
        **options.sampling(),
    )
