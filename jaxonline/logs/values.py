"""Estimators of the value of a policy, its mean reward per row, from a log of another policy (off-policy evaluation).

Each estimator is a pure function of a log and of the policy's probabilities. All compute with NumPy in float64 for any
configuration of JAX, so that sums of millions of rows are exact to many digits. So they do not run inside jit.

In all formulas, w = probability of the logged arm under the policy / propensity is the weight of a row, r its reward,
v the value of the policy, q(a) the predicted reward of an arm, and n the number of rows. "Unbiased" assumes correct
propensities, that the logging policy may try every arm that the policy may choose, in the same context, and that the
policy was not trained on the rows of the log.
"""

import dataclasses
import math
import warnings
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import ArrayLike, Float

from jaxonline.logs.log import Log
from jaxonline.parameters.errors import ArgumentError, HeavyWeightsWarning, UnsupportedArmsWarning
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.types import OpenUnitFloat, PositiveFloat, PositiveOrInfinity
from jaxonline.results.statistics.across_games import percentile_estimate, resample_runs
from jaxonline.results.statistics.intervals import Betting, Estimate, Student
from jaxonline.results.statistics.means import mean_over_runs
from jaxonline.verify.intervals import Bernstein
from jaxonline.verify.sampling import Moments

MAX_BLOCKS = 2**12  # of rows whose means replace the rows in betting and bootstrap intervals
MAX_LIMITED_BLOCKS = 2**16  # if weights have a limit, since few blocks limit the stakes
DECISIVE_SHARE = 0.05  # of the sum of weights
FEW_EFFECTIVE_ROWS = 100  # a smaller effective sample size that also is a small share of the rows is reported
MAX_UNSUPPORTED = 0.01  # of the policy's probability
SUM_TOLERANCE = 1e-4  # of the probabilities of a row, which may be float32
WEIGHT_ERRORS = 5.0  # standard errors by which the mean weight may differ from 1
N_LARGEST = 3

Interval = Literal["betting", "bernstein", "bootstrap", "student"]


@dataclasses.dataclass(frozen=True)
class PolicyValue:
    """The estimated value of a policy, its mean reward per row, with an interval and the weights that decide it.

    `print` shows all numbers, and `float` returns the value.

    Attributes:
        estimator: the name of the estimator.
        value: the estimate, in units of the reward.
        low: the lower end of the interval.
        high: the upper end of the interval.
        level: the confidence level.
        interval: the kind of interval.
        n_rows: the number of rows of the log.
        effective_sample_size: (sum of weights)^2 / (sum of squared weights): the number of rows of equal weight that
            would be as informative.
        largest_weights: the three largest weights, the largest first.
        largest_share: the largest weight divided by the sum of all weights.
        mean_weight: the mean of the weights, which is 1 on average if the propensities are correct and all arms are
            supported.
        unsupported: the share of the policy's probability that is on arms that the log never tries (with positions:
            never at this position). Their rewards are unknown. It ignores contexts: an arm that the log tries in some
            contexts counts as tried in all.
        parameter: the threshold of the weights, or the strength of the shrinkage; None if there is none.
        notes: warnings, one sentence each.
    """

    estimator: str
    value: float
    low: float
    high: float
    level: float
    interval: str
    n_rows: int
    effective_sample_size: float
    largest_weights: tuple[float, ...]
    largest_share: float
    mean_weight: float
    unsupported: float
    parameter: float | None = None
    notes: tuple[str, ...] = ()

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        """Return the estimate, its weights and its warnings, one line each."""
        parameter = "" if self.parameter is None else f" (parameter {self.parameter:g})"
        weights = ", ".join(f"{weight:.4g}" for weight in self.largest_weights)
        return "\n".join(
            [
                f"{self.estimator}{parameter}: {self.value:.5g}, {100 * self.level:g} % interval {self.low:.5g} to "
                f"{self.high:.5g} ({self.interval})",
                f"  {self.n_rows:,} rows, effective sample size {self.effective_sample_size:,.1f}",
                f"  largest weights {weights}; the largest is {100 * self.largest_share:.3g} % of all weight",
                f"  {100 * self.unsupported:.3g} % of the policy's probability is on arms that the log never tries",
                *(f"  warning: {note}" for note in self.notes),
            ]
        )


