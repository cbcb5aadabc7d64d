"""Friedman's test and Nemenyi's critical difference of mean ranks over games."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy import special


class RankTest(NamedTuple):
    """Result of Friedman's test and Nemenyi's test.

    Attributes:
        statistic: Friedman's chi-square.
        p_value: p-value of Friedman's test, with Iman and Davenport's F statistic.
        difference: critical difference: two learners whose mean ranks differ by more have different ranks.
    """

    statistic: float
    p_value: float
    difference: float


def compare_ranks(ranks: Float[np.ndarray, "L G"], level: float) -> RankTest:
    """Test whether L learners have the same mean rank over G games (at least two learners and two games).

    The tests assume that the games are independent draws from one population of games, and that all orders of equal
    learners are equally likely. The numbers are asymptotic in the number of games. Ties are not corrected, which makes
    the tests conservative.

    References:
        Demsar (2006), "Statistical comparisons of classifiers over multiple data sets", JMLR 7, section 3.2.2.

    Example:
        >>> test = compare_ranks(np.array([[1, 1, 1, 2], [2, 2, 2, 1], [3, 3, 3, 3]]), 0.95)
        >>> round(test.statistic, 2), round(test.p_value, 4), round(test.difference, 2)
        (6.5, 0.0066, 1.66)
    """
    from scipy import stats

    learners, games = ranks.shape
    mean = ranks.mean(axis=1)
    statistic = 12 * games / (learners * (learners + 1)) * float(np.sum((mean - (learners + 1) / 2) ** 2))
    rest = games * (learners - 1) - statistic
    ratio = (games - 1) * statistic / rest if rest > 1e-9 else np.inf
    p_value = float(special.fdtrc(learners - 1, (learners - 1) * (games - 1), ratio))
    quantile = float(stats.studentized_range.ppf(level, learners, np.inf)) / np.sqrt(2)
    return RankTest(statistic, p_value, float(quantile * np.sqrt(learners * (learners + 1) / (6 * games))))


def rank_groups(mean_ranks: Float[np.ndarray, "L"], difference: float) -> list[tuple[int, int]]:
    """Return the first and last index of each maximal group of sorted mean ranks within `difference`.

    Example:
        >>> rank_groups(np.array([1.0, 1.5, 2.2, 4.0]), 1.0)
        [(0, 1), (1, 2)]
    """
    ends = np.searchsorted(mean_ranks, mean_ranks + difference, side="right") - 1
    return [(i, int(end)) for i, end in enumerate(ends) if end > i and (i == 0 or end > ends[i - 1])]
