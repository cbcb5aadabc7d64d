"""Linear predictors and the squared loss: gradient descent on clean data, on two noisy copies, with the covariance.

The last two are paper B's Theorems 1 and 2, corrected.
"""

from jaxonline.bounds.regret_bound import RegretBound, gradient_descent
from jaxonline.parameters import check


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


def two_copies(radius: float, x_bound: float, y_bound: float, n_rounds: int) -> RegretBound:
    """Paper B, Theorem 1: two noisy copies a round; regret <= radius sqrt(G T) with step radius / sqrt(G T).

    G = 4 (B_w B + B_y)^2 B^2 (erratum E10).

    Args:
        radius: B_w, of the ball of hypotheses and comparators.
        x_bound: B with E|x~|^2 <= B^2 in every round.
        y_bound: B_y with E y~^2 <= B_y^2 in every round.
        n_rounds: the horizon T.

    Raises:
        ValueError: if a radius or bound is not above 0, or the horizon is less than 1.

    Example:
        >>> from jaxonline.bounds import two_copies
        >>> two_copies(1.0, 1.0, 1.0, 100).G
        16.0
    """
    B_w, B, B_y = (check.positive(n, v) for n, v in [("radius", radius), ("x_bound", x_bound), ("y_bound", y_bound)])
    return gradient_descent(radius, 4 * (B_w * B + B_y) ** 2 * B**2, n_rounds)


def known_covariance(
    radius: float, x_bound: float, y_bound: float, covariance_norm: float, n_rounds: int
) -> RegretBound:
    """Paper B, Theorem 2: one noisy copy and its noise's covariance; regret <= B_w sqrt(G T) with step B_w / sqrt(G T).

    G = 8 B_w^2 B^4 + 8 B_y^2 B^2 + 8 B_w B_Sigma B (B_w B + B_y), for the gradient 2 (<w, x~> - y~) x~ - 2 Sigma w
    (erratum E11).

    Args:
        radius: B_w, of the ball of hypotheses and comparators.
        x_bound: B with E|x~|^4 <= B^4 in every round (so that E|x~|^2 <= B^2).
        y_bound: B_y with E y~^2 <= B_y^2 in every round.
        covariance_norm: B_Sigma, a bound on the spectral norm of the covariances, at least 0.
        n_rounds: the horizon T.

    Raises:
        ValueError: if a radius or bound is not above 0, `covariance_norm` is negative, or the horizon is less than 1.

    Example:
        >>> from jaxonline.bounds import known_covariance
        >>> known_covariance(1.0, 1.0, 1.0, 0.5, 100).G
        24.0
    """
    B_w, B, B_y = (check.positive(n, v) for n, v in [("radius", radius), ("x_bound", x_bound), ("y_bound", y_bound)])
    B_S = check.not_negative("covariance_norm", covariance_norm)
    G = 8 * B_w**2 * B**4 + 8 * B_y**2 * B**2 + 8 * B_w * B_S * B * (B_w * B + B_y)
    return gradient_descent(radius, G, n_rounds)
