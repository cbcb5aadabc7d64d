"""Quantiles of studentised means, by resampling of runs."""

import functools
import math
from collections.abc import Iterable, Iterator

import numpy as np
from jaxtyping import Float

N_RESAMPLES = 2000
MAX_WEIGHTS = 2**22  # drawn at a time
MAX_CACHED_RUNS = 500
CHUNK_ENTRIES = 2**20
LEAST_SYMMETRIC_RUNS, SYMMETRIC = 100, 0.15  # runs, and skewness / sqrt(runs), of nearly normal means


def student_quantiles(
    values: Float[np.ndarray, "L R *rest"], level: float
) -> tuple[Float[np.ndarray, "L *rest"], Float[np.ndarray, "L *rest"]]:
    """Return bootstrap-t quantiles of (mean - expectation) / standard error, from 2,000 resamples with a fixed seed.

    If a resample consists of equal runs, its standard error is 0 and its ratio infinite, unless its mean is that of all
    runs.
    """
    tail = (1.0 - level) / 2
    ends = [np.quantile(_ratios(runs), (tail, 1.0 - tail), axis=0, method="inverted_cdf") for runs in values]
    low, high = np.moveaxis(np.reshape(ends, (len(ends), 2, *values.shape[2:])), 1, 0)
    return low, high


def tail_probabilities(values: Float[np.ndarray, "L R"], ratios: Float[np.ndarray, "L"]) -> Float[np.ndarray, "L"]:
    """Return two-sided p-values: twice the smaller share of resampled ratios beyond `ratios` (counts plus 1)."""
    resampled = np.stack([_ratios(runs)[:, 0] for runs in values]) if len(values) else np.empty((0, N_RESAMPLES))
    beyond = [(side(resampled, ratios[:, None]).sum(axis=1) + 1) for side in (np.greater_equal, np.less_equal)]
    return np.where(np.isnan(ratios), np.nan, np.minimum(2.0 * np.minimum(*beyond) / (N_RESAMPLES + 1), 1.0))


def _ratios(values: np.ndarray) -> np.ndarray:
    """Return (mean - expectation) / standard error of B resamples as [B, size of rest]; NaN for fewer than two runs."""
    runs = values.reshape(len(values), -1)
    runs = runs[~np.isnan(runs).any(axis=1)]
    if len(runs) < 2:
        return np.full((N_RESAMPLES, runs.shape[1]), np.nan)
    n = len(runs)
    runs = runs - runs.mean(axis=0)
    ratios = []
    for weights in _weights(n) if n <= MAX_CACHED_RUNS else _draw_weights(n):
        mean, square = weights @ runs / n, weights @ runs**2 / n
        error = np.sqrt(np.maximum(square - mean**2, 0.0) / (n - 1))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios.append(np.where(mean == 0, 0.0, mean / error))
    return np.concatenate(ratios)


