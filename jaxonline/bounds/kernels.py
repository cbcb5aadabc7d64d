"""Bounds for kernels: noisy instances, Gaussian noise, and many kernels."""

import contextlib
import dataclasses
import math
from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np

from jaxonline.bounds.gradient import gradient_descent
from jaxonline.bounds.theorem import ANY, OBLIVIOUS, Bound, theorem
from jaxonline.estimators.counts import Geometric
from jaxonline.estimators.feature_maps import DotProductFeatureMap, GaussianFeatureMap
from jaxonline.estimators.gradient_length import GradientLength
from jaxonline.estimators.multilevel import MultilevelEstimator
from jaxonline.estimators.noisy_features import PairedFeatureMap
from jaxonline.estimators.series import lemma1_bound
from jaxonline.estimators.surrogates import lemma7_bound
from jaxonline.kernels import DotProductKernel, Gaussian
from jaxonline.losses.series import AnySeriesLoss
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.signatures import check_fields, validate_arguments
from jaxonline.parameters.struct import replace
from jaxonline.parameters.types import (
    Count,
    FiniteFloat,
    Gt,
    Horizons,
    Interval,
    NonNegativeFloat,
    PositiveFloat,
    PositiveOrInfinity,
    Rounds,
    host_float,
)

# ---------------------------------------------------------------------------------------------------------------------
# Regret bounds of "Online learning of noisy data with kernels" (Cesa-Bianchi, Shalev-Shwartz, Shamir, COLT 2010).
#
# In the paper B_w is a bound on |w|^2, and B_x~ is a bound on E|x~|^2. The argument `radius` is sqrt(B_w), and
# `copy_moment` is B_x~. The paper's step alpha_t = -g~ eta / sqrt(T) is gradient descent with the constant step size
# eta / sqrt(T), which the bounds return as `step_size`.
#
# For regression losses the factors of g~ are <w, Psi~> - y, with a second moment up to (sqrt(B_w B_Psi) + |y|)^2. The
# paper applies Theorems 1 and 2 to regression in Example 1 ("virtually identically"), but these theorems do not contain
# y. If a fair coin decides whether the label is +Y or -Y, the regret of every learner grows with Y, so the paper's
# bounds fail (erratum E19). If labels are noisy, with a new label for each factor, B_y with E y~^2 <= B_y^2 replaces
# |y| in every bound (`moment_bounds(...).y_second`). In classification a noisy label multiplies B_g by at most E y~^2,
# which is 1 for clean labels.
#
# The bounds assume an oblivious environment; `in_any_environment` is the bound for other environments
# (erratum E21).


@theorem(OBLIVIOUS, "cesabianchi2010online", prescribed_rate=True)
def unbiased_steps(
    radius: PositiveFloat, feature_moment: PositiveOrInfinity, length_moment: PositiveOrInfinity, n_rounds: Rounds
) -> Bound:
    """Regret bound of gradient descent on independent unbiased g~ and Psi~: sqrt(B_w B_g B_Psi T) (Theorem 4).

    The step size is sqrt(B_w / (B_g B_Psi T)) = eta / sqrt(T) and G = B_g B_Psi. If a moment overflows float64, the
    bound is infinite and the step size 0.

    Args:
        radius: sqrt(B_w), radius of the ball of hypotheses and comparators.
        feature_moment: B_Psi >= E|Psi~|^2, for the estimate Psi~ of the features of an instance.
        length_moment: B_g >= E g~^2.
        n_rounds: T.

    Example:
        >>> from jaxonline.bounds import unbiased_steps
        >>> bound = unbiased_steps(radius=2.0, feature_moment=3.0, length_moment=12.0, n_rounds=100)
        >>> bound.value, round(bound.step_size * 10, 9)  # eta = sqrt(4 / 36)
        (120.0, 0.333333333)
    """
    return gradient_descent(radius, length_moment * feature_moment, n_rounds)


