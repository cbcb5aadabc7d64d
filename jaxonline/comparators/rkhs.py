"""Comparators in the RKHS of a kernel: the best function in a ball, and the best kernel."""

import math
import warnings
from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import jax
import numpy as np
from jaxtyping import ArrayLike, Float, Int
from scipy import linalg

from jaxonline.comparators.linear import (
    LossTerms,
    QuadraticSums,
    Solution,
    best_in_l2_ball,
    factorise,
    loss_terms,
    minimise,
)
from jaxonline.kernels.dot_product import AnyKernel, Kernel
from jaxonline.losses import Loss, Squared, ZeroOne
from jaxonline.losses.base import as_loss, check_outcomes
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Component, Convert, Positive, PositiveFloat

# ---------------------------------------------------------------------------------------------------------------------
# Norms and angles of elements sum a_i k(x_i, .) of an RKHS, from the Gram matrix, in float64 on the host.


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


# ---------------------------------------------------------------------------------------------------------------------
# Comparator: the best predictor in a ball of an RKHS for any convex loss, also for the first t rounds only.
#
# By the representer theorem f is sum a_i k(x_i, .), so the problem is convex over a ball of R^m. The problem is solved
# on the host in float64: exactly for the squared loss (`best_in_l2_ball`), and for other losses until the duality gap
# is small.


TOLERANCE = 1e-8
SQUARED = Squared()


def _as_convex_loss(loss: Any, name: str) -> Loss:
    if isinstance(loss, ZeroOne):
        raise ArgumentTypeError(name, "must be convex (got ZeroOne()); use Hinge(), Logistic() or another convex loss")
    return as_loss(name, loss)


ConvexLoss = Annotated[Any, Component("loss"), Convert(_as_convex_loss)]


class RKHSPredictor(NamedTuple):
    """Best predictor f = sum a_i k(x_i, .) in a ball of an RKHS.

    Attributes:
        loss: cumulative loss of f.
        norm: |f|, at most the radius.
        coefficients: the coefficients a [n]; if several vectors give the same f, the shortest of them.
        gap: every predictor of the ball has a cumulative loss of at least `loss - gap`.
        kernel: the kernel k.
        X: the instances [n, d].
    """

    loss: float
    norm: float
    coefficients: np.ndarray
    gap: float
    kernel: Kernel
    X: np.ndarray

    def predict(self, X: Float[ArrayLike, "m d"] | Sequence[Any]) -> np.ndarray:
        """Values [m] of f at every row of `X` in float64; raises a ValueError unless `X` is a finite matrix."""
        return gram_matrix(self.kernel, check.finite_array("X", X, ndim=2), self.X) @ self.coefficients


@validate_arguments
def best_in_rkhs_ball(
    kernel: AnyKernel,
    X: Float[ArrayLike, "n d"],
    y: Float[ArrayLike, "n"],
    radius: PositiveFloat,
    loss: ConvexLoss = SQUARED,
    tolerance: PositiveFloat = TOLERANCE,
) -> RKHSPredictor:
    """Best predictor in a ball of an RKHS: minimise sum l(f(x_t), y_t) over |f| <= radius, in O(n^3) operations.

    Args:
        kernel: any kernel; use a sum of kernels for the sum of their RKHSs.
        X: instances.
        y: targets (+1 or -1 for margin losses).
        radius: radius of the ball.
        loss: a convex and twice differentiable loss, from `jaxonline.losses` or your own; the squared loss is solved
            exactly.
        tolerance: for losses other than the squared loss, the duality gap at which the search stops, relative to the
            loss of f = 0; a gap that stays larger gives a RuntimeWarning.

    Raises:
        TypeError: `loss` is not a loss, or it is the zero-one loss.
        ValueError: the shapes do not match, or an entry is not finite.

    Example:
        >>> import numpy as np
        >>> from jaxonline.comparators import best_in_rkhs_ball
        >>> from jaxonline.kernels import Linear
        >>> from jaxonline.losses import Logistic
        >>> best = best_in_rkhs_ball(Linear(), np.eye(2), np.array([3.0, 4.0]), radius=1.0)
        >>> round(best.loss, 9), round(best.norm, 9), best.coefficients.round(9).tolist()
        (16.0, 1.0, [0.6, 0.8])
        >>> best = best_in_rkhs_ball(Linear(), np.eye(2), np.array([1.0, -1.0]), radius=2.0, loss=Logistic())
        >>> round(best.loss, 6), best.coefficients.round(6).tolist(), best.gap < 1e-8
        (0.435243, [1.414214, -1.414214], True)
    """
    X, y = (array.astype(float) for array in check.rows("X", X, "y", y))
    check_outcomes("y", y, loss)
    gram = gram_matrix(kernel, X)
    if isinstance(loss, Squared):
        return RKHSPredictor(*_solve_squared_loss(gram, y, float(radius)), kernel, X)
    terms, factor = loss_terms(loss, y), factorise(gram, [len(y)])
    solution = minimise(factor.matrix, terms, float(radius), float(tolerance))
    _warn_if_uncertain(solution, tolerance * terms(np.zeros(len(y)))[0].sum())
    coefficients = np.zeros(len(y))
    if len(solution.coordinates):
        coefficients = linalg.lstsq(factor.matrix.T, solution.coordinates, lapack_driver="gelsy")[0]  # type: ignore
    norm = float(np.linalg.norm(solution.coordinates))
    return RKHSPredictor(solution.loss, norm, coefficients, solution.gap, kernel, X)


