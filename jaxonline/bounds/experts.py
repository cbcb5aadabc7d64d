"""Bounds on the expected regret against the best of K experts, for losses in [0, 1] unless stated otherwise."""

import math
from typing import Annotated, NamedTuple

import numpy as np
from jaxtyping import Float

from jaxonline.bounds.assumptions import OBLIVIOUS, Assumptions, assumes, with_assumptions
from jaxonline.learners.experts.combiners import binary_entropy
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.types import (
    Count,
    CountFrom2,
    Ge,
    Horizon,
    NonNegativeInt,
    Numbers,
    OpenUnitFloat,
    PositiveFloat,
    Rounds,
)  # fmt: skip
from jaxonline.parameters.validation import validate_arguments


class RateBound(NamedTuple):
    """Bound information / eta + eta variance t on the expected regret after t rounds, with learning rate eta.

    Attributes:
        eta: learning rate.
        n_rounds: horizon.
        information: complexity of the comparators, ln K for K experts.
        variance: factor of eta t in the bound, the cost of one round.

    Example:
        >>> from jaxonline.bounds import exponential_weights
        >>> bound = exponential_weights(10, 1000)
        >>> bound.at_rounds([10, 1000]).round(2).tolist()
        [17.14, 33.93]
    """

    eta: float
    n_rounds: int
    information: float
    variance: float
    assumptions: Assumptions = Assumptions()

    @property
    def value(self) -> float:
        """Regret bound at the horizon."""
        bound = self.information / self.eta + self.eta * self.variance * self.n_rounds
        return with_assumptions(bound, self.assumptions)

    @validate_arguments
    def at_rounds(self, rounds: Annotated[Numbers, Ge(0)]) -> Float[np.ndarray, "..."]:
        """Regret bound after each round in `rounds`, up to the horizon."""
        t = np.asarray(rounds, float)
        return with_assumptions(self.information / self.eta + self.eta * self.variance * t, self.assumptions)


@cites("littlestone1988learning")
@assumes(quantity="mistakes")
@validate_arguments
def halving(n_experts: Count, best_mistakes: NonNegativeInt = 0) -> int:
    """Mistake bound of `Halving` (Littlestone 1988): log2 K if L = 0, otherwise L (floor(log2 K) + 1) + log2 K.

    The bound also holds for the lazy algorithm.

    Args:
        n_experts: K.
        best_mistakes: L, mistakes of the best expert.

    Example:
        >>> from jaxonline.bounds import halving
        >>> halving(1000), halving(1000, best_mistakes=2)
        (9, 29)
    """
    # Whenever all experts have erred the algorithm restarts: at most L times, after at most floor(log2 K) + 1 mistakes.
    doublings = n_experts.bit_length() - 1  # floor(log2 K): mistakes are integers
    return best_mistakes * (doublings + 1) + doublings


@cites("littlestone1994weighted")
@assumes(quantity="mistakes")
@validate_arguments
def weighted_majority(n_experts: Count, beta: OpenUnitFloat, best_mistakes: NonNegativeInt) -> float:
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
    return (best_mistakes * math.log(1.0 / beta) + math.log(n_experts)) / math.log(2.0 / (1.0 + beta))


@cites("cesabianchi2006prediction")
@assumes(losses=(0.0, 1.0))
@validate_arguments
def exponential_weights(n_experts: CountFrom2, n_rounds: Rounds, eta: PositiveFloat | None = None) -> RateBound:
    """Regret bound of `Hedge` and `DrawnExpert` with exponential weights: ln K / eta + eta T / 8.

    For the best learning rate eta = sqrt(8 ln K / T) the bound is sqrt(T ln K / 2). The lecture (paper E) omits the
    root in this eta (erratum E18). The bound also holds for the weighted mean of experts under convex losses.
    Source: Cesa-Bianchi and Lugosi (2006), Theorem 2.2.

    Args:
        n_experts: K.
        n_rounds: T.
        eta: learning rate; the best learning rate by default.

    Example:
        >>> from jaxonline.bounds import exponential_weights
        >>> bound = exponential_weights(10, 1000)
        >>> round(bound.value, 2), round(bound.eta, 4)
        (33.93, 0.1357)
    """
    return _rate_bound(eta, n_rounds, math.log(n_experts), 1.0 / 8.0)


@cites("cesabianchi2006prediction")
@assumes(losses=(0.0, 1.0), prescribed_rate=True)
@validate_arguments
def fixed_share(
    n_experts: CountFrom2, n_rounds: Annotated[int, Ge(2), Horizon()], n_switches: NonNegativeInt
) -> RateBound:
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


@cites("kalai2005efficient", "hutter2005adaptive")
@assumes(losses=(0.0, 1.0))
@validate_arguments
def perturbed_leader(n_experts: CountFrom2, n_rounds: Rounds, eta: PositiveFloat | None = None) -> RateBound:
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
    rate = math.sqrt(math.log(n_experts) / n_rounds) if eta is None else float(eta)
    return RateBound(rate, n_rounds, float(np.sum(1.0 / np.arange(2, n_experts + 1))), 1.0)


@cites("nesterov2009primal", "shalevshwartz2012online")
@assumes(losses=(0.0, 1.0))
@validate_arguments
def regularized_leader(n_experts: CountFrom2, n_rounds: Rounds, eta: PositiveFloat | None = None) -> RateBound:
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


@cites("cesabianchi2005minimizing", "cesabianchi2006prediction")
@assumes(OBLIVIOUS, losses=(0.0, 1.0), prescribed_rate=True)
@validate_arguments
def label_efficient(n_experts: CountFrom2, n_rounds: Rounds, n_questions: Count) -> RateBound:
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


@cites("cesabianchi2006prediction")
@validate_arguments
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


def _rate_bound(eta: float | None, n_rounds: int, information: float, variance: float) -> RateBound:
    """Return the bound with rate eta, or with the best rate, which makes the bound's terms equal at the horizon."""
    best = math.sqrt(information / (variance * n_rounds))
    return RateBound(best if eta is None else float(eta), n_rounds, information, variance)
