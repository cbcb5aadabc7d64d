"""Bounds for bandits: stochastic and adversarial arms, sets and pairs of arms, delays, and the best arm."""

import math
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from jaxtyping import ArrayLike, Float
from scipy import special

from jaxonline.bounds.gradient import gradient_descent
from jaxonline.bounds.theorem import ANY, OBLIVIOUS, STOCHASTIC, Bound, theorem
from jaxonline.comparators.arms import CondorcetWinner
from jaxonline.environments.bandit_games import Preferences
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.types import (
    Convert,
    Count,
    CountFrom2,
    Ge,
    Gt,
    Horizons,
    Interval,
    NonNegativeInt,
    OpenUnitFloat,
    PositiveFloat,
    Rounds,
    Takes,
)

# ---------------------------------------------------------------------------------------------------------------------
# Upper and lower bounds on the pseudo-regret of bandits with K arms.
#
# Losses lie in [0, 1], except for `explore_then_commit`. `gaps` are the mean losses minus the smallest mean loss.


def _gaps(gaps: Any, name: str) -> np.ndarray:
    gaps = np.asarray(check.numbers(name, check.vector(name, gaps), ge=0.0), float)
    if gaps.min() > 0:
        raise ArgumentError(name, f"must hold a 0, that of the best arm (got {check.quote(gaps)})")
    return gaps


Gaps = Annotated[Float[ArrayLike, "K"], Ge(0), Convert(_gaps)]


@theorem(STOCHASTIC, "lattimore2020bandit", quantity="pseudo-regret")
def explore_then_commit(gaps: Gaps, pulls_each: Count, n_rounds: Horizons, std: PositiveFloat = 0.5) -> Bound:
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
    m, T = pulls_each, np.asarray(n_rounds, float)
    if T.min() < m * len(gaps):  # type: ignore
        raise ArgumentError("n_rounds", f"must be at least pulls_each times arms, {m * len(gaps)} (got {T.min():g})")  # type: ignore
    return Bound(m * gaps.sum() + (T - m * len(gaps)) * (gaps * np.exp(-m * gaps**2 / (4 * std**2))).sum())  # type: ignore


@theorem(STOCHASTIC, "auer2002finite", quantity="pseudo-regret", losses=(0.0, 1.0))
def ucb1(gaps: Gaps, n_rounds: Horizons) -> Bound:
    """Regret bound of UCB1 (Auer et al. 2002, Theorem 1): 8 ln T sum of 1/gap (gap > 0) + (1 + pi^2/3) sum of gaps.

    Args:
        gaps: gaps of the arms [K].
        n_rounds: the horizon T, or several horizons.

    Example:
        >>> from jaxonline.bounds import ucb1
        >>> round(float(ucb1([0.0, 0.5], 1000)), 1)
        112.7
    """
    gaps, T = np.asarray(check.numbers("gaps", gaps, ge=0.0, le=1.0)), np.asarray(n_rounds, float)
    return Bound(8 * np.log(T) * (1 / gaps[gaps > 0]).sum() + (1 + np.pi**2 / 3) * gaps.sum())


@theorem(None, "lai1985asymptotically")
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


@theorem(STOCHASTIC, "audibert2009minimax", quantity="pseudo-regret", losses=(0.0, 1.0))
def moss(n_arms: Count, n_rounds: Horizons) -> Bound:
    """Regret bound of MOSS: 49 sqrt(K T) for every distribution of losses (Audibert and Bubeck 2009, Theorem 5).

    Args:
        n_arms: K.
        n_rounds: the horizon T, or several horizons, each for a learner that knows its horizon.

    Example:
        >>> from jaxonline.bounds import moss
        >>> float(moss(4, 100))
        980.0
    """
    return Bound(49 * np.sqrt(n_arms * np.asarray(n_rounds, float)))


@theorem(None, "auer2002nonstochastic")
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


@theorem(OBLIVIOUS, "bubeck2012regret", losses=(0.0, 1.0), prescribed_rate=True)
def exp3(n_arms: CountFrom2, n_rounds: Horizons) -> Bound:
    """Regret bound of `EXP3.over_horizon`: sqrt(2 T K ln K) (Bubeck and Cesa-Bianchi 2012, Theorem 3.1).

    Args:
        n_arms: K.
        n_rounds: the horizon T, or several horizons, each for a learner that knows its horizon.

    Example:
        >>> from jaxonline.bounds import exp3
        >>> round(float(exp3(2, 1000)), 2)
        52.66
    """
    return Bound(np.sqrt(2 * np.asarray(n_rounds, float) * n_arms * np.log(n_arms)))