@validate_arguments
def factor_moment(
    radius: PositiveFloat, feature_moment: PositiveFloat, y_bound: NonNegativeFloat = 0.0, centre: FiniteFloat = 0.0
) -> float:
    """Bound on E (X - c)^2 for the factors X of g~: (radius sqrt(B_Psi) + B_y + |c|)^2; see `GradientLength.for_loss`.

    In classification X = y <w, Psi~> with y = +1 or -1, so `y_bound` is 0. In regression X = <w, Psi~> - y.

    Args:
        radius: sqrt(B_w).
        feature_moment: B_Psi >= E|Psi~|^2, for the estimate Psi~ of the features of an instance.
        y_bound: B_y, a bound on |y| in regression, or on sqrt(E y~^2) if labels are noisy.
        centre: c, point of expansion of the series of the loss.

    Example:
        >>> from jaxonline.bounds import factor_moment
        >>> factor_moment(2.0, 4.0), factor_moment(2.0, 4.0, y_bound=1.0)
        (16.0, 25.0)
    """
    return float(radius * math.sqrt(feature_moment) + y_bound + abs(centre)) ** 2


@theorem(OBLIVIOUS, "cesabianchi2010online", prescribed_rate=True)
def noisy_kernel(
    feature_map: DotProductFeatureMap | PairedFeatureMap, gradient_length: GradientLength, radius: PositiveFloat,
    copy_moment: NonNegativeFloat, n_rounds: Rounds, y_bound: NonNegativeFloat | None = None,
    pair_moment: NonNegativeFloat | None = None, repetitions: Count = 1, squared_norm: NonNegativeFloat | None = None,
) -> Bound:  # fmt: skip
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
    is_series = not isinstance(gradient_length.series, MultilevelEstimator)
    series = check.instance("gradient_length", gradient_length.series, is_series, "made from a series")
    y_bound, label_factor = _effect_of_labels(gradient_length.kind, y_bound)

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


@theorem(OBLIVIOUS, "cesabianchi2010online", prescribed_rate=True)
def noisy_kernel_geometric(
    kernel: DotProductKernel | Gaussian, loss: AnySeriesLoss, p: Annotated[float, Gt(1)], radius: PositiveFloat,
    copy_moment: NonNegativeFloat, n_rounds: Rounds, y_bound: NonNegativeFloat | None = None, centre: float = 0.0,
) -> Bound:  # fmt: skip
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
    law = Geometric(p)
    feature_map = GaussianFeatureMap(kernel, law) if isinstance(kernel, Gaussian) else DotProductFeatureMap(kernel, law)
    feature_moment = feature_map.second_moment(copy_moment)

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


def _theorem4(radius: float, feature_moment: float, length_moment: Callable[[], float], n_rounds: int) -> Bound:
    """Return the regret bound of Theorem 4, with inf for a moment that overflows float64."""
    length = math.inf
    with contextlib.suppress(OverflowError), np.errstate(over="ignore"):
        length = math.inf if math.isinf(feature_moment) else float(length_moment())
    return unbiased_steps(radius, feature_moment, length, n_rounds)


# ---------------------------------------------------------------------------------------------------------------------
# Regret bounds of kernels under Gaussian noise (Cesa-Bianchi, Shalev-Shwartz, Shamir, NIPS workshop 2010, section 6).
#
# Algorithm 2 is gradient descent in a ball of radius W of the surrogate RKHS, where R = sqrt(k^(x, x)) is the norm of
# every feature vector. The counterpart of u = sum a_i k(x_i, .) in the surrogate RKHS is u^ = sum a_i k^(x_i, .). The
# theorems hold for all u with |u^| <= W. They assume an oblivious environment; `in_any_environment` is
# the bound for other environments (erratum E37).


@theorem(None, "cesabianchi2010learning")
def surrogate_radius(
    radius: PositiveFloat, ratio: PositiveFloat, angle: Annotated[float, Interval(gt=0, le=math.pi / 2)]
) -> float:
    """Radius W = B_w ratio / sqrt(1 - cos beta): |u^| <= W for every u with |u| <= `radius` and beta_u >= `angle`.

    In place of |u|^2 / (1 - cos beta_u), the paper's Lemmas 5, 6 and 9 have 5 |u|^2 / sin^2 beta_u. This number is 2.5
    times as large for small angles beta_u, and 5 times as large for 90 degrees. For a known u the norm |u^| itself is a
    better bound: `jaxonline.comparators.rkhs_norm` with the surrogate kernel.

    Args:
        radius: B_w, radius of the ball of comparators in the original RKHS.
        ratio: root of the largest quotient k^/k, that is sqrt(k^(x, x) / k(x, x)). This ratio equals
            `surrogate.constant()` for a Gaussian kernel and is larger for a truncated radial kernel, where k(x, x) < 1.
        angle: lower bound on the angle beta_u in radians (`jaxonline.comparators.positive_negative_angle`).

    Example:
        >>> import math
        >>> from jaxonline.bounds import surrogate_radius
        >>> round(surrogate_radius(1.0, 2.0, math.pi / 2), 6)
        2.0
    """
    # Let u+ and u- be the parts with positive and negative coefficients. Then |u^|^2 <= ratio^2 (|u+|^2 + |u-|^2), and
    # |u|^2 = |u+|^2 + |u-|^2 - 2 |u+| |u-| cos beta_u. As 2 |u+| |u-| <= |u+|^2 + |u-|^2, the sum of squares is at most
    # |u|^2 / (1 - cos beta_u), with equality for |u+| = |u-|.
    return radius * ratio / (math.sqrt(2) * math.sin(angle / 2))


