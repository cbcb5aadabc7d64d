"""Regret bounds of kernels under Gaussian noise (Cesa-Bianchi, Shalev-Shwartz, Shamir, NIPS workshop 2010, section 6).

Algorithm 2 is gradient descent in a ball of radius W of the surrogate RKHS, where R = sqrt(k^(x, x)) is the norm of
every feature vector. The counterpart of u = sum a_i k(x_i, .) in the surrogate RKHS is u^ = sum a_i k^(x_i, .). The
theorems hold for all u with |u^| <= W. They assume an oblivious environment; `RegretBound.in_any_environment` is
the bound for other environments (erratum E37).
"""

import math
from typing import Annotated

from jaxonline.bounds.assumptions import OBLIVIOUS, assumes
from jaxonline.bounds.regret_bound import RegretBound, gradient_descent
from jaxonline.estimators.surrogates import lemma7_bound
from jaxonline.parameters.citations import cites
from jaxonline.parameters.types import Count, Interval, PositiveFloat, Rounds
from jaxonline.parameters.validation import validate_arguments


@cites("cesabianchi2010learning")
@validate_arguments
def surrogate_radius(
    radius: PositiveFloat, ratio: PositiveFloat, angle: Annotated[float, Interval(gt=0, le=math.pi / 2)]
) -> float:
    """Radius W = B_w ratio / sqrt(1 - cos beta): |u^| <= W for every u with |u| <= `radius` and beta_u >= `angle`.

    The paper's Lemmas 5, 6 and 9 have 5 |u|^2 / sin^2 beta_u in place of |u|^2 / (1 - cos beta_u) ("designed for
    readability"). The paper's expression is larger by a factor of 2.5 for small angles and 5 at the right angle. For a
    known u the norm |u^| itself is a better bound: `jaxonline.comparators.rkhs_norm` with the surrogate kernel.

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


@cites("cesabianchi2010learning")
@assumes(OBLIVIOUS, prescribed_rate=True)
@validate_arguments
def surrogate_kernel(
    radius: PositiveFloat, constant: PositiveFloat, y_bound: PositiveFloat, n_rounds: Rounds
) -> RegretBound:
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


@cites("cesabianchi2010learning")
@assumes(OBLIVIOUS, prescribed_rate=True)
@validate_arguments
def surrogate_radial_kernel(
    radius: PositiveFloat, variance: PositiveFloat, c: PositiveFloat, dimension: Count, y_bound: PositiveFloat,
    n_rounds: Rounds,
) -> RegretBound:  # fmt: skip
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
