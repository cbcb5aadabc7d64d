"""Bounds for prediction with expert advice, also from a run's regrets, and for quantiles."""

import math
from typing import Annotated

import numpy as np
from jaxtyping import ArrayLike, Float

from jaxonline.bounds.theorem import ANY, OBLIVIOUS, Bound, RoundNumbers, theorem
from jaxonline.learners.experts.combiners import INITIAL_RATE, binary_entropy
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.types import (
    Count,
    CountFrom2,
    Ge,
    Horizon,
    NonNegativeInt,
    OpenUnitFloat,
    PositiveFloat,
    Rounds,
)  # fmt: skip

# ---------------------------------------------------------------------------------------------------------------------
# Bounds on the expected regret against the best of K experts, for losses in [0, 1] unless stated otherwise.


@validate_arguments
def exponential_curve(bound: Bound, rounds: RoundNumbers) -> np.ndarray:
    """Bound information / eta + eta variance t on the expected regret after t rounds, up to the horizon."""
    return bound.information / bound.eta + bound.eta * bound.variance * np.asarray(rounds, float)


@theorem(ANY, "littlestone1988learning", quantity="mistakes")
def halving(n_experts: Count, best_mistakes: NonNegativeInt = 0) -> Bound:
    """Mistake bound of `Halving` (Littlestone 1988): log2 K if L = 0, otherwise L (floor(log2 K) + 1) + log2 K.

    The bound also holds for the lazy algorithm.

    Args:
        n_experts: K.
        best_mistakes: L, mistakes of the best expert.

    Example:
        >>> from jaxonline.bounds import halving
        >>> halving(1000), halving(1000, best_mistakes=2)
        (Bound(9), Bound(29))
    """
    # Whenever all experts have erred the algorithm restarts: at most L times, after at most floor(log2 K) + 1 mistakes.
    doublings = n_experts.bit_length() - 1  # floor(log2 K): mistakes are integers
    return Bound(best_mistakes * (doublings + 1) + doublings)


@theorem(ANY, "littlestone1994weighted", quantity="mistakes")
def weighted_majority(n_experts: Count, beta: OpenUnitFloat, best_mistakes: NonNegativeInt) -> Bound:
    """Mistake bound of `WeightedMajority`: (L ln(1/beta) + ln K) / ln(2 / (1 + beta)) (Littlestone and Warmuth 1994).

    Args:
        n_experts: K.
        beta: factor of an expert's weight after a mistake.
        best_mistakes: L, mistakes of the best expert.

    Example:
        >>> from jaxonline.bounds import weighted_majority
        >>> round(weighted_majority(10, 0.5, 20), 2)
        56.19
    """
    return Bound((best_mistakes * math.log(1.0 / beta) + math.log(n_experts)) / math.log(2.0 / (1.0 + beta)))


@theorem(ANY, "cesabianchi2006prediction", losses=(0.0, 1.0))
def exponential_weights(n_experts: CountFrom2, n_rounds: Rounds, eta: PositiveFloat | None = None) -> Bound:
    """Regret bound of `Hedge` and `DrawnExpert` with exponential weights: ln K / eta + eta T / 8.

    For the best learning rate eta = sqrt(8 ln K / T) the bound is sqrt(T ln K / 2). Park's lecture omits
    the root in this eta (erratum E18). The bound also holds for the weighted mean of experts under convex losses.
    Source: Cesa-Bianchi and Lugosi (2006), Theorem 2.2.

    Args:
        n_experts: K.
        n_rounds: T.
        eta: learning rate; the best learning rate by default.

    Example:
        >>> from jaxonline.bounds import exponential_weights
        >>> bound = exponential_weights(10, 1000)
        >>> bound
        Bound(33.9307, eta=0.1357228, n_rounds=1000, information=2.302585, variance=0.125)
        >>> bound.at_rounds([10, 1000]).value.round(2).tolist()
        [17.14, 33.93]
    """
    return _rate_bound(eta, n_rounds, math.log(n_experts), 1.0 / 8.0)


