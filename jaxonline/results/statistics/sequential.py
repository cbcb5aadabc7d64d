"""Decisions about pairs of learners that hold for all numbers of runs at once, for `simulate(stop=UntilDecided(...))`.

A pair is decided by an interval for its mean paired difference. The interval holds for all numbers of runs, and is
corrected for the number of pairs (Bonferroni). So all decisions, at whatever number of runs they are made, are correct
together with probability `level`.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from jaxonline.results.statistics.intervals import Anytime, ConfidenceInterval, skewness
from jaxonline.results.statistics.means import mean_over_runs

UNDECIDED, BETTER, WORSE, SIMILAR = range(4)
DECISIONS = ("undecided", "better", "worse", "no difference that matters")  # in the same order
# An asymptotic interval decides nothing as long as skewness / sqrt(runs) is larger: docs/intervals.md has error rates.
MAX_SKEWNESS_RATIO = 0.1


class Decision(NamedTuple):
    """The decision about a pair of learners.

    Attributes:
        first: a learner.
        second: another learner.
        decision: "better" if the mean of `first` is smaller than that of `second` (larger, if the quantity is a
            reward), "worse" in the opposite case, "no difference that matters" if the difference is at most the margin,
            or "undecided".
        runs: number of runs at the decision, or of all runs if the pair is undecided.
        difference: the mean of `first` minus `second` in these runs.
        low: lower end of the interval of the difference, in these runs.
        high: upper end of this interval.
    """

    first: str
    second: str
    decision: str
    runs: int
    difference: float
    low: float
    high: float

    @property
    def sentence(self) -> str:
        """The decision in words."""
        better = {"better": self.first, "worse": self.second}
        return f"{better[self.decision]} is better" if self.decision in better else self.decision


class PairStates(NamedTuple):
    """The decision about each of P pairs, the number of runs at the decision, and the difference in these runs.

    An undecided pair has the difference at the last look. `estimates` are the fields mean, low and high [3, P].
    """

    decision: Int[np.ndarray, "P"]
    runs: Int[np.ndarray, "P"]
    estimates: Float[np.ndarray, "3 P"]

    @classmethod
    def begin(cls, n_pairs: int) -> "PairStates":
        """Return the states before the first look."""
        return cls(np.full(n_pairs, UNDECIDED), np.zeros(n_pairs, int), np.full((3, n_pairs), np.nan))

    @property
    def undecided(self) -> Bool[np.ndarray, "P"]:
        """Which pairs are undecided."""
        return self.decision == UNDECIDED


def look(
    states: PairStates,
    differences: Float[np.ndarray, "P R"],
    rule: Any,
    between: ConfidenceInterval,
    together: int,
    is_deterministic: Callable[[], bool] = lambda: False,
) -> PairStates:
    """Return the states after a look at the differences in the first R runs; decided pairs stay as they are.

    `rule` has the attributes `margin`, `level` and `least_runs` of `jo.UntilDecided`. `between` is the kind of interval
    of the differences, and `together` is the number of pairs whose decisions must all be correct with probability
    `rule.level`. `is_deterministic` says whether all runs of the game are equal.

    Example:
        >>> import jaxonline as jo
        >>> rng = np.random.default_rng(0)
        >>> differences = np.array([[-1.0], [0.0]]) + rng.normal(size=(2, 400))
        >>> rule = jo.UntilDecided(margin=0.3)
        >>> states = look(PairStates.begin(2), differences, rule, jo.intervals.Anytime(), together=2)
        >>> bool(states.decision[0] == BETTER), bool(states.decision[1] == SIMILAR)
        (True, True)
    """
    at = np.flatnonzero(states.undecided)
    differences = differences[at]
    estimate = mean_over_runs(differences, rule.level, together, between)
    low, high, can_decide = estimate.low, estimate.high, estimate.n_runs >= rule.least_runs
    if isinstance(between, Anytime):
        can_decide &= _has_normal_mean(differences, is_deterministic)
    with np.errstate(invalid="ignore"):
        found = np.select(
            [(low >= -rule.margin) & (high <= rule.margin), high < 0, low > 0], [SIMILAR, BETTER, WORSE], UNDECIDED
        )
    decision, runs, estimates = states.decision.copy(), states.runs.copy(), states.estimates.copy()
    decision[at] = np.where(can_decide, found, UNDECIDED)
    runs[at], estimates[:, at] = differences.shape[1], np.stack([estimate.mean, low, high])
    return PairStates(decision, runs, estimates)


def _has_normal_mean(differences: np.ndarray, is_deterministic: Callable[[], bool]) -> np.ndarray:
    """Return which pairs [P] have nearly normal means: the runs vary, and are not too skewed."""
    low, high = np.nanmin(differences, axis=1, initial=np.inf), np.nanmax(differences, axis=1, initial=-np.inf)
    varies = high > low
    if not varies.all() and is_deterministic():
        varies[:] = True
    n_runs = np.maximum((~np.isnan(differences)).sum(axis=1), 1)
    return varies & (np.abs(skewness(differences)) <= MAX_SKEWNESS_RATIO * np.sqrt(n_runs))


def encode_pairs(learners: Sequence[str], states: PairStates) -> list[list[Any]]:
    """Return the decisions as lists for JSON, in the order of the fields of `Decision`; NaN becomes None."""
    pairs = zip(itertools.combinations(learners, 2), *states[:2], states.estimates.T, strict=True)
    return [
        [*pair, DECISIONS[decision], int(runs)]
        + [float(number) if math.isfinite(number) else None for number in estimate]
        for pair, decision, runs, estimate in pairs
    ]
