"""Statements of publications about numbers that a study measures: each agrees, differs, or cannot be checked.

A statement claims that a mean lies in a range, perhaps in each of several cases. The interval of the mean decides: it
agrees if it is inside the range, differs if it is outside, and is undecided otherwise. A statement agrees if all cases
agree, and differs if a case differs. A claim from memory can agree, but it cannot differ: if the interval is
outside the range, memory may be wrong, so the claim is not checkable.
"""

import dataclasses
import math
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

import jaxonline as jo
from benchmarks.papers.studies.figures import format_places
from jaxonline.results import Result
from jaxonline.results.report.tables import Interval, Table, Text
from jaxonline.results.statistics import Estimate, mean_over_runs
from jaxonline.results.statistics.estimates import learners_with_skewed_runs
from jaxonline.results.statistics.intervals import SkewCorrected
from jaxonline.study import Context, Report
from jaxonline.study.study import ignore_skewness_warnings

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
Regrets = Mapping[str, np.ndarray]
"""Regrets of all runs [R] by learner."""


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
        reason: why the claim cannot be checked if there are no values.

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
    values: Mapping[str, np.ndarray] | None = None
    low: float = -math.inf
    high: float = math.inf
    reason: str = ""

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
        order = DIFFERS, NOT_CHECKABLE, UNDECIDED, AGREES
        return min(
            verdicts, key=lambda own: (order.index(own.verdict), self._margin(own)), default=Verdict(NOT_CHECKABLE)
        )

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


def read_statements(source: str, values: Mapping[str, Mapping[str, np.ndarray]]) -> list[Statement]:
    """Return the statements of a source in statements.toml, in its order, with measured numbers by key and case."""
    entries = tomllib.loads(Path(__file__).with_name("statements.toml").read_text("utf-8"))[source]
    return [Statement(values=values.get(key), **entry) for key, entry in entries.items()]


def play(context: Context, arms: Any, learners: Mapping[str, Any], runs: int, rounds: int, **options: Any) -> Result:
    """Simulate learners of a stochastic bandit; by default, the comparator is the best arm."""
    game = jo.Game(arms, jo.Bandit(), loss=jo.losses.ArmLoss(), pseudo=True)
    return context.simulate(game, learners, n_runs=runs, n_rounds=rounds, **{"comparator": jo.BestArm()} | options)


def report(
    statements: Sequence[Statement], regrets: Table, plot: Callable[[], Any], results: Mapping[str, Result]
) -> Report:
    """Return the report of a study: statements with verdicts, regrets, a figure, and the results."""
    verdicts = statements_table("Statements of the source", statements)
    sentences = verdict_sentences(verdicts.rows, results)
    return Report({"statements": verdicts, "regrets": regrets}, {"figure": plot}, sentences, results)


def final_regrets(result: Result, t: int | None = None) -> dict[str, np.ndarray]:
    """Return the regrets of all runs after round t, by default at the horizon, by learner."""
    at = -1 if t is None else int(np.searchsorted(result.rounds, t))
    return {name: np.asarray(result.regret[i, :, at]) for i, name in enumerate(result.learners)}


def mean_regret(result: Result) -> Estimate:
    """Return the mean regrets with 95 % intervals, without a warning of skewed runs."""
    with ignore_skewness_warnings():
        return result.mean("regret")


def regret_rows(result: Result) -> list[dict[str, Any]]:
    """Return a row for each learner: its regret at the horizon with its interval."""
    regret = mean_regret(result)
    return [
        {"learner": name, "regret": float(regret.mean[i, -1])}
        | {"regret_low": float(regret.low[i, -1]), "regret_high": float(regret.high[i, -1])}
        for i, name in enumerate(result.learners)
    ]


def statements_table(title: str, statements: Sequence[Statement]) -> Table:
    """Return the table of the statements with their verdicts; all intervals hold together with probability 0.95."""
    n_intervals = sum(len(statement.values or ()) for statement in statements)
    level = 1.0 - ERROR_RATE / max(n_intervals, 1)
    measured = Interval("measured", "measured", format_measured, brackets=True)
    columns = Text("place"), Text("statement"), Text("verdict"), measured
    return Table(title, [_row(statement, statement.judge(level)) for statement in statements], columns)


def format_measured(value: float) -> str:
    """Format a number with three digits, or without decimals if it is large.

    Example:
        >>> from benchmarks.papers.published.statements import format_measured
        >>> format_measured(0.12345), format_measured(-1547.3)
        ('0.123', '-1,547')
    """
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def verdict_sentences(rows: Sequence[Mapping[str, Any]], results: Mapping[str, Result] | None = None) -> list[str]:
    """Return sentences on the numbers and the error rate of verdicts, the origin of claims, and skewed learners."""
    counts, origins = Counter(row["verdict"] for row in rows), Counter(row["origin"] for row in rows)
    sentences = [
        f"Of {len(rows)} statements: {', '.join(f'{verdict}: {counts[verdict]}' for verdict in VERDICTS)}.",
        f"All intervals hold together with probability {1 - ERROR_RATE:.0%} (skew-corrected, Bonferroni).",
        f"Origin of the claims: {', '.join(f'{ORIGINS[name]} ({origins[name]})' for name in origins)}.",
    ]
    skewed = {name: learners_with_skewed_runs(result, "regret") for name, result in (results or {}).items()}
    start = "The runs are skewed, and the intervals of tables and figures understate the longer side, of"
    return sentences + ([f"{start}: {format_places(skewed)}."] if any(skewed.values()) else [])


def _row(statement: Statement, verdict: Verdict) -> dict[str, Any]:
    case = f", {verdict.case}" if verdict.case else ""
    text = f"{statement.claim} {statement.reason}"
    if statement.values:
        text = f"{statement.claim} Measured: {statement.quantity}{case}; claimed: {_format_range(statement)}."
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
