"""Numbers of copies of a round, and limits on them.

Limits: `SeriesEstimator.for_loss(..., max_copies=K)`, `GradientLength.for_loss(..., max_copies=K)` and feature maps
with `limit_counts(law, D)` draw no more copies than the limit. The mean is then the sum of the first terms of a series,
and the bias is the sum of the remaining ones. A round of `NoisyKernel` with a dot-product kernel asks for at most (1 +
K) D copies; with the Gaussian kernel, D1 pairs and D2 factors, for at most (1 + K) (2 D1 + D2). With r repetitions a
round asks for at most r times as many, and the bias of the mean of g~ Psi~ is that of one g~ Psi~.

Numbers: a round of Algorithm 1 asks for 1 + N estimates of a feature vector, and each asks for its own random number of
copies. For a dot-product kernel and P(N = n) = (p - 1) / p^(n + 1) in both places, the total M is geometric again: P(M
>= m) = (p / (p^2 - p + 1))^m with E M = p / (p - 1)^2. With r repetitions M is a sum of r such numbers. Source of the
protocol and of E M: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Online learning of noisy data with kernels" (COLT 2010),
Algorithm 1 and Theorems 1 and 2.
"""

import functools
import math

import numpy as np

from jaxonline.estimators.counts import AnyCountDistribution, CountDistribution, FiniteDistribution
from jaxonline.estimators.gradient_length import GradientLength
from jaxonline.estimators.noisy_features import FeatureMap, PairedFeatureMap
from jaxonline.estimators.series import SeriesEstimator, n_required_terms
from jaxonline.kernels import DotProductKernel
from jaxonline.losses.series import AnySeriesLoss, require_series
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.types import Count, FiniteFloat, NonNegativeFloat, PositiveFloat, Rounds, host_float

_UNLIMITED = 512  # copies; a level beyond it changes no sum in float64


@validate_arguments
def limit_bias(loss: AnySeriesLoss, estimator: SeriesEstimator, mean: FiniteFloat) -> float:
    """Bias E theta - l'(E X) of a series estimate with a limit: minus the sum of the remaining terms, exactly.

    The terms are gamma_n (E X - c)^n for n beyond the estimator's table. Raises a ValueError if E X is outside the disc
    of convergence.

    Args:
        loss: the loss whose derivative is estimated.
        estimator: made by `SeriesEstimator.for_loss(loss, ..., max_copies=K)`.
        mean: E X.

    Example:
        >>> from jaxonline.estimators import Geometric, SeriesEstimator
        >>> from benchmarks.papers.estimators.limits import limit_bias
        >>> from jaxonline.losses import Exponential
        >>> estimator = SeriesEstimator.for_loss(Exponential(), Geometric(2.0), second_moment=1.0, max_copies=1)
        >>> round(limit_bias(Exponential(), estimator, 0.5), 6)  # (-1 + 0.5) + e^-0.5
        0.106531
    """
    centre, n_terms = host_float("centre", estimator.centre), len(estimator.coefficients)
    needed = n_required_terms(require_series("loss", loss), abs(mean - centre), centre)
    rest = loss.coefficients(max(needed, n_terms), centre)[n_terms:]
    return -math.fsum(rest * (mean - centre) ** np.arange(n_terms, n_terms + len(rest)))


@validate_arguments
def round_bias_bound(
    feature_map: FeatureMap,
    length: GradientLength,
    loss: AnySeriesLoss,
    radius: PositiveFloat,
    squared_norm: NonNegativeFloat,
    y_bound: NonNegativeFloat = 0.0,
) -> float:
    """Bound on the norm of E g~ Psi~ - g Psi(x), the bias of the gradient of a round with limits.

    Let e bound |E Psi~ - Psi(x)| (`feature_map.bias`), k = |Psi(x)| + e and A = radius k + y_bound + |c|. The factors
    of g~ have a mean that differs by at most radius e from the right one, so the bias is at most
    k R(A) + k (f(A) - f(A - radius e)) + e f(A), where f is the majorant of l' and R the part of f beyond the limit.
    The bound needs the power series of l', so A must be below its radius of convergence.

    Args:
        feature_map: estimator of the feature map, with `limit_counts` or without a limit.
        length: estimator of the length of the gradient, with `max_copies` or without a limit.
        loss: the loss.
        radius: largest norm of the hypothesis.
        squared_norm: |x|^2.
        y_bound: bound on |y| in regression; 0 in classification.

    Raises:
        ValueError: `length` is made by `SequenceLength.for_sequence`, or A is not below the radius of convergence.

    Example:
        >>> import jaxonline as jo
        >>> from jaxonline.estimators import DotProductFeatureMap, Geometric, GradientLength, limit_counts
        >>> from benchmarks.papers.estimators.limits import round_bias_bound
        >>> feature_map = DotProductFeatureMap(jo.kernels.ExponentialKernel(), limit_counts(Geometric(2.0), 4))
        >>> length = GradientLength.for_loss(jo.losses.Squared(), Geometric(2.0), second_moment=4.0, max_copies=1)
        >>> round(round_bias_bound(feature_map, length, jo.losses.Squared(), radius=1.0, squared_norm=0.25), 4)
        0.0132
    """
    if not isinstance(length.series, SeriesEstimator):
        raise ArgumentError(
            "length", "must be made by GradientLength.for_loss (got a sequence of polynomials); the bias of a sequence "
            "is sequence.largest_bias",
        )  # fmt: skip
    error = _feature_bias(feature_map, squared_norm)
    norm = _feature_norm(feature_map, squared_norm) + error
    centre = host_float("centre", length.series.centre)
    reach, change = radius * norm + y_bound + abs(centre), radius * error
    limit = loss.radius(centre)
    if reach >= limit:
        raise ArgumentError(
            "radius", f"must be so small that radius k + y_bound + |c| is below {limit:g}, the loss's radius of "
            f"convergence (got the sum {reach:g} for the radius {radius:g})",
        )  # fmt: skip
    beyond = loss.tail_bound(len(length.series.coefficients), reach, centre)
    largest = loss.majorant(reach, centre)
    moved = largest - loss.majorant(reach - change, centre) if change <= reach else 2.0 * largest
    return norm * (beyond + moved) + error * largest


