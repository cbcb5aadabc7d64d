"""Bounds on the regret when arms or experts are not available in every round (`environments.Sleeping`)."""

from typing import Annotated

import numpy as np
from jaxtyping import ArrayLike, Float

from jaxonline.bounds.assumptions import OBLIVIOUS, STOCHASTIC, assumes
from jaxonline.bounds.bandits import Gaps
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.types import CountFrom2, Ge, Horizons, PositiveFloat
from jaxonline.parameters.validation import validate_arguments

RoundCounts = Annotated[Float[ArrayLike, "..."], Ge(0)]


@cites("freund1997specialize")
@assumes(losses=(0.0, 1.0))
@validate_arguments
def sleeping_hedge(n_experts: CountFrom2, eta: PositiveFloat, awake_rounds: RoundCounts) -> Float[np.ndarray, "..."]:
    """Regret bound of `Hedge(EWA(eta))` against an expert over its n awake rounds: ln(K) / eta + eta n / 8.

    The bound is Theorem 1 of Freund, Schapire, Singer and Warmuth (1997), with Hoeffding's lemma for losses in [0, 1].

    Args:
        n_experts: K.
        eta: the rate of the exponential weights.
        awake_rounds: the number n of rounds in which the expert is awake, or several numbers.

    Example:
        >>> from jaxonline.bounds import sleeping_hedge
        >>> round(float(sleeping_hedge(10, 0.1, 1000)), 2)
        35.53
    """
    return np.log(n_experts) / eta + eta * np.asarray(awake_rounds, float) / 8


@cites("freund1997specialize", "auer2002nonstochastic")
@assumes(OBLIVIOUS, losses=(0.0, 1.0))
@validate_arguments
def sleeping_exp3(n_arms: CountFrom2, eta: PositiveFloat, available_arms: RoundCounts) -> Float[np.ndarray, "..."]:
    """Bound on the expected regret of `EXP3(eta)` against an arm, in its available rounds: ln(K) / eta + eta A / 2.

    The arms have the weights of sleeping experts. The mean of the second moments of the estimates in a round is at most
    the number of available arms, as in Bubeck and Cesa-Bianchi (2012), Theorem 3.1. The bound assumes losses in [0, 1]
    and an oblivious environment.

    Args:
        n_arms: K.
        eta: the rate of the exponential weights.
        available_arms: the sum A of the numbers of available arms over the rounds in which the arm is available, or
            several sums.

    Example:
        >>> from jaxonline.bounds import sleeping_exp3
        >>> round(float(sleeping_exp3(10, 0.02, 5000)), 1)  # 1,000 rounds with 5 available arms each
        165.1
    """
    return np.log(n_arms) / eta + eta * np.asarray(available_arms, float) / 2


@cites("kleinberg2010sleeping", "auer2002finite")
@assumes(STOCHASTIC, "pseudo-regret", losses=(0.0, 1.0))
@validate_arguments
def sleeping_ucb1(gaps: Gaps, n_rounds: Horizons) -> Float[np.ndarray, "..."]:
    """Pseudo-regret bound of `UCB1` against the best ordering of the arms, for masks that do not depend on the losses.

    Let the arms be in the order of their means, and let D(i, j) be the difference of the means of arms i < j. The bound
    is 8 ln T sum (D(i, j) - D(i+1, j)) / D(i, j)^2 + (1 + pi^2/3) sum D(1, j); the first sum is over the pairs with
    D(i, j) > 0. If all arms are always available, the bound `ucb1` is smaller for three or more means. The proof is the
    argument of Kleinberg, Niculescu-Mizil and Sharma (2010) for AUER, with the constants of Auer et al. (2002), Theorem
    1. Suppose that arm j was pulled 8 ln T / D(i, j)^2 times, and arm i is the best available arm. Then arm j is not
    pulled again, except with a probability whose sum over rounds is at most pi^2/3.

    Args:
        gaps: gaps of the mean losses of the arms [K], 0 for a best arm.
        n_rounds: the horizon T, or several horizons.

    Example:
        >>> from jaxonline.bounds import sleeping_ucb1
        >>> round(float(sleeping_ucb1([0.0, 0.5], 1000)), 1)  # as ucb1
        112.7
    """
    gaps = np.sort(np.asarray(check.numbers("gaps", gaps, ge=0.0, le=1.0), float))
    differences = np.maximum(gaps[None, :] - gaps[:, None], 0.0)  # D(i, j)
    decreases = differences[:-1] - differences[1:]
    positive = differences[:-1] > 0
    factor = np.sum(decreases[positive] / differences[:-1][positive] ** 2)
    return 8 * np.log(np.asarray(n_rounds, float)) * factor + (1 + np.pi**2 / 3) * gaps.sum()
