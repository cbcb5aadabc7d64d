"""Bounds on the pseudo-regret of bandits that play sets of arms."""

from typing import Annotated

import numpy as np
from jaxtyping import ArrayLike, Float

from jaxonline.bounds.assumptions import STOCHASTIC, assumes
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.types import Count, Horizons, Interval
from jaxonline.parameters.validation import validate_arguments


@cites("chen2013combinatorial")
@assumes(STOCHASTIC, "pseudo-regret", losses=(0.0, 1.0))
@validate_arguments
def cucb(
    means: Annotated[Float[ArrayLike, "K"], Interval(ge=0, le=1)], m: Count, n_rounds: Horizons
) -> Float[np.ndarray, "..."]:
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
        return np.zeros_like(T)
    rate = 6 * m**2 * (2 / least[worse] - 1 / largest[worse]).sum()
    return rate * np.log(T) + (np.pi**2 / 3 + 1) * len(means) * largest.max()


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
