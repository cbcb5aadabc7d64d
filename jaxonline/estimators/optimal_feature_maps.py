"""Feature maps whose estimates have the smallest second moment."""

import math
from collections.abc import Callable

import numpy as np
from scipy import special

from jaxonline.estimators.counts import (
    FiniteDistribution,
    Overhead,
    distribution_from_magnitudes,
)
from jaxonline.estimators.feature_maps import DotProductFeatureMap, GaussianFeatureMap
from jaxonline.estimators.noisy_features import log_coefficients
from jaxonline.kernels import DotProductKernel, Gaussian
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.types import PositiveFloat, host_float

# ---------------------------------------------------------------------------------------------------------------------
# Feature maps whose estimates have the smallest second moment: the optimal distributions of the numbers of copies.
#
# If level n contributes a_n^2 / P(n) to the second moment, the best P(n) is proportional to a_n by Cauchy-Schwarz, as
# for series (`jaxonline.estimators.counts`). For a dot-product kernel a_n^2 = beta_n M^n with M = E|x~|^2. For the
# Gaussian kernel the second moment is a series in M (levels) times a series in F = E <x~, x~'>^2 (pairs). Cesa-Bianchi
# et al. (2010a) always use P(N = n) = (p-1)/p^(n+1).


_INITIAL_TERMS, _MAX_TERMS = 256, 4096
_PRICE_TOLERANCE = 1e-12  # relative change of the price at which the alternating optimisation stops
_RELATIVE_CUTOFF = 1e-12  # a_n below this share of the largest one are dropped


@validate_arguments
def best_feature_map(
    kernel: DotProductKernel | Gaussian,
    copy_moment: PositiveFloat,
    pair_moment: PositiveFloat | None = None,
    overhead: Overhead = math.inf,
) -> DotProductFeatureMap | GaussianFeatureMap:
    """Return the feature map with the smallest E|Psi~|^2 or, for a finite `overhead`, smallest E|Psi~|^2 times price.

    The last levels are dropped if all of their a_n are below 1e-12 of the largest a_n. For |x|^2 <= `copy_moment` the
    bias is about 1e-12 |Psi(x)|; for any x it is at most `bias(capacity, |x|^2)` of the feature map. The arguments
    `copy_moment` and `pair_moment` may be guesses. A guess that is too large increases the variance; a guess that is
    too small may drop levels that matter (`bias` shows this).

    Args:
        kernel: a kernel with a power series, or a `Gaussian`.
        copy_moment: M = E|x~|^2. Raises a ValueError if the series diverges at M, or if more than 4096 levels matter.
        pair_moment: F = E <x~, x~'>^2 of two copies, M^2 when None; only used for the Gaussian kernel.
        overhead: price of an estimate in addition to its copies, in units of a copy. P(n) is proportional to a_n /
            sqrt(overhead + n); with an overhead of inf, copies are free. For the Gaussian kernel the mean price of the
            pairs is part of the overhead of the levels, and vice versa.

    Example:
        >>> import jaxonline as jo
        >>> best = jo.estimators.best_feature_map(jo.kernels.ExponentialKernel(), 0.5)
        >>> round(best.second_moment(0.5), 3), round(best.expected_queries(), 3)  # `Geometric(2.0)`: 5.437, 1.0
        (5.191, 0.953)
    """
    copy_moment = float(copy_moment)
    pair_moment = copy_moment**2 if pair_moment is None else float(pair_moment)
    if isinstance(kernel, Gaussian):
        width2 = host_float("width", kernel.width) ** 2

        def levels(n: np.ndarray) -> np.ndarray:
            return 0.5 * (n * math.log(2.0 * copy_moment / width2) - special.gammaln(n + 1))

        def pairs(n: np.ndarray) -> np.ndarray:
            return 0.5 * n * math.log(pair_moment / width2**2) - special.gammaln(n + 1)

        def max_later(logs: np.ndarray) -> float:  # the a_n increase, then decrease faster and faster
            return float(logs[-1]) if np.argmax(logs) < len(logs) - 1 else math.inf

        level_overhead = math.inf  # price of an estimate besides the copies of its level; starts too high
        while True:
            law = _optimal_distribution("copy_moment", levels, max_later, level_overhead)
            pair_overhead = (overhead + law.mean()) / 2  # a pair is two copies
            pair_law = _optimal_distribution("pair_moment", pairs, max_later, pair_overhead)
            new_overhead = overhead + 2.0 * pair_law.mean()
            # The overheads decrease: a smaller one means fewer copies for the level, and then for the pairs.
            if new_overhead >= level_overhead * (1.0 - _PRICE_TOLERANCE):
                return GaussianFeatureMap(kernel, law, pair_law)
            level_overhead = new_overhead
    kernel_radius = kernel.radius()
    if copy_moment >= kernel_radius:
        raise ArgumentError("copy_moment", f"must be below the kernel's radius {kernel_radius:g} (got {copy_moment:g})")

    def roots(n: np.ndarray) -> np.ndarray:
        return 0.5 * (log_coefficients(kernel, len(n)) + n * math.log(copy_moment))

    def max_later_root(logs: np.ndarray) -> float:  # each later a_n^2 is at most their sum
        rest = kernel.tail_bound(len(logs), copy_moment)
        return 0.5 * math.log(rest) if rest > 0.0 else -math.inf

    return DotProductFeatureMap(kernel, _optimal_distribution("copy_moment", roots, max_later_root, overhead))


def _optimal_distribution(
    name: str, log_sizes: Callable[[np.ndarray], np.ndarray], max_later: Callable[[np.ndarray], float], overhead: float
) -> FiniteDistribution:
    """Return the best distribution for a_n = e^log_sizes(n); `max_later(logs)` bounds the logarithms of later a_n."""
    n_terms = _INITIAL_TERMS
    logs = log_sizes(np.arange(n_terms))
    while max_later(logs) > logs.max() + math.log(_RELATIVE_CUTOFF):
        n_terms *= 2
        if n_terms > _MAX_TERMS:
            raise ArgumentError(name, f"must be smaller; it needs more than {_MAX_TERMS} levels, or float64 overflows")
        logs = log_sizes(np.arange(n_terms))
    sizes = np.exp(logs - logs.max())
    n_levels = np.flatnonzero(sizes > _RELATIVE_CUTOFF)[-1] + 1
    return distribution_from_magnitudes(sizes[:n_levels], overhead=overhead)
