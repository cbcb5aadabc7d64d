"""Regret bounds of gradient descent for linear predictors and the squared loss, on clean or noisy data.

`two_copies` and `known_covariance` are the corrected Theorems 1 and 2 of paper B. They assume an oblivious environment;
`RegretBound.in_any_environment` is the bound for other environments (erratum E37).
"""

from jaxonline.bounds.assumptions import OBLIVIOUS, assumes
from jaxonline.bounds.regret_bound import RegretBound, gradient_descent
from jaxonline.parameters.citations import cites
from jaxonline.parameters.types import PositiveFloat, Rounds
from jaxonline.parameters.validation import validate_arguments


@cites("zinkevich2003online")
@assumes(prescribed_rate=True)
@validate_arguments
def full_information(
    radius: PositiveFloat, x_bound: PositiveFloat, y_bound: PositiveFloat, n_rounds: Rounds
) -> RegretBound:
    """Regret bound of online gradient descent on clean data, |x| <= x_bound and |y| <= y_bound (Zinkevich 2003).

    The bound is radius sqrt(G T) with G = 4 (radius x_bound + y_bound)^2 x_bound^2.

    Example:
        >>> from jaxonline.bounds import full_information
        >>> full_information(1.0, 1.0, 1.0, n_rounds=100).value
        40.0
    """
    return two_copies(radius, x_bound, y_bound, n_rounds)


@cites("cesabianchi2010learning")
@assumes(OBLIVIOUS, prescribed_rate=True)
@validate_arguments
def two_copies(radius: PositiveFloat, x_bound: PositiveFloat, y_bound: PositiveFloat, n_rounds: Rounds) -> RegretBound:
    """Regret bound of gradient descent on two noisy copies per round: B_w sqrt(G T), with step size B_w / sqrt(G T).

    The bound is Theorem 1 of paper B, corrected, with G = 4 (B_w B + B_y)^2 B^2 (erratum E10).

    Args:
        radius: B_w, radius of the ball of hypotheses and comparators.
        x_bound: B with E|x~|^2 <= B^2 in every round.
        y_bound: B_y with E y~^2 <= B_y^2 in every round.
        n_rounds: horizon T.

    Example:
        >>> from jaxonline.bounds import two_copies
        >>> two_copies(1.0, 1.0, 1.0, 100).G
        16.0
    """
    return gradient_descent(radius, 4 * (radius * x_bound + y_bound) ** 2 * x_bound**2, n_rounds)


@cites("cesabianchi2010learning")
@assumes(OBLIVIOUS, prescribed_rate=True)
@validate_arguments
def known_covariance(
    radius: PositiveFloat, x_bound: PositiveFloat, y_bound: PositiveFloat, n_rounds: Rounds
) -> RegretBound:
    """Regret bound for one noisy copy and the covariance of its noise: B_w sqrt(G T), with step size B_w / sqrt(G T).

    The bound corrects Theorem 2 of paper B, for the gradient 2 (<w, x~> - y~) x~ - 2 Sigma w (erratum E11). It has the
    constant G = 4 (B_w B + B_y)^2 B^2 of `two_copies`, but with the fourth moment of the copies, and it holds for every
    covariance Sigma. The paper's G is larger. `claims.noise` has the proof.

    Args:
        radius: B_w, radius of the ball of hypotheses and comparators.
        x_bound: B with E|x~|^4 <= B^4 in every round (so that E|x~|^2 <= B^2).
        y_bound: B_y with E y~^2 <= B_y^2 in every round.
        n_rounds: horizon T.

    Example:
        >>> from jaxonline.bounds import known_covariance
        >>> known_covariance(1.0, 1.0, 1.0, 100).G
        16.0
    """
    return two_copies(radius, x_bound, y_bound, n_rounds)
