"""Bounds for learning from k attributes of each instance, with the constants of the proofs.

Cesa-Bianchi, Shalev-Shwartz, Shamir, "Efficient learning with partially observed attributes" (ICML 2010; here
Cesa-Bianchi et al. 2010c), omits constants in Theorems 1 and 2. This module keeps every constant. The bounds of AERR
and of exponentiated gradient follow by the argument of Cesa-Bianchi et al. (2010c) with the second moments of the
estimates. The statements on Hazan and Koren (2012) are from memory and were not checked: they have a bound of the order
of `attribute_exponentiated_regret` for their algorithm AELR, exponentiated gradient with clipped gradients.
"""

import math
from typing import Annotated

import numpy as np

from jaxonline.bounds.gradient import gradient_descent
from jaxonline.bounds.theorem import OBLIVIOUS, STOCHASTIC, Assumptions, Bound, theorem, with_value
from jaxonline.estimators.attributes import EvenCount
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.types import (
    Count,
    Ge,
    Horizon,
    Interval,
    Numbers,
    OpenUnitFloat,
    PositiveFloat,
    Rounds,
)  # fmt: skip


@validate_arguments
def curve_of_regularizer(
    bound: Bound, rounds: Annotated[Numbers, Ge(1)], regularizer: PositiveFloat | None = None
) -> np.ndarray:
    """Regret bound after each of `rounds` for any lambda: lambda T norm^2 / 2 + G (1 + log T) / lambda.

    In an environment that reacts, norm sqrt(G T) is added.
    """
    T, regularizer = np.asarray(rounds, float), bound.regularizer if regularizer is None else float(regularizer)
    value = regularizer * T * bound.norm**2 / 2 + bound.G * (1 + np.log(T)) / regularizer
    return value if bound.assumptions.environment == OBLIVIOUS else value + bound.norm * np.sqrt(bound.G * T)


@theorem(OBLIVIOUS, "cesabianchi2010efficient", prescribed_rate=True)
def aer_regret(
    dimension: Count, n_attributes: EvenCount, radius: PositiveFloat, norm: PositiveFloat,
    n_rounds: Annotated[int, Ge(2), Horizon()], x_bound: PositiveFloat = 1.0, y_bound: PositiveFloat = 1.0,
    x_norm: PositiveFloat | None = None,
) -> Bound:  # fmt: skip
    """Bound on the expected regret of `learners.AER` and on the risk of its mean hypothesis.

    The bound is Theorem 2 of Cesa-Bianchi et al. (2010c).

    The bound uses G = 8 (B x_bound + y_bound)^2 d x_norm^2 / k. The lambda of Theorem 2 is not optimal for the
    constants of this bound; `Bound.at_rounds` takes any `regularizer`. (For one round that lambda is 0: erratum E45.)
    The value at the horizon T bounds the regret of descent on loss + lambda |w|^2 / 2 with steps 1 / (lambda t). The
    expected risk of the mean of w_1, ..., w_T is at most the risk of any comparator plus value / T.
    Footnote 4 replaces the order d / sqrt(k) by d x_norm / k. Since the regret is a mean, sqrt(d / k) x_norm suffices,
    which is smaller than both. This bound has that order, also in lambda.

    Args:
        dimension: d.
        n_attributes: k.
        radius: B, radius of the l1 ball.
        norm: B_2, bound on |w*|_2 of the comparator w*, at most `radius`.
        n_rounds: horizon T.
        x_bound: bound on every |x_i|.
        y_bound: bound on |y|.
        x_norm: bound on |x|_2; by default sqrt(d) x_bound.

    Example:
        >>> from jaxonline.bounds import aer_regret
        >>> bound = aer_regret(dimension=2, n_attributes=2, radius=1.0, norm=1.0, n_rounds=100)
        >>> bound
        Bound(621.3669, regularizer=0.6069709, G=64.0, norm=1.0, n_rounds=100)
        >>> round(bound.at_rounds(100, regularizer=0.5), 1)
        742.5
    """
    d, k, T, B, X, Y = dimension, n_attributes, n_rounds, radius, x_bound, y_bound
    share = 1.0 if x_norm is None else min(float(x_norm) ** 2 / (d * X**2), 1.0)  # of the largest |x|_2^2
    norm = float(check.number("norm", norm, le=float(B)))
    # With z_t = 2 (y^ - y) v the regret is at most E sum <z_t, w_t - w*>. With steps 1 / (lambda t) this is at most
    #     lambda T |w*|^2 / 2 - lambda/2 sum |w_t|^2 + sum |lambda w_t + z_t|^2 / (2 lambda t)
    #         <= lambda T |w*|^2 / 2 + G (1 + log T) / lambda,
    # as |a + b|^2 <= 2 |a|^2 + 2 |b|^2 and w_1 = 0. E|z_t|^2 <= G because y^ and v are independent,
    # |y^| <= B x_bound and E|v|^2 = (2 d / k) |x|^2.
    G = 8 * (B * X + Y) ** 2 * d**2 * X**2 / k * share
    regularizer = (B + 1) * d / norm * math.sqrt(math.log(T) / (T * k) * share)
    parameters = {"regularizer": float(regularizer), "G": float(G), "norm": norm, "n_rounds": T}
    return with_value(Bound(0.0, curve_of_regularizer, with_value, Assumptions(OBLIVIOUS), **parameters))


