"""Norms and angles of elements sum a_i k(x_i, .) of an RKHS, from the Gram matrix, in float64 on the host."""

import math

import numpy as np
from jaxtyping import ArrayLike, Float

from jaxonline.comparators.rkhs import gram_matrix
from jaxonline.kernels.base import AnyKernel
from jaxonline.parameters import check
from jaxonline.parameters.validation import validate_arguments


@validate_arguments
def rkhs_norm(kernel: AnyKernel, X: Float[ArrayLike, "n d"], coefficients: Float[ArrayLike, "n"]) -> float:
    """Norm of the element sum a_i k(x_i, .) of an RKHS.

    With a surrogate kernel this norm is the smallest radius W of Algorithm 2 for which Theorem 3 of "Learning from
    noisy data under distributional assumptions" covers the comparator. The reason is that the comparator's counterpart
    in the surrogate RKHS has this norm.

    Args:
        kernel: any kernel.
        X: finite instances [n, d].
        coefficients: the coefficients a [n].

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> jo.comparators.rkhs_norm(jo.kernels.Linear(), np.eye(2), [3.0, 4.0])
        5.0
    """
    X, a = check.rows("X", X, "coefficients", coefficients)
    return math.sqrt(max(float(a @ gram_matrix(kernel, X) @ a), 0.0))


@validate_arguments
def positive_negative_angle(
    kernel: AnyKernel, X: Float[ArrayLike, "n d"], coefficients: Float[ArrayLike, "n"]
) -> float:
    """Angle beta_u between u+ = sum over a_i > 0 of a_i k(x_i, .) and u- = sum over a_i < 0 of |a_i| k(x_i, .).

    `jaxonline.bounds.surrogate_radius` needs this angle. Theorem 3 of "Learning from noisy data under distributional
    assumptions" (NIPS workshop 2010) compares with the predictor u = u+ - u-, and |u+|^2 + |u-|^2 <= |u|^2 / (1 - cos
    beta_u). The angle depends on the coefficients: if instances are (nearly) dependent in the RKHS, other coefficients
    give the same u and another valid angle.

    Args:
        kernel: any kernel; the angle is at most pi/2 if the kernel is non-negative.
        X: instances [n, d]. Raises a ValueError if the shape does not fit `coefficients`, or an entry is not finite.
        coefficients: the coefficients a [n].

    Returns:
        The angle in radians, from 0 to pi; pi/2 if u+ or u- is zero, as in the paper.

    Example:
        >>> import numpy as np
        >>> from jaxonline.comparators import positive_negative_angle
        >>> from jaxonline.kernels import Linear
        >>> X = np.array([[1.0, 0.0], [1.0, 1.0]])
        >>> [round(positive_negative_angle(Linear(), X, a) / np.pi, 6) for a in ([2.0, -1.0], [2.0, 1.0])]
        [0.25, 0.5]
    """
    X, a = check.rows("X", X, "coefficients", coefficients)
    gram = gram_matrix(kernel, X)
    positive, negative = np.maximum(a, 0.0), np.maximum(-a, 0.0)
    lengths = (positive @ gram @ positive) * (negative @ gram @ negative)
    if lengths <= 0.0:
        return math.pi / 2
    return math.acos(float(np.clip(positive @ gram @ negative / np.sqrt(lengths), -1.0, 1.0)))
