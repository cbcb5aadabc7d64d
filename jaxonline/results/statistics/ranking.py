"""Numbers of a ranking: letters of learners that do not differ, and events that the runs may have missed."""

import itertools
import warnings
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from jaxonline.parameters.errors import SkewedRunsWarning, to_one_line

MIN_RATIO = 6.0


class MissingEvents(NamedTuple):
    """The events that the runs of a comparison may have missed.

    If an event has the probability 3 / n in each run, then n runs miss it with probability (1 - 3 / n)^n < 5 %. If it
    adds c to the loss of a learner, then it adds 3 c / n to the mean. So it reverses a decision between two learners
    with the mean difference D if c is above n D / 3.

    Attributes:
        probability: 3 / n for n runs, at most 1.
        cost: the cost that reverses the closest decision, in units of the compared quantity; NaN without a decision.
        pair: the learners of the closest decision, the better one first, or ().
        ratio: the ratio of this cost and the root mean square difference of the pair. The closest decision has the
            smallest ratio; infinite without a decision. Below 6, a `SkewedRunsWarning` says so.
        place: the game or the part of a study where this decision was made, or "".
    """

    probability: float
    cost: float = np.nan
    pair: tuple[str, ...] = ()
    ratio: float = np.inf
    place: str = ""

    @property
    def is_fragile(self) -> bool:
        """Whether an event that costs less than 6 times the typical difference reverses a decision."""
        return self.ratio < MIN_RATIO

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

    def warn(self, quantity: str) -> None:
        """Warn if the closest decisions rest on too few runs."""
        if self.is_fragile:
            warnings.warn(
                f"few runs decide the ranking by {quantity}. {self.sentence} This cost is {self.ratio:.1f} times the "
                f"typical difference of two learners, and should be above {MIN_RATIO:g} times; simulate more runs, or "
                "use interval=jo.intervals.Betting(low, high) where the limits of a round are known",
                SkewedRunsWarning, stacklevel=4,
            )  # fmt: skip


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
    """Return the events with the smallest ratio among those of several places, with their place."""
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
