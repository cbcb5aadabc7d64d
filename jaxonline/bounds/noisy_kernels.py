"""Regret bounds of "Online learning of noisy data with kernels" (Cesa-Bianchi, Shalev-Shwartz, Shamir, COLT 2010).

In the paper B_w is a bound on |w|^2, and B_x~ is a bound on E|x~|^2. The argument `radius` is sqrt(B_w), and
`copy_moment` is B_x~. The paper's step alpha_t = -g~ eta / sqrt(T) is gradient descent with the constant step size eta
/ sqrt(T), which the bounds return as `step_size`.

For regression losses the factors of g~ are <w, Psi~> - y, with a second moment up to (sqrt(B_w B_Psi) + |y|)^2. The
paper applies Theorems 1 and 2 to regression in Example 1 ("virtually identically"), but these theorems do not contain
y. If a fair coin decides whether the label is +Y or -Y, the regret of every learner grows with Y, so the paper's bounds
fail (erratum E19). If labels are noisy, with a new label for each factor, B_y with E y~^2 <= B_y^2 replaces |y| in
every bound (`moment_bounds(...).y_second`). In classification a noisy label multiplies B_g by at most E y~^2, which is
1 for clean labels.

The bounds assume an oblivious environment; `RegretBound.in_any_environment` is the bound for other environments
(erratum E21).
"""

import math
from collections.abc import Callable
from typing import Annotated

import numpy as np

from jaxonline.bounds.assumptions import OBLIVIOUS, assumes
from jaxonline.bounds.regret_bound import RegretBound, gradient_descent
from jaxonline.estimators.count_distributions import Geometric
from jaxonline.estimators.feature_maps import DotProductFeatureMap, GaussianFeatureMap
from jaxonline.estimators.gradient_length import GradientLength
from jaxonline.estimators.paired_feature_maps import PairedFeatureMap
from jaxonline.estimators.series_moments import lemma1_bound
from jaxonline.kernels import DotProductKernel, Gaussian
from jaxonline.losses.series import AnySeriesLoss
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.numbers import host_float
from jaxonline.parameters.struct import replace
from jaxonline.parameters.types import Count, FiniteFloat, Gt, NonNegativeFloat, OrInfinity, PositiveFloat, Rounds
from jaxonline.parameters.validation import validate_arguments

Moment = Annotated[PositiveFloat, OrInfinity()]


