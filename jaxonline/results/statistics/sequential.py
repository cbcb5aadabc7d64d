"""Decisions about pairs of learners that hold for all numbers of runs at once, for `simulate(until=UntilDecided(...))`.

A pair is decided by an interval for its mean paired difference. The interval holds for all numbers of runs, and is
corrected for the number of pairs (Bonferroni). So all decisions, at whatever number of runs they are made, are correct
together with probability `level`.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np
from jaxtyping import Bool, Float, Int

from jaxonline.results.statistics.intervals import Anytime, ConfidenceInterval
from jaxonline.results.statistics.means import mean_over_runs, skewness
from jaxonline.results.statistics.variance_reduction import subtract_controls

UNDECIDED, BETTER, WORSE, SIMILAR = range(4)
# An asymptotic interval decides nothing as long as skewness / sqrt(runs) is larger: docs/intervals.md has error rates.
MAX_SKEWNESS_RATIO = 0.1


class DecisionRule(Protocol):
    """When a pair is decided; see `jo.UntilDecided`."""

    @property
    def margin(self) -> float: ...
    @property
    def level(self) -> float: ...
    @property
    def least_runs(self) -> int: ...
    @property
    def interval(self) -> ConfidenceInterval: ...


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
    states: PairStates, differences: Float[np.ndarray, "P R"], rule: DecisionRule, together: int, rounds: Any = 1
) -> PairStates:
    """Return the states after a look at the differences in the first R runs; decided pairs stay as they are.

    `together` is the number of pairs whose decisions must all be correct with probability `rule.level`, and `rounds` is
    the number of rounds in a run.

    Example:
        >>> import jaxonline as jo
        >>> rng = np.random.default_rng(0)
        >>> differences = np.array([[-1.0], [0.0]]) + rng.normal(size=(2, 400))
        >>> rule = jo.UntilDecided(margin=0.3)
        >>> states = look(PairStates.begin(2), differences, rule, together=2)
        >>> bool(states.decision[0] == BETTER), bool(states.decision[1] == SIMILAR)
        (True, True)
    """
    at = np.flatnonzero(states.undecided)
    differences = differences[at]
    between = rule.interval.after(rounds).of_difference()
    estimate = mean_over_runs(differences, rule.level, together, between)
    low, high = estimate.low, estimate.high
    with np.errstate(invalid="ignore"):
        found = np.select(
            [(low >= -rule.margin) & (high <= rule.margin), high < 0, low > 0], [SIMILAR, BETTER, WORSE], UNDECIDED
        )
    decision, runs, estimates = states.decision.copy(), states.runs.copy(), states.estimates.copy()
    decision[at] = np.where(_can_decide(differences, estimate.n_runs, rule), found, UNDECIDED)
    runs[at], estimates[:, at] = differences.shape[1], np.stack([estimate.mean, low, high])
    return PairStates(decision, runs, estimates)


def _can_decide(differences: np.ndarray, n_runs: np.ndarray, rule: DecisionRule) -> np.ndarray:
    """Return which pairs have enough runs for a decision [P]; asymptotic intervals also need nearly normal means."""
    enough = n_runs >= rule.least_runs
    if not isinstance(rule.interval, Anytime):
        return enough
    varies = np.nanmax(differences, axis=1, initial=-np.inf) > np.nanmin(differences, axis=1, initial=np.inf)
    ratio = np.abs(skewness(differences)) / np.sqrt(np.maximum(n_runs, 1))
    return enough & varies & (ratio <= MAX_SKEWNESS_RATIO)


def paired_differences(
    values: Float[np.ndarray, "L R"], controls: Float[np.ndarray, "L R"] | None
) -> Float[np.ndarray, "P R"]:
    """Return the differences of all pairs of learners, adjusted by the control variates of both learners if given."""
    first, second = np.triu_indices(len(values), 1)
    differences = values[first] - values[second]
    if controls is None:
        return differences
    pairs = zip(differences, controls[first], controls[second], strict=True)
    return np.array([subtract_controls(difference, np.stack(both)) for difference, *both in pairs])
