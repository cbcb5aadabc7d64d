"""Bounds on the regret of duelling bandits."""

from typing import Annotated

import numpy as np
from jaxtyping import Float

from jaxonline.bounds.assumptions import STOCHASTIC, assumes
from jaxonline.comparators.condorcet_winner import CondorcetWinner
from jaxonline.environments.preference_arms import Preferences
from jaxonline.parameters.citations import cites
from jaxonline.parameters.types import Gt, Horizons, OpenUnitFloat
from jaxonline.parameters.validation import validate_arguments


@cites("zoghi2014relative")
@assumes(STOCHASTIC, "regret with high probability")
@validate_arguments
def rucb(
    preferences: Preferences, n_rounds: Horizons, delta: OpenUnitFloat, alpha: Annotated[float, Gt(0.5)] = 0.51
) -> Float[np.ndarray, "..."]:
    """High-probability regret bound of RUCB: with probability at least 1 - delta the bound holds for all T at once.

    The bound is min(C, T) max gap + sum over pairs of (4 alpha ln T / min(gap_i, gap_j)^2 + 1) (gap_i + gap_j) / 2,
    with C = ((4 alpha - 1) K^2 / ((2 alpha - 1) delta))^(1 / (2 alpha - 1)). The gap of arm i is the probability that
    the Condorcet winner beats arm i, minus 1/2. For a pair that contains the winner, the gap of the other arm replaces
    min(gap_i, gap_j). Source: Zoghi, Whiteson, Munos and de Rijke (2014), Lemma 1 and Proposition 2. The term + 1
    counts the last duel of each pair. For alpha near 1/2 the number C is huge, and the bound is too large to be useful.

    Args:
        preferences: probabilities [K, K]; arm i beats arm j with probability `preferences[i, j]`.
        n_rounds: the horizon T, or several horizons.
        delta: probability that the bound fails.
        alpha: the parameter alpha of the learner.

    Raises:
        ValueError: there is no Condorcet winner.

    Example:
        >>> from jaxonline.bounds import rucb
        >>> round(float(rucb([[0.5, 1.0], [0.0, 0.5]], 1000, delta=0.1, alpha=2.0)), 1)  # C = 4.5
        57.8
    """
    P, T = np.asarray(preferences, float), np.asarray(n_rounds, float)
    winner = CondorcetWinner(preferences).winner
    gaps, K = P[winner] - 0.5, len(P)
    log_C = np.log((4 * alpha - 1) * K**2 / ((2 * alpha - 1) * delta)) / (2 * alpha - 1)
    before = np.exp(np.minimum(log_C, np.log(T)))
    regret = before * gaps.max()
    for i in range(K):
        for j in range(i):
            smaller = max(gaps[i], gaps[j]) if winner in (i, j) else min(gaps[i], gaps[j])
            regret = regret + (4 * alpha * np.log(T) / smaller**2 + 1) * (gaps[i] + gaps[j]) / 2
    return regret