@theorem(OBLIVIOUS, "cesabianchi2010efficient", "hazan2012linear", prescribed_rate=True)
def aerr_regret(
    dimension: Count, n_attributes: EvenCount, radius: PositiveFloat, n_rounds: Rounds, x_bound: PositiveFloat = 1.0,
    y_bound: PositiveFloat = 1.0,
) -> Bound:  # fmt: skip
    """Bound on the expected regret of `AERR` against the l2 ball: radius sqrt(G T), for step size radius / sqrt(G T).

    Here G = (8 d / k) x_bound^2 ((radius x_bound + y_bound)^2 + (2 / k) radius^2 x_bound^2). The bound has the order
    sqrt(d / k) of Hazan and Koren (2012; not checked) instead of AER's d / sqrt(k), for instances with bounded |x|_2.

    Args:
        dimension: d.
        n_attributes: k.
        radius: radius of the l2 ball.
        n_rounds: horizon T.
        x_bound: bound on |x|_2.
        y_bound: bound on |y|.

    Example:
        >>> from jaxonline.bounds import aerr_regret
        >>> aerr_regret(dimension=4, n_attributes=2, radius=1.0, n_rounds=100).G
        80.0
    """
    d, k, B, X, Y = dimension, n_attributes, radius, x_bound, y_bound
    # E|v|^2 = (2 d / k) |x|^2, and each of the k/2 terms of y^ has the second moment |w|^2 |x|^2.
    return gradient_descent(radius, 8 * d / k * X**2 * ((B * X + Y) ** 2 + 2 / k * B**2 * X**2), n_rounds)


@theorem(OBLIVIOUS, "cesabianchi2010efficient", "hazan2012linear", "kivinen1997exponentiated", prescribed_rate=True)
def attribute_exponentiated_regret(
    dimension: Count, n_attributes: EvenCount, radius: PositiveFloat, n_rounds: Rounds, x_bound: PositiveFloat = 1.0,
    y_bound: PositiveFloat = 1.0,
) -> Bound:  # fmt: skip
    """Bound on the expected regret of `ExponentiatedGradient` with `AttributeGradient`: 2 sqrt((e - 2) L T ln 2 d).

    The learner has the scale B, signed weights and the step size sqrt(ln(2 d) / ((e - 2) L T)), where L = 8 B^2 (B
    x_bound + y_bound)^2 d x_bound^2 / k. The comparator is any w* in the l1 ball of radius B. So the bound has the
    order B^2 sqrt(d / k) for every w*, up to a logarithm; that of AER (`aer_regret`) has the order B B_2 d / sqrt(k),
    which is as small only if w* is dense, |w*|_2 = B / sqrt(d).

    L bounds the second moment of B g in the norm of the weights. In the dual norm, E|g|_inf^2 is at most G^2 with G = 4
    (B x_bound + y_bound) d x_bound / k, and `exponentiated_gradient(2 d, G, T, B)` is a bound of the order d / k.

    Args:
        dimension: d.
        n_attributes: k.
        radius: B, radius of the l1 ball and scale of the learner.
        n_rounds: horizon T, at least 8 d ln(2 d) / ((e - 2) k) (otherwise a ValueError).
        x_bound: bound on every |x_i|.
        y_bound: bound on |y|.

    Example:
        >>> from jaxonline.bounds import aer_regret, attribute_exponentiated_regret
        >>> bound = attribute_exponentiated_regret(dimension=100, n_attributes=4, radius=1.0, n_rounds=100_000)
        >>> sparse, dense = (aer_regret(100, 4, 1.0, norm, 100_000) for norm in (1.0, 0.1))
        >>> round(bound.value), round(sparse.value), round(dense.value)
        (34897, 986594, 98659)
    """
    d, k, T, B, X, Y = dimension, n_attributes, n_rounds, radius, x_bound, y_bound
    entropy = math.log(2 * d)
    least = 8 * d * entropy / ((math.e - 2) * k)
    if least > T:
        raise ArgumentError("n_rounds", f"must be at least {math.ceil(least)}, so that the steps are small (got {T})")
    # With p_t on the simplex and losses l_t = B (g_t, -g_t) the regret is at most
    #     ln(2 d) / step + (e - 2) step sum_t sum_i p_ti l_ti^2   if |step l_ti| <= 1,
    # as exp(-z) <= 1 - z + (e - 2) z^2 for |z| <= 1. The mean of l_ti^2 is at most 4 B^2 E (y^ - y)^2 E v_i^2 <= L,
    # since y^ and v are independent, |y^| <= B x_bound and E v_i^2 = (2 d / k) x_i^2. As |l_ti| <= 4 B (B x_bound +
    # y_bound) d x_bound / k, `least` gives |step l_ti| <= 1/2. For `in_any_environment`, exponentiated gradient on the
    # noise of the l_t takes the place of the ball; this noise is at most twice as large, and has a smaller L.
    L = 8 * B**2 * (B * X + Y) ** 2 * d * X**2 / k
    return gradient_descent(math.sqrt(2 * entropy), 2 * (math.e - 2) * L, T, math.inf)


