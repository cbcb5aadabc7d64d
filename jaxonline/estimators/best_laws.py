"""The laws of the numbers of copies with which a feature map's estimate has the smallest second moment.

By Cauchy-Schwarz, as for series (`jaxonline.estimators.laws`): where the part of level n has the second moment
a_n^2 / P(n), the best P(n) is in proportion to a_n. For a dot-product kernel a_n^2 = beta_n M^n with M = E|x~|^2; the
Gaussian kernel has a series in M, for the level, times one in F = E <x~, x~'>^2, for the pairs. The paper (COLT 2010)
takes P(N = n) = (p-1)/p^(n+1) throughout.
"""

import math

import numpy as np
from scipy import special

from jaxonline._util import check
from jaxonline._util.numbers import host_float
from jaxonline.estimators.feature_maps import DotProductFeatureMap, GaussianFeatureMap
from jaxonline.estimators.laws import Law, law_from_magnitudes
from jaxonline.kernels import DotProductKernel, Gaussian
from jaxonline.kernels.dot_product import require_dot_product

_TERMS = 256
_SMALLEST = 1e-12  # of the largest a_n: what lies beyond is left out


def best_feature_map(
    kernel: DotProductKernel | Gaussian,
    copy_moment: float,
    pair_moment: float | None = None,
    overhead: float = math.inf,
) -> DotProductFeatureMap | GaussianFeatureMap:
    """The feature map of a kernel with the laws that minimise E|Psi~|^2, or that times its price.

    Moments may be guesses: wrong ones cost variance, never a bias. Levels whose share of the sum is below 1e-12 are
    left out; `bias` of the feature map says what that means.

    Args:
        kernel: with a series, or a `Gaussian`.
        copy_moment: M = E|x~|^2, above 0.
        pair_moment: F = E <x~, x~'>^2 of two copies, above 0; M^2 when None. For the Gaussian kernel only.
        overhead: the price of an estimate in copies: laws in proportion to a_n / sqrt(overhead + n) ask for fewer
            copies. With inf copies cost nothing.

    Raises:
        ValueError: moments or overhead not above 0, a series that diverges at `copy_moment`.
        TypeError: `kernel` has no series and is not a `Gaussian`.

    Example:
        >>> from jaxonline.estimators import DotProductFeatureMap, Geometric
        >>> from jaxonline.estimators.best_laws import best_feature_map
        >>> from jaxonline.kernels import ExponentialKernel
        >>> best = best_feature_map(ExponentialKernel(), 0.5)
        >>> paper = DotProductFeatureMap(ExponentialKernel(), Geometric(2.0))
        >>> [round(each.second_moment(0.5), 3) for each in (best, paper)]
        [5.191, 5.437]
        >>> [round(each.expected_queries(), 3) for each in (best, paper)]
        [0.953, 1.0]
    """
    copy_moment = float(check.positive("copy_moment", copy_moment))
    pair_moment = copy_moment**2 if pair_moment is None else float(check.positive("pair_moment", pair_moment))
    n = np.arange(_TERMS)
    if isinstance(kernel, Gaussian):
        width2 = host_float("width", kernel.width) ** 2
        levels = 0.5 * (n * math.log(2.0 * copy_moment / width2) - special.gammaln(n + 1))
        pairs = 0.5 * n * math.log(pair_moment / width2**2) - special.gammaln(n + 1)
        return GaussianFeatureMap(kernel, _law(levels, overhead), _law(pairs, overhead / 2))  # a pair is two copies
    kernel_radius = require_dot_product("kernel", kernel).radius()
    if copy_moment >= kernel_radius:
        raise ValueError(f"copy_moment must be below the kernel's radius {kernel_radius:g}, got {copy_moment:g}")
    with np.errstate(divide="ignore"):
        levels = 0.5 * (np.log(kernel.coefficients(_TERMS)) + n * math.log(copy_moment))
    return DotProductFeatureMap(kernel, _law(levels, overhead))


def _law(log_magnitudes: np.ndarray, overhead: float) -> Law:
    sizes = np.exp(log_magnitudes - log_magnitudes.max())
    kept = np.flatnonzero(sizes > _SMALLEST)[-1] + 1
    return law_from_magnitudes(sizes[:kept], overhead=overhead)
