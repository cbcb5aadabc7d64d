"""Regret bounds of learners from k attributes beside AER: other losses, and exponentiated gradient.

Paper C (Cesa-Bianchi, Shalev-Shwartz, Shamir, "Efficient learning with partially observed attributes", ICML 2010)
announces both extensions in section 5 and states no bound. These bounds follow by the argument of paper C with the
second moments of the estimates. Hazan and Koren (2012) have a bound of the order of `attribute_exponentiated_regret`
for their algorithm AELR, exponentiated gradient with clipped gradients.
"""

import math

from jaxonline.bounds.regret_bound import OBLIVIOUS, RegretBound, assumes, gradient_descent
from jaxonline.estimators.attributes import EvenCount
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.types import Count, PositiveFloat, Rounds


@cites("cesabianchi2010efficient", "hazan2012linear", "kivinen1997exponentiated")
@assumes(OBLIVIOUS, prescribed_rate=True)
@validate_arguments
def attribute_exponentiated_regret(
    dimension: Count, n_attributes: EvenCount, radius: PositiveFloat, n_rounds: Rounds, x_bound: PositiveFloat = 1.0,
    y_bound: PositiveFloat = 1.0,
) -> RegretBound:  # fmt: skip
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
    return gradient_descent(math.sqrt(2 * entropy), 2 * (math.e - 2) * L, T)._replace(diameter=math.inf)
