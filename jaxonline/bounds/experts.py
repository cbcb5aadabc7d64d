"""Theorems on prediction with expert advice as numbers.

Losses are in [0, 1], and the bounds are on the expected regret to the best of K experts unless they say otherwise.
"""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import ArrayLike, Float

from jaxonline.learners.experts.fixed_share import binary_entropy
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError


class RateBound(NamedTuple):
    """A bound on the expected regret with a rate eta, information / eta + eta variance t after t rounds.

    Attributes:
        eta: the rate.
        n_rounds: the horizon.
        information: what there is to learn, ln K for K experts.
        variance: what a round costs.

    Example:
        >>> from jaxonline.bounds import exponential_weights
        >>> bound = exponential_weights(10, 1000)
        >>> bound.after([10, 1000]).round(2).tolist()
        [17.14, 33.93]
    """

    eta: float
    n_rounds: int
    information: float
    variance: float

    @property
    def value(self) -> float:
        """The bound at the horizon."""
        return self.information / self.eta + self.eta * self.variance * self.n_rounds

    def after(self, rounds: Float[ArrayLike, "G"]) -> Float[np.ndarray, "G"]:
        """The bound after each of `rounds`, up to the horizon."""
        t = np.asarray(check.numbers("rounds", rounds, ge=0.0), float)
        return self.information / self.eta + self.eta * self.variance * t


def halving(n_experts: int, best_mistakes: int = 0) -> int:
    """Mistakes of `Halving`: at most log2 K where the best expert never errs, else L (floor(log2 K) + 1) + log2 K.

    Littlestone (1988); the lecture's first theorem. With L mistakes of the best expert, each time all experts have
    erred the algorithm begins again: at most L times, after at most floor(log2 K) + 1 mistakes each.

    Args:
        n_experts: K, at least 1.
        best_mistakes: L.

    Raises:
        ValueError: a number out of its range.

    Example:
        >>> from jaxonline.bounds import halving
        >>> halving(1000), halving(1000, best_mistakes=2)
        (9, 29)
    """
    doublings = check.count("n_experts", n_experts).bit_length() - 1  # floor(log2 K): mistakes are whole numbers
    return check.count("best_mistakes", best_mistakes, ge=0) * (doublings + 1) + doublings


def weighted_majority(n_experts: int, beta: float, best_mistakes: int) -> float:
    """Mistakes of `WeightedMajority`: (L ln(1/beta) + ln K) / ln(2 / (1 + beta)), for every sequence.

    Littlestone and Warmuth (1994).

    Args:
        n_experts: K, at least 1.
        beta: above 0, below 1.
        best_mistakes: L, of the best expert.

    Raises:
        ValueError: a number out of its range.

    Example:
        >>> from jaxonline.bounds import weighted_majority
        >>> round(weighted_majority(10, 0.5, 20), 2)
        56.19
    """
    check.number("beta", beta, gt=0.0, lt=1.0)
    L = check.count("best_mistakes", best_mistakes, ge=0)
    K = check.count("n_experts", n_experts)
    return (L * math.log(1.0 / beta) + math.log(K)) / math.log(2.0 / (1.0 + beta))


def exponential_weights(n_experts: int, n_rounds: int, eta: float | None = None) -> RateBound:
    """Of `Hedge` and `DrawnExpert` with exponential weights: ln K / eta + eta T / 8.

    sqrt(T ln K / 2) with the best eta, sqrt(8 ln K / T). Cesa-Bianchi and Lugosi (2006), Theorem 2.2; for the weighted
    mean of experts under any convex loss, too. (Erratum E18: the lecture prints the rate without its root.)

    Args:
        n_experts: K, at least 2.
        n_rounds: T.
        eta: the rate, above 0; the best one by default.

    Raises:
        ValueError: a number out of its range.

    Example:
        >>> from jaxonline.bounds import exponential_weights
        >>> bound = exponential_weights(10, 1000)
        >>> round(bound.value, 2), round(bound.eta, 4)
        (33.93, 0.1357)
    """
    K, T = check.count("n_experts", n_experts, ge=2), check.count("n_rounds", n_rounds)
    return _with_rate(eta, T, math.log(K), 1.0 / 8.0)


def fixed_share(n_experts: int, n_rounds: int, n_switches: int) -> RateBound:
    """Of `FixedShare.over_horizon` to every sequence of experts with at most m switches.

    sqrt(T/2 ((m + 1) ln K + (T - 1) H(m / (T - 1)))), H the binary entropy: Cesa-Bianchi and Lugosi (2006), Corollary
    5.1, for share = m / (T - 1) of at most 1/2.

    Args:
        n_experts: K, at least 2.
        n_rounds: T, at least 2.
        n_switches: m, at least 0, at most (T - 1) / 2.

    Raises:
        ValueError: a number out of its range.

    Example:
        >>> from jaxonline.bounds import exponential_weights, fixed_share
        >>> round(fixed_share(10, 1000, 3).value, 1), fixed_share(10, 1000, 0) == exponential_weights(10, 1000)
        (121.7, True)
    """
    K, T = check.count("n_experts", n_experts, ge=2), check.count("n_rounds", n_rounds, ge=2)
    m = check.count("n_switches", n_switches, ge=0)
    if 2 * m > T - 1:
        raise ArgumentError(
            "n_switches", f"must be at most half of the rounds after the first, {(T - 1) / 2:g}, got {m}"
        )
    information = (m + 1) * math.log(K) + (T - 1) * binary_entropy(m / (T - 1))
    return _with_rate(None, T, information, 1.0 / 8.0)