# ---------------------------------------------------------------------------------------------------------------------
# Weights of the rows, computed in chunks.


class RowWeights(NamedTuple):
    """The weights of the rows [n], and the share of the policy's probability on arms that the log never tries."""

    weights: np.ndarray
    unsupported: float


def weigh_rows(log: Log, probabilities: ArrayLike) -> RowWeights:
    """Check a policy's probabilities [n, K] or [K], and return its weights in the rows of a log."""
    table = log.table("probabilities", probabilities)
    labels, places = np.unique(np.zeros(len(log)) if log.positions is None else log.positions, return_inverse=True)
    untried = np.ones((len(labels), log.n_arms), bool)
    untried[places, log.arms] = False
    chosen, lost = np.empty(len(log)), 0.0
    for rows in log.chunks():
        p = _check_probabilities(table[rows].astype(float), rows.start)
        chosen[rows] = p[np.arange(len(p)), log.arms[rows]]
        if untried.any():
            lost += float(p[untried[places[rows]]].sum())
    return RowWeights(chosen / log.propensities, lost / len(log))


def _check_probabilities(p: Float[np.ndarray, "m K"], first: int) -> Float[np.ndarray, "m K"]:
    totals = p.sum(axis=1)
    good = np.abs(totals - 1.0) <= SUM_TOLERANCE  # False for NaN
    if p.min() < 0 or not good.all():
        good &= (p >= 0).all(axis=1)
        row = int(np.argmin(good))
        got = f"a smallest entry of {p[row].min():g} and the sum {totals[row]:.6g} in row {first + row + 1}"
        raise ArgumentError("probabilities", f"must be at least 0 with the sum 1 in each row (got {got})")
    return p


# ---------------------------------------------------------------------------------------------------------------------
# Intervals.
#
# Rewards are scaled to [0, 1]. The betting interval needs no limit of the weights: w r >= 0 has the mean v, and its
# lower betting bound is valid for any non-negative numbers, since the stakes lose at most the capital. w (1 - r) >= 0
# has the mean 1 - v, and its lower bound gives the upper bound of v. If an arm is not supported, both means are
# smaller, and the interval is still valid. With a limit of the weights, both ends come from w r (or from the terms of
# an unbiased estimator), whose limits are then known. Then the upper end is much lower if rewards are rare, but it
# counts arms without support as arms without rewards.


