"""Quantiles over runs with distribution-free confidence intervals."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy import special


class QuantileEstimate(NamedTuple):
    """A quantile over runs with its confidence interval; all fields have the same shape."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n_runs: np.ndarray


def quantile_over_runs(values: Float[np.ndarray, "L R *rest"], probability: float, level: float) -> QuantileEstimate:
    """Return the quantile over the runs of each learner [L, *rest]; NaN excludes a run.

    The estimate and the ends are order statistics, so the interval has its level for every distribution of independent
    runs. Let q be the quantile of the probability p, n the number of runs, and B binomial (n, p). The number of runs
    <= q is at least as large as B in distribution, so the l-th smallest run is above q with probability at most P(B <
    l). The number of runs < q is at most as large as B, so the u-th smallest run is below q with probability at most
    P(B >= u). The ranks l and u are the closest for which both are at most (1 - level) / 2. An end is infinite if there
    are too few runs for its rank (David and Nagaraja 2003, "Order Statistics", 7.1).

    Example:
        >>> estimate = quantile_over_runs(np.arange(1.0, 101.0)[None], 0.5, 0.95)
        >>> [float(field[0]) for field in estimate]
        [50.0, 40.0, 61.0, 100.0]
    """
    ordered = np.sort(values, axis=1)  # NaN last
    n_runs = np.sum(~np.isnan(values), axis=1)
    value, low, high = (np.full(n_runs.shape, np.nan) for _ in range(3))
    for n in np.unique(n_runs[n_runs > 0]):
        at_most = special.bdtr(np.arange(float(n)), int(n), probability)  # P(B <= k) for k < n
        ranks = (
            max(int(np.ceil(n * probability - 1e-9)), 1),
            int(np.searchsorted(at_most, (1 - level) / 2)),
            int(np.searchsorted(at_most, (1 + level) / 2)) + 1,
        )
        for field, rank in zip((value, low, high), ranks, strict=True):
            selected = n_runs == n
            if 1 <= rank <= n:
                field[selected] = ordered[:, rank - 1][selected]
            else:
                field[selected] = -np.inf if rank < 1 else np.inf
    return QuantileEstimate(value, low, high, n_runs)
