"""Theorems of "Online learning of noisy data with kernels" (Cesa-Bianchi, Shalev-Shwartz, Shamir, COLT 2010).

The paper's B_w bounds |w|^2 and its B_x~ bounds E|x~|^2; here `radius` is the root of the first and `copy_moment` the
second. Its step alpha_t = -g~ eta / sqrt(T) is the constant step eta / sqrt(T) of gradient descent, `step_size` of the
bounds, so that eta = step_size sqrt(T).

Regression losses: the factors of g~ are <w, Psi~> - y, with a second moment up to (sqrt(B_w B_Psi) + |y|)^2. Theorems 1
and 2 are said to hold for regression "virtually identically" and Example 1 applies them, but nowhere in them is there
a y. That is no bound: with labels +Y and -Y tossed by a fair coin every learner has a regret that grows with Y
(erratum E19). Where labels are noisy, and each factor has one of its own, B_y with E y~^2 <= B_y^2 takes the place of
|y|, in every bound here (`moment_bounds(...).y_second`); classification has clean labels.
"""

import math
from collections.abc import Callable
from typing import Annotated

import numpy as np

from jaxonline.bounds.regret_bound import RegretBound, gradient_descent
from jaxonline.estimators.count_distributions import Geometric
from jaxonline.estimators.feature_maps import DotProductFeatureMap, GaussianFeatureMap
from jaxonline.estimators.gradient_length import GradientLength
from jaxonline.estimators.series_moments import lemma1_bound
from jaxonline.kernels import DotProductKernel, Gaussian
from jaxonline.losses.series import AnySeriesLoss
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.numbers import host_float
from jaxonline.parameters.struct import replace
from jaxonline.parameters.types import Gt, NonNegativeFloat, OrInfinity, PositiveFloat, Rounds
from jaxonline.parameters.validation import validate_arguments

Moment = Annotated[PositiveFloat, OrInfinity()]


@cites("cesabianchi2010online")
@validate_arguments
def unbiased_steps(
    radius: PositiveFloat, feature_moment: Moment, length_moment: Moment, n_rounds: Rounds
) -> RegretBound:
    """Theorem 4: gradient descent on independent unbiased g~ and Psi~, E regret <= sqrt(B_w B_g B_Psi T).

    Args:
        radius: sqrt(B_w), of the ball of hypotheses and comparators.
        feature_moment: B_Psi >= E|Psi~|^2.
        length_moment: B_g >= E g~^2.
        n_rounds: T.

    Returns:
        The bound with `step_size` sqrt(B_w / (B_g B_Psi T)), that is eta / sqrt(T), and G = B_g B_Psi; infinite, with
        a step of 0, where a moment is beyond float64.

    Example:
        >>> from jaxonline.bounds import unbiased_steps
        >>> bound = unbiased_steps(radius=2.0, feature_moment=3.0, length_moment=12.0, n_rounds=100)
        >>> bound.value, round(bound.step_size * 10, 9)  # eta = sqrt(4 / 36)
        (120.0, 0.333333333)
    """
    G = length_moment * feature_moment
    if math.inf == G:
        return RegretBound(math.inf, 0.0, math.inf, radius, 2 * radius)
    return gradient_descent(radius, G, n_rounds)


@validate_arguments
def factor_moment(
    radius: PositiveFloat, feature_moment: PositiveFloat, y_bound: NonNegativeFloat = 0.0, centre: float = 0.0
) -> float:
    """A bound on E (X - c)^2 for the factors X of g~: (radius sqrt(B_Psi) + B_y + |c|)^2.

    In classification X = y <w, Psi~> with y = +1 or -1, whose square has no y: `y_bound` is 0. In regression X is
    <w, Psi~> - y. It is what `GradientLength.for_loss` asks for.

    Args:
        radius: sqrt(B_w).
        feature_moment: B_Psi >= E|Psi~|^2.
        y_bound: B_y, of |y| in regression, or of sqrt(E y~^2) where labels are noisy.
        centre: c, about which the series of the loss is taken.

    Example:
        >>> from jaxonline.bounds import factor_moment
        >>> factor_moment(2.0, 4.0), factor_moment(2.0, 4.0, y_bound=1.0)
        (16.0, 25.0)
    """
    return float(radius * math.sqrt(feature_moment) + y_bound + abs(centre)) ** 2


