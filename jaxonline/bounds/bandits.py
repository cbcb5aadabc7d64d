"""Arms: what is promised of the pseudo-regret, upper bounds with the numbers they prescribe, and lower bounds.

Losses are in [0, 1] (but for `explore_then_commit`) and K is the number of arms. `gaps` are the mean losses of the arms
less that of the best arm, a 0 for each best arm among them.
"""

import numpy as np
from jaxtyping import ArrayLike, Float
from scipy import special

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError


def explore_then_commit(
    gaps: Float[ArrayLike, "K"], pulls_each: int, n_rounds: ArrayLike, std: float = 0.5
) -> Float[np.ndarray, "..."]:
    """m sum of gaps + (T - m K) sum of gap exp(-m gap^2 / (4 std^2)): Lattimore and Szepesvari (2020), Theorem 6.1.

    For losses that are sub-Gaussian about their means with the parameter `std`, which is 1/2 for losses in [0, 1].

    Args:
        gaps: of the arms [K].
        pulls_each: m.
        n_rounds: T, one or several, at least m K.
        std: above 0.

    Raises:
        ValueError: a number out of its range.

    Example:
        >>> from jaxonline.bounds import explore_then_commit
        >>> round(float(explore_then_commit([0.0, 0.5], 20, 1000)), 2)  # 10 + 960 e^-5 / 2
        13.23
    """
    gaps, m, T = _gaps(gaps, le=None), check.count("pulls_each", pulls_each), _rounds(n_rounds)
    check.positive("std", std)
    if T.min() < m * len(gaps):
        raise ArgumentError("n_rounds", f"must be at least pulls_each times arms, {m * len(gaps)}, got {T.min():g}")
    return m * gaps.sum() + (T - m * len(gaps)) * (gaps * np.exp(-m * gaps**2 / (4 * std**2))).sum()


def ucb1(gaps: Float[ArrayLike, "K"], n_rounds: ArrayLike) -> Float[np.ndarray, "..."]:
    """8 ln T sum of 1/gap over the worse arms + (1 + pi^2/3) sum of gaps: Auer et al. (2002), Theorem 1.

    Args:
        gaps: of the arms [K].
        n_rounds: T, one or several.

    Raises:
        ValueError: a number out of its range.

    Example:
        >>> from jaxonline.bounds import ucb1
        >>> round(float(ucb1([0.0, 0.5], 1000)), 1)
        112.7
    """
    gaps = _gaps(gaps)
    return 8 * np.log(_rounds(n_rounds)) * (1 / gaps[gaps > 0]).sum() + (1 + np.pi**2 / 3) * gaps.sum()


def lai_robbins(means: Float[ArrayLike, "K"]) -> float:
    """The constant of Lai and Robbins (1985) for arms with losses of 0 and 1: sum of gap / kl(mean, least mean).

    The regret of every learner that is consistent (its regret grows less than any power of T, whatever the means) is at
    least this constant times ln T (1 - o(1)), and that of `KLUCB` and `BernoulliThompson` at most so (1 + o(1)).

    Args:
        means: of the losses [K], each above 0 and below 1.

    Raises:
        ValueError: a mean out of its range.

    Example:
        >>> from jaxonline.bounds import lai_robbins
        >>> round(lai_robbins([0.1, 0.5]), 4)  # 0.4 / (ln(5) / 2 + ln(5/9) / 2)
        0.783
    """
    means = np.asarray(check.numbers("means", check.vector("means", means), gt=0.0, lt=1.0), float)
    worse = means[means > means.min()]
    divergence = special.rel_entr(worse, means.min()) + special.rel_entr(1 - worse, 1 - means.min())
    return float(((worse - means.min()) / divergence).sum())


def moss(n_arms: int, n_rounds: ArrayLike) -> Float[np.ndarray, "..."]:
    """49 sqrt(K T) for every law of losses in [0, 1]: Audibert and Bubeck (2009), Theorem 5.

    Args:
        n_arms: K.
        n_rounds: T, one or several, each with a learner that knows it.

    Raises:
        ValueError: a number out of its range.

    Example:
        >>> from jaxonline.bounds import moss
        >>> float(moss(4, 100))
        980.0
    """
    return 49 * np.sqrt(check.count("n_arms", n_arms) * _rounds(n_rounds))


def minimax(n_arms: int, n_rounds: ArrayLike) -> Float[np.ndarray, "..."]:
    """From below: for every learner some arms, with losses of 0 and 1, cost min(sqrt(K T), T) / 20.

    Auer, Cesa-Bianchi, Freund and Schapire (2002), Theorem 5.1: it is the mean over the arms of the environment
    `HiddenBestArm.over_horizon`.

    Args:
        n_arms: K, at least 2.
        n_rounds: T, one or several, each with an environment of its own.

    Raises:
        ValueError: a number out of its range.

    Example:
        >>> from jaxonline.bounds import minimax
        >>> float(minimax(4, 100))
        1.0
    """
    T = _rounds(n_rounds)
    return np.minimum(np.sqrt(check.count("n_arms", n_arms, ge=2) * T), T) / 20


