"""Linear predictors and the squared loss: gradient descent on clean data, on two noisy copies, with the covariance."""

import numpy as np

from jaxonline._util import check
from jaxonline.bounds.regret_bound import FORMS, RegretBound, gradient_descent


def full_information(radius: float, x_bound: float, y_bound: float, n_rounds: int) -> RegretBound:
    """Online gradient descent on clean data: |x| <= x_bound, |y| <= y_bound (Zinkevich 2003).

    G = 4 (radius x_bound + y_bound)^2 x_bound^2.

    Raises:
        ValueError: if a radius or bound is not above 0, or the horizon is less than 1.

    Example:
        >>> from jaxonline.bounds import full_information
        >>> full_information(1.0, 1.0, 1.0, n_rounds=100).value
        40.0
    """
    return two_copies(radius, x_bound, y_bound, n_rounds)


def two_copies(radius: float, x_bound: float, y_bound: float, n_rounds: int, form: str = "corrected") -> RegretBound:
    """Paper B, Theorem 1: two noisy copies a round; regret <= radius sqrt(G T) with step radius / sqrt(G T).

    Args:
        radius: B_w, of the ball of hypotheses and comparators.
        x_bound: B with E|x~|^2 <= B^2 in every round.
        y_bound: B_y with E y~^2 <= B_y^2 in every round.
        n_rounds: the horizon T.
        form: "corrected", G = 4 (B_w B + B_y)^2 B^2; or "printed", G = 4 (B_w^2 B^2 + B_y^2) B^2, which drops the
            cross term (erratum E10).

    Raises:
        ValueError: if a radius or bound is not above 0, the horizon is less than 1, or `form` is neither.

    Example:
        >>> from jaxonline.bounds import two_copies
        >>> two_copies(1.0, 1.0, 1.0, 100).G, two_copies(1.0, 1.0, 1.0, 100, form="printed").G
        (16.0, 8.0)
    """
    B_w, B, B_y = (check.positive(n, v) for n, v in [("radius", radius), ("x_bound", x_bound), ("y_bound", y_bound)])
    check.count("n_rounds", n_rounds)
    check.choice("form", form, FORMS)
    inner = (B_w * B + B_y) ** 2 if form == "corrected" else B_w**2 * B**2 + B_y**2
    return gradient_descent(radius, 4 * inner * B**2, n_rounds)


def known_covariance(
    radius: float, x_bound: float, y_bound: float, covariance_norm: float, n_rounds: int, form: str = "corrected"
) -> RegretBound:
    """Paper B, Theorem 2: one noisy copy and its noise's covariance.

    Args:
        radius: B_w, of the ball of hypotheses and comparators.
        x_bound: B with E|x~|^4 <= B^4 in every round (so that E|x~|^2 <= B^2).
        y_bound: B_y with E y~^2 <= B_y^2 in every round.
        covariance_norm: B_Sigma, a bound on the spectral norm of the covariances, at least 0.
        n_rounds: the horizon T.
        form: "corrected", for the gradient 2 (<w, x~> - y~) x~ - 2 Sigma w (erratum E11):
            G = 8 B_w^2 B^4 + 8 B_y^2 B^2 + 8 B_w B_Sigma B (B_w B + B_y), step B_w / sqrt(G T), regret
            <= B_w sqrt(G T). "printed": G as in Lemma 2, for the step B_w / sqrt(T), (G + 1)/2 B_w sqrt(T).

    Raises:
        ValueError: if a radius or bound is not above 0, `covariance_norm` is negative, the horizon is less than 1,
            or `form` is neither.

    Example:
        >>> from jaxonline.bounds import known_covariance
        >>> known_covariance(1.0, 1.0, 1.0, 0.5, 100).G
        24.0
    """
    B_w, B, B_y = (check.positive(n, v) for n, v in [("radius", radius), ("x_bound", x_bound), ("y_bound", y_bound)])
    B_S = check.not_negative("covariance_norm", covariance_norm)
    check.count("n_rounds", n_rounds)
    check.choice("form", form, FORMS)
    G = 8 * B_w**2 * B**4 + 8 * B_y**2 * B**2
    if form == "printed":
        G += 4 * B_w**2 * B**2 * B_S + B_S**2 * B_w**2
        return RegretBound((G + 1) / 2 * B_w * np.sqrt(n_rounds), B_w / np.sqrt(n_rounds), G, B_w)
    return gradient_descent(radius, G + 8 * B_w * B_S * B * (B_w * B + B_y), n_rounds)
