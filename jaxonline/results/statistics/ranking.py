"""Rankings of learners with paired tests of all pairs."""

import io
import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxonline.results.report.columns import Measured, Text
from jaxonline.results.report.tables import Table
from jaxonline.results.statistics.intervals import ConfidenceInterval, Estimate, SkewCorrected
from jaxonline.results.statistics.means import paired_differences, pairwise_p_values
from jaxonline.results.statistics.missing_events import MissingEvents, missing_events

VALID = "The tests hold for any number of runs."


class Ranking(NamedTuple):
    """Ranking of learners from the best mean to the worst, which prints as a table.

    The best mean is the smallest, or the largest if the quantity is a reward.

    Attributes:
        learners: names of the learners [L], from the best mean to the worst.
        rows: rows of the table: learner, the mean with its interval, letters.
        letters: letters of each learner [L]. Learners without a common letter differ; all statements of this kind are
            true together with probability `level`.
        p_values: p-values of all pairs after Holm's correction [L, L], in the order of `learners`; 1 on the diagonal.
        quantity: the name of the compared quantity.
        level: probability that all statements "these two learners differ" are true together.
        tests: the name of the paired tests.
        missing: events that the runs may have missed, and the cost at which one of them reverses the closest decision.
        holds_for_any_runs: whether the level holds for any number of runs, so that missing events reverse no decision.
    """

    learners: tuple[str, ...]
    rows: list[dict[str, Any]]
    letters: tuple[str, ...]
    p_values: np.ndarray
    quantity: str
    level: float
    tests: str = SkewCorrected.test
    missing: MissingEvents = MissingEvents(1.0)
    holds_for_any_runs: bool = False

    @property
    def table(self) -> Table:
        """The table of the learners, their means, and their letters."""
        columns = (
            Text("learner"), Measured("mean", f"mean\n({100 * self.level:.6g} %)"),
            Text("letters", "same letter:\nno difference seen"),
        )  # fmt: skip
        caption = (
            f"Learners without a common letter differ ({self.tests} with Holm's correction, {100 * self.level:.6g} %). "
            f"{self.reservation}"
        )
        return Table(f"Ranking by {self.quantity}", self.rows, columns, caption=caption)

    @property
    def reservation(self) -> str:
        """One line that says which events may be missing from the runs, and at which cost they reverse a decision."""
        return VALID if self.holds_for_any_runs else self.missing.sentence

    def differ(self, first: str, second: str) -> bool:
        """Return whether the paired test finds a difference between two learners."""
        i, j = self.learners.index(first), self.learners.index(second)
        return bool(self.p_values[i, j] < 1 - self.level)

    def __repr__(self) -> str:
        return repr(self.table)

    def _repr_html_(self) -> str:
        return self.table._repr_html_()

    def __str__(self) -> str:
        from rich.console import Console

        text = io.StringIO()
        Console(file=text, width=100, force_jupyter=False, force_terminal=False).print(self.table)
        return text.getvalue()


def rank(
    learners: Sequence[str], values: np.ndarray, quantity: str, level: float, estimate: Estimate,
    interval: ConfidenceInterval, order: np.ndarray,
) -> Ranking:  # fmt: skip
    """Rank learners by the means [L, G] of `estimate` at the last round, and test all pairs of learners.

    `values` [L, R] are the runs at the last round; a smaller value is better. `order` has the positions of the learners
    from the best to the worst. If a learner has NaN in a run, the tests of this learner leave out the run.
    """
    names, ordered = tuple(str(learners[i]) for i in order), values[order]
    p_values = pairwise_p_values(ordered, interval)
    missing = missing_events(names, paired_differences(ordered), p_values, level)
    letters = compact_letters(p_values >= 1 - level)
    rows = [
        {"learner": learners[i]}
        | {name: float(getattr(estimate, name)[i, -1]) for name in ("mean", "low", "high")}
        | {"letters": letter}
        for i, letter in zip(order, letters, strict=True)
    ]
    tests, valid = interval.test, interval.holds_for_any_runs
    return Ranking(names, rows, letters, p_values, quantity, level, tests, missing, valid)


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
