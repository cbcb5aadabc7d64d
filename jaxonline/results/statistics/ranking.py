"""Comparisons of learners: rankings, and rules that decide after each batch of runs."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from jaxonline.parameters.errors import to_one_line
from jaxonline.results.statistics.intervals import Anytime, ConfidenceInterval, skewness
from jaxonline.results.statistics.means import LARGEST_RATIOS, mean_over_runs

# ---------------------------------------------------------------------------------------------------------------------
# Numbers of a ranking: letters of learners that do not differ, and events that the runs may have missed.


class MissingEvents(NamedTuple):
    """The events that the runs of a comparison may have missed.

    If an event has the probability 3 / n in each run, then n runs miss it with probability (1 - 3 / n)^n < 5 %. If it
    adds c to the loss of a learner, then it adds 3 c / n to the mean. So it reverses a decision between two learners
    with the mean difference D if c is above n D / 3.

    Attributes:
        probability: 3 / n for n runs, at most 1.
        cost: the cost that reverses the closest decision, in units of the compared quantity; NaN without a decision.
        pair: the learners of the closest decision, the better one first, or ().
        ratio: the ratio of this cost and the root mean square difference of the pair, which is smallest for the closest
            decision; infinite without a decision.
        place: the game or the part of a study where this decision was made, or "".
    """

    probability: float
    cost: float = np.nan
    pair: tuple[str, ...] = ()
    ratio: float = np.inf
    place: str = ""

    @property
    def sentence(self) -> str:
        """One line that names both numbers."""
        if self.probability >= 1:
            return "With so few runs, any event may be missing."
        words = f"These runs may miss events with a probability below {100 * self.probability:.2g} % per run"
        if self.pair:
            cost = f"{float(f'{self.cost:.3g}'):,g}"
            words += f"; one that costs more than {cost} would change the order of {' and '.join(self.pair)}"
            words += f" in {self.place}" if self.place else ""
        return to_one_line(f"{words}.")


def missing_events(
    learners: Sequence[str], differences: Float[np.ndarray, "P R"], p_values: Float[np.ndarray, "L L"], level: float
) -> MissingEvents:
    """Return the events that are missing from the runs of all pairs of learners, in the order of `np.triu_indices`.

    Example:
        >>> missing = missing_events(("a", "b"), np.full((1, 20), -0.5), np.full((2, 2), 0.01), 0.95)
        >>> missing.probability, round(missing.cost, 2), missing.pair
        (0.15, 3.33, ('a', 'b'))
    """
    pairs = np.triu_indices(len(learners), 1)
    n_runs = (~np.isnan(differences)).sum(axis=1)
    decided = (p_values[pairs] < 1 - level) & (n_runs > 0)
    if not decided.any():
        most = int(n_runs.max()) if len(n_runs) else differences.shape[1]
        return MissingEvents(min(3 / max(most, 1), 1.0))
    at, n_runs, differences = np.flatnonzero(decided), n_runs[decided], differences[decided]
    mean = np.nansum(differences, axis=1) / n_runs
    typical = np.sqrt(np.nansum(differences**2, axis=1) / n_runs)
    costs = np.abs(mean) * n_runs / 3
    ratios = costs / typical
    closest = int(np.argmin(ratios))
    first, second = (learners[int(side[at[closest]])] for side in pairs)
    pair = (first, second) if mean[closest] < 0 else (second, first)
    probability = min(3 / n_runs[closest], 1.0)
    return MissingEvents(float(probability), float(costs[closest]), pair, float(ratios[closest]))


def closest_decision(events: Mapping[str, MissingEvents]) -> MissingEvents:
    """Return the events of the closest decision of several places, with its place."""
    place, closest = min(events.items(), key=lambda item: (item[1].ratio, -item[1].probability))
    return closest._replace(place=place if closest.pair else "")


def compact_letters(alike: np.ndarray) -> tuple[str, ...]:
    """Return the compact letter display [L] of `alike` [L, L]: learners that are alike share a letter (Piepho 2004).

    A letter stands for a maximal set of learners that are all alike. Letters are in the order of the first members of
    the sets, and redundant sets are removed.

    Example:
        >>> compact_letters(np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1]], bool))
        ('a', 'ab', 'b')
    """
    groups = [frozenset(range(len(alike)))]
    for i, j in itertools.combinations(range(len(alike)), 2):
        if not alike[i, j]:
            split = [
                group_part
                for group in groups
                for group_part in ({group - {i}, group - {j}} if {i, j} <= group else {group})
            ]
            groups = [group for group in dict.fromkeys(split) if not any(group < other for other in split)]
    pairs = [{(i, j) for i in group for j in group} for group in groups]
    for group in sorted(groups, key=sorted, reverse=True):  # remove sets that the others cover
        at = groups.index(group)
        if pairs[at] <= set().union(*pairs[:at], *pairs[at + 1 :]):
            del groups[at], pairs[at]
    groups.sort(key=sorted)
    return tuple("".join(_letter(n) for n, group in enumerate(groups) if i in group) for i in range(len(alike)))


def _letter(n: int) -> str:
    return chr(ord("a") + n) if n < 26 else f"({n + 1})"


# ---------------------------------------------------------------------------------------------------------------------
# Decisions about pairs of learners that hold for all numbers of runs at once, for `simulate(stop=UntilDecided(...))`.
#
# A pair is decided by an interval for its mean paired difference. The interval holds for all numbers of runs, and is
# corrected for the number of pairs (Bonferroni). So all decisions are correct together
# with probability `level`, after any number of runs.


UNDECIDED, BETTER, WORSE, SIMILAR = range(4)
DECISIONS = ("undecided", "better", "worse", "no difference that matters")  # in the same order


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

    `rule` has the attributes `margin`, `level`, `rarest_event` of `jo.UntilDecided`. `between` is the kind of interval
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
    low, high, can_decide = estimate.low, estimate.high, estimate.n_runs >= math.ceil(3.0 / rule.rarest_event)
    if isinstance(between, Anytime):
        can_decide &= has_normal_mean(differences, is_deterministic)
    with np.errstate(invalid="ignore"):
        found = np.select(
            [(low >= -rule.margin) & (high <= rule.margin), high < 0, low > 0], [SIMILAR, BETTER, WORSE], UNDECIDED
        )
    decision, runs, estimates = states.decision.copy(), states.runs.copy(), states.estimates.copy()
    decision[at] = np.where(can_decide, found, UNDECIDED)
    runs[at], estimates[:, at] = differences.shape[1], np.stack([estimate.mean, low, high])
    return PairStates(decision, runs, estimates)


def has_normal_mean(values: Float[np.ndarray, "P R"], is_deterministic: Callable[[], bool]) -> Bool[np.ndarray, "P"]:
    """Return which means are nearly normal, as asymptotic intervals need: the runs vary, and are not too skewed."""
    varies = np.nanmax(values, axis=1, initial=-np.inf) > np.nanmin(values, axis=1, initial=np.inf)
    if not varies.all() and is_deterministic():
        varies[:] = True
    n_runs = np.maximum((~np.isnan(values)).sum(axis=1), 1)
    return varies & (np.abs(skewness(values)) <= LARGEST_RATIOS["stopping rule"] * np.sqrt(n_runs))


def encode_pairs(learners: Sequence[str], states: PairStates) -> list[list[Any]]:
    """Return the decisions as lists for JSON, in the order of the fields of `Decision`; NaN becomes None."""
    pairs = zip(itertools.combinations(learners, 2), *states[:2], states.estimates.T, strict=True)
    return [
        [*pair, DECISIONS[decision], int(runs)]
        + [float(number) if math.isfinite(number) else None for number in estimate]
        for pair, decision, runs, estimate in pairs
    ]
