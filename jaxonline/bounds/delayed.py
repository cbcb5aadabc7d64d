"""Bounds on the regret when answers arrive late."""

from collections.abc import Callable
from typing import Annotated

import numpy as np
from jaxtyping import Float

from jaxonline.bounds.assumptions import OBLIVIOUS, STOCHASTIC, assumes
from jaxonline.bounds.bandits import Gaps, ucb1
from jaxonline.bounds.regret_bound import RegretBound
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.types import CountFrom2, Horizons, NonNegativeInt, PositiveFloat, Rounds, Takes
from jaxonline.parameters.validation import validate_arguments


@cites("joulani2013delayed", "weinberger2002delayed")
@assumes(OBLIVIOUS)
@validate_arguments
def bold(
    bound: Annotated[Callable[[np.ndarray], np.ndarray], Takes("the horizon")],
    max_delay: NonNegativeInt,
    n_rounds: Horizons,
) -> Float[np.ndarray, "..."]:
    """Regret bound of `learners.BOLD`: (d + 1) R(T / (d + 1)).

    The bound holds because each of the d + 1 copies plays some of the rounds, and R is concave. Sources: Joulani,
    Gyorgy and Szepesvari (2013), Theorem 1; Weinberger and Ordentlich (2002) for a fixed delay. The bound assumes an
    oblivious environment.

    Args:
        bound: the concave bound R(T) on the regret of the base learner without delay.
        max_delay: the largest delay d.
        n_rounds: the horizon T, or several horizons.

    Example:
        >>> import numpy as np
        >>> from jaxonline.bounds import bold
        >>> float(bold(np.sqrt, 3, 100))
        20.0
    """
    n_copies = max_delay + 1
    return n_copies * np.asarray(bound(np.asarray(n_rounds, float) / n_copies))


@cites("joulani2013delayed", "auer2002finite")
@assumes(STOCHASTIC, "pseudo-regret", losses=(0.0, 1.0))
@validate_arguments
def delayed_ucb1(gaps: Gaps, max_delay: NonNegativeInt, n_rounds: Horizons) -> Float[np.ndarray, "..."]:
    """Pseudo-regret bound of UCB1 with updates on arrival: the bound without delay plus d times the sum of the gaps.

    At most d pulls of an arm are unanswered, and the other pulls satisfy the argument of Auer et al. (2002), Theorem 1.
    Theorem 7 of Joulani, Gyorgy and Szepesvari (2013) adds d times the sum of the gaps, too.

    Args:
        gaps: the gaps of the mean losses of the arms [K], 0 for a best arm.
        max_delay: the largest delay d.
        n_rounds: the horizon T, or several horizons.

    Example:
        >>> from jaxonline.bounds import delayed_ucb1
        >>> round(float(delayed_ucb1([0.0, 0.5], 10, 1000)), 1)
        117.7
    """
    return ucb1(gaps, n_rounds) + max_delay * np.asarray(gaps, float).sum()


@cites("thune2019nonstochastic", "cesabianchi2016delay")
@assumes(OBLIVIOUS, losses=(0.0, 1.0))
@validate_arguments
def delayed_exp3(
    n_arms: CountFrom2, delay: NonNegativeInt, n_rounds: Horizons, eta: PositiveFloat
) -> Float[np.ndarray, "..."]:
    """Pseudo-regret bound of EXP3 with updates on arrival, for a fixed delay d: ln K / eta + eta T (e K / 2 + d).

    The bound is Theorem 1 of Thune, Cesa-Bianchi and Seldin (2019), for losses in [0, 1] of an oblivious environment
    and eta <= 1 / (2 e (d + 1)). The best eta gives the order sqrt((K + d) T ln K) of Cesa-Bianchi, Gentile and Mansour
    (2016).

    Args:
        n_arms: the number K of arms.
        delay: the delay d of every answer.
        n_rounds: the horizon T, or several horizons.
        eta: the learning rate.

    Raises:
        ValueError: `eta` is larger than the theorem allows.

    Example:
        >>> from jaxonline.bounds import delayed_exp3
        >>> round(float(delayed_exp3(4, 3, 1000, eta=0.01)), 1)
        223.0
    """
    largest = 1 / (2 * np.e * (delay + 1))
    if eta > largest:
        raise ArgumentError("eta", f"must be at most 1 / (2 e (delay + 1)) = {largest:.3g} (got {eta:.3g})")
    T = np.asarray(n_rounds, float)
    return np.log(n_arms) / eta + eta * T * (np.e * n_arms / 2 + delay)


@cites("langford2009slow", "zinkevich2003online")
@assumes(OBLIVIOUS, prescribed_rate=True)
@validate_arguments
def delayed_gradient_descent(
    radius: PositiveFloat, G: PositiveFloat, delay: NonNegativeInt, n_rounds: Rounds
) -> RegretBound:
    """Regret bound of gradient descent with updates on arrival, for a fixed delay d: radius sqrt((1 + 2 d) G T).

    The bound of Langford, Smola and Zinkevich (2009) has the same order. Proof: let u be the comparator, w_s the move
    of round s, v_s the hypothesis at the arrival of its answer, and eta the step. Then f_s(w_s) - f_s(u) is at most
    <grad f_s(v_s), v_s - u> + sqrt(G) |w_s - v_s|. The updates are gradient descent at v_s, so the terms <grad
    f_s(v_s), v_s - u> sum to at most radius^2 / (2 eta) + eta G T / 2. At most d updates separate w_s from v_s, each of
    mean length eta sqrt(G). So the terms sqrt(G) |w_s - v_s| sum to at most eta G d T. The step size eta minimises the
    sum of these two bounds.

    Args:
        radius: radius of the ball of hypotheses and comparators; its centre is the first hypothesis.
        G: bound on the second moment of the estimates, and on the squared gradients in the ball. With noisy estimates
            the bound assumes an oblivious environment.
        delay: the delay d of every answer.
        n_rounds: the horizon T.

    Example:
        >>> from jaxonline.bounds import delayed_gradient_descent
        >>> delayed_gradient_descent(radius=2.0, G=4.0, delay=4, n_rounds=100).value
        120.0
    """
    root = float(np.sqrt((1 + 2 * delay) * G * n_rounds))
    # as without delay for estimates with (1 + 2 d) G; there is no bound for decreasing steps
    return RegretBound(radius * root, radius / root, G * (1 + 2 * delay), radius, np.inf)
