"""Errors of studies that stop when their intervals are narrow (`Precision`), or when learners are compared."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

import jaxonline as jo
from benchmarks.intervals.laws import LAWS, Law, Row, bounded_event, coverage_table
from jaxonline.parameters.errors import PrecisionWarning
from jaxonline.results.report.tables import Number, Table, Text
from jaxonline.results.statistics import mean_over_runs
from jaxonline.results.statistics.intervals import ConfidenceInterval
from jaxonline.results.statistics.means import paired_differences
from jaxonline.results.statistics.ranking import BETTER, SIMILAR, UNDECIDED, WORSE, PairStates, look
from jaxonline.simulation.stopping_rules import ANYTIME, first_look, looks, until_precise

TITLE = "Studies that stop by themselves"
STUDIES, MOST_RUNS, BATCH, GROUP, MARGIN, Q = 1000, 2000, 100, 100, 0.2, "cumulative_loss"
STUDENT, HALF_WIDTH = jo.intervals.Student(), 0.2  # standard deviations
RARE = "rare 0.4%"
ALL = LAWS | {RARE: bounded_event(50.0, 0.004)}
CASES = [
    *((name, 0.03) for name in ALL),
    ("rare 2%", 0.02),
    (RARE, 0.004),
]  # and rarest event
UNIFORM = bounded_event(0.0, 0.0)
DIFFERENCES = (0.0, 0.1, 0.2, 0.3, 0.5, 1.0)
MEANS = (0.0, 0.0, 0.3, 0.6)  # of four learners


def stop(losses: np.ndarray, rule: jo.Precision, interval: Any) -> tuple[jo.Result, bool]:
    """Return the result of a study of losses [R], and whether it reaches its precision."""
    values = losses.reshape(1, -1, 1)
    zeros = np.zeros_like(values)

    def play(runs: range, before: jo.Result | None) -> jo.Result:
        measures = {Q: values[:, : runs.stop], "queries": zeros[:, : runs.stop]}
        return jo.Result(("a",), np.arange(runs.stop), np.array([1]), measures)

    with warnings.catch_warnings(record=True, action="always", category=PrecisionWarning) as caught:
        result = until_precise(play, rule, MOST_RUNS, GROUP, interval)
    return result, not caught


def stopped_studies(cases: Iterable[tuple[str, float]] = tuple(CASES), studies: int = STUDIES) -> Table:
    """Return the errors of studies that stop at a half-width of 0.2 standard deviations, by law and rarest event."""
    rows = []
    for name, rarest in cases:
        law = ALL[name]
        rule = jo.Precision(HALF_WIDTH * law.deviation, quantity=Q, rarest_event=rarest)
        kinds = {"Anytime": ANYTIME} | (
            {"Betting": jo.intervals.Betting(*law.limits, Q)} if law.limits and rarest == 0.03 else {}
        )
        for kind, interval in kinds.items():
            rng = np.random.default_rng(7)
            stopped = [stop(law.draw(rng, MOST_RUNS), rule, interval) for _ in range(studies)]
            ends = [result.mean(Q) for result, _ in stopped]
            reached = np.array([reached for _, reached in stopped])
            covers = np.array([of.low.item() <= law.mean <= of.high.item() for of in ends])
            bias = np.mean([of.mean.item() for of in ends]) - law.mean
            row: Row = {"law": name, "interval": kind, "first look": str(first_look(rule))}
            row |= {"stops": 100 * float(reached.mean()), "wrong": 100 * float((reached & ~covers).mean())}
            row |= {"bias": float(bias) / rule.half_width, "runs": int(np.median([len(r.runs) for r, _ in stopped]))}
            rows.append(row)
    columns = [Text(name) for name in ("law", "interval", "first look")]
    numbers = [Number(name, name, "{:.1f}") for name in ("stops", "wrong")]
    bias, runs = Number("bias", "bias / half-width", "{:+.2f}"), Number("runs", "median of runs", "{:,d}")
    return Table("Stopped studies", rows, [*columns, *numbers, bias, runs])


def decide(
    runs: np.ndarray, rule: jo.UntilDecided, interval: ConfidenceInterval = ANYTIME
) -> tuple[np.ndarray, np.ndarray]:
    """Return the decisions [S, P] about all pairs of learners in studies `runs` [S, L, R], and the runs used [S]."""
    studies, _, most = runs.shape
    differences = np.concatenate([paired_differences(study) for study in runs])
    pairs = len(differences) // studies
    states = PairStates.begin(len(differences))
    for n in looks(first_look(rule), GROUP, most):
        if states.undecided.any():
            states = look(states, differences[:, :n], rule, interval.of_difference(), together=pairs)
    return states.decision.reshape(studies, pairs), states.runs.reshape(studies, pairs).max(axis=1)


def retest(runs: np.ndarray, interval: ConfidenceInterval = STUDENT) -> np.ndarray:
    """Return whether a test of two learners finds a difference at one of the looks [S]; by default, the wrong t-test.

    For intervals that hold at all looks, this is the decision with `margin=0`. A p-value takes less time than an
    interval.
    """
    differences = runs[:, 0] - runs[:, 1]
    prefixes = (differences[:, :n] for n in looks(100, GROUP, runs.shape[2]))
    p = [interval.p_values(prefix, mean_over_runs(prefix)) for prefix in prefixes]
    return (np.array(p) < 0.05).any(axis=0)


def batches(seed: int, pair: Sequence[Law], studies: int) -> Iterator[np.ndarray]:
    """Yield the runs [BATCH, L, R] of studies of learners with the mean 0."""
    for first in range(0, studies, BATCH):
        rng = np.random.default_rng([8, seed, first])
        size = (min(BATCH, studies - first), MOST_RUNS)
        yield np.stack([law.centred(rng, size) for law in pair], axis=1)


def error_rates(cases: Iterable[tuple[str, float]] = tuple(CASES), studies: int = STUDIES) -> Table:
    """Percentage of studies that find a difference between two learners with equal means, by law and rarest event.

    The second learner is normal, or has bounded noise if the first is bounded (of 0 and 1: the same law).
    """
    rows = []
    for name, rarest in cases:
        law, rule = ALL[name], jo.UntilDecided(0.0, rarest_event=rarest)
        other = (law if law.limits == (0.0, 1.0) else UNIFORM) if law.limits else ALL["normal"]
        errors: dict[str, list[np.ndarray]] = {"Anytime": [], "Betting": [], "t-test at each look": []}
        for runs in batches(0, (law, other), studies):
            errors["Anytime"].append(np.isin(decide(runs, rule)[0][:, 0], (BETTER, WORSE)))
            if law.limits and rarest == 0.03:
                shift = law.mean - other.mean
                limits = law.limits[0] - other.limits[1] - shift, law.limits[1] - other.limits[0] - shift
                errors["Betting"].append(retest(runs, jo.intervals.Betting(*limits)))
            if rarest == 0.03:
                errors["t-test at each look"].append(retest(runs))
        row: Row = {"law of one learner": name, "first look": str(first_look(rule))}
        rows.append(row | {kind: 100 * float(np.mean(np.concatenate(own))) for kind, own in errors.items() if own})
    return coverage_table(rows, "Anytime", "Betting", "t-test at each look")


def power(differences: Iterable[float] = DIFFERENCES, studies: int = STUDIES) -> Table:
    """Decisions about two learners with normal runs of variance 1, and the number of runs that they need."""
    rows = []
    for difference in differences:
        parts = []
        for runs in batches(100, (ALL["normal"],) * 2, studies):
            runs[:, 1] += difference
            decision, used = decide(runs, jo.UntilDecided(MARGIN))
            parts.append(np.stack([decision[:, 0], used]))
        decision, used = np.concatenate(parts, axis=1)
        codes = (("better", BETTER), ("worse", WORSE), ("similar", SIMILAR), ("undecided", UNDECIDED))
        share = {name: 100 * float((decision == code).mean()) for name, code in codes}
        rows.append({"difference": difference, "runs": float(used.mean())} | share)
    columns = (
        Number("difference", "difference", "{:g}"), Number("better", "first is better", "{:.1f}"),
        Number("worse", "second is better", "{:.1f}"), Number("similar", "no difference that matters", "{:.1f}"),
        Number("undecided", "undecided", "{:.1f}"), Number("runs", "runs", "{:,.0f}"),
    )  # fmt: skip
    return Table("Power", rows, columns)


def four_learners(studies: int = STUDIES) -> dict[str, float]:
    """Return percentages of studies of four learners with the means `MEANS`, and the mean number of runs."""
    parts = [decide(runs + np.array(MEANS)[:, None], jo.UntilDecided(MARGIN))
             for runs in batches(200, (ALL["normal"],) * len(MEANS), studies)]  # fmt: skip
    decision, used = (np.concatenate(part) for part in zip(*parts, strict=True))
    first, second = np.triu_indices(len(MEANS), 1)
    true = np.array(MEANS)[second] - np.array(MEANS)[first]
    wrong = (decision == WORSE) | ((decision == BETTER) & (true == 0)) | ((decision == SIMILAR) & (true > MARGIN))
    return {
        "wrong": 100 * float(wrong.any(axis=1).mean()),
        "complete": 100 * float((decision != UNDECIDED).all(axis=1).mean()),
        "runs": float(used.mean()),
    }


def section() -> str:
    """Return the section about stopping rules."""
    four, means = four_learners(), ", ".join(f"{mean:g}" for mean in MEANS)
    return f"""\