def exp3(n_arms: int, n_rounds: ArrayLike) -> Float[np.ndarray, "..."]:
    """sqrt(2 T K ln K) for `EXP3.over_horizon`: Bubeck and Cesa-Bianchi (2012), Theorem 3.1.

    Args:
        n_arms: K, at least 2.
        n_rounds: T, one or several, each with a learner that knows it.

    Raises:
        ValueError: a number out of its range.

    Example:
        >>> from jaxonline.bounds import exp3
        >>> round(float(exp3(2, 1000)), 2)
        52.66
    """
    K = check.count("n_arms", n_arms, ge=2)
    return np.sqrt(2 * _rounds(n_rounds) * K * np.log(K))


def exp4(n_experts: int, n_arms: int, n_rounds: ArrayLike) -> Float[np.ndarray, "..."]:
    """sqrt(2 T K ln N) against the best of N experts, for `EXP4.over_horizon`.

    Bubeck and Cesa-Bianchi (2012), Theorem 4.2.

    Args:
        n_experts: N, at least 2.
        n_arms: K.
        n_rounds: T, one or several, each with a learner that knows it.

    Raises:
        ValueError: a number out of its range.

    Example:
        >>> from jaxonline.bounds import exp4
        >>> round(float(exp4(2, 2, 1000)), 2)
        52.66
    """
    N, K = check.count("n_experts", n_experts, ge=2), check.count("n_arms", n_arms)
    return np.sqrt(2 * _rounds(n_rounds) * K * np.log(N))


def exp3_ix(n_arms: int, n_rounds: ArrayLike, delta: float) -> Float[np.ndarray, "..."]:
    """2 sqrt(2 K T ln K) + (sqrt(2 K T / ln K) + 1) ln(2 / delta) for `EXP3IX.over_horizon`: Neu (2015), Theorem 1.

    A bound on the regret itself, against the best arm in hindsight, with probability 1 - delta or more.

    Args:
        n_arms: K, at least 2.
        n_rounds: T, one or several, each with a learner that knows it.
        delta: above 0 and below 1.

    Raises:
        ValueError: a number out of its range.

    Example:
        >>> from jaxonline.bounds import exp3_ix
        >>> round(float(exp3_ix(2, 1000, delta=0.1)), 1)
        335.9
    """
    K, T = check.count("n_arms", n_arms, ge=2), _rounds(n_rounds)
    confidence = np.log(2 / check.number("delta", delta, gt=0.0, lt=1.0))
    return 2 * np.sqrt(2 * K * T * np.log(K)) + (np.sqrt(2 * K * T / np.log(K)) + 1) * confidence


def exp3_p(n_arms: int, n_rounds: ArrayLike, delta: float, known: bool = True) -> Float[np.ndarray, "..."]:
    """5.15 sqrt(T K ln(K / delta)) for `EXP3P.over_horizon`: Bubeck and Cesa-Bianchi (2012), Theorem 3.3.

    A bound on the regret itself, against the best arm in hindsight, with probability 1 - delta or more.

    Args:
        n_arms: K, at least 2.
        n_rounds: T, one or several, each with a learner that knows it.
        delta: above 0 and below 1.
        known: whether the learner was made for this delta; else, made for delta = 1, it keeps the bound
            sqrt(T K / ln K) ln(1 / delta) + 5.15 sqrt(T K ln K) for all of them.

    Raises:
        ValueError: a number out of its range.

    Example:
        >>> from jaxonline.bounds import exp3_p
        >>> round(float(exp3_p(2, 1000, delta=0.1)), 1)
        398.6
    """
    K, T = check.count("n_arms", n_arms, ge=2), _rounds(n_rounds)
    check.number("delta", delta, gt=0.0, lt=1.0)
    if check.flag("known", known):
        return 5.15 * np.sqrt(T * K * np.log(K / delta))
    return np.sqrt(T * K / np.log(K)) * np.log(1 / delta) + 5.15 * np.sqrt(T * K * np.log(K))


def _gaps(gaps: ArrayLike, le: float | None = 1.0) -> np.ndarray:
    gaps = np.asarray(check.numbers("gaps", check.vector("gaps", gaps), ge=0.0, le=le), float)
    if gaps.min() > 0:
        raise ArgumentError("gaps", f"must hold a 0, that of the best arm, got {check.shown(gaps)}")
    return gaps


def _rounds(n_rounds: ArrayLike) -> np.ndarray:
    return np.asarray(check.numbers("n_rounds", n_rounds, ge=1.0), float)