@theorem(STOCHASTIC, "cesabianchi2010efficient", quantity="risk")
def baseline_risk(
    dimension: Count, n_attributes: EvenCount, radius: PositiveFloat, n_examples: Count, delta: OpenUnitFloat
) -> Bound:
    """Bound on the Baseline's excess risk over the best predictor, with probability 1 - delta.

    The bound is Theorem 1 of Cesa-Bianchi et al. (2010c).

    The bound holds for |x_i| <= 1, |y| <= 1 and the exact minimiser w. It has the order B (B + 1) where the theorem has
    B^2, which is too small for B < 1 (erratum E40), and uses the paper's Lemma 3, corrected for k > 2 (E20).

    Args:
        dimension: d.
        n_attributes: k.
        radius: B, radius of the l1 ball.
        n_examples: m.
        delta: probability that the bound fails.

    Example:
        >>> from jaxonline.bounds import baseline_risk
        >>> baseline_risk(10, 2, 1.0, 10**6, 0.05) / baseline_risk(10, 2, 1.0, 4 * 10**6, 0.05)
        2.0
    """
    d, k, m, B, share = dimension, n_attributes, n_examples, float(radius), float(delta) / 4
    # |A - mean x x'| <= (d^2/k) sqrt(2 log(2 d^2/delta) / m) for every entry (Lemma 2): given the examples, an entry of
    # one estimate of x x' is between 0 and (2 d^2/k) x_i x_j (erratum E41).
    quadratic = B**2 * d**2 / k * math.sqrt(2 * math.log(2 * d**2 / share) / m)
    # |b - mean y x| <= (d / sqrt(k)) sqrt(log(2 d/delta) / m) for every entry, by Hoeffding's inequality for all m k/2
    # pairs. Lemma 3 has d sqrt(2) / k for d / sqrt(k), from |v_i| <= 2 d/k. That holds for k = 2, where both are equal,
    # but not for k > 2, as an index may be in several pairs (erratum E20).
    linear = 2 * B * d / math.sqrt(k) * math.sqrt(math.log(2 * d / share) / m)
    # risk - mean loss <= complexity + deviation for all w of the ball (Rademacher), and
    # mean loss - risk <= deviation for the best w (Hoeffding). The loss without y^2, a^2 - 2 y a with a = <w, x>, has a
    # range of the width 4 B for B < 1.
    complexity = 4 * (B + 1) * B * math.sqrt(2 * math.log(2 * d) / m)
    deviation = (4 * B if B < 1 else (B + 1) ** 2) * math.sqrt(math.log(1 / share) / (2 * m))
    return Bound(2 * (quadratic + linear) + complexity + 2 * deviation)


@theorem(None, "cesabianchi2010efficient")
def hidden_attribute_examples(
    dimension: Count, n_attributes: Count, eps: Annotated[float, Interval(gt=0, lt=1 / 16)]
) -> float:
    """Minimum mean number of examples for an excess risk of eps with k attributes of each example.

    The bound is Theorem 3 of Cesa-Bianchi et al. (2010c).

    In `environments.HiddenAttribute` every learner needs at least (1/2) floor(d / (96 k eps)) examples on average. The
    number bounds a mean, so it is not rounded. It is 0, and the theorem says nothing, if d < 96 k eps (erratum E60).

    Args:
        dimension: d, at least 4 k.
        n_attributes: k.
        eps: excess risk.

    Example:
        >>> from jaxonline.bounds import hidden_attribute_examples
        >>> hidden_attribute_examples(dimension=784, n_attributes=4, eps=0.01)
        102.0
        >>> hidden_attribute_examples(dimension=18, n_attributes=1, eps=0.06)
        1.5
    """
    d, k = dimension, n_attributes
    if d < 4 * k:
        raise ArgumentError("dimension", f"must be at least 4 n_attributes = {4 * k} (got {d})")
    tests = d / (96 * k * float(eps)) * (1 + 1e-12)  # rounding must not lower an integer
    return math.floor(tests) / 2