Both rules look first after 3 / `rarest_event` runs, rounded up to blocks of {GROUP} runs, and stop at {MOST_RUNS:,}
runs at the latest. The default `rarest_event=0.03` looks first after 100 runs. The tables have {STUDIES:,} studies of
each law.

### A study that stops when its interval is narrow

`simulate(stop=jo.Precision(half_width))`, where the half-width is {HALF_WIDTH:g} standard deviations of a run. The
table has the percentage of studies that stop before {MOST_RUNS:,} runs, and the percentage that stop with an interval
that misses the mean. A study that does not stop emits a `PrecisionWarning`. A study that stops emits no warning.

{stopped_studies().markdown()}
`Anytime` stops only if the runs vary and skewness / sqrt(runs) is at most 0.1. So it seldom stops for the most skewed
laws here. In the last two lines, `rarest_event` is the probability of the event. `Betting` requires limits of the
losses, and covers every law with these limits. The mean of a stopped study is biased: the column "bias" has the mean
error of the means, in half-widths.

### A study that stops when its learners are compared

`simulate(stop=jo.UntilDecided(margin=0))` for two learners with equal means and independent runs, so that every
decision is wrong. The other learner is normal; it is uniform if the first is uniform, and has the same law if the
first is 0 or 1. The table has the percentage of wrong studies. A t-test at each look (first after 100 runs) is the
wrong method.

{error_rates().markdown()}
An event of probability 2 % is missing from the first 100 runs with probability 13 %, and an event of probability 0.4 %
with probability 67 %. Then `Anytime` decides without it. In the last two lines, `rarest_event` is the probability of
the event, so the first look is later.

The next table shows the decisions about two learners with normal runs of variance 1 (`margin={MARGIN:g}`), as
percentages of the studies, and the mean number of runs. Below the margin, two answers are correct: better, and no
difference that matters.

{power().markdown()}
Four learners with the means {means} (6 pairs, `margin={MARGIN:g}`): a decision is wrong in {four["wrong"]:.1f} % of the
studies, all pairs are decided in {four["complete"]:.1f} %, and studies need {four["runs"]:,.0f} runs of
{MOST_RUNS:,} on average.
"""