def _block_means(terms: np.ndarray, max_blocks: int = MAX_BLOCKS) -> np.ndarray:
    """Return means of at most `max_blocks` blocks of consecutive rows; their expectation is that of the rows."""
    size = -(-len(terms) // max_blocks)
    starts = np.arange(0, len(terms), size)
    return np.add.reduceat(terms, starts) / np.diff(np.append(starts, len(terms)))


def _lower_bound(terms: np.ndarray, level: float) -> float:
    """Return the lower end of the two-sided betting interval of the mean of non-negative terms."""
    means = _block_means(terms)
    return float(mean_over_runs(means[None], level, interval=Betting(0.0, float(means.max()))).low[0])


class IntervalOptions(NamedTuple):
    """The options of all estimators for their intervals; see `ips`."""

    level: float
    interval: str
    max_weight: float | None

    @property
    def untried(self) -> str:
        """What the interval assumes about arms that the log never tries, in words."""
        if self.interval not in ("betting", "bernstein"):
            return "the interval ignores this"
        if self.max_weight is None:
            return "the interval allows any"
        return "the interval assumes the smallest reward (DR and MRDR: the model's predictions)"

    def check(self, weights: np.ndarray) -> None:
        """Raise an error if the limit of the weights is missing or wrong."""
        if self.max_weight is None and self.interval == "bernstein":
            problem = "must be given for interval='bernstein' (got None); it is the largest possible weight"
            raise ArgumentError("max_weight", problem)
        if self.max_weight is not None and weights.max() > self.max_weight * (1 + 1e-9):
            problem = f"must be at least the largest weight of the log, {weights.max():.6g} (got {self.max_weight:g})"
            raise ArgumentError("max_weight", problem)

    def valid_ends(
        self, log: Log, weights: np.ndarray, unbiased: np.ndarray | None, together: int = 1
    ) -> tuple[float, float]:
        """Return an interval of v that is valid for any number of rows; `unbiased` are terms of an estimator, or None.

        `together` intervals hold together with the probability `level` (Bonferroni's correction).
        """
        level, limit = 1.0 - (1.0 - self.level) / together, self.max_weight
        low, high = log.reward_range
        r, terms, least, largest = (log.rewards - low) / (high - low), np.zeros(0), 0.0, limit or 0.0
        if limit is not None and unbiased is not None:
            terms, least, largest = (unbiased - low) / (high - low), -limit, 1.0 + limit
        elif limit is not None:
            terms = weights * r
        if limit is None:
            ends = _lower_bound(weights * r, level), 1.0 - _lower_bound(weights * (1.0 - r), level)
        elif self.interval == "bernstein":
            bernstein = Bernstein(np.array(least), np.array(largest))
            half = float(bernstein.half_width(Moments.from_samples(terms), 1.0 - level))
            ends = terms.mean() - half, terms.mean() + half
        else:
            means = _block_means(terms, MAX_LIMITED_BLOCKS)
            estimate = mean_over_runs(means[None], level, interval=Betting(least, largest))
            ends = float(estimate.low[0]), float(estimate.high[0])
        first, last = (low + (high - low) * min(max(end, 0.0), 1.0) for end in ends)
        return first, last

    def sampling_ends(self, terms: np.ndarray, sizes: np.ndarray | None) -> tuple[float, float]:
        """Return an approximate interval of the estimator's mean: of mean(terms), or of sum(terms) / sum(sizes)."""
        if self.interval == "student":
            if sizes is not None:  # linearised
                value = terms.sum() / sizes.sum()
                terms = value + (terms - value * sizes) / sizes.mean()
            return _ends(mean_over_runs(terms[None], self.level, interval=Student()))
        blocks = _block_means(terms)
        denominators = np.ones(len(blocks)) if sizes is None else _block_means(sizes)

        def ratio(counts: Any) -> np.ndarray:
            with np.errstate(invalid="ignore", divide="ignore"):
                return (counts[0] @ blocks / (counts[0] @ denominators))[:, None]

        return _ends(percentile_estimate(*resample_runs(ratio, [len(blocks)]), self.level, len(blocks)))


def _ends(estimate: Estimate) -> tuple[float, float]:
    return float(estimate.low[0]), float(estimate.high[0])


def make_value(
    estimator: str, log: Log, weighed: RowWeights, terms: np.ndarray, options: IntervalOptions, *,
    sizes: np.ndarray | None = None, unbiased: bool = False, parameter: float | None = None,
) -> PolicyValue:  # fmt: skip
    """Return mean(terms), or sum(terms) / sum(sizes), with its interval; `unbiased` says whether E terms = v."""
    options.check(weighed.weights)
    if options.interval in ("betting", "bernstein"):
        low, high = options.valid_ends(log, weighed.weights, terms if unbiased else None)
    else:
        low, high = options.sampling_ends(terms, sizes)
    total = 1.0 if sizes is None else float(sizes.mean())
    value = float(terms.mean()) / total if total > 0 else math.nan
    return _describe(estimator, weighed, value, low, high, options, parameter)


def _describe(
    estimator: str, weighed: RowWeights, value: float, low: float, high: float, options: IntervalOptions,
    parameter: float | None = None,
) -> PolicyValue:  # fmt: skip
    weights, n = weighed.weights, len(weighed.weights)
    total, squares, notes = float(weights.sum()), float(weights @ weights), list[str]()
    largest = np.sort(np.partition(weights, max(n - N_LARGEST, 0))[-N_LARGEST:])[::-1]
    share = float(largest[0]) / total if total > 0 else 0.0
    size = total**2 / squares if squares else 0.0
    if share > max(DECISIVE_SHARE, 3.0 / n):
        notes.append(f"one row has {100 * share:.3g} % of all weight; the estimate depends on a few rows")
    elif size < min(DECISIVE_SHARE * n, FEW_EFFECTIVE_ROWS):
        notes.append(f"the effective sample size is {size:.3g} of {n:,} rows; the estimate depends on a few rows")
    if notes:
        warnings.warn(f"{estimator}: {notes[-1]}", HeavyWeightsWarning, stacklevel=5)
    if weighed.unsupported > 0:
        notes.append(f"rewards of arms that the log never tries are unknown; {options.untried}")
        if weighed.unsupported > max(MAX_UNSUPPORTED, 3.0 / n):
            known = f"{100 * weighed.unsupported:.3g} % of the policy's probability is on arms that the log never tries"
            warnings.warn(f"{estimator}: {known}; {options.untried}", UnsupportedArmsWarning, stacklevel=5)
    if math.isnan(value + low) or (n == 1 and options.interval == "bootstrap"):
        notes.append("the log has too few rows, or too few with a positive weight, for this estimate or interval")
    error = float(weights.std()) / math.sqrt(n)
    if n > 1 and abs(total / n + weighed.unsupported - 1.0) > WEIGHT_ERRORS * error + SUM_TOLERANCE:
        expected = f"{1.0 - weighed.unsupported:.4g} ± {error:.2g}"
        notes.append(f"the mean weight is {total / n:.4g} instead of {expected}; check propensities and probabilities")
    return PolicyValue(
        estimator, value, low, high, options.level, options.interval, n, size,
        tuple(largest.tolist()), share, total / n, weighed.unsupported, parameter, tuple(notes),
    )  # fmt: skip


def slope(candidates: Any) -> tuple[float, np.ndarray]:
    """Choose the candidate with the smallest variance whose bias is not visible, by the rule SLOPE.

    The estimates are sorted by the half-widths h of their 95 % intervals, the widest first. The rule takes the last one
    for which |estimate - other| <= h + (sqrt(6) - 1) other h holds for it, for all before it, and for all others before
    each of them. The bias must grow while the variance falls.

    Args:
        candidates: pairs of a parameter and the terms of its estimate, which is their mean.

    Returns:
        The pair of the chosen candidate.

    References:
        Su, Srinath and Krishnamurthy (2020), "Adaptive estimator selection for off-policy evaluation".

    Example:
        >>> import numpy as np
        >>> noisy, precise, biased = np.array([0.0, 2.0] * 50), np.array([0.9, 1.1] * 50), np.full(100, 3.0)
        >>> parameter, _ = slope([(3.0, noisy), (2.0, precise), (1.0, biased)])
        >>> parameter
        2.0
    """
    pairs = list(candidates)
    means = np.array([terms.mean() for _, terms in pairs])
    halves = np.array([1.96 * terms.std() / math.sqrt(len(terms)) for _, terms in pairs])
    order = np.argsort(-halves, kind="stable")
    chosen = order[0]
    for i, own in enumerate(order):
        earlier = order[:i]
        if (np.abs(means[earlier] - means[own]) > halves[own] + (math.sqrt(6) - 1) * halves[earlier]).any():
            break
        chosen = own
    return pairs[chosen]


def threshold_grid(weights: np.ndarray) -> list[float]:
    """Return powers of 2 from the first one that is not below any weight down to 1."""
    top = math.ceil(math.log2(max(float(weights.max()), 1.0)))
    return [2.0**power for power in range(top, -1, -1)]


def choose_parameter(
    given: float | None, grid: Iterable[float], terms: Callable[[float], np.ndarray]
) -> tuple[float, np.ndarray]:
    """Return a parameter and its terms: the given one, or the choice of SLOPE on the grid."""
    return (given, terms(given)) if given is not None else slope((own, terms(own)) for own in grid)


# ---------------------------------------------------------------------------------------------------------------------
# Estimators without a model of the rewards.


@validate_arguments
def ips(
    log: Log, probabilities: ArrayLike, *, level: OpenUnitFloat = 0.95, interval: Interval = "betting",
    max_weight: PositiveFloat | None = None,
) -> PolicyValue:  # fmt: skip
    """Inverse propensity scoring (IPS, IPW, importance sampling): the mean of w r.

    Bias: none. Variance: (E w^2 r^2 - v^2) / n, which is large if a propensity is small.

    The intervals "betting" and "bernstein" contain v with at least the probability `level`, for any distribution of the
    weights and any number of rows. "betting" is a confidence sequence: it holds for all numbers of rows up to 4,096
    together. (The means of 4,096 blocks replace the rows of a longer log.) "student" and "bootstrap" are
    approximations, which fail if large weights are rare.

    Args:
        log: the log.
        probabilities: the probabilities of all arms under the policy, [n, K] in each row or [K] in all rows.
        level: the confidence level.
        interval: "betting", "bernstein" (which needs `max_weight`), "bootstrap" (percentiles) or "student".
        max_weight: a limit that no weight can exceed, such as the number of arms if the log is uniform; None if it is
            unknown. It makes "betting" much narrower if rewards are rare, but then the upper end assumes that arms
            that the log never tries have the smallest reward.

    Raises:
        ValueError: the probabilities have a wrong shape, a negative entry, or a row whose sum is not 1; `max_weight` is
            missing, or smaller than a weight of the log.

    Warns:
        HeavyWeightsWarning: one row has more than 5 % of all weight (with fewer than 60 rows: 3 / rows), or the
            effective sample size is below 100 and below 5 % of the rows.
        UnsupportedArmsWarning: the policy chooses arms that the log never tries with probability above 1 % (with
            fewer than 300 rows: 3 / rows).

    References:
        Horvitz and Thompson (1952), "A generalization of sampling without replacement from a finite universe". For
        "betting": Waudby-Smith, Wu, Ramdas, Karampatziakis and Mineiro (2024), "Anytime-valid off-policy inference for
        contextual bandits", and the bets of `jo.intervals.Betting`. For "bernstein": Maurer and Pontil (2009).

    Example:
        >>> import jaxonline as jo
        >>> log = jo.Log(None, arms=[0, 1] * 50, rewards=[1, 0] * 50, propensities=0.5)
        >>> print(jo.logs.ips(log, [0.9, 0.1]))
        IPS: 0.9, 95 % interval 0.59983 to 0.93335 (betting)
          100 rows, effective sample size 61.0
          largest weights 1.8, 1.8, 1.8; the largest is 1.8 % of all weight
          0 % of the policy's probability is on arms that the log never tries
    """
    weighed = weigh_rows(log, probabilities)
    options = IntervalOptions(level, interval, max_weight)
    return make_value("IPS", log, weighed, weighed.weights * log.rewards, options)


@validate_arguments
def clipped_ips(
    log: Log, probabilities: ArrayLike, clip: PositiveOrInfinity | None = None, *, level: OpenUnitFloat = 0.95,
    interval: Interval = "betting", max_weight: PositiveFloat | None = None,
) -> PolicyValue:  # fmt: skip
    """Clipped IPS: the mean of min(w, clip) r.

    Bias: -E max(w - clip, 0) r, so it is too small for rewards of at least 0. Variance: at most clip E w r^2 / n.

    Args:
        log: the log.
        probabilities: see `ips`.
        clip: the largest weight; None for the power of 2 with the smallest estimate of the mean squared error: the
            square of the mean of max(w - clip, 0) r, plus the variance of min(w, clip) r in the log / n.
        level: see `ips`.
        interval: see `ips`. The intervals "betting" and "bernstein" are those of `ips`, so that they contain v despite
            the bias. "student" and "bootstrap" ignore the bias.
        max_weight: see `ips`.

    Raises:
        ValueError: see `ips`.

    References:
        Ionides (2008), "Truncated importance sampling". Wang, Agarwal and Dudík (2017) choose the threshold of
        SWITCH by a similar sum, with a bound of the bias.

    Example:
        >>> import jaxonline as jo
        >>> log = jo.Log(None, arms=[0, 1] * 50, rewards=[1, 0] * 50, propensities=0.5)
        >>> round(jo.logs.clipped_ips(log, [0.9, 0.1], clip=1.5).value, 9)
        0.75
    """
    weighed = weigh_rows(log, probabilities)
    w = weighed.weights

    def error(own: float) -> float:
        bias = (np.maximum(w - own, 0.0) * log.rewards).mean()
        return bias**2 + (np.minimum(w, own) * log.rewards).var() / len(log)

    parameter = min(threshold_grid(w), key=error) if clip is None else clip
    terms = np.minimum(w, parameter) * log.rewards
    options = IntervalOptions(level, interval, max_weight)
    return make_value("clipped IPS", log, weighed, terms, options, parameter=parameter)


@validate_arguments
def snips(
    log: Log, probabilities: ArrayLike, *, level: OpenUnitFloat = 0.95, interval: Interval = "betting",
    max_weight: PositiveFloat | None = None,
) -> PolicyValue:  # fmt: skip
    """Self-normalised IPS (SNIPS, SNIPW): the sum of w r divided by the sum of w; NaN if all weights are 0.

    Bias: of order 1 / n. Variance: about E w^2 (r - v)^2 / n, less than that of `ips` if rewards are far from 0. The
    estimate is always between the smallest and the largest reward.

    Args:
        log: the log.
        probabilities: see `ips`.
        level: see `ips`.
        interval: see `ips`. The intervals "betting" and "bernstein" are those of `ips`.
        max_weight: see `ips`.

    Raises:
        ValueError: see `ips`.

    References:
        Swaminathan and Joachims (2015), "The self-normalized estimator for counterfactual learning".

    Example:
        >>> import jaxonline as jo
        >>> log = jo.Log(None, arms=[0, 0, 1], rewards=[1, 0, 1], propensities=[0.5, 0.5, 0.5])
        >>> jo.logs.snips(log, [1.0, 0.0]).value
        0.5
    """
    weighed = weigh_rows(log, probabilities)
    options = IntervalOptions(level, interval, max_weight)
    return make_value("SNIPS", log, weighed, weighed.weights * log.rewards, options, sizes=weighed.weights)


@validate_arguments
def independent_ips(
    log: Log, probabilities: ArrayLike, *, level: OpenUnitFloat = 0.95, interval: Interval = "betting",
    max_weight: PositiveFloat | None = None,
) -> PolicyValue:  # fmt: skip
    """Independent IPS for lists (slates): the sum over positions of the mean of w r in the rows of the position.

    The value of a list is the sum of the rewards of its positions. A row is one position of one list, its propensity is
    the probability of the arm at this position, and so is the policy's probability.

    Bias: none, if the reward of a position depends on the context and on the arm at this position, but not on the other
    arms of the list. Variance: the sum over positions of the variances of `ips`, if the rewards of the positions are
    uncorrelated. The interval is the sum of the intervals of the positions, which hold together (Bonferroni), also if
    rewards at different positions depend on each other.

    Args:
        log: the log, with positions.
        probabilities: the probabilities of all arms at the position of each row [n, K], or [K] in all rows.
        level: see `ips`.
        interval: see `ips`.
        max_weight: see `ips`.

    Raises:
        ValueError: the log has no positions; see also `ips`.

    References:
        Li, Abbasi-Yadkori, Kveton, Muthukrishnan, Vinay and Wen (2018), "Offline evaluation of ranking policies with
        click models".

    Example:
        >>> import jaxonline as jo
        >>> log = jo.Log(None, [0, 1, 1, 0], [1, 0, 1, 0], 0.5, positions=[1, 2, 1, 2])
        >>> jo.logs.independent_ips(log, [0.5, 0.5]).value
        1.0
    """
    weighed, options = weigh_rows(log, probabilities), IntervalOptions(level, interval, max_weight)
    if log.positions is None:
        raise ArgumentError("log", "must have positions (got none); use ips for single arms")
    options.check(weighed.weights)
    weights, labels, value, low, high = weighed.weights, np.unique(log.positions), 0.0, 0.0, 0.0
    for label in labels:
        rows = log.positions == label
        part, terms = log.select(rows), weights[rows] * log.rewards[rows]
        if interval in ("betting", "bernstein"):
            ends = options.valid_ends(part, weights[rows], None, len(labels))
        else:
            ends = options._replace(level=1.0 - (1.0 - level) / len(labels)).sampling_ends(terms, None)
        value, low, high = value + float(terms.mean()), low + ends[0], high + ends[1]
    return _describe("independent IPS, sum over positions", weighed, value, low, high, options)