@theorem(ANY, "cesabianchi2006prediction", losses=(0.0, 1.0), prescribed_rate=True)
def fixed_share(n_experts: CountFrom2, n_rounds: Annotated[int, Ge(2), Horizon()], n_switches: NonNegativeInt) -> Bound:
    """Regret bound of `FixedShare.over_horizon` against every sequence of experts with at most m switches.

    The bound is sqrt(T/2 ((m + 1) ln K + (T - 1) H(m / (T - 1)))) with the binary entropy H, for share = m / (T - 1) <=
    1/2: Cesa-Bianchi and Lugosi (2006), Corollary 5.1.

    Args:
        n_experts: K.
        n_rounds: T.
        n_switches: m, at most (T - 1) / 2.

    Example:
        >>> from jaxonline.bounds import fixed_share
        >>> round(fixed_share(10, 1000, 3).value, 1), round(fixed_share(10, 1000, 0).value, 1)
        (121.7, 33.9)
    """
    T, m = n_rounds, n_switches
    if 2 * m > T - 1:
        raise ArgumentError(
            "n_switches", f"must be at most half of the rounds after the first, {(T - 1) / 2:g} (got {m})"
        )
    information = (m + 1) * math.log(n_experts) + (T - 1) * binary_entropy(m / (T - 1))
    return _rate_bound(None, T, information, 1.0 / 8.0)


@theorem(ANY, "kalai2005efficient", "hutter2005adaptive", losses=(0.0, 1.0))
def perturbed_leader(n_experts: CountFrom2, n_rounds: Rounds, eta: PositiveFloat | None = None) -> Bound:
    """Regret bound of `FollowThePerturbedLeader` with exponential noise: (H_K - 1) / eta + eta T, H_K = 1 + ... + 1/K.

    The bound is at most 2 sqrt(T ln K) for the default rate. Sources: Kalai and Vempala (2005), Hutter and Poland
    (2005).

    Args:
        n_experts: K.
        n_rounds: T.
        eta: learning rate; sqrt(ln K / T) by default.

    Example:
        >>> from jaxonline.bounds import perturbed_leader
        >>> round(perturbed_leader(10, 1000).value, 1)
        88.2
    """
    # Choosing the leader of the next round costs at most (E max Z - E Z) / eta = (H_K - 1) / eta. As Z is memoryless,
    # the leader of this round is another one with probability at most eta.
    rate = math.sqrt(math.log(n_experts) / n_rounds) if eta is None else eta
    return _rate_bound(rate, n_rounds, float(np.sum(1.0 / np.arange(2, n_experts + 1))), 1.0)


@theorem(ANY, "nesterov2009primal", "shalevshwartz2012online", losses=(0.0, 1.0))
def regularized_leader(n_experts: CountFrom2, n_rounds: Rounds, eta: PositiveFloat | None = None) -> Bound:
    """Regret bound of `FollowTheRegularizedLeader` with |w|^2 / 2: (1 - 1/K) / (2 eta) + eta K T / 8.

    The bound is sqrt((K - 1) T) / 2 for the best eta, and holds for every sequence of losses in [0, 1].

    Proof: the regularizer R is 1-strongly convex, and its range on the simplex is (1 - 1/K) / 2. By duality (Nesterov
    2009), the regret is at most range / eta plus the sum of eta |l_t|^2 / 2, half of that in Theorem 2.11 of
    Shalev-Shwartz (2012). The weights and the regret stay the same if 1/2 is subtracted from all losses, because
    weights sum to 1. Then |l_t|^2 <= K / 4.

    Args:
        n_experts: K.
        n_rounds: T.
        eta: learning rate; the best learning rate by default.

    Example:
        >>> from jaxonline.bounds import regularized_leader
        >>> round(regularized_leader(10, 1000).value, 1)
        47.4
    """
    return _rate_bound(eta, n_rounds, (1.0 - 1.0 / n_experts) / 2.0, n_experts / 8.0)


