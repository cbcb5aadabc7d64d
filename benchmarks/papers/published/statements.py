"""Statements of publications about numbers that a study measures: each agrees, differs, or cannot be checked.

A statement claims that a mean lies in a range, perhaps in each of several cases. The interval of the mean decides: it
agrees if it is inside the range, differs if it is outside, and is undecided otherwise. A statement agrees if all cases
agree, and differs if a case differs. A claim from memory can agree, but it cannot differ: if the interval is
outside the range, memory may be wrong, so the claim is not checkable.
"""

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.results.report.tables import Interval, Table, Text
from jaxonline.results.statistics import mean_over_runs
from jaxonline.results.statistics.skew_corrected import SkewCorrected

AGREES, DIFFERS, UNDECIDED, NOT_CHECKABLE = "agrees", "differs", "undecided", "not checkable"
VERDICTS = AGREES, DIFFERS, UNDECIDED, NOT_CHECKABLE
ERROR_RATE = 0.05  # of all verdicts of a study together
INTERVAL = SkewCorrected()

Origin = Literal["formula", "text", "memory"]
ORIGINS = {
    "formula": "a formula of the source",
    "text": "the text of the source",
    "memory": "memory, as the source could not be read",
}


class Verdict(NamedTuple):
    """A verdict, with the case that decides it, and the mean of this case with its interval (None if not measured)."""

    verdict: str
    case: str = ""
    measured: float | None = None
    low: float | None = None
    high: float | None = None


@dataclasses.dataclass(frozen=True)
class Statement:
    """A statement of a publication.

    Attributes:
        place: the place in the publication, such as "Figure 6.1".
        claim: the statement, in our words.
        origin: where the claim comes from, one of `ORIGINS`.
        quantity: what `values` measure.
        values: measured numbers of all runs, by case; the claim is about the mean of each case. None if the claim
            cannot be checked.
        low: lower end of the claimed range.
        high: upper end of the claimed range.
        reason: why the claim cannot be checked; empty if it can.

    Raises:
        ValueError: the range is empty or not stated, or a reason is given beside values, or neither is given.

    Example:
        >>> import numpy as np
        >>> from benchmarks.papers.published.statements import Statement
        >>> runs = {"": np.random.default_rng(0).normal(-1.0, 0.1, size=50)}
        >>> statement = Statement("Figure 1", "A has less regret than B.", "text", "regret of A - B", runs, high=0.0)
        >>> statement.judge(level=0.95).verdict
        'agrees'
    """

    place: str
    claim: str
    origin: Origin
    quantity: str = ""
    values: dict[str, np.ndarray] | None = None
    low: float = -math.inf
    high: float = math.inf
    reason: str = ""

    def __post_init__(self):
        check.choice("origin", self.origin, tuple(ORIGINS))
        if bool(self.values) == bool(self.reason):
            raise ArgumentError("reason", f"must be given if and only if there are no values (got {self.reason!r})")
        if self.values:
            if not self.low < self.high:
                raise ArgumentError("low", f"must be below high (got {self.low:g} and {self.high:g})")
            if math.isinf(self.low) and math.isinf(self.high):
                raise ArgumentError("low", "must be finite if high is infinite (got -inf)")

    def judge(self, level: float) -> Verdict:
        """Return the verdict by intervals of this level, and the case that supports the claim least.

        A claim from memory is "not checkable" where a claim from the source would differ.
        """
        verdicts = []
        for case, runs in (self.values or {}).items():
            estimate = mean_over_runs(np.asarray(runs, float)[None], level, interval=INTERVAL)
            mean, low, high = (float(numbers[0]) for numbers in (estimate.mean, estimate.low, estimate.high))
            verdict = judge_interval(low, high, self.low, self.high)
            if verdict == DIFFERS and self.origin == "memory":
                verdict = NOT_CHECKABLE
            verdicts.append(Verdict(verdict, case, mean, low, high))
        if not verdicts:
            return Verdict(NOT_CHECKABLE)
        order = DIFFERS, NOT_CHECKABLE, UNDECIDED, AGREES
        return min(verdicts, key=lambda verdict: (order.index(verdict.verdict), self._margin(verdict)))

    def _margin(self, verdict: Verdict) -> float:
        """Return how far the interval is inside the range; negative outside."""
        low, high = (math.nan if end is None else end for end in (verdict.low, verdict.high))
        return min(low - self.low, self.high - high)


def judge_interval(low: float, high: float, range_low: float, range_high: float) -> str:
    """Return whether an interval lies in a claimed range, lies outside, or does neither.

    Example:
        >>> from benchmarks.papers.published.statements import judge_interval
        >>> [judge_interval(low, low + 1.0, 0.0, 5.0) for low in (2.0, 6.0, 4.5)]
        ['agrees', 'differs', 'undecided']
    """
    if not (np.isfinite(low) and np.isfinite(high)):
        return UNDECIDED
    if range_low <= low and high <= range_high:
        return AGREES
    return DIFFERS if high < range_low or low > range_high else UNDECIDED


def statements_table(title: str, statements: Sequence[Statement]) -> Table:
    """Return the table of the statements with their verdicts; all intervals hold together with probability 0.95."""
    n_intervals = sum(len(statement.values or ()) for statement in statements)
    level = 1.0 - ERROR_RATE / max(n_intervals, 1)
    columns = (
        Text("place"), Text("statement"), Text("verdict"),
        Interval("measured", "measured", format_measured, brackets=True),
    )  # fmt: skip
    return Table(title, [_row(statement, statement.judge(level)) for statement in statements], columns)


def format_measured(value: float) -> str:
    """Format a number with three digits, or without decimals if it is large.

    Example:
        >>> from benchmarks.papers.published.statements import format_measured
        >>> format_measured(0.12345), format_measured(-1547.3)
        ('0.123', '-1,547')
    """
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def verdict_sentences(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return sentences on the numbers of verdicts, on their error rate, and on the origin of the claims."""
    counts, origins = Counter(row["verdict"] for row in rows), Counter(row["origin"] for row in rows)
    return [
        f"Of {len(rows)} statements: {', '.join(f'{verdict}: {counts[verdict]}' for verdict in VERDICTS)}.",
        f"All intervals hold together with probability {1 - ERROR_RATE:.0%} (skew-corrected, Bonferroni).",
        f"Origin of the claims: {', '.join(f'{ORIGINS[name]} ({origins[name]})' for name in origins)}.",
        "No number was read from a digitised figure.",
    ]


def _row(statement: Statement, verdict: Verdict) -> dict[str, Any]:
    case = f", {verdict.case}" if verdict.case else ""
    if statement.values:
        text = f"{statement.claim} Measured: {statement.quantity}{case}; claimed: {_format_range(statement)}."
    else:
        text = f"{statement.claim} {statement.reason}"
    return {
        "place": statement.place, "statement": text, "verdict": verdict.verdict, "measured": verdict.measured,
        "measured_low": verdict.low, "measured_high": verdict.high, "claimed_low": statement.low,
        "claimed_high": statement.high, "case": verdict.case, "origin": statement.origin,
    }  # fmt: skip


def _format_range(statement: Statement) -> str:
    if math.isinf(statement.low):
        return f"at most {statement.high:.4g}"
    if math.isinf(statement.high):
        return f"at least {statement.low:.4g}"
    return f"{statement.low:.4g} to {statement.high:.4g}"