@validate_arguments
def limited_regret(
    feature_map: FeatureMap,
    length: GradientLength,
    loss: AnySeriesLoss,
    radius: PositiveFloat,
    squared_norm: NonNegativeFloat,
    n_rounds: Rounds,
    y_bound: NonNegativeFloat = 0.0,
) -> float:
    """Bound on the regret that limits add in a run: 2 radius T times `round_bias_bound`.

    The regret bounds of `jaxonline.bounds` (`noisy_kernel`) hold for the sum over rounds of <E g~ Psi~, w_t - u>, with
    |w_t|, |u| <= radius. Replacing E g~ Psi~ by the gradient changes each term by at most 2 radius times its bias.
    Arguments as in `round_bias_bound`, with |x_t|^2 <= `squared_norm` in all of the `n_rounds` rounds.

    Example:
        >>> import jaxonline as jo
        >>> from jaxonline.estimators import DotProductFeatureMap, FiniteDistribution, Geometric, GradientLength
        >>> from benchmarks.papers.estimators.limits import limited_regret
        >>> linear = DotProductFeatureMap(jo.kernels.Linear(), FiniteDistribution([0.0, 1.0]))
        >>> logistic = jo.losses.Logistic()
        >>> length = GradientLength.for_loss(logistic, Geometric(2.0), second_moment=1.0, max_copies=9)
        >>> round(limited_regret(linear, length, logistic, radius=1.0, squared_norm=1.0, n_rounds=1000), 3)
        0.025
    """
    return 2.0 * radius * n_rounds * round_bias_bound(feature_map, length, loss, radius, squared_norm, y_bound)


def _feature_bias(feature_map: FeatureMap, squared_norm: float) -> float:
    """Return the bound on |E Psi~ - Psi(x)| with room for all copies."""
    law = feature_map.law  # type: ignore[attr-defined]
    pairs = _largest(feature_map.pair_distribution()) if isinstance(feature_map, PairedFeatureMap) else 0
    return feature_map.bias(max(1, _largest(law) + 2 * pairs), squared_norm)


def _largest(law: CountDistribution) -> int:
    return len(law.probabilities) - 1 if isinstance(law, FiniteDistribution) else _UNLIMITED


def _feature_norm(feature_map: FeatureMap, squared_norm: float) -> float:
    """Return |Psi(x)|, the root of k(x, x), where the kernel at (x, x) is a function of |x|^2."""
    kernel, x = feature_map.kernel, np.array([math.sqrt(squared_norm)])  # type: ignore[attr-defined]
    if isinstance(kernel, DotProductKernel):
        return math.sqrt(kernel.tail_bound(0, squared_norm))
    return math.sqrt(float(kernel(x, x)))


_NEGLIGIBLE = 1e-30  # probability of the rounds that are left out
_FIRST_SIZE = 32


@validate_arguments
def estimate_query_probabilities(feature_map: FeatureMap, n_terms: Count) -> np.ndarray:
    """Probabilities that one estimate of a feature vector asks for 0, 1, ..., n_terms - 1 copies.

    Args:
        feature_map: `DotProductFeatureMap` (N copies) or `GaussianFeatureMap` (2 N1 + N2 copies).
        n_terms: length of the result.

    Example:
        >>> import jaxonline as jo
        >>> from benchmarks.papers.estimators.limits import estimate_query_probabilities
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
        >>> from benchmarks.papers.estimators.limits import round_query_probabilities
        >>> import jaxonline as jo
        >>> from jaxonline.estimators import Geometric
        >>> feature_map = jo.estimators.DotProductFeatureMap(jo.kernels.Linear(), Geometric(2.0))
        >>> pmf = round_query_probabilities(feature_map, Geometric(2.0), n_terms=10)
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