@theorem(OBLIVIOUS, "cesabianchi2010learning", prescribed_rate=True)
def surrogate_kernel(radius: PositiveFloat, constant: PositiveFloat, y_bound: PositiveFloat, n_rounds: Rounds) -> Bound:
    """Regret bound of Algorithm 2 on two copies with Gaussian noise: E regret <= 2 W R (W R + B_y) sqrt(T) (Theorem 3).

    The bound holds for every kernel with a surrogate, with G = 4 R^2 (W R + B_y)^2 (erratum E12).

    Args:
        radius: W; the bound holds for every u with |u^| <= W (`surrogate_radius`).
        constant: R, `surrogate.constant()`.
        y_bound: B_y with E y~^2 <= B_y^2 in every round.
        n_rounds: T.

    Example:
        >>> from jaxonline.bounds import surrogate_kernel
        >>> bound = surrogate_kernel(radius=2.0, constant=1.5, y_bound=1.0, n_rounds=100)
        >>> bound.value, bound.step_size  # 2 3 4 10 and W / (2 R 4 10)
        (240.0, 0.016666666666666666)
    """
    return gradient_descent(radius, 4 * constant**2 * (radius * constant + y_bound) ** 2, n_rounds)


@theorem(OBLIVIOUS, "cesabianchi2010learning", prescribed_rate=True)
def surrogate_radial_kernel(
    radius: PositiveFloat, variance: PositiveFloat, c: PositiveFloat, dimension: Count, y_bound: PositiveFloat,
    n_rounds: Rounds,
) -> Bound:  # fmt: skip
    """Regret bound of Theorem 5 for `Cauchy(d)` truncated at u = c/d: Theorem 3 with R = e^(sigma^2 c) of Lemma 7.

    The bound corrects the paper's Theorem 5 (erratum E13). `surrogate_kernel` with the exact `surrogate.constant()`,
    which is smaller than R, gives a tighter bound.

    Args:
        radius: W.
        variance: sigma^2 of the noise in every direction.
        c: d times the truncation point u, below d / (4 sigma^2).
        dimension: d.
        y_bound: B_y with E y~^2 <= B_y^2 in every round.
        n_rounds: T.

    Example:
        >>> from jaxonline.bounds import surrogate_radial_kernel
        >>> round(surrogate_radial_kernel(2.0, 0.25, 2.0, 4, 1.0, 100).value, 4)  # R = e^0.5
        283.4114
    """
    return surrogate_kernel(radius, math.sqrt(lemma7_bound(variance, c, dimension)), y_bound, n_rounds)


# ---------------------------------------------------------------------------------------------------------------------
# Regret bounds of multi-kernel online least squares (Rokhlin and Gurtovaya 2025).
#
# The bounds are for half squared losses, sum (prediction - y)^2 / 2, and labels |y| <= Y. Theorem 1 is the bound of
# Vovk (2001) and Azoury and Warmuth (2001), applied to the features. Theorems 1 to 3 hold in expectation over the
# random features, against functions f of an RKHS, through the weights of Lemma 1. The paper uses m features sqrt(2)
# cos(<omega, x> + b) for each kernel. Features divided by sqrt(m), as in a `Dictionary`, give the same algorithm with
# lambda m in place of lambda (`scaled=True`). Pairs (cos, sin) of m frequencies have 2m weights, and the squared norm
# of these features is at most m instead of 2m (erratum E46: the paper has the same bound for both). So the term 2 |f|^2
# / m of Lemma 1 becomes |f|^2 / m.