@theorem(OBLIVIOUS, "bubeck2012regret", losses=(0.0, 1.0), prescribed_rate=True)
def exp4(n_experts: CountFrom2, n_arms: Count, n_rounds: Horizons) -> Bound:
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
    return Bound(np.sqrt(2 * np.asarray(n_rounds, float) * n_arms * np.log(n_experts)))


@theorem(ANY, "neu2015explore", quantity="regret with high probability", losses=(0.0, 1.0), prescribed_rate=True)
def exp3_ix(n_arms: CountFrom2, n_rounds: Horizons, delta: OpenUnitFloat) -> Bound:
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
    return Bound(2 * np.sqrt(2 * K * T * np.log(K)) + (np.sqrt(2 * K * T / np.log(K)) + 1) * confidence)


@theorem(ANY, "bubeck2012regret", quantity="regret with high probability", losses=(0.0, 1.0), prescribed_rate=True)
def exp3_p(n_arms: CountFrom2, n_rounds: Horizons, delta: OpenUnitFloat, known: bool = True) -> Bound:
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
        return Bound(5.15 * np.sqrt(T * K * np.log(K / delta)))
    return Bound(np.sqrt(T * K / np.log(K)) * np.log(1 / delta) + 5.15 * np.sqrt(T * K * np.log(K)))


# ---------------------------------------------------------------------------------------------------------------------
# Bounds for learners that identify the best arm.


def positive_gaps(gaps: np.ndarray) -> np.ndarray:
    """Return the gaps of all arms but the best one, which must be unique, in increasing order."""
    positive = np.sort(gaps)[1:]
    if not (positive > 0).all():
        raise ArgumentError("gaps", "must have one 0, as the best arm is unique")
    return positive


@theorem(None, "evendar2006action")
def successive_elimination(gaps: Gaps, delta: OpenUnitFloat) -> int:
    """Bound on the number of pulls of `SuccessiveElimination`, which holds with probability at least 1 - delta.

    The learner drops an arm with the gap D after n pulls if 4 a(n) <= D, where a(n) is the confidence radius of the
    learner. The best arm is pulled as often as the second best arm.

    Args:
        gaps: the gaps of the mean losses of the arms [K]; exactly one gap is 0.
        delta: the largest probability of a wrong recommendation.

    Raises:
        ValueError: more than one arm has the gap 0.

    Example:
        >>> from jaxonline.bounds import successive_elimination
        >>> successive_elimination([0.0, 0.5], 0.1)
        1074
    """
    positive = positive_gaps(gaps)  # type: ignore

    def pulls(gap: float) -> int:
        n = 1
        while 4 * math.sqrt(math.log(math.pi**2 * (len(positive) + 1) * n**2 / (3 * delta)) / (2 * n)) > gap:
            n += 1
        return n

    each = [pulls(gap) for gap in positive]
    return sum(each) + max(each)


@theorem(None, "karnin2013almost")
def sequential_halving(gaps: Gaps, budget: Count) -> float:
    """Bound on the probability that `SequentialHalving` recommends a wrong arm: 3 log2 K exp(-budget / (8 H log2 K)).

    H is the largest i / gap_i^2 over i = 2, ..., K, with the gaps in increasing order. The bound is Theorem 4.1 of
    Karnin, Koren and Somekh (2013), for losses in [0, 1].

    Args:
        gaps: the gaps of the mean losses of the arms [K]; exactly one gap is 0.
        budget: the number of pulls.

    Raises:
        ValueError: more than one arm has the gap 0.

    Example:
        >>> from jaxonline.bounds import sequential_halving
        >>> round(sequential_halving([0.0, 0.5, 0.5, 0.5], 2000), 4)
        0.0024
    """
    positive = positive_gaps(gaps)  # type: ignore
    H = float((np.arange(2, len(positive) + 2) / positive**2).max())
    phases = math.log2(len(positive) + 1)
    return min(1.0, 3 * phases * math.exp(-budget / (8 * H * phases)))


# ---------------------------------------------------------------------------------------------------------------------
# Bounds on the pseudo-regret of bandits that play sets of arms.


