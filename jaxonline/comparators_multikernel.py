"""Best predictors in hindsight for kernels: in a ball of an RKHS, and over a list of kernels.

On the host, in float64. The best f with |f| <= radius is sum a_i k(x_i, .), so that in the eigenbasis of the Gram
matrix it is the exact solution of `jaxonline.comparators.best_in_ball`.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import ArrayLike, Float

from jaxonline import _check
from jaxonline._kernel import Kernel
from jaxonline.comparators import QuadraticSums, best_in_ball


class RKHSPredictor(NamedTuple):
    """The best predictor f = sum a_i k(x_i, .) of a ball.

    Attributes:
        loss: its sum of squared errors.
        norm: |f|, at most the radius.
        coefficients: a [n].

    Example:
        >>> from jaxonline.comparators_multikernel import RKHSPredictor
        >>> RKHSPredictor._fields
        ('loss', 'norm', 'coefficients')
    """

    loss: float
    norm: float
    coefficients: np.ndarray


class BestKernel(NamedTuple):
    """The kernel whose ball holds the best predictor.

    Attributes:
        index: of the kernel.
        best: its best predictor.
        losses: the best predictor's sum of squared errors for each kernel [N].

    Example:
        >>> from jaxonline.comparators_multikernel import BestKernel
        >>> BestKernel._fields
        ('index', 'best', 'losses')
    """

    index: int
    best: RKHSPredictor
    losses: np.ndarray


def rkhs_ball(kernel: Kernel, X: Float[ArrayLike, "n d"], y: Float[ArrayLike, "n"], radius: float) -> RKHSPredictor:
    """Minimise sum (f(x_t) - y_t)^2 over |f| <= radius in the RKHS of a kernel; n^3 operations.

    Args:
        kernel: any kernel; a sum of kernels for the RKHS of Theorem 1.
        X: instances.
        y: targets.
        radius: above 0.

    Raises:
        ValueError: shapes that do not match, entries that are not finite, `radius` not above 0.

    Example:
        >>> import numpy as np
        >>> from jaxonline.comparators_multikernel import rkhs_ball
        >>> from jaxonline.kernels import Linear
        >>> best = rkhs_ball(Linear(), np.eye(2), np.array([3.0, 4.0]), radius=1.0)
        >>> round(best.loss, 9), round(best.norm, 9), best.coefficients.round(9).tolist()
        (16.0, 1.0, [0.6, 0.8])
    """
    X, y = _check.finite_array("X", X, ndim=2), _check.finite_array("y", y, ndim=1)
    if len(X) != len(y) or len(y) == 0:
        raise ValueError(f"X and y must have the same number of rows, at least one, got {X.shape} and {y.shape}")
    _check.positive("radius", radius)
    with jax.enable_x64(True):
        gram = np.asarray(kernel.gram(X.astype(float)), float)
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    values = np.where(values > len(y) * np.finfo(float).eps * values[-1], values, 0.0)
    root = np.sqrt(values)
    target = vectors.T @ y
    numbers: tuple[Any, ...] = (np.diag(values), root * target, y @ y)
    sums = QuadraticSums(*numbers)
    loss, w = best_in_ball(sums, float(radius))
    coefficients = vectors @ np.divide(w, root, out=np.zeros_like(w), where=root > 0)
    return RKHSPredictor(float(loss), float(np.linalg.norm(w)), coefficients)


def best_kernel(
    kernels: Sequence[Kernel], X: Float[ArrayLike, "n d"], y: Float[ArrayLike, "n"], radius: float
) -> BestKernel:
    """The best single kernel in hindsight, with the best predictor in its ball: the comparator of Theorems 2 and 3.

    Args:
        kernels: at least one.
        X: instances.
        y: targets.
        radius: of every kernel's ball, above 0.

    Raises:
        ValueError: no kernel, or what `rkhs_ball` raises.

    Example:
        >>> import numpy as np
        >>> from jaxonline.comparators_multikernel import best_kernel
        >>> from jaxonline.kernels import Gaussian, Linear
        >>> X = np.array([[-1.0], [0.0], [1.0]])
        >>> best_kernel([Linear(), Gaussian(1.0)], X, np.array([1.0, 0.0, 1.0]), radius=2.0).index
        1
    """
    if len(kernels) == 0:
        raise ValueError("kernels must name at least one kernel, got none")
    predictors = [rkhs_ball(kernel, X, y, radius) for kernel in kernels]
    losses = np.array([predictor.loss for predictor in predictors])
    index = int(np.argmin(losses))
    return BestKernel(index, predictors[index], losses)
