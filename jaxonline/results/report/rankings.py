"""Rankings of learners and sequential decisions about pairs of learners, which print as tables."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxonline.parameters.errors import ArgumentError
from jaxonline.results.quantities import best_first, is_reward, label_of
from jaxonline.results.report.tables import Interval, Number, Printed, Table, Text
from jaxonline.results.statistics import estimates
from jaxonline.results.statistics.intervals import Betting, ConfidenceInterval, Estimate
from jaxonline.results.statistics.means import paired_differences, pairwise_p_values, warn_of_skewness
from jaxonline.results.statistics.ranking import (
    DECISIONS,
    UNDECIDED,
    Decision,
    MissingEvents,
    compact_letters,
    missing_events,
)

VALID = "The tests hold for any number of runs."
SAME_LETTER = "same letter:\nno difference seen"


@dataclass(frozen=True, eq=False, repr=False)
class Ranking(Printed):
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
    tests: str
    missing: MissingEvents
    holds_for_any_runs: bool = False

    @property
    def table(self) -> Table:
        """The table of the learners, their means, and their letters."""
        level = f"{100 * self.level:.6g} %"
        columns = Text("learner"), Interval("mean", f"mean\n({level})"), Text("letters", SAME_LETTER)
        caption = f"Learners without a common letter differ ({self.tests} with Holm's correction, {level})."
        reservation = VALID if self.holds_for_any_runs else self.missing.sentence
        return Table(f"Ranking by {self.quantity}", self.rows, columns, caption=f"{caption} {reservation}")

    def differ(self, first: str, second: str) -> bool:
        """Return whether the paired test finds a difference between two learners."""
        i, j = self.learners.index(first), self.learners.index(second)
        return bool(self.p_values[i, j] < 1 - self.level)


def rank(result: Any, quantity: str, level: float, interval: ConfidenceInterval | None) -> Ranking:
    """Rank learners by their means at the horizon, and test all pairs of learners; see `Result.ranking`.

    If a learner has NaN in a run, the tests of this learner leave out the run.
    """
    estimates.check_number(result, quantity)
    estimate = estimates.at_horizon(estimates.mean(result, quantity, level, interval))
    test = estimates.choose_interval(result, quantity, interval).after(result.rounds[-1])
    order = best_first(estimate.mean, is_reward(result, quantity))
    names, costs = tuple(result.learners[i] for i in order), estimates.costs(result, quantity)[order]
    p_values = pairwise_p_values(costs, test)
    letters = compact_letters(p_values >= 1 - level)
    differences = paired_differences(costs)
    missing = missing_events(names, differences, p_values, level)
    rows, label = _rows(result.learners, estimate, order, letters), label_of(quantity, result.meta)
    if not test.holds_for_any_runs:
        pairs = [f"{first} and {second}" for first, second in itertools.combinations(names, 2)]
        warn_of_skewness(differences, pairs, f"difference of the {label}")
    return Ranking(names, rows, letters, p_values, label, level, test.test, missing, test.holds_for_any_runs)


@dataclass(frozen=True, repr=False)
class Decisions(Printed):
    """The decisions of `simulate(stop=UntilDecided(...))` about all pairs of learners; they print as two tables.

    Attributes:
        learners: names of the learners [L], from the best mean to the worst.
        letters: letters of each learner [L]. Learners without a common letter differ; learners with a common letter
            have no difference that matters, or are undecided.
        pairs: the decisions about the pairs of learners.
        rows: rows of the first table: learner, the mean with its interval, letters.
        quantity: the name of the compared quantity.
        margin: the largest difference that does not matter.
        rarest_event: the smallest probability per run of an event that matters.
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
    rarest_event: float
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
        head = f"mean\n({100 * self.level:.6g} %)"
        columns = Text("learner"), Interval("mean", head), Text("letters", "no common\nletter: differ")
        caption = f"{self.runs:,} runs of at most {self.runs + self.saved:,}: {self.saved:,} runs saved."
        return Table(f"Sequential comparison by {self.quantity}", self.rows, columns, caption=caption)

    @property
    def pair_table(self) -> Table:
        """The table of the pairs: the difference, the decision, and the number of runs at the decision."""
        rows = [
            pair._asdict() | {"pair": f"{pair.first} - {pair.second}", "sentence": pair.sentence} for pair in self.pairs
        ]
        columns = (
            Text("pair"), Interval("difference", "difference\nat the decision"), Text("sentence", "decision"),
            Number("runs", "decided\nafter runs", "{:,d}"),
        )  # fmt: skip
        condition = ""
        if self.tests != Betting.test:
            condition = f", unless events with a probability below {self.rarest_event:.2g} per run matter"
        caption = (
            f"All decisions are correct together with probability {100 * self.level:.6g} % ({self.tests}, Bonferroni, "
            f"for all numbers of runs){condition}. A difference of at most {self.margin:g} does not matter. "
            "The differences at the decision are biased away from 0."
        )
        return Table("Decisions", rows, columns, caption=caption)

    def __repr__(self) -> str:
        return f"{self.table!r}\n{self.pair_table!r}"

    def _repr_html_(self) -> str:
        return self.table._repr_html_() + self.pair_table._repr_html_()


def read_decisions(result: Any) -> Decisions:
    """Return the decisions that a study stored in its metadata; see `Result.decisions`.

    Pairs with a learner that the result does not have are left out.
    """
    stored: Mapping[str, Any] = result.meta.get("decisions", {})
    if "pairs" not in stored:
        raise ArgumentError(
            "stop", "must be an UntilDecided for decisions; pass simulate(..., stop=jo.UntilDecided(margin))"
        )
    quantity, reward = stored["quantity"], is_reward(result, stored["quantity"])
    estimate = estimates.at_horizon(estimates.mean(result, quantity, stored["level"], None))
    order = best_first(estimate.mean, reward)
    names = tuple(result.learners[i] for i in order)
    pairs = tuple(
        Decision(*pair[:4], *_difference(pair[4:], reward))  # type: ignore
        for pair in stored["pairs"]
        if pair[0] in names and pair[1] in names
    )
    alike = np.ones((len(names), len(names)), bool)
    for pair in pairs:
        if pair.decision in ("better", "worse"):
            i, j = names.index(pair.first), names.index(pair.second)
            alike[i, j] = alike[j, i] = False
    letters = compact_letters(alike)
    numbers = (stored[name] for name in ("margin", "rarest_event", "level", "tests", "runs", "saved"))
    rows = _rows(result.learners, estimate, order, letters)
    return Decisions(names, letters, pairs, rows, label_of(quantity, result.meta), *numbers)


def _rows(
    learners: Sequence[str], estimate: Estimate, order: np.ndarray, letters: Sequence[str]
) -> list[dict[str, Any]]:
    """Return a row for each learner in an order: mean with interval, and letters."""
    return [
        {"learner": learners[i]}
        | {name: float(getattr(estimate, name)[i]) for name in ("mean", "low", "high")}
        | {"letters": letter}
        for i, letter in zip(order, letters, strict=True)
    ]


def _difference(stored: Sequence[float | None], reward: bool) -> tuple[float, float, float]:
    """Return the difference of a pair with the ends of its interval; of a reward, the negative numbers are stored."""
    mean, low, high = (math.nan if number is None else number for number in stored)
    return (-mean, -high, -low) if reward else (mean, low, high)
