"""Regret of explore-then-commit on two Gaussian arms in closed form, and the bound and the tuning of its theory."""

import math

import numpy as np
from scipy import special


def expected_regret(gap: float, pulls_each: int, n_rounds: int) -> float:
    """Return the expected regret of explore-then-commit on two Gaussian arms of variance 1, in closed form.

    After m pulls of each arm the difference of the means is normal with variance 2 / m. So the learner commits to the
    worse arm with probability Phi(-gap sqrt(m / 2)). The regret is m gap + (n - 2 m) gap times this probability.

    Example:
        >>> from benchmarks.papers.published.explore_then_commit import expected_regret
        >>> round(expected_regret(0.5, 25, 1000), 2)  # 12.5 + 475 Phi(-1.7678)
        30.81
    """
    wrong = float(special.ndtr(-gap * math.sqrt(pulls_each / 2)))
    return gap * (pulls_each + (n_rounds - 2 * pulls_each) * wrong)


def commitment(gap: float, n_rounds: int) -> int:
    """Return m of equation (6.5): the smallest integer at least 4 / gap^2 ln(n gap^2 / 4), and at least 1.

    Example:
        >>> from benchmarks.papers.published.explore_then_commit import commitment
        >>> commitment(0.1, 1000), commitment(1.0, 1000), commitment(0.01, 1000)
        (367, 23, 1)
    """
    return max(1, math.ceil(4 / gap**2 * math.log(n_rounds * gap**2 / 4)))


def commitment_bound(gap: float, n_rounds: int) -> float:
    """Return the bound (6.6): min(n gap, gap + 4 / gap (1 + max(0, ln(n gap^2 / 4)))).

    Example:
        >>> from benchmarks.papers.published.explore_then_commit import commitment_bound
        >>> round(commitment_bound(0.1, 1000), 2), commitment_bound(0.01, 1000)
        (76.75, 10.0)
    """
    return min(n_rounds * gap, gap + 4 / gap * (1 + max(0.0, math.log(n_rounds * gap**2 / 4))))


def best_commitment(gap: float, n_rounds: int) -> int:
    """Return the m from 1 to n / 2 with the least expected regret.

    Example:
        >>> from benchmarks.papers.published.explore_then_commit import best_commitment
        >>> best_commitment(1.0, 1000)
        14
    """
    m = np.arange(1, n_rounds // 2 + 1)
    wrong = special.ndtr(-gap * np.sqrt(m / 2))
    return int(m[np.argmin(m + (n_rounds - 2 * m) * wrong)])
