"""Theorems on linear classifiers as numbers: mistakes on sequences that are separable, or nearly so."""

import math
from typing import Annotated, Literal

import numpy as np

from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.types import Count, Ge, Gt, NonNegativeFloat, PositiveFloat, Vector
from jaxonline.parameters.validation import validate_arguments


@cites("novikoff1962convergence")
@validate_arguments
def perceptron(radius: PositiveFloat, margin: PositiveFloat) -> float:
    """Mistakes of `Perceptron` and `KernelPerceptron`: (r / gamma)^2, where |x| <= r and y <u, x> >= gamma, |u| = 1.

    Novikoff (1962).

    Args:
        radius: r.
        margin: gamma.

    Example:
        >>> from jaxonline.bounds import perceptron
        >>> perceptron(radius=1.0, margin=0.25)
        16.0
    """
    return (radius / margin) ** 2


@cites("gentile2003robustness")
@validate_arguments
def p_norm_perceptron(p: Annotated[float, Ge(2)], radius: PositiveFloat, margin: PositiveFloat) -> float:
    """Mistakes of `PNormPerceptron`: (p - 1) (r / gamma)^2, where |x|_p <= r and y <u, x> >= gamma, |u|_q = 1.

    Gentile (2003); 1/p + 1/q = 1.

    Args:
        p: of the norm.
        radius: r, of the p-norm.
        margin: gamma.

    Example:
        >>> from jaxonline.bounds import p_norm_perceptron
        >>> p_norm_perceptron(3.0, radius=1.0, margin=0.25)
        32.0
    """
    return (p - 1.0) * perceptron(radius, margin)


@cites("blum1998online")
@validate_arguments
def winnow(
    n_attributes: Count, n_relevant: Count, promotion: Annotated[float, Gt(1)] = 2.0,
    threshold: Annotated[float, Ge(1)] | None = None,
) -> float:  # fmt: skip
    """Mistakes of `Winnow` on a disjunction of k of d attributes: (1 + a) k (1 + log_a theta) + a d / ((a - 1) theta).

    2 + 3 k (1 + log2 d) for a = 2 and theta = d (Blum 1998). A promotion multiplies the weight of a relevant attribute
    by a, while it is at most theta, and no demotion touches it: at most k (1 + log_a theta) promotions. They add at
    most (a - 1) theta to the sum of weights, d at first, and demotions take (1 - 1/a) theta or more.

    Args:
        n_attributes: d.
        n_relevant: k, at most d.
        promotion: a.
        threshold: theta; d by default.

    Example:
        >>> from jaxonline.bounds import winnow
        >>> winnow(64, 3)
        65.0
    """
    d, k, a = n_attributes, n_relevant, promotion
    if k > d:
        raise ArgumentError("n_relevant", f"must be at most n_attributes, {d} (got {k})")
    theta = d if threshold is None else threshold
    return (1.0 + a) * k * (1.0 + math.log(theta) / math.log(a)) + a * d / ((a - 1.0) * theta)


@cites("crammer2006online")
@validate_arguments
def passive_aggressive(
    variant: Literal["PA", "PA-I", "PA-II"], radius: PositiveFloat, norm: NonNegativeFloat,
    hinge_losses: Annotated[Vector, Ge(0)], C: PositiveFloat = 1.0,
) -> float:  # fmt: skip
    """Sum of squared hinge losses of `PassiveAggressive` (PA, PA-II), or its mistakes (PA-I), against any u.

    Crammer et al. (2006), with |x| <= r and the hinge losses l of u. PA, Theorem 2, where they are 0: r^2 |u|^2.
    PA-I, Theorem 4: max(r^2, 1/C) (|u|^2 + 2 C sum l). PA-II, Theorem 5: (r^2 + 1/(2 C)) (|u|^2 + 2 C sum l^2). A sum
    of squares bounds the mistakes, too: each has a hinge loss of 1 or more.

    Args:
        variant: of the algorithm.
        radius: r.
        norm: |u|.
        hinge_losses: of u, one a round.
        C: the aggressiveness.

    Raises:
        ValueError: losses of u that are not 0, for PA.

    Example:
        >>> from jaxonline.bounds import passive_aggressive
        >>> passive_aggressive("PA-I", radius=1.0, norm=2.0, hinge_losses=[0.0, 0.5], C=1.0)
        5.0
    """
    square, own, losses = radius**2, norm**2, np.asarray(hinge_losses, float)
    if variant == "PA-I":
        return max(square, 1.0 / C) * (own + 2.0 * C * float(losses.sum()))
    if variant == "PA-II":
        return (square + 1.0 / (2.0 * C)) * (own + 2.0 * C * float(np.sum(losses**2)))
    if losses.any():
        raise ArgumentError("hinge_losses", f"must be 0 for PA (got {check.quote(losses)})")
    return square * own