@theorem(OBLIVIOUS, "cesabianchi2005minimizing", "cesabianchi2006prediction", losses=(0.0, 1.0), prescribed_rate=True)
def label_efficient(n_experts: CountFrom2, n_rounds: Rounds, n_questions: Count) -> Bound:
    """Regret bound of `LabelEfficientHedge.over_horizon` with m expected queries: T sqrt(2 ln K / m).

    Cesa-Bianchi, Lugosi and Stoltz (2005), Theorem 1; Cesa-Bianchi and Lugosi (2006), Theorem 6.1.

    Args:
        n_experts: K.
        n_rounds: T.
        n_questions: m, the expected number of label queries, at most T.

    Example:
        >>> from jaxonline.bounds import label_efficient
        >>> round(label_efficient(10, 1000, 100).value, 1)
        214.6
    """
    T, m = n_rounds, n_questions
    if m > T:
        raise ArgumentError("n_questions", f"must be at most n_rounds, {T} (got {m})")
    return _rate_bound(None, T, math.log(n_experts), T / (2.0 * m))


@theorem(None, "cesabianchi2006prediction")
def doubling(constant: PositiveFloat, n_rounds: Rounds) -> float:
    """Regret bound of `Doubling` for learners whose regret over every known horizon T is at most c sqrt(T).

    The bound is the sum of c sqrt(2^k) over the phases, at most sqrt(2)/(sqrt(2) - 1) c sqrt(T): Cesa-Bianchi and
    Lugosi (2006), 2.3.

    Args:
        constant: c.
        n_rounds: T.

    Example:
        >>> from jaxonline.bounds import doubling
        >>> round(doubling(1.0, 7), 4)  # 1 + sqrt(2) + 2
        4.4142
    """
    phases = n_rounds.bit_length()  # of 1, 2, 4, ... rounds
    return constant * sum(math.sqrt(2.0**k) for k in range(phases))


def _rate_bound(eta: float | None, n_rounds: int, information: float, variance: float) -> Bound:
    """Return the bound with rate eta, or with the best rate, which makes the bound's terms equal at the horizon."""
    eta = math.sqrt(information / (variance * n_rounds)) if eta is None else float(eta)
    value = information / eta + eta * variance * n_rounds
    return Bound(value, exponential_curve, eta=eta, n_rounds=n_rounds, information=information, variance=variance)


# ---------------------------------------------------------------------------------------------------------------------
# Second-order regret bounds of `MLPoly`, `MLProd` and `BOA`, computed from the instantaneous regrets of a run.
#
# The instantaneous regret of expert k in round t is r_tk = (own loss) - (loss of expert k), V_tk is the sum of its
# squares up to round t, and R_tk is the regret. The bounds need only that the own loss is at most the weighted mean of
# the experts' losses, as for a convex loss. Losses may have any range, and the environment may react to the moves.
#
# Gaillard, Stoltz and van Erven (2014) and Wintenberger (2017) prove bounds of the order of sqrt(V_Tk ln K) for similar
# rules. The rules of this package are those of the `opera` package: their rates depend on the largest |r_tk| so far,
# and a round is weighed with the rate after that round. So the theorems as published are not about them. The functions
# here have the same proofs with the rates of the rules.
#
# ML-Poly, rates n_t: since sum_k n_(t-1)k max(R_(t-1)k, 0) r_tk <= 0, the sum over k of n_tk max(R_tk, 0)^2 grows by at
# most sum_k n_(t-1)k r_tk^2 in round t.
#
# ML-Prod and BOA have weights proportional to n_(t-1)k exp(n_(t-1)k A_(t-1)k), where A is a sum of gains g. Let W_t be
# the sum over k of exp(n_tk A_tk). Rates do not increase after round 1, and with a = n_(t-1) / n_t every x > 0 has x <=
# x^a + (a - 1) a^(-a/(a-1)). This, and the inequality of the weighted mean, give W_t <= (1 + max_k c_tk) W_(t-1) +
# sum_k b_tk, with b_tk and c_tk from n_(t-1), n_t and r_t. Finally A_tk <= ln W_t / n_tk, and r <= g / s + n r^2 with
# the scale s = 1 of ML-Prod and s = 1/2 of BOA.