@dataclasses.dataclass(frozen=True)
class Features:
    """Random features of one kernel, as used in the theorems.

    Attributes:
        frequencies: m.
        layout: "cosine", sqrt(2) cos(<omega, x> + b); or "pair", (cos, sin).
        scaled: whether the features are divided by sqrt(m).

    Example:
        >>> from jaxonline.bounds import Features
        >>> Features(50, "pair", scaled=True).weights
        100
    """

    frequencies: Count
    layout: Literal["cosine", "pair"] = "cosine"
    scaled: bool = False

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def weights(self) -> int:
        """Number of features."""
        return self.frequencies * (2 if self.layout == "pair" else 1)

    @property
    def variance(self) -> float:
        """The constant c in E(<w^, phi(x)> - f(x))^2 <= c |f|^2 / m (Lemma 1)."""
        return 1.0 if self.layout == "pair" else 2.0

    @validate_arguments
    def effective(self, regularizer: PositiveFloat) -> float:
        """Return the regularizer that gives the same forecaster with unscaled features."""
        return regularizer * (self.frequencies if self.scaled else 1)


@theorem(ANY, "vovk2001competitive", "azoury2001relative", "rokhlin2025random")
def vaw(
    w_norm: NonNegativeFloat, n_features: Count, x_bound: PositiveFloat, y_bound: PositiveFloat, n_rounds: Horizons,
    regularizer: PositiveFloat = 1.0
) -> Bound:  # fmt: skip
    """Regret bound of VAW against a fixed w: lambda/2 |w|^2 + m Y^2/2 ln(1 + rho^2 T/(lambda m)) (Eq. 11).

    Args:
        w_norm: |w|.
        n_features: m.
        x_bound: rho, bound on the norm of instances.
        y_bound: Y.
        n_rounds: the horizon T, or several horizons.
        regularizer: lambda.

    Example:
        >>> from jaxonline.bounds import vaw
        >>> round(float(vaw(1.0, 1, 1.0, 1.0, 100)), 3)  # (1 + ln 101) / 2
        2.808
    """
    growth = np.log1p(x_bound**2 * np.asarray(n_rounds, float) / (regularizer * n_features))
    return Bound(regularizer / 2 * w_norm**2 + n_features * y_bound**2 / 2 * growth)


@theorem(OBLIVIOUS, "rokhlin2025random")
def concatenated(
    f_norm: NonNegativeFloat, n_kernels: Count, features: Features, y_bound: PositiveFloat, n_rounds: Horizons,
    regularizer: PositiveFloat = 1.0,
) -> Bound:  # fmt: skip
    """Regret bound of VAW on the features of all kernels, against any f of the RKHS of k_1 + ... + k_N.

    The paper's Theorem 1 (Eq. 17) has the term N T |f|^2 / m. Here it is T |f|^2 / m, which suffices if the features of
    different kernels are independent, so the bound is smaller than the printed one for N > 1 (erratum E61).

    Args:
        f_norm: norm of the comparator f.
        n_kernels: N.
        features: features of each kernel.
        y_bound: Y.
        n_rounds: the horizon T, or several horizons.
        regularizer: lambda.

    Example:
        >>> from jaxonline.bounds import Features, concatenated
        >>> round(float(concatenated(1.0, 10, Features(50), 1.0, 100)))
        1328
    """
    # Features of different kernels are independent, so variances add; the factor N of Lemma 2 is not needed.
    T = np.asarray(n_rounds, float)
    return Bound(_regret_of_features(f_norm, features, y_bound, T, regularizer, n_kernels))