@cites("cesabianchi2010online")
@assumes(OBLIVIOUS, prescribed_rate=True)
@validate_arguments
def unbiased_steps(
    radius: PositiveFloat, feature_moment: Moment, length_moment: Moment, n_rounds: Rounds
) -> RegretBound:
    """Regret bound of gradient descent on independent unbiased g~ and Psi~: sqrt(B_w B_g B_Psi T) (Theorem 4).

    The step size is sqrt(B_w / (B_g B_Psi T)) = eta / sqrt(T) and G = B_g B_Psi. If a moment overflows float64, the
    bound is infinite and the step size 0.

    Args:
        radius: sqrt(B_w), radius of the ball of hypotheses and comparators.
        feature_moment: B_Psi >= E|Psi~|^2.
        length_moment: B_g >= E g~^2.
        n_rounds: T.

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
    radius: PositiveFloat, feature_moment: PositiveFloat, y_bound: NonNegativeFloat = 0.0, centre: FiniteFloat = 0.0
) -> float:
    """Bound on E (X - c)^2 for the factors X of g~: (radius sqrt(B_Psi) + B_y + |c|)^2; see `GradientLength.for_loss`.

    In classification X = y <w, Psi~> with y = +1 or -1, so `y_bound` is 0. In regression X = <w, Psi~> - y.

    Args:
        radius: sqrt(B_w).
        feature_moment: B_Psi >= E|Psi~|^2.
        y_bound: B_y, a bound on |y| in regression, or on sqrt(E y~^2) if labels are noisy.
        centre: c, point of expansion of the series of the loss.

    Example:
        >>> from jaxonline.bounds import factor_moment
        >>> factor_moment(2.0, 4.0), factor_moment(2.0, 4.0, y_bound=1.0)
        (16.0, 25.0)
    """
    return float(radius * math.sqrt(feature_moment) + y_bound + abs(centre)) ** 2


@cites("cesabianchi2010online")
@assumes(OBLIVIOUS, prescribed_rate=True)
@validate_arguments
def noisy_kernel(
    feature_map: DotProductFeatureMap | PairedFeatureMap,
    gradient_length: GradientLength,
    radius: PositiveFloat,
    copy_moment: NonNegativeFloat,
    n_rounds: Rounds,
    y_bound: NonNegativeFloat | None = None,
    pair_moment: NonNegativeFloat | None = None,
    repetitions: Count = 1,
    squared_norm: NonNegativeFloat | None = None,
) -> RegretBound:
    """Regret bound of Algorithm 1 with any distributions of its random numbers: Theorem 4 with exact second moments.

    The bound excludes the truncation errors of the estimators (`bias`, `truncation_bias`).

    The mean of g~ Psi~ over r pairs has the second moment |m|^2 + (S - |m|^2) / r, where m is the mean and S the second
    moment of g~ Psi~. So G is M + (B_g B_Psi - M) / r, where M = k(x, x) f(radius sqrt(k(x, x)) + B_y + |c|)^2
    bounds |m|^2, and f is the majorant of l'.

    Args:
        feature_map: the estimator Map_Estimate, with a finite second moment (otherwise a ValueError).
        gradient_length: the estimator Grad_Length_Estimate, with a finite second moment (otherwise a ValueError).
        radius: sqrt(B_w), radius of the ball of hypotheses and comparators.
        copy_moment: bound on E|x~|^2 in every round (`moment_bounds(...).x_second ** 2`).
        n_rounds: T.
        y_bound: bound on |y|, or on sqrt(E y~^2) if labels are noisy; required for regression losses (else a
            ValueError), and 1 by default in classification.
        pair_moment: bound on E <x~, x~'>^2 (`moment_bounds(...).x_pair ** 2`), used only by `GaussianFeatureMap`;
            copy_moment^2 when None.
        repetitions: number r of pairs (g~, Psi~) in a round (`NoisyKernel.repetitions`).
        squared_norm: bound on |x|^2 in every round, used only with repetitions; `copy_moment` when None.

    Example:
        >>> import jaxonline as jo
        >>> from jaxonline.estimators import DotProductFeatureMap, GradientLength, FiniteDistribution, minimum_variance
        >>> linear = DotProductFeatureMap(jo.kernels.Linear(), FiniteDistribution([0.0, 1.0]))
        >>> length = GradientLength.for_loss(jo.losses.Squared(), minimum_variance, 1.0)
        >>> round(jo.bounds.noisy_kernel(linear, length, 1.0, 1.0, 100, y_bound=1.0).value, 9)  # as two noisy copies
        40.0
    """
    pairs = (pair_moment,) if isinstance(feature_map, PairedFeatureMap) else ()
    feature_moment = feature_map.second_moment(copy_moment, *pairs)
    series, (y_bound, label_factor) = gradient_length.series, _effect_of_labels(gradient_length.kind, y_bound)

    def length_moment() -> float:
        factors = factor_moment(radius, feature_moment, y_bound, host_float("centre", series.centre))
        constant = abs(host_float("constant", series.constant))
        without = replace(gradient_length, series=replace(series, constant=0.0)) if constant else gradient_length
        return label_factor * (constant + math.sqrt(without.second_moment(factors))) ** 2

    one = _theorem4(radius, feature_moment, length_moment, n_rounds)
    if repetitions == 1 or math.isinf(one.G):
        return one
    k = _largest_kernel_value(feature_map, copy_moment if squared_norm is None else min(squared_norm, copy_moment))
    distance = radius * math.sqrt(k) + y_bound + abs(host_float("centre", series.centre))
    mean_moment = k * series.mean_bound(distance) ** 2
    return gradient_descent(radius, mean_moment + (one.G - mean_moment) / repetitions, n_rounds)


def _largest_kernel_value(feature_map: DotProductFeatureMap | PairedFeatureMap, squared_norm: float) -> float:
    """Return k(x, x) for |x|^2 = `squared_norm`."""
    kernel = feature_map.kernel
    return kernel.tail_bound(0, squared_norm) if isinstance(kernel, DotProductKernel) else 1.0


@cites("cesabianchi2010online")
@assumes(OBLIVIOUS, prescribed_rate=True)
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
    """Regret bound of Algorithm 1 with the paper's distribution: l'_+(sqrt((p-1) u)) sqrt(u T) (Theorems 1 and 2).

    Here u = B_w p/(p-1) B_Psi. The moment B_Psi is p/(p-1) Q(p B_x~) for a dot-product kernel, and (p/(p-1))^2 I_0(2
    sqrt(p) B_x~/width^2) exp(2 p B_x~/width^2) for the Gaussian kernel (errata E6, E7). The bound `noisy_kernel` uses
    exact moments instead of the paper's Lemma 1, and is never larger.

    Args:
        kernel: kernel with a power series (Theorem 1), or a `Gaussian` (Theorem 2); otherwise a TypeError.
        loss: a `SeriesLoss` (otherwise a TypeError).
        p: parameter of P(N = n) = (p-1)/p^(n+1); a second moment that is infinite raises a ValueError.
        radius: sqrt(B_w), radius of the ball of hypotheses and comparators.
        copy_moment: B_x~, bound on E|x~|^2 in every round.
        n_rounds: T.
        y_bound: bound on |y|, or on sqrt(E y~^2) if labels are noisy; required for regression losses (else a
            ValueError). For regression losses the bound evaluates l'_+ at sqrt((p-1) u) + sqrt(p) y_bound (erratum
            E19). In classification the default is 1, and a larger value multiplies B_g by y_bound^2.
        centre: point of expansion of the series of the loss; adds sqrt(p) |centre| to the argument of l'_+.

    Example:
        >>> import jaxonline as jo
        >>> loss, kernel = jo.losses.Squared(), jo.kernels.Linear()  # l'_+(a) = 2a, u = 8
        >>> round(jo.bounds.noisy_kernel_geometric(kernel, loss, 2.0, 1.0, 1.0, 100, y_bound=1.0).value, 9)
        240.0
    """
    y_bound, label_factor = _effect_of_labels(loss.kind, y_bound)
    if isinstance(kernel, Gaussian):
        feature_moment = GaussianFeatureMap(kernel, Geometric(p)).second_moment(copy_moment)
    else:
        feature_moment = DotProductFeatureMap(kernel, Geometric(p)).second_moment(copy_moment)

    def length_moment() -> float:
        return label_factor * lemma1_bound(loss, p, factor_moment(radius, feature_moment, y_bound, centre), centre)

    return _theorem4(radius, feature_moment, length_moment, n_rounds)


def _effect_of_labels(kind: str, y_bound: float | None) -> tuple[float, float]:
    """Return the bound that labels add to the factors of g~, and the number by which they multiply B_g."""
    if kind == "classification":
        return 0.0, max(1.0, y_bound or 1.0) ** 2
    if y_bound is None:
        raise ArgumentError("y_bound", "must be given for a regression loss (got None)")
    return float(y_bound), 1.0


def _theorem4(radius: float, feature_moment: float, length_moment: Callable[[], float], n_rounds: int) -> RegretBound:
    """Return the regret bound of Theorem 4, with inf for a moment that overflows float64."""
    length = math.inf if math.isinf(feature_moment) else _finite_or_inf(length_moment)
    return unbiased_steps(radius, feature_moment, length, n_rounds)


def _finite_or_inf(moment: Callable[[], float]) -> float:
    with np.errstate(over="ignore"):
        try:
            return float(moment())
        except OverflowError:
            return math.inf
