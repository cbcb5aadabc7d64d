"""The decisions of a sequential comparison (`Result.decisions`), which print as tables."""

import io
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxonline.results.quantities import best_first
from jaxonline.results.report.columns import Measured, Number, Text
from jaxonline.results.report.tables import Table
from jaxonline.results.statistics.intervals import Betting, Estimate
from jaxonline.results.statistics.ranking import compact_letters
from jaxonline.results.statistics.sequential import UNDECIDED, PairStates

# in the order of the constants of `sequential`
DECISIONS = ("undecided", "better", "worse", "no difference that matters")


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


class Decisions(NamedTuple):
    """The decisions of `simulate(until=UntilDecided(...))` about all pairs of learners; they print as two tables.

    Attributes:
        learners: names of the learners [L], from the best mean to the worst.
        letters: letters of each learner [L]. Learners without a common letter differ; learners with a common letter
            have no difference that matters, or are undecided.
        pairs: the decisions about the pairs of learners.
        rows: rows of the first table: learner, the mean with its interval, letters.
        quantity: the name of the compared quantity.
        margin: the largest difference that does not matter.
        level: probability that all decisions are correct together, whenever they are made.
        tests: the name of the paired tests.
        runs: number of runs of the study.
        saved: number of runs that were not needed, of the largest allowed number of runs.
    """

    learners: tuple[str, ...]
    letters: tuple[str, ...]
    pairs: tuple[Decision, ...]
    rows: list[dict[str, Any]]
    quantity: str
    margin: float
    level: float
    tests: str
    runs: int
    saved: int

    @property
    def complete(self) -> bool:
        """Whether all pairs are decided."""
        return all(pair.decision != DECISIONS[UNDECIDED] for pair in self.pairs)

    def between(self, first: str, second: str) -> str:
        """Return the decision about two learners, as in `Decision.decision`."""
        opposite = {"better": "worse", "worse": "better"}
        for pair in self.pairs:
            if (pair.first, pair.second) == (first, second):
                return pair.decision
            if (pair.first, pair.second) == (second, first):
                return opposite.get(pair.decision, pair.decision)
        raise KeyError((first, second))

    @property
    def table(self) -> Table:
        """The table of the learners, their means, and their letters."""
        columns = (
            Text("learner"), Measured("mean", f"mean\n({100 * self.level:.6g} %)"),
            Text("letters", "no common\nletter: differ"),
        )  # fmt: skip
        caption = f"{self.runs:,} runs of at most {self.runs + self.saved:,}: {self.saved:,} runs saved."
        return Table(f"Sequential comparison by {self.quantity}", self.rows, columns, caption=caption)

    @property
    def pair_table(self) -> Table:
        """The table of the pairs: the difference, the decision, and the number of runs at the decision."""
        rows = [pair._asdict() | {"pair": f"{pair.first} - {pair.second}", "sentence": pair.sentence}
                for pair in self.pairs]  # fmt: skip
        columns = (
            Text("pair"), Measured("difference", "difference\nat the decision"), Text("sentence", "decision"),
            Number("runs", "decided\nafter runs", "{:,d}"),
        )  # fmt: skip
        caption = (
            f"All decisions are correct together with probability {100 * self.level:.6g} % ({self.tests}, Bonferroni, "
            f"for all numbers of runs){self._condition()}. A difference of at most {self.margin:g} does not matter. "
            "The differences at the decision are biased away from 0."
        )
        return Table("Decisions", rows, columns, caption=caption)

    def _condition(self) -> str:
        if self.tests == Betting.test:
            return ""
        fewest = min(pair.runs for pair in self.pairs)
        return f", unless events with probability below {3 / fewest:.2g} per run, which may be missing, matter"

    def __repr__(self) -> str:
        return f"{self.table!r}\n{self.pair_table!r}"

    def _repr_html_(self) -> str:
        return self.table._repr_html_() + self.pair_table._repr_html_()

    def __str__(self) -> str:
        from rich.console import Console

        text = io.StringIO()
        console = Console(file=text, width=100, force_jupyter=False, force_terminal=False)
        console.print(self.table, self.pair_table)
        return text.getvalue()


def encode_pairs(learners: Sequence[str], states: PairStates) -> list[list[Any]]:
    """Return the decisions as lists for JSON, in the order of the fields of `Decision`; NaN becomes None."""
    pairs = zip(itertools.combinations(learners, 2), *states[:2], states.estimates.T, strict=True)
    return [
        [*pair, DECISIONS[decision], int(runs)]
        + [float(number) if math.isfinite(number) else None for number in estimate]
        for pair, decision, runs, estimate in pairs
    ]


def read_decisions(
    stored: Mapping[str, Any], learners: Sequence[str], estimate: Estimate, label: str, reward: bool = False
) -> Decisions:
    """Return the decisions that a study stored; `estimate` has the means of the learners [L] with their intervals.

    `label` is the name of the quantity, and `reward` says whether it is a reward, of which the negative numbers are
    stored. Pairs with a learner that is not in `learners` are left out.
    """
    order = best_first(estimate.mean, reward)
    names = tuple(str(learners[i]) for i in order)
    pairs = tuple(
        Decision(pair[0], pair[1], pair[2], pair[3], *_difference(pair[4:], reward))
        for pair in stored["pairs"]
        if pair[0] in names and pair[1] in names
    )
    alike = np.ones((len(names), len(names)), bool)
    for pair in pairs:
        if pair.decision in ("better", "worse"):
            i, j = names.index(pair.first), names.index(pair.second)
            alike[i, j] = alike[j, i] = False
    letters = compact_letters(alike)
    rows = [
        {"learner": learners[i]}
        | {name: float(getattr(estimate, name)[i]) for name in ("mean", "low", "high")}
        | {"letters": letter}
        for i, letter in zip(order, letters, strict=True)
    ]
    numbers = (stored[name] for name in ("margin", "level", "tests", "runs", "saved"))
    return Decisions(names, letters, pairs, rows, label, *numbers)


def _difference(stored: Sequence[float | None], reward: bool) -> tuple[float, float, float]:
    """Return the difference of a pair with the ends of its interval; of a reward, the negative numbers are stored."""
    mean, low, high = (math.nan if number is None else number for number in stored)
    return (-mean, -high, -low) if reward else (mean, low, high)