@theorem(OBLIVIOUS, "rokhlin2025random")
def vaw2(
    f_norm: NonNegativeFloat, n_kernels: Count, features: Features, y_bound: PositiveFloat, n_rounds: Horizons,
    regularizer: PositiveFloat = 1.0, combiner_regularizer: PositiveFloat | None = None, truncated: bool = False,
) -> Bound:  # fmt: skip
    """Regret bound of VAW over the kernels' VAW forecasters, against any f of a single kernel's RKHS (Theorem 2).

    Without truncation this is the paper's Eq. 20. A factor N in its logarithm is not needed (erratum E62), so the bound
    is valid and at most N Y^2 / 2 ln N too large.

    Args:
        f_norm: norm of the comparator f.
        n_kernels: N.
        features: features of each kernel.
        y_bound: Y.
        n_rounds: the horizon T, or several horizons.
        regularizer: lambda of the forecasters.
        combiner_regularizer: lambda of the combiner; by default the lambda of the forecasters.
        truncated: whether predictions are truncated to [-Y, Y] before they are combined (the remark after Eq. 28).

    Example:
        >>> from jaxonline.bounds import Features, vaw2
        >>> [round(float(vaw2(1.0, 10, Features(50), 1.0, 100, truncated=truncated))) for truncated in (False, True)]
        [203, 158]
    """
    N, T, Y2 = n_kernels, np.asarray(n_rounds, float), y_bound**2
    combiner = regularizer if combiner_regularizer is None else combiner_regularizer
    largest = Y2 if truncated else 2 * Y2 * (T + 1) + 4 * _log_term(features, y_bound, T, regularizer)
    # Eq. 23 bounds |z|^2 <= Z^2 by the sum over experts and drops N from the denominator of the logarithm
    growth = np.log1p(largest * T / combiner) if truncated else np.log1p(N * largest * T / combiner)
    one = _regret_of_features(f_norm, features, y_bound, T, regularizer)
    return Bound(one + combiner / 2 + N * Y2 / 2 * growth)


@theorem(OBLIVIOUS, "rokhlin2025random")
def vaw_ewa(
    f_norm: NonNegativeFloat, n_kernels: Count, features: Features, y_bound: PositiveFloat, n_rounds: Horizons,
    regularizer: PositiveFloat = 1.0,
) -> Bound:  # fmt: skip
    """Regret bound of EWA over truncated VAW forecasters, against any f of a single kernel's RKHS (Theorem 3).

    Args:
        f_norm: norm of the comparator f.
        n_kernels: N.
        features: features of each kernel.
        y_bound: Y; predictions are truncated to [-Y, Y].
        n_rounds: the horizon T, or several horizons.
        regularizer: lambda of the forecasters.

    Example:
        >>> from jaxonline.bounds import Features, vaw_ewa
        >>> round(float(vaw_ewa(1.0, 10, Features(50), 1.0, 100)))
        144
    """
    T = np.asarray(n_rounds, float)
    return Bound(_regret_of_features(f_norm, features, y_bound, T, regularizer) + ewa(n_kernels, y_bound))


@theorem(ANY, "rokhlin2025random")
def ewa(n_experts: Count, y_bound: PositiveFloat) -> Bound:
    """Regret bound of EWA with eta = 1/(8 Y^2) against the best expert, for values in [-Y, Y]: 4 Y^2 ln N (Eq. 30).

    For an interval with another centre, Y is half the width, so the bound is width^2 ln N.

    Example:
        >>> from jaxonline.bounds import ewa
        >>> round(ewa(10, 1.0), 3)
        9.21
    """
    return Bound(4 * y_bound**2 * math.log(n_experts))


@theorem(ANY, "cesabianchi2006prediction")
def aggregating(n_experts: Count, y_bound: PositiveFloat) -> Bound:
    """Regret bound of `Aggregating`, |y| <= Y, eta = 1/(2Y^2): Y^2 ln N (Cesa-Bianchi, Lugosi 2006, Prop. 3.2, halved).

    Example:
        >>> from jaxonline.bounds import aggregating
        >>> round(aggregating(10, 1.0), 3)
        2.303
    """
    return Bound(y_bound**2 * math.log(n_experts))


def _regret_of_features(
    f_norm: float, features: Features, y_bound: float, T: np.ndarray, regularizer: float, n_kernels: int = 1
) -> np.ndarray:
    """Return (lambda/2 + T) |f|^2/m + N m Y^2/2 ln(1 + 2T/lambda); for N = 1 a part of Theorems 2 and 3."""
    energy = f_norm**2 / features.frequencies
    first = (features.effective(regularizer) / 2 + features.variance / 2 * T) * energy
    return first + n_kernels * _log_term(features, y_bound, T, regularizer)


def _log_term(features: Features, y_bound: float, T: np.ndarray, regularizer: float) -> np.ndarray:
    """Return the regret bound of VAW against w = 0 (Eq. 12), (n Y^2 / 2) ln(1 + rho^2 T / (lambda n)) for n weights."""
    norm2 = features.variance * features.frequencies
    growth = np.log1p(norm2 * T / (features.effective(regularizer) * features.weights))
    return features.weights * y_bound**2 / 2 * growth