@cites("cesabianchi2010online")
@validate_arguments
def noisy_kernel(
    feature_map: DotProductFeatureMap | GaussianFeatureMap,
    gradient_length: GradientLength,
    radius: PositiveFloat,
    copy_moment: NonNegativeFloat,
    n_rounds: Rounds,
    y_bound: NonNegativeFloat | None = None,
    pair_moment: float | None = None,
) -> RegretBound:
    """Theorem 4 for Algorithm 1 with any laws of its random numbers, with the exact second moments of its estimates.

    What the tables of the estimators leave out (`bias`, `truncation_bias`) is not in it.

    Args:
        feature_map: Map_Estimate.
        gradient_length: Grad_Length_Estimate.
        radius: sqrt(B_w), of the ball of hypotheses and comparators.
        copy_moment: a bound on E|x~|^2 in every round (`moment_bounds(...).x_second ** 2`).
        n_rounds: T.
        y_bound: of |y|, or of sqrt(E y~^2) where labels are noisy; needed for regression losses.
        pair_moment: a bound on E <x~, x~'>^2 (`moment_bounds(...).x_pair ** 2`), which only the Gaussian kernel's map
            looks at; copy_moment^2 when None.

    Raises:
        ValueError: a second moment that is infinite, or a regression loss and no `y_bound`.

    Example:
        >>> from jaxonline.bounds import noisy_kernel
        >>> from jaxonline.estimators import DotProductFeatureMap, GradientLength, FiniteDistribution, minimum_variance
        >>> from jaxonline.kernels import Linear
        >>> from jaxonline.losses import Squared
        >>> linear = DotProductFeatureMap(Linear(), FiniteDistribution([0.0, 1.0]))
        >>> length = GradientLength.for_loss(Squared(), minimum_variance, 1.0)
        >>> round(noisy_kernel(linear, length, 1.0, 1.0, 100, y_bound=1.0).value, 9)  # as two noisy copies
        40.0
    """
    pairs = (pair_moment,) if isinstance(feature_map, GaussianFeatureMap) else ()
    feature_moment = feature_map.second_moment(copy_moment, *pairs)
    series, y_bound = gradient_length.series, _y_bound(gradient_length.kind, y_bound)

    def length_moment() -> float:
        factors = factor_moment(radius, feature_moment, y_bound, host_float("centre", series.centre))
        drawn = replace(gradient_length, series=replace(series, constant=0.0)).second_moment(factors)
        return (abs(host_float("constant", series.constant)) + math.sqrt(drawn)) ** 2

    return _bound(radius, feature_moment, length_moment, n_rounds)


@cites("cesabianchi2010online")
@validate_arguments
def noisy_kernel_geometric(
    kernel: DotProductKernel | Gaussian,
    loss: AnySeriesLoss,
    p: Annotated[float, Gt(1)],
    radius: PositiveFloat,
    copy_moment: NonNegativeFloat,
    n_rounds: Rounds,
    y_bound: NonNegativeFloat | None = None,
    centre: float = 0.0,
) -> RegretBound:
    """Theorems 1 and 2: Algorithm 1 with the paper's law for all its random numbers; l'_+(sqrt((p-1) u)) sqrt(u T).

    Here u = B_w p/(p-1) B_Psi, with B_Psi = p/(p-1) Q(p B_x~) for a dot-product kernel and
    (p/(p-1))^2 I_0(2 sqrt(p) B_x~/width^2) exp(2 p B_x~/width^2) for the Gaussian one (errata E6, E7). With the exact
    moments instead of Lemma 1's bound, `noisy_kernel` is never above it.

    Args:
        kernel: with a series (Theorem 1), or a `Gaussian` (Theorem 2).
        loss: a `SeriesLoss`.
        p: of P(N = n) = (p-1)/p^(n+1).
        radius: sqrt(B_w), of the ball of hypotheses and comparators.
        copy_moment: B_x~, a bound on E|x~|^2 in every round.
        n_rounds: T.
        y_bound: of |y|, or of sqrt(E y~^2) where labels are noisy; needed for regression losses, where l'_+ is taken
            at sqrt((p-1) u) + sqrt(p) y_bound (E19).
        centre: about which the series of the loss is taken; adds sqrt(p) |centre| in the same place.

    Raises:
        TypeError: `kernel` has no series and is not a `Gaussian`, or `loss` has no series.
        ValueError: a second moment that is infinite, or a regression loss and no `y_bound`.

    Example:
        >>> from jaxonline.bounds import noisy_kernel_geometric
        >>> from jaxonline.kernels import Linear
        >>> from jaxonline.losses import Squared
        >>> bound = noisy_kernel_geometric(Linear(), Squared(), 2.0, 1.0, 1.0, 100, y_bound=1.0)  # u = 8, l'_+(a) = 2a
        >>> round(bound.value, 9)
        240.0
    """
    y_bound = _y_bound(loss.kind, y_bound)
    if isinstance(kernel, Gaussian):
        feature_moment = GaussianFeatureMap(kernel, Geometric(p)).second_moment(copy_moment)
    else:
        feature_moment = DotProductFeatureMap(kernel, Geometric(p)).second_moment(copy_moment)

    def length_moment() -> float:
        return lemma1_bound(loss, p, factor_moment(radius, feature_moment, y_bound, centre), centre)

    return _bound(radius, feature_moment, length_moment, n_rounds)


def _y_bound(kind: str, y_bound: float | None) -> float:
    if kind == "classification":
        return 0.0
    if y_bound is None:
        raise ArgumentError("y_bound", "must be given for a regression loss (got None)")
    return float(y_bound)


def _bound(radius: float, feature_moment: float, length_moment: Callable[[], float], n_rounds: int) -> RegretBound:
    """Theorem 4, with infinity where float64 ends."""
    length = math.inf if math.isinf(feature_moment) else _or_infinite(length_moment)
    return unbiased_steps(radius, feature_moment, length, n_rounds)


def _or_infinite(moment: Callable[[], float]) -> float:
    with np.errstate(over="ignore"):
        try:
            return float(moment())
        except OverflowError:
            return math.inf
