"""Upper and lower bounds on the pseudo-regret of bandits with K arms.

Losses lie in [0, 1], except for `explore_then_commit`. `gaps` are the mean losses minus the smallest mean loss.
"""

from typing import Annotated, Any

import numpy as np
from jaxtyping import ArrayLike, Float
from scipy import special

from jaxonline.bounds.assumptions import OBLIVIOUS, STOCHASTIC, assumes
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.types import Convert, Count, CountFrom2, Ge, Horizons, Interval, OpenUnitFloat, PositiveFloat
from jaxonline.parameters.validation import validate_arguments


def _gaps(gaps: Any, name: str) -> np.ndarray:
    gaps = np.asarray(check.numbers(name, check.vector(name, gaps), ge=0.0), float)
    if gaps.min() > 0:
        raise ArgumentError(name, f"must hold a 0, that of the best arm (got {check.quote(gaps)})")
    return gaps


Gaps = Annotated[Float[ArrayLike, "K"], Ge(0), Convert(_gaps)]


@cites("lattimore2020bandit")
@assumes(STOCHASTIC, "pseudo-regret")
@validate_arguments
def explore_then_commit(
    gaps: Gaps, pulls_each: Count, n_rounds: Horizons, std: PositiveFloat = 0.5
) -> Float[np.ndarray, "..."]:
    """Regret bound of explore-then-commit: m sum of gaps + (T - m K) sum of gap exp(-m gap^2 / (4 std^2)).

    The bound is Theorem 6.1 of Lattimore and Szepesvari (2020), for sub-Gaussian losses.

    Args:
        gaps: gaps of the arms [K].
        pulls_each: m, pulls of each arm.
        n_rounds: the horizon T, or several horizons, at least m K.
        std: sub-Gaussian parameter of the losses about their means; 1/2 for losses in [0, 1].

    Example:
        >>> from jaxonline.bounds import explore_then_commit
        >>> round(float(explore_then_commit([0.0, 0.5], 20, 1000)), 2)  # 10 + 960 e^-5 / 2
        13.23
    """
    gaps, m, T = np.asarray(gaps), pulls_each, np.asarray(n_rounds, float)
    if T.min() < m * len(gaps):
        raise ArgumentError("n_rounds", f"must be at least pulls_each times arms, {m * len(gaps)} (got {T.min():g})")
    return m * gaps.sum() + (T - m * len(gaps)) * (gaps * np.exp(-m * gaps**2 / (4 * std**2))).sum()


@cites("auer2002finite")
@assumes(STOCHASTIC, "pseudo-regret", losses=(0.0, 1.0))
@validate_arguments
def ucb1(gaps: Gaps, n_rounds: Horizons) -> Float[np.ndarray, "..."]:
    """Regret bound of UCB1 (Auer et al. 2002, Theorem 1): 8 ln T sum of 1/gap (gap > 0) + (1 + pi^2/3) sum of gaps.

    Args:
        gaps: gaps of the arms [K].
        n_rounds: the horizon T, or several horizons.

    Example:
        >>> from jaxonline.bounds import ucb1
        >>> round(float(ucb1([0.0, 0.5], 1000)), 1)
        112.7
    """
    gaps = np.asarray(check.numbers("gaps", gaps, ge=0.0, le=1.0))
    return 8 * np.log(np.asarray(n_rounds, float)) * (1 / gaps[gaps > 0]).sum() + (1 + np.pi**2 / 3) * gaps.sum()


@cites("lai1985asymptotically")
@validate_arguments
def lai_robbins(means: Annotated[Float[ArrayLike, "K"], Interval(gt=0, lt=1)]) -> float:
    """Constant of Lai and Robbins (1985) for losses of 0 and 1: sum over arms of gap / kl(mean, least mean).

    A learner is consistent if its regret grows more slowly than any power of T, for all means. The regret of every
    consistent learner is at least this constant times ln T (1 - o(1)). The regret of `KLUCB` and `BernoulliThompson` is
    at most the constant times ln T (1 + o(1)).

    Args:
        means: mean losses of the arms [K].

    Example:
        >>> from jaxonline.bounds import lai_robbins
        >>> round(lai_robbins([0.1, 0.5]), 4)  # 0.4 / (ln(5) / 2 + ln(5/9) / 2)
        0.783
    """
    means = np.asarray(means, float)
    worse = means[means > means.min()]
    divergence = special.rel_entr(worse, means.min()) + special.rel_entr(1 - worse, 1 - means.min())
    return float(((worse - means.min()) / divergence).sum())


@cites("audibert2009minimax")
@assumes(STOCHASTIC, "pseudo-regret", losses=(0.0, 1.0))
@validate_arguments
def moss(n_arms: Count, n_rounds: Horizons) -> Float[np.ndarray, "..."]:
    """Regret bound of MOSS: 49 sqrt(K T) for every distribution of losses (Audibert and Bubeck 2009, Theorem 5).

    Args:
        n_arms: K.
        n_rounds: the horizon T, or several horizons, each for a learner that knows its horizon.

    Example:
        >>> from jaxonline.bounds import moss
        >>> float(moss(4, 100))
        980.0
    """
    return 49 * np.sqrt(n_arms * np.asarray(n_rounds, float))


