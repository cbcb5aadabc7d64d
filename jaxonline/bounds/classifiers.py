"""Mistake bounds of linear classifiers on separable or nearly separable sequences."""

import math
from typing import Annotated, Literal

import numpy as np

from jaxonline.bounds.theorem import ANY, Bound, theorem
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.types import Count, Ge, Gt, NonNegativeFloat, PositiveFloat, Vector


@theorem(ANY, "novikoff1962convergence", quantity="mistakes")
def perceptron(radius: PositiveFloat, margin: PositiveFloat) -> Bound:
    """Mistake bound of `Perceptron` (Novikoff 1962): (r / gamma)^2.

    Args:
        radius: r, with |x| <= r for every instance x.
        margin: gamma, with y <u, x> >= gamma in every round for some |u| = 1.

    Example:
        >>> from jaxonline.bounds import perceptron
        >>> perceptron(radius=1.0, margin=0.25)
        Bound(16.0)
    """
    return Bound((radius / margin) ** 2)


@theorem(ANY, "gentile2003robustness", quantity="mistakes")
def p_norm_perceptron(p: Annotated[float, Ge(2)], radius: PositiveFloat, margin: PositiveFloat) -> Bound:
    """Mistake bound of `PNormPerceptron` (Gentile 2003): (p - 1) (r / gamma)^2.

    Args:
        p: exponent of the norm of instances.
        radius: r, with |x|_p <= r for every instance x.
        margin: gamma, with y <u, x> >= gamma in every round for some |u|_q = 1, where 1/p + 1/q = 1.

    Example:
        >>> from jaxonline.bounds import p_norm_perceptron
        >>> p_norm_perceptron(3.0, radius=1.0, margin=0.25)
        Bound(32.0)
    """
    return Bound((p - 1.0) * perceptron(radius, margin))


@theorem(ANY, "littlestone1988learning", "blum1998online", quantity="mistakes")
def winnow(
    n_attributes: Count, n_relevant: Count, promotion: Annotated[float, Gt(1)] = 2.0,
    threshold: Annotated[float, Ge(1)] | None = None, n_required: Count = 1,
) -> Bound:  # fmt: skip
    """Mistake bound of `Winnow` on labels that are +1 if at least r of k relevant attributes are present.

    With the promotion factor a and the threshold theta let A = a d / ((a - 1) theta), M = (k / r) (1 + log_a theta) and
    c = 1 - 1/r. The bound is A + (1 + a) (M + c A) / (1 - a c). For a disjunction, r = 1, it is A + (1 + a) M (Blum
    1998), which is 2 + 3 k (1 + log2 d) for a = 2 and theta = d. For r > 1 the factor a must be less than r / (r - 1);
    Littlestone (1988), Theorem 9, has a = 1 + 1/(2 r) and larger constants.

    Args:
        n_attributes: d.
        n_relevant: k, at most d.
        promotion: a.
        threshold: theta; d by default.
        n_required: r, at most k.

    Example:
        >>> from jaxonline.bounds import winnow
        >>> winnow(64, 3)
        Bound(65.0)
        >>> round(winnow(64, 3, promotion=1.25, n_required=2))
        197
    """
    d, k, a = n_attributes, n_relevant, promotion
    if k > d:
        raise ArgumentError("n_relevant", f"must be at most n_attributes, {d} (got {k})")
    theta = d if threshold is None else threshold
    if n_required > k:
        raise ArgumentError("n_required", f"must be at most n_relevant, {k} (got {n_required})")
    c = 1.0 - 1.0 / n_required
    if a * c >= 1.0:
        raise ArgumentError("promotion", f"must be less than r / (r - 1) = {1.0 / c:.6g} (got {a:g})")
    # Promotions p add at most (a - 1) theta to the sum of weights, which starts at d; demotions q subtract at least
    # (1 - 1/a) theta: q <= A + a p. Let u be 1/r on the relevant attributes, so that <u, x> is at least 1 if the label
    # is +1, and at most c otherwise. The mean of log_a w under u changes by <u, x>, so its end is at least p - c q. A
    # weight is promoted only if it is at most theta, so the end is at most M: p <= M + c q. Both give p (1 - a c) <= M
    # + c A, and p + q <= A + (1 + a) p.
    A = a * d / ((a - 1.0) * theta)
    M = k / n_required * (1.0 + math.log(theta) / math.log(a))
    return Bound(A + (1.0 + a) * (M + c * A) / (1.0 - a * c))


@theorem(ANY, "crammer2006online", quantity="mistakes")
def passive_aggressive(
    variant: Literal["PA", "PA-I", "PA-II"], radius: PositiveFloat, norm: NonNegativeFloat,
    hinge_losses: Annotated[Vector, Ge(0)], C: PositiveFloat = 1.0,
) -> Bound:  # fmt: skip
    """Bound on the squared hinge losses of `PassiveAggressive` (PA, PA-II) or on its mistakes (PA-I), against any u.

    Every instance has |x| <= r, and the numbers l are the hinge losses of u (Crammer et al. 2006). The bound for PA is
    r^2 |u|^2 (Theorem 2, for l = 0). The bound for PA-I is max(r^2, 1/C) (|u|^2 + 2 C sum l) (Theorem 4). The bound for
    PA-II is (r^2 + 1/(2 C)) (|u|^2 + 2 C sum l^2) (Theorem 5). A bound on the sum of the squared hinge losses also
    bounds the number of mistakes, as a mistake has a hinge loss of at least 1.

    Args:
        variant: variant of the algorithm.
        radius: r.
        norm: |u|.
        hinge_losses: hinge losses of u, one per round; all 0 for PA (otherwise a ValueError).
        C: aggressiveness.

    Example:
        >>> from jaxonline.bounds import passive_aggressive
        >>> passive_aggressive("PA-I", radius=1.0, norm=2.0, hinge_losses=[0.0, 0.5], C=1.0)
        Bound(5.0)
    """
    r2, u2, losses = radius**2, norm**2, np.asarray(hinge_losses, float)
    if variant == "PA-I":
        return Bound(max(r2, 1.0 / C) * (u2 + 2.0 * C * float(losses.sum())))
    if variant == "PA-II":
        return Bound((r2 + 1.0 / (2.0 * C)) * (u2 + 2.0 * C * float(np.sum(losses**2))))
    if losses.any():
        raise ArgumentError("hinge_losses", f"must be 0 for PA (got {check.quote(losses)})")
    return Bound(r2 * u2)