@theorem(ANY, "gaillard2014second")
def ml_poly(regrets: Float[ArrayLike, "T K"], initial: PositiveFloat = INITIAL_RATE) -> Bound:
    """Regret bound of `MLPoly` to each expert after each round: sqrt((1/n_tk) sum over s <= t, j of n_(s-1)j r_sj^2).

    The rates are 1/n_tk = 1/initial + V_tk + (the largest squared r up to round t). If |r| <= E, the sum over s is at
    most (1 + E^2 initial) ln(1 + initial V_tj) for each expert j. With the default `initial` = 2^-20 the rates hardly
    change, so the bound is about sqrt(sum_j V_tj) until V is near 2^20. A bound that depends mainly on the V of its own
    expert needs `initial` near 1 / E^2.

    Args:
        regrets: instantaneous regrets r [T, K] of a run.
        initial: initial rate of the rule.

    Example:
        >>> from jaxonline.bounds import ml_poly
        >>> ml_poly([[0.5, -0.5], [0.5, -0.5]], initial=1.0).value.round(3).tolist()  # regrets 0.5 and 1 to expert 0
        [[0.866, 0.866], [1.208, 1.208]]
    """
    r = _checked(regrets)
    squares = r**2
    largest = np.maximum.accumulate(squares.max(axis=1))
    inverse = 1.0 / initial + np.cumsum(squares, axis=0) + largest[:, None]
    before = np.vstack([np.full((1, r.shape[1]), 1.0 / initial), inverse[:-1]])
    return Bound(np.sqrt(inverse * np.cumsum((squares / before).sum(axis=1))[:, None]))


@theorem(ANY, "gaillard2014second")
def ml_prod(regrets: Float[ArrayLike, "T K"], initial: PositiveFloat = INITIAL_RATE) -> Bound:
    """Regret bound of `MLProd` to each expert after each round: ln W_t / n_tk + sum over s <= t of n_sk r_sk^2.

    The second term is at most 2 sqrt(V_tk ln K), and 1/n_tk = max(2 max |r|, sqrt(V_tk / ln K)). ln W_t is about ln K
    plus the logarithm of a logarithm of t. The module's documentation has the proof.

    Args:
        regrets: instantaneous regrets r [T, K] of a run.
        initial: initial value of the rule's ranges and sums of squares; 1 if losses are in [0, 1].

    Example:
        >>> from jaxonline.bounds import ml_prod
        >>> ml_prod([[0.5, -0.5], [0.5, -0.5]], initial=1.0).value.round(2).tolist()  # regrets 0.5 and 1 to expert 0
        [[1.51, 1.51], [1.64, 1.64]]
    """
    r = _checked(regrets)
    rates = np.minimum(0.5 / _ranges(r, initial), _root_rates(r, initial))
    return _potential_bound(r, rates, np.log1p(rates * r) / rates, scale=1.0)


