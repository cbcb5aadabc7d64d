"""Best-arm identification: the characteristic time of Garivier and Kaufmann, and successive rejects."""

import math
from typing import Annotated

import numpy as np
from jaxtyping import ArrayLike, Float
from scipy import optimize

from jaxonline.bounds.bandits import Gaps, positive_gaps
from jaxonline.bounds.theorem import theorem
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.types import CountFrom2, PositiveFloat

END = 1 - 1e-9  # the largest share of an arm among the pulls of this arm and the best one
Means = Annotated[Float[ArrayLike, "K"], "mean losses"]


@theorem(None, "garivier2016optimal")
def characteristic_time(means: Means, std: PositiveFloat | None = None) -> float:
    """Characteristic time T* of the arms: a lower bound on the mean number of pulls, divided by kl(delta, 1 - delta).

    A learner that recommends the best arm with probability at least 1 - delta, for all means, needs on average at least
    T* kl(delta, 1 - delta) pulls (Garivier and Kaufmann 2016, Theorem 1). kl is the divergence of Bernoulli
    distributions. For small delta it is nearly ln(1 / delta). `benchmarks/best-arm.md` has stopping rounds beside it.

    1 / T* is the largest value over proportions w of the smallest value over the worse arms a of w_b d(mu_b, q) + w_a
    d(mu_a, q), minimised over q, where b is the best arm. This convex programme is solved exactly, up to rounding, by
    nested searches of roots (Theorem 5). Two arms with Gaussian losses have T* = 8 std^2 / gap^2.

    Args:
        means: mean losses of the arms [K]; only one is the smallest. They are in (0, 1) if `std` is None.
        std: standard deviation of Gaussian losses; None for losses of 0 and 1.

    Raises:
        ValueError: two arms have the smallest mean, or means are out of range.

    Example:
        >>> from jaxonline.bounds import characteristic_time
        >>> round(characteristic_time([0.0, 0.5], std=1.0), 6), round(characteristic_time([0.2, 0.5, 0.5]), 3)
        (32.0, 28.355)
    """
    return _solve(means, std)[0]


@theorem(None, "garivier2016optimal")
def optimal_proportions(means: Means, std: PositiveFloat | None = None) -> Float[np.ndarray, "K"]:
    """Proportions of pulls of the arms that attain the characteristic time (`characteristic_time`).

    Args:
        means: mean losses of the arms [K]; only one is the smallest. They are in (0, 1) if `std` is None.
        std: standard deviation of Gaussian losses; None for losses of 0 and 1.

    Raises:
        ValueError: two arms have the smallest mean, or means are out of range.

    Example:
        >>> from jaxonline.bounds import optimal_proportions
        >>> optimal_proportions([0.0, 0.5, 0.5, 0.5, 0.5], std=1.0).round(3).tolist()  # the best arm twice as often
        [0.333, 0.167, 0.167, 0.167, 0.167]
    """
    return _solve(means, std)[1]


def _solve(means: ArrayLike, std: float | None) -> tuple[float, np.ndarray]:
    limits = {} if std is not None else {"gt": 0.0, "lt": 1.0}
    mu = np.asarray(check.numbers("means", check.vector("means", means), **limits), float)
    best = int(np.argmin(mu))
    others = np.delete(mu, best)
    if not len(others) or others.min() <= mu[best]:
        raise ArgumentError("means", f"must hold at least 2 numbers, with one smallest (got {check.quote(mu)})")

    def d(p: float, q: float) -> float:
        if std is not None:
            return (p - q) ** 2 / (2 * std**2)
        return p * math.log1p((p - q) / q) + (1 - p) * math.log1p((q - p) / (1 - q))  # without cancellation

    def evidence(share: float, a: float) -> float:  # per pull of the two arms, of which `share` are of arm a
        q = mu[best] + share * (a - mu[best])
        return d(mu[best], q) + share / (1 - share) * d(a, q)

    def shares(y: float) -> list[float]:
        roots = (optimize.brentq(lambda s, a=a: evidence(s, a) - y, 0, END, xtol=1e-16) for a in others)
        return [float(root) for root in roots]  # type: ignore[arg-type]

    def excess(y: float) -> float:
        points = [(a, mu[best] + share * (a - mu[best])) for share, a in zip(shares(y), others, strict=True)]
        with np.errstate(divide="ignore"):  # the largest share rounds q to a
            return math.fsum(d(mu[best], q) / np.float64(d(a, q)) for a, q in points) - 1

    largest = min(evidence(END, a) for a in others)
    y = float(optimize.brentq(excess, largest * 1e-12, largest, xtol=1e-16 * largest))  # type: ignore[arg-type]
    odds = np.array([share / (1 - share) for share in shares(y)])
    return float(1 + odds.sum()) / y, np.insert(odds, best, 1.0) / (1 + odds.sum())


@theorem(None, "audibert2010best")
def successive_rejects(gaps: Gaps, budget: CountFrom2) -> float:
    """Bound on the probability that `SuccessiveRejects` recommends a wrong arm: K (K - 1) / 2 exp(-(n - K) / (L H)).

    n is the budget, L = 1/2 + 1/2 + 1/3 + ... + 1/K, and H is the largest i / gap_i^2 over i = 2, ..., K, with the gaps
    in increasing order. The bound is Theorem 2 of Audibert, Bubeck and Munos (2010), for losses in [0, 1].

    Args:
        gaps: the gaps of the mean losses of the arms [K]; exactly one gap is 0.
        budget: the largest number of pulls.

    Raises:
        ValueError: more than one arm has the gap 0.

    Example:
        >>> from jaxonline.bounds import successive_rejects
        >>> round(successive_rejects([0.0, 0.5, 0.5, 0.5], 200), 4)
        0.0026
    """
    positive = positive_gaps(gaps)  # type: ignore[arg-type]
    n_arms = len(positive) + 1
    orders = np.arange(2, n_arms + 1)
    H, L = float((orders / positive**2).max()), 0.5 + float((1 / orders).sum())
    return min(1.0, n_arms * (n_arms - 1) / 2 * math.exp(-(budget - n_arms) / (L * H)))
