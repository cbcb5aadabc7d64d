"""Feature maps whose estimates have the smallest second moment: the optimal distributions of the numbers of copies.

As for series (`jaxonline.estimators.count_distributions`): if level n contributes a_n^2 / P(n) to the second moment,
the best P(n) is proportional to a_n, by Cauchy-Schwarz. For a dot-product kernel a_n^2 = beta_n M^n with M = E|x~|^2.
For the Gaussian kernel the second moment is a series in M (levels) times a series in F = E <x~, x~'>^2 (pairs). The
paper (COLT 2010) always uses P(N = n) = (p-1)/p^(n+1).
"""

import math
from collections.abc import Callable

import numpy as np
from scipy import special

from jaxonline.estimators.count_distributions import FiniteDistribution, Overhead, distribution_from_magnitudes
from jaxonline.estimators.feature_maps import DotProductFeatureMap, GaussianFeatureMap
from jaxonline.estimators.feature_moments import log_coefficients
from jaxonline.kernels import DotProductKernel, Gaussian
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.numbers import host_float
from jaxonline.parameters.types import PositiveFloat
from jaxonline.parameters.validation import validate_arguments

_TERMS, _MOST_TERMS = 256, 4096
_CLOSE = 1e-12  # of the price, where each of two laws is the best beside the other one
_SMALLEST = 1e-12  # of the largest a_n: where all are smaller they are left out


@validate_arguments
def best_feature_map(
    kernel: DotProductKernel | Gaussian,
    copy_moment: PositiveFloat,
    pair_moment: PositiveFloat | None = None,
    overhead: Overhead = math.inf,
) -> DotProductFeatureMap | GaussianFeatureMap:
    """The feature map of a kernel with the laws that minimise E|Psi~|^2, or that times its price.

    Levels are left out from where on every a_n is below 1e-12 of the largest: a bias of about 1e-12 |Psi(x)| for |x|^2
    up to `copy_moment`, and `bias(capacity, |x|^2)` of the feature map for any x. Moments may be guesses: too large
    ones cost variance only, too small ones may leave out levels that matter, and it is `bias` that says so.

    Args:
        kernel: with a series, or a `Gaussian`.
        copy_moment: M = E|x~|^2.
        pair_moment: F = E <x~, x~'>^2 of two copies; M^2 when None. For the Gaussian kernel only.
        overhead: the price of an estimate in copies, besides those it asks for: laws in proportion to
            a_n / sqrt(overhead + n) ask for fewer. With inf copies cost nothing. Of the Gaussian kernel's two laws
            each has the mean price of the other one as a part of its overhead.

    Raises:
        ValueError: a series that diverges at `copy_moment`, or moments so large that
            more than 4096 levels matter.

    Example:
        >>> from jaxonline.estimators import DotProductFeatureMap, Geometric
        >>> from jaxonline.estimators.optimal_feature_maps import best_feature_map
        >>> from jaxonline.kernels import ExponentialKernel
        >>> best = best_feature_map(ExponentialKernel(), 0.5)
        >>> paper = DotProductFeatureMap(ExponentialKernel(), Geometric(2.0))
        >>> [round(each.second_moment(0.5), 3) for each in (best, paper)]
        [5.191, 5.437]
        >>> [round(each.expected_queries(), 3) for each in (best, paper)]
        [0.953, 1.0]
    """
    copy_moment = float(copy_moment)
    pair_moment = copy_moment**2 if pair_moment is None else float(pair_moment)
    if isinstance(kernel, Gaussian):
        width2 = host_float("width", kernel.width) ** 2

        def levels(n: np.ndarray) -> np.ndarray:
            return 0.5 * (n * math.log(2.0 * copy_moment / width2) - special.gammaln(n + 1))

        def pairs(n: np.ndarray) -> np.ndarray:
            return 0.5 * n * math.log(pair_moment / width2**2) - special.gammaln(n + 1)

        def from_here_on(sizes: np.ndarray) -> float:  # the a_n rise and then fall, ever faster
            return float(sizes[-1]) if np.argmax(sizes) < len(sizes) - 1 else math.inf

        beside = math.inf  # what is spent on an estimate besides the copies of its level: more than there need be
        while True:
            law = _law("copy_moment", levels, from_here_on, beside)
            pair_law = _law("pair_moment", pairs, from_here_on, (overhead + law.mean()) / 2)  # two copies each
            best = overhead + 2.0 * pair_law.mean()
            if best >= beside * (1.0 - _CLOSE):  # it falls: with less beside them levels ask for less, and so do pairs
                return GaussianFeatureMap(kernel, law, pair_law)
            beside = best
    kernel_radius = kernel.radius()
    if copy_moment >= kernel_radius:
        raise ArgumentError("copy_moment", f"must be below the kernel's radius {kernel_radius:g} (got {copy_moment:g})")

    def roots(n: np.ndarray) -> np.ndarray:
        return 0.5 * (log_coefficients(kernel, len(n)) + n * math.log(copy_moment))

    def beyond(sizes: np.ndarray) -> float:  # none of the a_n^2 is larger than the sum of all that are left
        rest = kernel.tail_bound(len(sizes), copy_moment)
        return 0.5 * math.log(rest) if rest > 0.0 else -math.inf

    return DotProductFeatureMap(kernel, _law("copy_moment", roots, beyond, overhead))


def _law(
    name: str, log_sizes: Callable[[np.ndarray], np.ndarray], beyond: Callable[[np.ndarray], float], overhead: float
) -> FiniteDistribution:
    """The law in proportion to e^log_sizes(n), as far as these matter; none is above e^beyond(those so far) further on.

    Raises:
        ValueError: more levels matter than can be listed.
    """
    n_terms = _TERMS
    logs = log_sizes(np.arange(n_terms))
    while beyond(logs) > logs.max() + math.log(_SMALLEST):
        n_terms *= 2
        if n_terms > _MOST_TERMS:
            raise ArgumentError(
                name, f"must be smaller; it needs more than {_MOST_TERMS} levels, or numbers outside float64"
            )
        logs = log_sizes(np.arange(n_terms))
    sizes = np.exp(logs - logs.max())
    kept = np.flatnonzero(sizes > _SMALLEST)[-1] + 1
    return distribution_from_magnitudes(sizes[:kept], overhead=overhead)