@theorem(ANY, "wintenberger2017optimal")
def boa(regrets: Float[ArrayLike, "T K"], initial: PositiveFloat = INITIAL_RATE) -> Bound:
    """Regret bound of `BOA` to each expert after each round: 2 ln W_t / n_tk + sum over s <= t of n_sk r_sk^2.

    The second term is at most 2 sqrt(V_tk ln K), and 1/n_tk = max(B, sqrt(V_tk / ln K)), with B the largest |r| rounded
    up to a power of 2. The module's documentation has the proof.

    Args:
        regrets: instantaneous regrets r [T, K] of a run.
        initial: initial value of the rule's ranges and sums of squares; 1 if losses are in [0, 1].

    Example:
        >>> from jaxonline.bounds import boa
        >>> boa([[0.5, -0.5], [0.5, -0.5]], initial=1.0).value.round(2).tolist()  # regrets 0.5 and 1 to expert 0
        [[1.91, 1.91], [2.35, 2.35]]
    """
    r = _checked(regrets)
    ranges = 2.0 ** np.ceil(np.log2(_ranges(r, initial)))
    rates = np.minimum(1.0 / ranges, _root_rates(r, initial))
    gains = 0.5 * (r - rates * r**2 + np.where(rates * r > 0.5, ranges, 0.0))
    return _potential_bound(r, rates, gains, scale=0.5)


def _ranges(r: np.ndarray, initial: float) -> np.ndarray:
    return np.maximum(initial, np.maximum.accumulate(np.abs(r)))


def _root_rates(r: np.ndarray, initial: float) -> np.ndarray:
    return np.sqrt(math.log(r.shape[1]) / (initial + np.cumsum(r**2, axis=0)))


def _potential_bound(r: np.ndarray, rates: np.ndarray, gains: np.ndarray, scale: float) -> Bound:
    """Return ln W_t / (scale n_t) + sum of n r^2, with W_t bounded from the rates n, the gains g and the regrets r."""
    before, after = rates[:-1], rates[1:]
    ratio = before / after
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        step = np.where(ratio > 1.0, (ratio - 1.0) * ratio ** (-ratio / (ratio - 1.0)), 0.0)
        # Two ways to pass from n_(t-1) to n_t: after and before the gain of the round; the smaller factor is used.
        late = np.expm1(before * gains[1:]) - scale * before * r[1:]
        growth = np.exp(after * gains[1:])
        early = growth - 1.0 - scale * before * r[1:]
        factors = np.maximum(np.minimum(late, early), 0.0).max(axis=1)
        steps = np.where(late <= early, step, step * growth).sum(axis=1)
        logarithms = [np.log(np.sum(np.exp(rates[0] * gains[0])))]
        for factor, addition in zip(np.log1p(factors), np.log(steps), strict=True):
            logarithms.append(np.logaddexp(logarithms[-1] + factor, addition))
    return Bound(np.array(logarithms)[:, None] / (scale * rates) + np.cumsum(rates * r**2, axis=0))


def _checked(regrets: ArrayLike) -> np.ndarray:
    r = check.finite_array("regrets", regrets, ndim=2).astype(float)
    if r.shape[0] < 1 or r.shape[1] < 2:
        raise ArgumentError("regrets", f"must have at least 1 round and 2 experts (got shape {r.shape})")
    return r


# ---------------------------------------------------------------------------------------------------------------------
# A bound on the error of the coverage of a threshold, in every run and for all scores.


@theorem(ANY, "angelopoulos2023conformal", quantity="coverage error")
def quantile_tracking(score_bound: PositiveFloat, step_size: PositiveFloat, n_rounds: Rounds) -> Bound:
    """Bound on |fraction of missed outcomes - alpha| of gradient descent on the pinball loss: (b + step) / (step T).

    The learner is `GradientLearner(FullGradient(Pinball(1 - alpha)), step)` with the instance 1: its threshold w starts
    at 0, rises by step (1 - alpha) after a miss, and falls by step alpha otherwise. The bound holds in every run, for
    every sequence of scores between -b and b that do not equal the threshold: Angelopoulos, Candes and Tibshirani
    (2023), Proposition 1.

    Args:
        score_bound: b.
        step_size: step, in the unit of the scores.
        n_rounds: T.

    Example:
        >>> from jaxonline.bounds import quantile_tracking
        >>> quantile_tracking(score_bound=2.0, step_size=0.5, n_rounds=100)
        Bound(0.05)
    """
    return Bound((score_bound + step_size) / (step_size * n_rounds))
