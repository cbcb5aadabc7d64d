"""Means of runs, their standard errors, and simultaneous bands around mean curves."""

import functools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import ArrayLike, Bool, Float, Int
from scipy import special

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, SkewedRunsWarning, to_one_line
from jaxonline.results.statistics.intervals import (
    CHUNK_ENTRIES,
    ConfidenceInterval,
    Estimate,
    SkewCorrected,
    check_interval,
    inverse_of_hall,
    skewness,
)

# ---------------------------------------------------------------------------------------------------------------------
# Means and quantiles over runs, differences of means and growth exponents, with intervals and corrected tests.


DEFAULT = SkewCorrected()
LEAST_RUNS = 30  # fewer runs show neither skewness nor events that happen in one of ten runs
# The largest |skewness| / sqrt(runs) with which an interval keeps its level; docs/intervals.md has the simulations.
LARGEST_RATIOS = {"mean": 0.3, "band": 0.5, "stopping rule": 0.1}


class Growth(NamedTuple):
    """A growth exponent with its confidence interval; NaN if the exponent is unknown."""

    exponent: float
    low: float
    high: float


class QuantileEstimate(NamedTuple):
    """A quantile over runs with its confidence interval; all fields have the same shape."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n_runs: np.ndarray


class Difference(NamedTuple):
    """A difference of two means with its confidence interval."""

    mean: float
    low: float
    high: float


def mean_over_runs(
    values: Float[np.ndarray, "L R *rest"],
    level: float = 0.95,
    together: int = 1,
    interval: ConfidenceInterval = DEFAULT,
) -> Estimate:
    """Return means over runs (the second axis) with two-sided intervals; fields have the shape [L, *rest].

    Args:
        values: values of L learners in R runs; runs with a NaN are left out. The mean of no runs is NaN, and so is the
            interval of fewer than two runs.
        level: confidence level of each interval.
        together: the number of intervals that must hold together with probability `level` (Bonferroni's correction).
        interval: the kind of interval.

    Example:
        >>> import numpy as np
        >>> from jaxonline.results.statistics import mean_over_runs
        >>> estimate = mean_over_runs(np.array([[1.0, 2.0, 3.0, 1.0, 2.0, 3.0, np.nan]]))
        >>> estimate.mean.tolist(), estimate.n_runs.tolist(), estimate.high.round(2).tolist()
        ([2.0], [6], [2.94])
    """
    check.number("level", level, gt=0.0, lt=1.0)
    check_interval(interval)
    if check.count("together", together) > 1:
        level = 1.0 - (1.0 - level) / together
    n_runs = (~np.isnan(values)).sum(axis=1)
    divisor = np.maximum(n_runs, 1)
    mean = np.where(n_runs > 0, np.nansum(values, axis=1) / divisor, np.nan)
    with np.errstate(invalid="ignore"):  # infinity less an infinite mean
        squares = np.nansum((values - mean[:, None]) ** 2, axis=1)
    error = np.where(n_runs > 1, np.sqrt(squares / np.maximum(n_runs - 1, 1) / divisor), np.nan)
    estimate = Estimate(mean, error, error, error, n_runs)
    low, high = interval.ends(values, estimate, level)
    return estimate._replace(low=low, high=high)


_BOUNDED = ", or use interval=jo.intervals.Betting(low, high) where the limits of a round are known"


def warn_of_skewness(values: Float[np.ndarray, "L R"], names: Sequence[str], what: str, cure: str = _BOUNDED) -> None:
    """Warn of means whose runs are so skewed that their intervals miss more often than the level says."""
    ratios, n_runs = _skewness_ratios(values)
    if named := skewed_names(values, names):
        worst = int(np.argmax(ratios))
        warnings.warn(
            f"the {what} of {to_one_line(', '.join(named))} is skewed over the runs (skewness / sqrt(runs) is "
            f"{ratios[worst]:.2f}), so the interval may miss the mean more often than its level says; simulate at "
            f"least {math.ceil(n_runs[worst] * (ratios[worst] / LARGEST_RATIOS['mean']) ** 2):,} runs and look again"
            f"{cure}",
            SkewedRunsWarning, stacklevel=4,
        )  # fmt: skip


def skewed_names(values: Float[np.ndarray, "L R"], names: Sequence[str]) -> list[str]:
    """Return the names of the means of which `warn_of_skewness` warns."""
    skewed = is_skewed(*_skewness_ratios(values), "mean", len(names))
    return [name for name, is_named in zip(names, skewed, strict=True) if is_named]


def is_skewed(ratio: ArrayLike, n_runs: ArrayLike, kind: str, among: int = 1) -> Bool[np.ndarray, "..."]:
    """Return whether |skewness| / sqrt(runs) is above a limit, which depends on the interval, and not by chance.

    The skewness of n normal runs is within 3 sqrt(6 / n) of 0 in all but 3 of 1,000 samples. So no skewness is large
    enough for 8 runs or fewer. `among` samples that are looked at together have a larger limit (Bonferroni).
    """
    by_chance = -special.ndtri(0.0015 / max(among, 1)) * math.sqrt(6) / np.maximum(n_runs, 1)
    return np.asarray(ratio) > np.maximum(LARGEST_RATIOS[kind], by_chance)


def _skewness_ratios(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return |skewness| / sqrt(runs) of each row, and the number of runs."""
    n_runs = np.maximum((~np.isnan(values)).sum(axis=1), 1)
    return np.abs(skewness(values)) / np.sqrt(n_runs), n_runs


def difference_of_means(
    first: Float[np.ndarray, "m"], second: Float[np.ndarray, "n"], level: float = 0.95
) -> Difference:
    """Return the difference of the means of two independent samples; NaN are left out.

    The interval contains Welch's, and Welch's with Hall's correction for skewness (as `SkewCorrected` does).

    Example:
        >>> import numpy as np
        >>> from jaxonline.results.statistics import difference_of_means
        >>> difference_of_means(np.array([3.0, 5.0]), np.array([0.0, 2.0])).mean
        3.0
    """
    samples = [sample[~np.isnan(sample)] for sample in (first, second)]
    n_runs = np.array([len(sample) for sample in samples])
    if not n_runs.all():
        return Difference(np.nan, np.nan, np.nan)
    mean = float(samples[0].mean() - samples[1].mean())
    if 2.0 ** (1 - n_runs.min()) > 1.0 - level:  # as in `SkewCorrected`
        return Difference(mean, np.nan, np.nan)
    squares = np.array([sample.var(ddof=1) for sample in samples]) / n_runs  # of the standard errors
    error = math.sqrt(squares.sum())
    if error == 0:
        return Difference(mean, mean, mean)
    thirds = np.array([1.0, -1.0]) * squares**1.5 * [_skewness_ratio(sample) for sample in samples]
    kappa = float(thirds.sum() / error**3)
    if is_skewed(abs(kappa), n_runs.min(), "mean"):
        warnings.warn(
            f"the difference of means is skewed over the runs (its skewness is {kappa:.2f}), so the interval may miss "
            "it more often than its level says; simulate more runs",
            SkewedRunsWarning, stacklevel=2,
        )  # fmt: skip
    quantile = special.stdtrit(squares.sum() ** 2 / (squares**2 / (n_runs - 1)).sum(), 0.5 + level / 2)
    ends = error * inverse_of_hall(np.array([quantile, -quantile]), kappa)
    return Difference(mean, mean - max(error * quantile, float(ends[0])), mean + max(error * quantile, -float(ends[1])))


def _skewness_ratio(sample: Float[np.ndarray, "n"]) -> float:
    return float(skewness(sample[None])[0]) / math.sqrt(len(sample))


def pairwise_p_values(
    values: Float[np.ndarray, "L R"], interval: ConfidenceInterval = DEFAULT
) -> Float[np.ndarray, "L L"]:
    """Return p-values of paired tests of all pairs of learners with Holm's correction (1979); 1 on the diagonal.

    If a learner has NaN in a run, the tests of this learner leave out this run. Equal learners, and pairs with fewer
    than two runs, have p = 1.
    """
    return joint_p_values([values], [interval])[0]


def joint_p_values(
    games: Sequence[Float[np.ndarray, "L R"]], intervals: Sequence[ConfidenceInterval] = ()
) -> list[np.ndarray]:
    """Return `pairwise_p_values` for the values of several games, corrected for all pairs of all games.

    `intervals` has the kind of interval of each game, by default `SkewCorrected()`.

    Example:
        >>> import jaxonline as jo
        >>> from jaxonline.results.statistics import joint_p_values, pairwise_p_values
        >>> values, student = np.arange(6.0).reshape(2, 3) ** 2, jo.intervals.Student()
        >>> alone = pairwise_p_values(values, interval=student)
        >>> first, second = joint_p_values([values, values], [student, student])
        >>> bool(first[0, 1] == second[0, 1] == 2 * alone[0, 1])
        True
    """
    kinds = intervals or [DEFAULT] * len(games)
    p = [_paired_tests(values, interval) for values, interval in zip(games, kinds, strict=True)]
    corrected = iter(_holm(np.concatenate(p)))
    matrices = [np.ones((len(values), len(values))) for values in games]
    for matrix in matrices:
        for i, j in zip(*np.triu_indices(len(matrix), 1), strict=True):
            matrix[i, j] = matrix[j, i] = next(corrected)
    return matrices


def paired_differences(values: Float[np.ndarray, "L R"]) -> Float[np.ndarray, "P R"]:
    """Return the differences of all pairs of learners, which paired tests compare with 0."""
    first, second = np.triu_indices(len(values), 1)
    return values[first] - values[second]


def _paired_tests(values: np.ndarray, interval: ConfidenceInterval) -> np.ndarray:
    """Return the p-values of paired tests of all pairs of learners, before Holm's correction."""
    differences, between = paired_differences(values), interval.of_difference()
    p = between.p_values(differences, mean_over_runs(differences))
    return np.where(np.isnan(p), 1.0, p)


def _holm(p: np.ndarray) -> np.ndarray:
    """Return p-values with Holm's correction: rejecting all below alpha errs with probability at most alpha."""
    order = np.argsort(p)
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return corrected


def growth(
    rounds: Int[ArrayLike, "G"], values: Float[ArrayLike, "R G"], level: float = 0.95, name: str = "the learner"
) -> Growth:
    """Return the log-log slope of the mean over runs, by least squares of log mean(values) against log(rounds).

    The standard error of the slope is that of the mean over runs of sum_g c_g values[r, g] / mean_g, the linearisation
    of the slope with the least-squares weights c_g. This error assumes that runs are independent, but not that rounds
    are. The interval is `SkewCorrected`, for many runs and means well above their errors. The slope is NaN if fewer
    than two runs are left, or if a mean is not above 0.

    Args:
        rounds: at least two rounds, above 0.
        values: values of every run at these rounds; runs with a NaN are left out.
        level: confidence level of the interval.
        name: name of the learner, for the warning of skewed runs.

    Example:
        >>> import numpy as np
        >>> from jaxonline.results.statistics import growth
        >>> rounds = np.array([10, 100, 1000])
        >>> found = growth(rounds, np.arange(1.0, 7.0)[:, None] * rounds**0.5)
        >>> round(found.exponent, 9), round(found.high - found.low, 9)  # all runs grow alike
        (0.5, 0.0)
    """
    rounds, values = check.finite_array("rounds", rounds).astype(float), np.asarray(values, float)
    if rounds.ndim != 1 or len(set(rounds.tolist())) < 2 or (rounds <= 0).any():
        raise ArgumentError("rounds", f"must be at least two numbers above 0 (got {check.quote(rounds)})")
    if values.ndim != 2 or values.shape[1] != len(rounds):
        raise ArgumentError("values", f"must have the shape (runs, {len(rounds)}) (got {values.shape})")
    check.number("level", level, gt=0.0, lt=1.0)
    values = drop_nan_runs(values)
    if len(values) < 2 or (values.mean(axis=0) <= 0).any():
        return Growth(np.nan, np.nan, np.nan)
    x = np.log(rounds) - np.log(rounds).mean()
    weights, mean = x / (x @ x), values.mean(axis=0)
    exponent = float(weights @ np.log(mean))
    linear = np.concatenate([(runs / mean) @ weights for runs in chunk_runs(values)])
    warn_of_skewness(linear[None], [name], "growth exponent", cure="")
    estimate = mean_over_runs(linear[None], level)  # the mean is 0
    return Growth(exponent, exponent + float(estimate.low[0]), exponent + float(estimate.high[0]))


def drop_nan_runs(runs: Float[np.ndarray, "R G"]) -> Float[np.ndarray, "K G"]:
    """Return the runs without NaN; the array itself if no run has NaN."""
    complete = ~np.isnan(runs).any(axis=1)
    return runs if complete.all() else runs[complete]


def chunk_runs(runs: Float[np.ndarray, "R *rest"]) -> Iterator[Float[np.ndarray, "K *rest"]]:
    """Yield chunks of runs, so that a large array is never copied as a whole."""
    step = max(1, CHUNK_ENTRIES // max(1, math.prod(runs.shape[1:])))
    return (runs[start : start + step] for start in range(0, len(runs), step))


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


# ---------------------------------------------------------------------------------------------------------------------
# Bands that contain the whole expected curve of a learner, from resamples of the runs.


N_RESAMPLES = 2000
MAX_WEIGHTS = 2**22  # drawn at a time
ROUNDING_ERROR = 1e-10  # smallest variance of a resample whose runs differ, relative to its mean square
INEXACT = 1e-3  # a smaller variance, relative to the mean square, has lost digits in one pass
MAX_CACHED_RUNS = 500
MAX_OVERHANG = 1.0  # of a band beyond the runs, in units of their range
LEAST_SYMMETRIC_RUNS, SYMMETRIC = 100, 0.15  # runs, and skewness / sqrt(runs), of nearly normal means


def simultaneous(values: Float[np.ndarray, "L R G"], level: float = 0.95) -> Estimate:
    """Return means over runs with bands [L, G]; a band contains its whole expected curve with probability `level`.

    The ends of a band are the same numbers of standard errors from the mean in all rounds: quantiles of the largest
    deviations on both sides (max-t). The quantiles come from resamples of the runs (bootstrap-t). So bands of skewed
    runs are wider on one side. With at least 100 nearly symmetric runs, they come from the correlations between rounds.
    The level is asymptotic, as that of Student's t is in one round. Runs with a NaN are left out. No band
    exceeds the range of the runs by more than this range.

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
    bands = []
    for mean, error, runs in zip(estimate.mean, estimate.standard_error, map(drop_nan_runs, curves), strict=True):
        low, high = _largest_deviations(runs, level)
        least, most = runs.min(axis=0, initial=np.inf), runs.max(axis=0, initial=-np.inf)
        furthest = MAX_OVERHANG * np.where(most > least, most - least, 0.0)
        bands.append(
            (np.maximum(mean - high * error, least - furthest), np.minimum(mean - low * error, most + furthest))
        )
    low, high = np.swapaxes(bands, 0, 1)
    return estimate._replace(low=low, high=high)


def warn_of_skewed_curves(curves: Iterable[Float[np.ndarray, "R G"]], learners: Sequence[str], quantity: str) -> None:
    """Warn of learners whose runs are so skewed in some round that bands often miss, with the number of runs needed.

    In runs of 0 and 1, the warning comes if there are fewer than four ones in some round.
    """
    skewed = {}
    for name, runs in zip(learners, curves, strict=True):
        complete = drop_nan_runs(runs)
        ratio = float(skewness_ratios(complete).max(initial=0.0))
        if is_skewed(ratio, len(complete), "band", len(learners)):
            skewed[name] = math.ceil(len(complete) * (ratio / LARGEST_RATIOS["mean"]) ** 2)
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
    """Return the quantiles by bootstrap-t."""
    if len(runs) < 2:
        return np.nan, np.nan
    ratios, tail = _ratios(runs), (1.0 - level) / 2
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
    """Return (mean - expectation) / standard error of B resamples of at least two runs; 0 without variation.

    Where the difference of two sums loses digits of a variance, a second pass sums the squares around the mean.
    """
    n = len(runs)
    runs = runs - runs.mean(axis=0)
    ratios = []
    for weights in _weights(n) if n <= MAX_CACHED_RUNS else _draw_weights(n):
        mean, square = weights @ runs / n, weights @ runs**2 / n
        variance = square - mean**2
        inexact = variance < INEXACT * square
        for i in np.flatnonzero(inexact.any(axis=0)):
            rows = inexact[:, i]
            squares = (runs[:, i] - mean[rows, i, None]) ** 2
            variance[rows, i] = np.einsum("br,br->b", weights[rows], squares) / n
        varies = variance > ROUNDING_ERROR * square  # otherwise all runs of the resample are equal, up to rounding
        ratios.append(np.where(varies, mean / np.sqrt(np.where(varies, variance, 1.0) / (n - 1)), 0.0))
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