@theorem(STOCHASTIC, "chen2013combinatorial", quantity="pseudo-regret", losses=(0.0, 1.0))
def cucb(means: Annotated[Float[ArrayLike, "K"], Interval(ge=0, le=1)], m: Count, n_rounds: Horizons) -> Bound:
    """Regret bound of CUCB on sets of m arms.

    The bound is 6 m^2 ln T sum of (2 / least_k - 1 / largest_k) + (pi^2 / 3 + 1) K largest. least_k and largest_k are
    the smallest and largest positive gap of a set with arm k; the sum runs over the arms with such a set. The bound is
    Theorem 1 of Chen, Wang and Yuan (2013) with the smoothness function f(x) = m x, which belongs to sums of m arms.
    The theorem assumes losses of arms in [0, 1].

    Args:
        means: mean losses of the arms [K].
        m: number of arms in a set, as in `losses.SmallestArms`.
        n_rounds: the horizon T, or several horizons.

    Raises:
        ValueError: m exceeds the number of arms.

    Example:
        >>> from jaxonline.bounds import cucb
        >>> round(float(cucb([0.0, 0.5], 1, 1000)), 1)  # one arm has a gap: 6 ln T / 0.5 + (pi^2 / 3 + 1)
        87.2
    """
    means, T = np.asarray(means, float), np.asarray(n_rounds, float)
    if m > len(means):
        raise ArgumentError("m", f"must be at most the number of arms, {len(means)} (got {m})")
    least, largest = np.array([_gaps_of_sets_with(k, means, m) for k in range(len(means))]).T
    worse = largest > 0
    if not worse.any():
        return Bound(np.zeros_like(T))
    rate = 6 * m**2 * (2 / least[worse] - 1 / largest[worse]).sum()
    return Bound(rate * np.log(T) + (np.pi**2 / 3 + 1) * len(means) * largest.max())


def _gaps_of_sets_with(arm: int, means: np.ndarray, m: int) -> tuple[float, float]:
    """Return the smallest and the largest positive gap of the sets with an arm; 0 if all these sets are optimal."""
    best, others = np.sort(means)[:m].sum(), np.sort(np.delete(means, arm))
    inside, outside = others[: m - 1], others[m - 1 :]
    smallest = means[arm] + inside.sum() - best
    largest = means[arm] + others[len(others) - m + 1 :].sum() - best
    tolerance = 1e-12 * m
    if smallest <= tolerance:  # the next larger sum exchanges one arm
        steps = (outside[:, None] - inside).ravel()
        smallest = min(steps[steps > tolerance], default=0.0)
    return (smallest, largest) if largest > tolerance else (0.0, 0.0)


# ---------------------------------------------------------------------------------------------------------------------
# Bounds on the regret of duelling bandits.


@theorem(STOCHASTIC, "zoghi2014relative", quantity="regret with high probability")
def rucb(
    preferences: Preferences, n_rounds: Horizons, delta: OpenUnitFloat, alpha: Annotated[float, Gt(0.5)] = 0.51
) -> Bound:
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
    return Bound(regret)


# ---------------------------------------------------------------------------------------------------------------------
# Bounds on the regret when answers arrive late.


@theorem(OBLIVIOUS, "joulani2013delayed", "weinberger2002delayed")
def bold(
    bound: Annotated[Callable[[np.ndarray], np.ndarray], Takes("the horizon")], max_delay: NonNegativeInt,
    n_rounds: Horizons,
) -> Bound:  # fmt: skip
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
    return Bound(n_copies * np.asarray(bound(np.asarray(n_rounds, float) / n_copies)))


@theorem(STOCHASTIC, "joulani2013delayed", "auer2002finite", quantity="pseudo-regret", losses=(0.0, 1.0))
def delayed_ucb1(gaps: Gaps, max_delay: NonNegativeInt, n_rounds: Horizons) -> Bound:
    """Pseudo-regret bound of UCB1 with updates on arrival: the bound without delay plus d times the sum of the gaps.

    At any time, at most d pulls of an arm wait for their answers. The proof of Auer et al. (2002), Theorem 1, holds for
    the other pulls. Theorem 7 of Joulani, Gyorgy and Szepesvari (2013) adds d times the sum of the gaps, too.

    Args:
        gaps: the gaps of the mean losses of the arms [K], 0 for a best arm.
        max_delay: the largest delay d.
        n_rounds: the horizon T, or several horizons.

    Example:
        >>> from jaxonline.bounds import delayed_ucb1
        >>> round(float(delayed_ucb1([0.0, 0.5], 10, 1000)), 1)
        117.7
    """
    return Bound(ucb1(gaps, n_rounds) + max_delay * gaps.sum())  # type: ignore


@theorem(OBLIVIOUS, "thune2019nonstochastic", "cesabianchi2016delay", losses=(0.0, 1.0))
def delayed_exp3(n_arms: CountFrom2, delay: NonNegativeInt, n_rounds: Horizons, eta: PositiveFloat) -> Bound:
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
    return Bound(np.log(n_arms) / eta + eta * T * (np.e * n_arms / 2 + delay))


@theorem(OBLIVIOUS, "langford2009slow", "zinkevich2003online", prescribed_rate=True)
def delayed_gradient_descent(radius: PositiveFloat, G: PositiveFloat, delay: NonNegativeInt, n_rounds: Rounds) -> Bound:
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
    # as without delay for estimates with (1 + 2 d) G; there is no bound for decreasing steps
    return gradient_descent(radius, (1 + 2 * delay) * G, n_rounds, np.inf)