def _draw_weights(n: int) -> Iterator[np.ndarray]:
    """Yield how often each of n runs occurs in each resample, for parts of the resamples, with a fixed seed."""
    rng = np.random.default_rng(0)
    for first in range(0, N_RESAMPLES, size := max(1, MAX_WEIGHTS // n)):
        chosen = rng.integers(n, size=(min(size, N_RESAMPLES - first), n))
        yield np.stack([np.bincount(sample, minlength=n) for sample in chosen]).astype(float)


@functools.lru_cache(maxsize=4)
def _weights(n: int) -> tuple[np.ndarray, ...]:
    """Return the parts of `_draw_weights`; learners of a study share them."""
    return tuple(_draw_weights(n))


def largest_deviations(
    curves: Iterable[Float[np.ndarray, "R G"]], level: float
) -> tuple[Float[np.ndarray, "L"], Float[np.ndarray, "L"]]:
    """Return by learner two quantiles of the deviations (mean - expectation) / standard error over the rounds.

    The first number is the quantile (1 - level) / 2 of the lowest deviation, the second is the quantile (1 + level) / 2
    of the highest one. They come from bootstrap-t resamples of the runs, which keep skewness, or for at least 100
    nearly symmetric runs from multivariate t vectors.
    """
    quantiles = []
    for runs in curves:
        complete = drop_nan_runs(runs)
        del runs
        symmetric = len(complete) >= LEAST_SYMMETRIC_RUNS and skewness_ratios(complete).max(initial=0.0) < SYMMETRIC
        quantiles.append((_of_symmetric_runs if symmetric else _of_skewed_runs)(complete, level))
        del complete  # frees memory before the next learner is read
    low, high = np.reshape(quantiles, (len(quantiles), 2)).T
    return low, high


def _of_skewed_runs(runs: np.ndarray, level: float) -> tuple[float, float]:
    """Return the quantiles of `largest_deviations` by bootstrap-t; rounds that do not vary in a resample count as 0."""
    if len(runs) < 2:
        return np.nan, np.nan
    ratios, tail = _ratios(runs), (1.0 - level) / 2
    ratios = np.where(np.isfinite(ratios), ratios, 0.0)
    low = np.quantile(ratios.min(axis=1, initial=np.inf), tail, method="inverted_cdf")
    high = np.quantile(ratios.max(axis=1, initial=-np.inf), 1.0 - tail, method="inverted_cdf")
    return float(low), float(high)


def _of_symmetric_runs(runs: np.ndarray, level: float) -> tuple[float, float]:
    """Return -q and q for the quantile q of the largest deviation, from 20,000 multivariate t vectors.

    The vectors are normal vectors with the correlations of the rounds, each divided by a chi variable.
    """
    rng, n, mean = np.random.default_rng(0), len(runs), runs.mean(axis=0)
    centred = (chunk - mean for chunk in chunk_runs(runs))
    covariance = np.sum([chunk.T @ chunk for chunk in centred], axis=0) / (n - 1)
    deviation = np.sqrt(np.diag(covariance))
    varies = deviation > 0
    correlation = covariance[varies][:, varies] / np.outer(deviation[varies], deviation[varies])
    variances, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.maximum(variances, 0.0))
    normals = np.abs(rng.normal(size=(10 * N_RESAMPLES, len(root))) @ root.T).max(axis=1, initial=0.0)
    largest = float(np.quantile(normals / np.sqrt(rng.chisquare(n - 1, 10 * N_RESAMPLES) / (n - 1)), level))
    return -largest, largest


def skewness_ratios(runs: Float[np.ndarray, "R G"]) -> Float[np.ndarray, "G"]:
    """Return |skewness| / sqrt(runs) of each round, 0 for rounds that do not vary; no run may have a NaN."""
    if len(runs) < 2:
        return np.zeros(runs.shape[1])
    mean = runs.mean(axis=0)
    powers = [[((chunk - mean) ** k).sum(axis=0) for k in (2, 3)] for chunk in chunk_runs(runs)]
    second, third = np.sum(powers, axis=0) / len(runs)
    varies = second > 0
    return np.where(varies, np.abs(third) / np.where(varies, second, 1.0) ** 1.5, 0.0) / np.sqrt(len(runs))


def drop_nan_runs(runs: Float[np.ndarray, "R G"]) -> Float[np.ndarray, "K G"]:
    """Return the runs without NaN; the array itself if no run has NaN."""
    complete = ~np.isnan(runs).any(axis=1)
    return runs if complete.all() else runs[complete]


def chunk_runs(runs: Float[np.ndarray, "R *rest"]) -> Iterator[Float[np.ndarray, "K *rest"]]:
    """Yield chunks of runs, so that a large array is never copied as a whole."""
    step = max(1, CHUNK_ENTRIES // max(1, math.prod(runs.shape[1:])))
    return (runs[start : start + step] for start in range(0, len(runs), step))