def perturbed_leader(n_experts: int, n_rounds: int, eta: float | None = None) -> RateBound:
    """Of `FollowThePerturbedLeader` with exponential perturbations: (H_K - 1) / eta + eta T, H_K = 1 + ... + 1/K.

    With eta = sqrt(ln K / T), the default, it is at most 2 sqrt(T ln K). Kalai and Vempala (2005), Hutter and Poland
    (2005): being the leader of the next round costs at most E max Z - E Z = H_K - 1, over eta; and by the lack of
    memory of Z the leader of this round is another one with probability eta at most.

    Args:
        n_experts: K, at least 2.
        n_rounds: T.
        eta: the rate, above 0.

    Raises:
        ValueError: a number out of its range.

    Example:
        >>> from jaxonline.bounds import perturbed_leader
        >>> round(perturbed_leader(10, 1000).value, 1)
        88.2
    """
    K, T = check.count("n_experts", n_experts, ge=2), check.count("n_rounds", n_rounds)
    rate = math.sqrt(math.log(K) / T) if eta is None else float(check.positive("eta", eta))
    excess = float(np.sum(1.0 / np.arange(2, K + 1)))
    return RateBound(rate, T, excess, 1.0)


def regularized_leader(n_experts: int, n_rounds: int, eta: float | None = None) -> RateBound:
    """Of `FollowTheRegularizedLeader` with |w|^2 / 2: (1 - 1/K) / (2 eta) + eta K T / 2, or sqrt((K - 1) T).

    The regularizer is 1-strongly convex and has the range (1 - 1/K) / 2 on the simplex, and |loss|^2 <= K. By duality,
    as in Nesterov (2009), with half of the second term of Shalev-Shwartz (2012), Theorem 2.11. For every sequence.

    Args:
        n_experts: K, at least 2.
        n_rounds: T.
        eta: the rate, above 0; the best one by default.

    Raises:
        ValueError: a number out of its range.

    Example:
        >>> from jaxonline.bounds import regularized_leader
        >>> round(regularized_leader(10, 1000).value, 1)
        94.9
    """
    K, T = check.count("n_experts", n_experts, ge=2), check.count("n_rounds", n_rounds)
    return _with_rate(eta, T, (1.0 - 1.0 / K) / 2.0, K / 2.0)


def label_efficient(n_experts: int, n_rounds: int, n_questions: int) -> RateBound:
    """Of `LabelEfficientHedge.over_horizon` with m questions expected: T sqrt(2 ln K / m).

    Cesa-Bianchi, Lugosi and Stoltz (2005), Theorem 1; Cesa-Bianchi and Lugosi (2006), Theorem 6.1.

    Args:
        n_experts: K, at least 2.
        n_rounds: T.
        n_questions: m, from 1 to T.

    Raises:
        ValueError: a number out of its range.

    Example:
        >>> from jaxonline.bounds import label_efficient
        >>> round(label_efficient(10, 1000, 100).value, 1)
        214.6
    """
    K, T = check.count("n_experts", n_experts, ge=2), check.count("n_rounds", n_rounds)
    m = check.count("n_questions", n_questions)
    if m > T:
        raise ArgumentError("n_questions", f"must be at most n_rounds, {T}, got {m}")
    return _with_rate(None, T, math.log(K), T / (2.0 * m))


def doubling(constant: float, n_rounds: int) -> float:
    """Of `Doubling`, with learners whose regret over every known horizon T is at most c sqrt(T).

    The sum of c sqrt(2^k) over its phases, which is at most sqrt(2) / (sqrt(2) - 1) c sqrt(T): Cesa-Bianchi and Lugosi
    (2006), section 2.3.

    Args:
        constant: c, above 0.
        n_rounds: T.

    Raises:
        ValueError: a number out of its range.

    Example:
        >>> from jaxonline.bounds import doubling
        >>> round(doubling(1.0, 7), 4)  # 1 + sqrt(2) + 2
        4.4142
    """
    check.positive("constant", constant)
    phases = check.count("n_rounds", n_rounds).bit_length()  # of 1, 2, 4, ... rounds
    return constant * sum(math.sqrt(2.0**k) for k in range(phases))


def _with_rate(eta: float | None, n_rounds: int, information: float, variance: float) -> RateBound:
    """With a rate, or with the best one: where both parts of the bound are equal at the horizon."""
    best = math.sqrt(information / (variance * n_rounds))
    return RateBound(best if eta is None else float(check.positive("eta", eta)), n_rounds, information, variance)
