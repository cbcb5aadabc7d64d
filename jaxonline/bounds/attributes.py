"""Bounds for learning from k attributes of each instance, with the constants of the proofs.

Cesa-Bianchi, Shalev-Shwartz, Shamir, "Efficient learning with partially observed attributes" (ICML 2010; paper C),
omits constants in Theorems 1 and 2. This module keeps every constant. The bound of AERR follows by the argument of
paper C.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np
from jaxtyping import Float

from jaxonline.bounds.regret_bound import (
    ANY,
    OBLIVIOUS,
    STOCHASTIC,
    Assumptions,
    RegretBound,
    assumes,
    gradient_descent,
    with_assumptions,
)
from jaxonline.estimators.attributes import EvenCount
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
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


class StronglyConvexBound(NamedTuple):
    """Bound on the expected regret of descent on loss + lambda |w|^2 / 2 with steps 1 / (lambda t).

    Attributes:
        value: regret bound at the horizon T if lambda is `regularizer`. The expected risk of the mean of w_1, ..., w_T
            is at most the risk of any comparator plus value / T.
        regularizer: lambda.
        G: bound on the second moment of the estimate of the loss's gradient.
        norm: norm of the comparator.
        assumptions: the environments that the theorem covers.

    Example:
        >>> from jaxonline.bounds import aer_regret
        >>> bound = aer_regret(dimension=2, n_attributes=2, radius=1.0, norm=1.0, n_rounds=100)
        >>> bound.G, round(bound.regularizer, 3)
        (64.0, 0.607)
    """

    value: float
    regularizer: float
    G: float
    norm: float
    assumptions: Assumptions = Assumptions(OBLIVIOUS, prescribed_rate=True)

    @validate_arguments
    def in_any_environment(self, n_rounds: Rounds) -> "StronglyConvexBound":
        """Return the bound at the horizon if the environment may react to the moves: plus norm sqrt(G T).

        The argument is that of `RegretBound.in_any_environment`.
        """
        if self.assumptions.environment == ANY:
            return self
        value = self.value + self.norm * math.sqrt(self.G * n_rounds)
        return with_assumptions(self._replace(value=value), self.assumptions._replace(environment=ANY))

    @validate_arguments
    def value_for_regularizer(
        self, regularizer: PositiveFloat, rounds: Annotated[Numbers, Ge(1)]
    ) -> Float[np.ndarray, "..."]:
        """Regret bound after each round in `rounds` for any lambda: lambda T norm^2 / 2 + G (1 + log T) / lambda."""
        regularizer, T = float(regularizer), np.asarray(rounds, float)
        value = regularizer * T * self.norm**2 / 2 + self.G * (1 + np.log(T)) / regularizer
        return with_assumptions(value, self.assumptions._replace(environment=OBLIVIOUS))


@cites("cesabianchi2010efficient")
@assumes(OBLIVIOUS, prescribed_rate=True)
@validate_arguments
def aer_regret(
    dimension: Count, n_attributes: EvenCount, radius: PositiveFloat, norm: PositiveFloat,
    n_rounds: Annotated[int, Ge(2), Horizon()], x_bound: PositiveFloat = 1.0, y_bound: PositiveFloat = 1.0,
    x_norm: PositiveFloat | None = None,
) -> StronglyConvexBound:  # fmt: skip
    """Bound on the expected regret of `learners.aer` and on the risk of its mean hypothesis (paper C, Theorem 2).

    The bound uses G = 8 (B x_bound + y_bound)^2 d x_norm^2 / k. The lambda of Theorem 2 is not optimal for the
    constants of this bound; `value_for_regularizer` allows any lambda. (For one round that lambda is 0: erratum E45.)
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
        >>> bound = aer_regret(dimension=10, n_attributes=4, radius=1.0, norm=0.5, n_rounds=1000)
        >>> bool(bound.value == bound.value_for_regularizer(bound.regularizer, 1000))
        True
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
    bound = StronglyConvexBound(0.0, float(regularizer), float(G), norm)
    return bound._replace(value=float(bound.value_for_regularizer(regularizer, np.asarray(T))))


@cites("cesabianchi2010efficient", "hazan2012linear")
@assumes(OBLIVIOUS, prescribed_rate=True)
@validate_arguments
def aerr_regret(
    dimension: Count, n_attributes: EvenCount, radius: PositiveFloat, n_rounds: Rounds, x_bound: PositiveFloat = 1.0,
    y_bound: PositiveFloat = 1.0,
) -> RegretBound:  # fmt: skip
    """Bound on the expected regret of `aerr` against the l2 ball: radius sqrt(G T), for step size radius / sqrt(G T).

    Here G = (8 d / k) x_bound^2 ((radius x_bound + y_bound)^2 + (2 / k) radius^2 x_bound^2). The bound has the order
    sqrt(d / k) of Hazan and Koren (2012, Theorem 3.1) instead of AER's d / sqrt(k), for instances with bounded |x|_2.

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


@cites("cesabianchi2010efficient")
@assumes(STOCHASTIC, "risk")
@validate_arguments
def baseline_risk(
    dimension: Count, n_attributes: EvenCount, radius: PositiveFloat, n_examples: Count, delta: OpenUnitFloat
) -> float:
    """Bound on the Baseline's excess risk over the best predictor, with probability 1 - delta (paper C, Theorem 1).

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
    return 2 * (quadratic + linear) + complexity + 2 * deviation


@cites("cesabianchi2010efficient")
@validate_arguments
def hidden_attribute_examples(
    dimension: Count, n_attributes: Count, eps: Annotated[float, Interval(gt=0, lt=1 / 16)]
) -> float:
    """Minimum mean number of examples for an excess risk of eps with k attributes of each example (paper C, Theorem 3).

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
