"""Bands that contain the whole expected curve of a learner, from resamples of the runs."""

import functools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from jaxtyping import Float

from jaxonline.parameters.errors import SkewedRunsWarning, to_one_line
from jaxonline.results.statistics.intervals import Estimate
from jaxonline.results.statistics.means import MAX_SKEWNESS_RATIO, chunk_runs, drop_nan_runs, mean_over_runs

N_RESAMPLES = 2000
MAX_WEIGHTS = 2**22  # drawn at a time
MAX_CACHED_RUNS = 500
LEAST_SYMMETRIC_RUNS, SYMMETRIC = 100, 0.15  # runs, and skewness / sqrt(runs), of nearly normal means
MAX_BAND_SKEWNESS_RATIO = 0.5  # skewness / sqrt(runs)


def simultaneous(values: Float[np.ndarray, "L R G"], level: float = 0.95) -> Estimate:
    """Return means over runs with bands [L, G]; a band contains its whole expected curve with probability `level`.

    The ends of a band are the same numbers of standard errors from the mean in all rounds: quantiles of the largest
    deviations on both sides (max-t). They come from resamples of the runs (bootstrap-t), so that bands of skewed runs
    are longer on one side, or for at least 100 nearly symmetric runs from the correlations between rounds. The level is
    asymptotic, as that of Student's t is in one round. Runs with a NaN are left out.

    Example:
        >>> import numpy as np
        >>> from jaxonline.results.statistics import mean_over_runs, simultaneous
        >>> curves = np.random.default_rng(0).normal(size=(1, 50, 8))
        >>> both, each = simultaneous(curves), mean_over_runs(curves)
        >>> bool((both.low < each.low - 0.2 * each.standard_error).all())
        True
    """
    return make_bands(mean_over_runs(values, level), values, level)


def make_bands(estimate: Estimate, curves: Iterable[Float[np.ndarray, "R G"]], level: float) -> Estimate:
    """Return means [L, G] with the bands of `simultaneous`; `curves` yields the runs of one learner after the other."""
    deviations = [_largest_deviations(drop_nan_runs(runs), level) for runs in curves]
    low, high = np.reshape(deviations, (len(deviations), 2)).T
    return estimate._replace(
        low=estimate.mean - high[:, None] * estimate.standard_error,
        high=estimate.mean - low[:, None] * estimate.standard_error,
    )


def warn_of_skewed_curves(curves: Iterable[Float[np.ndarray, "R G"]], learners: Sequence[str], quantity: str) -> None:
    """Warn of learners whose runs are so skewed in some round that bands often miss, with the number of runs needed.

    In runs of 0 and 1, the warning comes if there are fewer than four ones in some round.
    """
    skewed = {}
    for name, runs in zip(learners, curves, strict=True):
        complete = drop_nan_runs(runs)
        ratio = float(skewness_ratios(complete).max(initial=0.0))
        if ratio > max(MAX_BAND_SKEWNESS_RATIO, 7.4 / max(1, len(complete))):
            skewed[name] = math.ceil(len(complete) * (ratio / MAX_SKEWNESS_RATIO) ** 2)
    if skewed:
        names = to_one_line(", ".join(skewed))
        warnings.warn(
            f"the {quantity} of {names} is so skewed in some rounds that bands may miss the mean; simulate "
            f"at least {max(skewed.values()):,} runs and look again (few runs show less skewness), or use "
            "interval=jo.intervals.Betting(low, high) where the limits of a round are known",
            SkewedRunsWarning, stacklevel=4,
        )  # fmt: skip


def _largest_deviations(runs: Float[np.ndarray, "R G"], level: float) -> tuple[float, float]:
    """Return two quantiles of the deviations (mean - expectation) / standard error over the rounds.

    The first number is the quantile (1 - level) / 2 of the lowest deviation, the second is the quantile (1 + level) / 2
    of the highest one. They come from bootstrap-t resamples of the runs, which keep skewness, or for at least 100
    nearly symmetric runs from multivariate t vectors.
    """
    symmetric = len(runs) >= LEAST_SYMMETRIC_RUNS and skewness_ratios(runs).max(initial=0.0) < SYMMETRIC
    return (_of_symmetric_runs if symmetric else _of_skewed_runs)(runs, level)


def _of_skewed_runs(runs: np.ndarray, level: float) -> tuple[float, float]:
    """Return the quantiles by bootstrap-t; rounds that do not vary in a resample count as 0."""
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


def _ratios(runs: Float[np.ndarray, "R G"]) -> Float[np.ndarray, "B G"]:
    """Return (mean - expectation) / standard error of B resamples of at least two runs."""
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


def skewness_ratios(runs: Float[np.ndarray, "R G"]) -> Float[np.ndarray, "G"]:
    """Return |skewness| / sqrt(runs) of each round, 0 for rounds that do not vary; no run may have a NaN."""
    if len(runs) < 2:
        return np.zeros(runs.shape[1])
    mean = runs.mean(axis=0)
    powers = [[((chunk - mean) ** k).sum(axis=0) for k in (2, 3)] for chunk in chunk_runs(runs)]
    second, third = np.sum(powers, axis=0) / len(runs)
    varies = second > 0
    return np.where(varies, np.abs(third) / np.where(varies, second, 1.0) ** 1.5, 0.0) / np.sqrt(len(runs))
