"""Statistics of runs in several games with stratified bootstrap intervals, as in Agarwal et al. (2021).

A resample draws the runs of each game anew from the runs of this game. It draws the same runs for all learners, because
in a run all learners face the same noise. A statistic takes the counts of runs in B resamples, by game [B, R_g].
"""

import dataclasses
import math
from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float

from jaxonline.results.statistics.intervals import Estimate

N_RESAMPLES = 2000
MAX_COUNTS = 2**21  # drawn at a time
AGGREGATES = "interquartile mean", "median", "mean", "optimality gap"

Counts = Sequence[Float[np.ndarray, "B R"]]


@dataclasses.dataclass(frozen=True)
class NormalisedRuns:
    """Losses of L learners in G games, normalised by (loss - best) / (reference - best).

    Attributes:
        losses: by game [L, R_g]; infinity in failed runs.
        best: loss that becomes 0 in each game [G].
        reference: loss that becomes 1 in each game [G].
    """

    losses: Sequence[Float[np.ndarray, "L R"]]
    best: Float[np.ndarray, "G"]
    reference: Float[np.ndarray, "G"]

    def aggregates(self, counts: Counts) -> Float[np.ndarray, "B 4 L"]:
        """Return the statistics of `AGGREGATES` for each learner."""
        common = math.lcm(*(count.shape[1] for count in counts))
        weights = np.concatenate([count * (common // count.shape[1]) for count in counts], axis=1)  # exact integers
        columns = []
        for i in range(len(self.losses[0])):
            limits = zip(self.losses, self.best, self.reference, strict=True)
            runs = [(losses[None, i] - best) / (reference - best) for losses, best, reference in limits]
            means = np.stack([_weigh(count, run) / count.shape[1] for count, run in zip(counts, runs, strict=True)])
            pooled = np.broadcast_to(np.concatenate(runs, axis=1), weights.shape)
            gap = _weigh(weights, np.maximum(pooled - 1.0, 0.0)) / (len(counts) * common)
            iqm = interquartile_mean(pooled, weights)
            columns.append(np.stack([iqm, np.median(means, axis=0), means.mean(axis=0), gap], axis=1))
        return np.stack(columns, axis=2)

    def improvement(self, counts: Counts, first: int, second: int, paired: bool) -> Float[np.ndarray, "B"]:
        """Return P(loss of `first` < loss of `second`) + P(equal) / 2, averaged over games.

        If `paired`, losses are compared in the same run. Otherwise all pairs of runs are compared.
        """
        games = zip(counts, self.losses, strict=True)
        shares = [_paired_wins(n, x[first], x[second]) if paired else _wins(n, x[first], x[second]) for n, x in games]
        return np.mean(shares, axis=0)


def interquartile_mean(values: Float[np.ndarray, "B N"], weights: Float[np.ndarray, "B N"]) -> Float[np.ndarray, "B"]:
    """Return the mean of the middle half of weighted values; values at the quartiles count in part.

    Example:
        >>> interquartile_mean(np.array([[9.0, 1.0, 2.0, 3.0]]), np.ones((1, 4))).tolist()
        [2.5]
        >>> interquartile_mean(np.array([[9.0, 1.0, 3.0]]), np.ones((1, 3))).round(3).tolist()
        [3.667]
    """
    order = np.argsort(values, axis=1)
    values, weights = np.take_along_axis(values, order, axis=1), np.take_along_axis(weights, order, axis=1)
    below = _cumulate(weights)
    quarter = below[:, -1:] / 4
    return _weigh(np.diff(np.clip(below, quarter, 3 * quarter)), values) / (2 * quarter[:, 0])


def resample_runs(
    statistic: Callable[[Counts], np.ndarray], n_runs: Sequence[int]
) -> tuple[np.ndarray, Float[np.ndarray, "B *rest"]]:
    """Return a statistic of the sample, and of 2,000 stratified resamples with a fixed seed.

    Example:
        >>> losses = np.array([1.0, 3.0])
        >>> sample, resamples = resample_runs(lambda counts: counts[0] @ losses / 2, [2])
        >>> float(sample), sorted(set(resamples.tolist()))
        (2.0, [1.0, 2.0, 3.0])
    """
    rng, chunks = np.random.default_rng(0), []
    for first in range(0, N_RESAMPLES, size := max(1, MAX_COUNTS // sum(n_runs))):
        rows = min(size, N_RESAMPLES - first)
        chunks.append(statistic([_draw_counts(rng, rows, n) for n in n_runs]))
    return statistic([np.ones((1, n)) for n in n_runs])[0], np.concatenate(chunks)


def percentile_estimate(sample: np.ndarray, resamples: np.ndarray, level: float, n_runs: int) -> Estimate:
    """Return the statistic with percentiles of its resamples as its interval."""
    tail = (1.0 - level) / 2
    low, high = np.quantile(resamples, (tail, 1.0 - tail), axis=0, method="inverted_cdf")  # without inf - inf
    with np.errstate(invalid="ignore"):
        error = resamples.std(axis=0, ddof=1)
    return Estimate(sample, error, low, high, np.full(np.shape(sample), n_runs))


def _draw_counts(rng: np.random.Generator, rows: int, n_runs: int) -> Float[np.ndarray, "B R"]:
    """Return how often each run occurs in `rows` resamples."""
    cells = rng.integers(n_runs, size=(rows, n_runs)) + n_runs * np.arange(rows)[:, None]
    return np.bincount(cells.ravel(), minlength=rows * n_runs).reshape(rows, n_runs).astype(float)


def _weigh(weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the weighted sum of each row; an infinite value with the weight 0 does not count."""
    if np.isinf(values).any():
        values = np.where(weights > 0, values, 0.0)
    return np.einsum("bn,bn->b", weights, values)


def _cumulate(counts: np.ndarray) -> np.ndarray:
    """Return cumulative sums of each row, with 0 in front."""
    return np.cumsum(np.pad(counts, ((0, 0), (1, 0))), axis=1)


def _paired_wins(counts: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return counts @ ((first < second) + 0.5 * (first == second)) / len(first)


def _wins(counts: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    order = np.argsort(second)
    at_most = _cumulate(counts[:, order])
    left, right = (np.searchsorted(second[order], first, side=side) for side in ("left", "right"))
    wins = len(first) - (at_most[:, left] + at_most[:, right]) / 2  # equal losses count half
    return (counts * wins).sum(axis=1) / len(first) ** 2