@cites("auer2002nonstochastic")
@validate_arguments
def minimax(n_arms: CountFrom2, n_rounds: Horizons) -> Float[np.ndarray, "..."]:
    """Minimax lower bound on the regret of every learner, for some arms with losses 0 and 1: min(sqrt(K T), T) / 20.

    The bound is Theorem 5.1 of Auer, Cesa-Bianchi, Freund and Schapire (2002). The bound holds for the mean regret over
    the random arms of `HiddenBestArm.over_horizon`.

    Args:
        n_arms: K.
        n_rounds: the horizon T, or several horizons, each with its own environment.

    Example:
        >>> from jaxonline.bounds import minimax
        >>> float(minimax(4, 100))
        1.0
    """
    T = np.asarray(n_rounds, float)
    return np.minimum(np.sqrt(n_arms * T), T) / 20


@cites("bubeck2012regret")
@assumes(OBLIVIOUS, losses=(0.0, 1.0), prescribed_rate=True)
@validate_arguments
def exp3(n_arms: CountFrom2, n_rounds: Horizons) -> Float[np.ndarray, "..."]:
    """Regret bound of `EXP3.over_horizon`: sqrt(2 T K ln K) (Bubeck and Cesa-Bianchi 2012, Theorem 3.1).

    Args:
        n_arms: K.
        n_rounds: the horizon T, or several horizons, each for a learner that knows its horizon.

    Example:
        >>> from jaxonline.bounds import exp3
        >>> round(float(exp3(2, 1000)), 2)
        52.66
    """
    return np.sqrt(2 * np.asarray(n_rounds, float) * n_arms * np.log(n_arms))


@cites("bubeck2012regret")
@assumes(OBLIVIOUS, losses=(0.0, 1.0), prescribed_rate=True)
@validate_arguments
def exp4(n_experts: CountFrom2, n_arms: Count, n_rounds: Horizons) -> Float[np.ndarray, "..."]:
    """Regret bound of `EXP4.over_horizon` against N experts: sqrt(2 T K ln N) (Bubeck, Cesa-Bianchi 2012, Theorem 4.2).

    Args:
        n_experts: N.
        n_arms: K.
        n_rounds: the horizon T, or several horizons, each for a learner that knows its horizon.

    Example:
        >>> from jaxonline.bounds import exp4
        >>> round(float(exp4(2, 2, 1000)), 2)
        52.66
    """
    return np.sqrt(2 * np.asarray(n_rounds, float) * n_arms * np.log(n_experts))


@cites("neu2015explore")
@assumes(quantity="regret with high probability", losses=(0.0, 1.0), prescribed_rate=True)
@validate_arguments
def exp3_ix(n_arms: CountFrom2, n_rounds: Horizons, delta: OpenUnitFloat) -> Float[np.ndarray, "..."]:
    """High-probability regret bound of `EXP3IX.over_horizon` against the best arm in hindsight (Neu 2015, Theorem 1).

    The bound is 2 sqrt(2 K T ln K) + (sqrt(2 K T / ln K) + 1) ln(2 / delta), with probability at least 1 - delta.

    Args:
        n_arms: K.
        n_rounds: the horizon T, or several horizons, each for a learner that knows its horizon.
        delta: probability that the bound fails.

    Example:
        >>> from jaxonline.bounds import exp3_ix
        >>> round(float(exp3_ix(2, 1000, delta=0.1)), 1)
        335.9
    """
    K, T, confidence = n_arms, np.asarray(n_rounds, float), np.log(2 / delta)
    return 2 * np.sqrt(2 * K * T * np.log(K)) + (np.sqrt(2 * K * T / np.log(K)) + 1) * confidence


@cites("bubeck2012regret")
@assumes(quantity="regret with high probability", losses=(0.0, 1.0), prescribed_rate=True)
@validate_arguments
def exp3_p(
    n_arms: CountFrom2, n_rounds: Horizons, delta: OpenUnitFloat, known: bool = True
) -> Float[np.ndarray, "..."]:
    """High-probability regret bound of `EXP3P.over_horizon` against the best arm in hindsight.

    The bound is 5.15 sqrt(T K ln(K / delta)), which holds with probability at least 1 - delta: Bubeck and Cesa-Bianchi
    (2012), Theorem 3.3.

    Args:
        n_arms: K.
        n_rounds: the horizon T, or several horizons, each for a learner that knows its horizon.
        delta: probability that the bound fails.
        known: whether the learner was made for the given value of delta. A learner made for delta = 1 has the bound
            sqrt(T K / ln K) ln(1 / delta) + 5.15 sqrt(T K ln K) for all delta.

    Example:
        >>> from jaxonline.bounds import exp3_p
        >>> round(float(exp3_p(2, 1000, delta=0.1)), 1)
        398.6
    """
    K, T = n_arms, np.asarray(n_rounds, float)
    if known:
        return 5.15 * np.sqrt(T * K * np.log(K / delta))
    return np.sqrt(T * K / np.log(K)) * np.log(1 / delta) + 5.15 * np.sqrt(T * K * np.log(K))