@struct
class RKHSBall:
    """Best predictors with |f| <= radius in the RKHS of a kernel, for the first t rounds of a game, for several t.

    Args:
        kernel: any kernel.
        radius: radius of the ball.
        loss: a convex and twice differentiable loss, from `jaxonline.losses` or your own; not the zero-one loss
            (TypeError).
        tolerance: largest error of the best losses, relative to the loss of f = 0.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> ball = jo.RKHSBall(jo.kernels.Linear(), radius=1.0)
        >>> ball.best_losses(np.eye(2), np.array([3.0, 4.0]), rounds=[1, 2]).round(6).tolist()
        [4.0, 16.0]
    """

    kernel: AnyKernel
    radius: Positive
    loss: ConvexLoss = SQUARED
    tolerance: Positive = TOLERANCE

    def best_losses(
        self, X: Float[ArrayLike, "T d"], y: Float[ArrayLike, "T"], rounds: Int[ArrayLike, "G"] | Sequence[int]
    ) -> Float[np.ndarray, "G"]:
        """Smallest loss of a predictor in the ball over the first t rows, for each t of `rounds` (increasing, 1 to T).

        Each search starts at the best predictor of the previous t. A row that occurs several times, as in a second pass
        over data, counts several times but costs no extra time: n distinct rows take O(n^3) operations.

        Raises:
            ValueError: the shapes do not match, an entry is not finite, or `rounds` do not increase from 1 to T.
        """
        X, y = (array.astype(float) for array in check.rows("X", X, "y", y))
        check_outcomes("y", y, self.loss)
        ends = np.asarray(rounds)
        if (
            not np.issubdtype(ends.dtype, np.integer)
            or ends.ndim != 1
            or len(ends) == 0
            or (np.diff(ends, prepend=0) <= 0).any()
            or ends[-1] > len(y)
        ):
            raise ArgumentError("rounds", f"must rise from 1 to {len(y)} (got {check.quote(rounds)})")
        rows, index = _distinct_rows(np.column_stack([X, y])[: ends[-1]])
        X, y = rows[:, :-1], rows[:, -1]
        n_distinct = np.maximum.accumulate(index + 1)[ends - 1]  # number of distinct rows so far
        radius, tolerance = float(np.asarray(self.radius)), float(np.asarray(self.tolerance))
        terms = loss_terms(self.loss, y)
        blocks = np.unique(n_distinct).tolist()
        factor = factorise(gram_matrix(self.kernel, X), blocks)
        losses, solution = np.zeros(len(ends)), None
        for i, (end, n_rows) in enumerate(zip(ends, n_distinct, strict=True)):
            counts = np.bincount(index[:end], minlength=n_rows)
            weighted_terms = _weighted_terms(terms, counts)
            matrix = factor.matrix[:n_rows, : factor.columns[blocks.index(n_rows)]]
            solution = minimise(matrix, weighted_terms, radius, tolerance, solution)
            _warn_if_uncertain(solution, tolerance * weighted_terms(np.zeros(n_rows))[0].sum())
            losses[i] = solution.loss
        return losses


def gram_matrix(kernel: Kernel, X: np.ndarray, X2: np.ndarray | None = None) -> np.ndarray:
    """Gram matrix of the rows of `X` and `X2` in float64; without `X2`, the exactly symmetric matrix of `X` alone."""
    with jax.enable_x64(True):
        gram = np.asarray(_gram(kernel, np.asarray(X, float), None if X2 is None else np.asarray(X2, float)), float)
    return (gram + gram.T) / 2 if X2 is None else gram


@jax.jit
def _gram(kernel: Kernel, X: jax.Array, X2: jax.Array | None) -> jax.Array:
    return kernel.gram(X, X2)


def _distinct_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct rows, in order of first occurrence, and for each row the index of its distinct row."""
    _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return rows[np.sort(first)], np.argsort(np.argsort(first))[inverse.ravel()]


def _weighted_terms(terms: LossTerms, counts: np.ndarray) -> LossTerms:
    """Multiply the loss terms of each row by the number of times that the row occurs."""
    return lambda values: tuple(counts * term for term in terms(values))  # type: ignore[return-value]


def _solve_squared_loss(gram: np.ndarray, y: np.ndarray, radius: float) -> tuple[float, float, np.ndarray, float]:
    """Return loss, norm, coefficients and gap for the squared loss, from the eigenbasis of the Gram matrix."""
    values, vectors = np.linalg.eigh(gram)
    values = np.where(values > len(y) * np.finfo(float).eps * values[-1], values, 0.0)
    root = np.sqrt(values)
    sums: tuple[Any, ...] = (np.diag(values), root * (vectors.T @ y), y @ y)
    loss, w = best_in_l2_ball(QuadraticSums(*sums), radius)
    gradient = 2 * root * (root * w - vectors.T @ y)
    gap = max(float(gradient @ w + radius * np.linalg.norm(gradient)), 0.0)
    coefficients = vectors @ np.divide(w, root, out=np.zeros_like(w), where=root > 0)
    return float(loss), float(np.linalg.norm(w)), coefficients, gap


def _warn_if_uncertain(solution: Solution, allowed: float) -> None:
    if solution.gap > allowed:
        warnings.warn(
            f"the loss of the best predictor in the RKHS ball has an error of up to {solution.gap:.2g}, more than "
            f"{allowed:.2g}; increase `tolerance`",
            RuntimeWarning,
            stacklevel=3,
        )
