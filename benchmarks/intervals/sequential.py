"""Error rates and power of the sequential comparison (`jo.UntilDecided`)."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from scipy import stats

import jaxonline as jo
from benchmarks.intervals.adastop import adastop
from benchmarks.intervals.distributions import Distribution, bernoulli, exponential, lognormal, normal
from jaxonline.results.report.tables import Number, Table, Text
from jaxonline.results.statistics import mean_over_runs
from jaxonline.results.statistics.intervals import ConfidenceInterval
from jaxonline.results.statistics.means import STUDENT, paired_differences
from jaxonline.results.statistics.ranking import (
    BETTER,
    SIMILAR,
    UNDECIDED,
    WORSE,
    PairStates,
    look,
)
from jaxonline.simulation.stopping_rules import ANYTIME, looks

TITLE = "A sequential comparison"
STUDIES, BATCH, MOST_RUNS, GROUP, MARGIN = 2000, 100, 2000, 100, 0.2


def rare_cost(cost: float, probability: float) -> Distribution:
    """Standard normal, plus `cost` with a small probability."""
    draw = lambda rng, size: rng.normal(size=size) + cost * (rng.random(size) < probability)  # noqa: E731
    return Distribution(draw, cost * probability)


PAIRS = {
    "normal": (normal(), normal()),
    "Bernoulli(0.3)": (bernoulli(0.3), bernoulli(0.3)),
    "Bernoulli(0.02)": (bernoulli(0.02), bernoulli(0.02)),
    "exponential": (exponential(), exponential()),
    "exponential and normal": (exponential(), normal()),
    "lognormal(1.5)": (lognormal(1.5), lognormal(1.5)),
    "lognormal(1.5) and normal": (lognormal(1.5), normal()),
    "10 in 10 % of the runs, and normal": (rare_cost(10.0, 0.1), normal()),
    "50 in 2 % of the runs, and normal": (rare_cost(50.0, 0.02), normal()),
    "50 in 0.4 % of the runs, and normal": (rare_cost(50.0, 0.004), normal()),
}
DIFFERENCES = (0.0, 0.1, 0.2, 0.3, 0.5, 1.0)
MEANS = (0.0, 0.0, 0.3, 0.6)  # of four learners


def decide(
    runs: np.ndarray, rule: jo.UntilDecided, interval: ConfidenceInterval = ANYTIME
) -> tuple[np.ndarray, np.ndarray]:
    """Return the decisions [S, P] about all pairs of learners in studies `runs` [S, L, R], and the runs used [S]."""
    studies, _, most = runs.shape
    differences = np.concatenate([paired_differences(study) for study in runs])
    pairs = len(differences) // studies
    states = PairStates.begin(len(differences))
    for n in looks(rule.least_runs, GROUP, most):
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


def batches(seed: int, pair: Sequence[Distribution], studies: int) -> Iterator[tuple[np.random.Generator, np.ndarray]]:
    """Yield a generator and the runs [BATCH, L, R] of studies of learners with the mean 0."""
    for first in range(0, studies, BATCH):
        rng = np.random.default_rng([4, seed, first])
        size = (min(BATCH, studies - first), MOST_RUNS)
        yield rng, np.stack([law.draw(rng, size) - law.mean for law in pair], axis=1)


def error_rates(names: Iterable[str] = tuple(PAIRS), studies: int = STUDIES) -> Table:
    """Percentage of studies that find a difference between two learners with equal means."""
    rows = []
    for name in names:
        pair = PAIRS[name]
        errors: dict[str, list[np.ndarray]] = {kind: [] for kind in ("anytime", "betting", "adastop", "retest")}
        for rng, runs in batches(list(PAIRS).index(name), pair, studies):
            errors["anytime"].append(np.isin(decide(runs, jo.UntilDecided(0.0))[0][:, 0], (BETTER, WORSE)))
            if all(law.limits for law in pair):
                errors["betting"].append(retest(runs, jo.intervals.Betting(-1.0, 1.0)))
            errors["adastop"].append(adastop(rng, runs, GROUP)[0] != 0)
            errors["retest"].append(retest(runs))
        shares = {kind: 100 * float(np.mean(np.concatenate(found))) for kind, found in errors.items() if found}
        rows.append({"the runs of the two learners": name} | shares)
    heads = {"anytime": "Anytime", "betting": "Betting", "adastop": "AdaStop", "retest": "t-test at each look"}
    columns = [Number(kind, head, "{:.1f}") for kind, head in heads.items()]
    return Table("Errors", rows, (Text("the runs of the two learners"), *columns))


def power(differences: Iterable[float] = DIFFERENCES, studies: int = STUDIES) -> Table:
    """Decisions about two learners with normal runs of variance 1, and the number of runs that they need."""
    rows = []
    for difference in differences:
        sequential, other, fixed = [], [], []
        for rng, runs in batches(100, (normal(), normal()), studies):
            runs[:, 1] += difference
            decision, used = decide(runs, jo.UntilDecided(MARGIN))
            sequential.append(np.stack([decision[:, 0], used]))
            other.append(np.stack(adastop(rng, runs, GROUP)))
            fixed.append(stats.ttest_1samp(runs[:, 0] - runs[:, 1], 0.0, axis=1).pvalue < 0.05)
        decision, used = np.concatenate(sequential, axis=1)
        found, groups = np.concatenate(other, axis=1)
        share = {name: 100 * float((decision == code).mean()) for name, code in
                 (("better", BETTER), ("worse", WORSE), ("similar", SIMILAR), ("undecided", UNDECIDED))}  # fmt: skip
        rows.append(
            {"difference": difference} | share
            | {"runs": float(used.mean()), "adastop": 100 * float((found != 0).mean()), "groups": float(groups.mean()),
               "fixed": 100 * float(np.concatenate(fixed).mean())}
        )  # fmt: skip
    columns = (
        Number("difference", "difference", "{:g}"), Number("better", "first is better", "{:.1f}"),
        Number("worse", "second is better", "{:.1f}"), Number("similar", "no difference that matters", "{:.1f}"),
        Number("undecided", "undecided", "{:.1f}"), Number("runs", "runs", "{:,.0f}"),
        Number("adastop", "AdaStop finds one", "{:.1f}"), Number("groups", "its runs", "{:,.0f}"),
        Number("fixed", "t-test after all runs finds one", "{:.1f}"),
    )  # fmt: skip
    return Table("Power", rows, columns)


def four_learners(studies: int = STUDIES) -> dict[str, float]:
    """Return percentages of studies of four learners with the means `MEANS`, and the mean number of runs."""
    decisions, used = [], []
    for _, runs in batches(200, (normal(),) * len(MEANS), studies):
        decision, n = decide(runs + np.array(MEANS)[:, None], jo.UntilDecided(MARGIN))
        decisions.append(decision)
        used.append(n)
    decision = np.concatenate(decisions)
    first, second = np.triu_indices(len(MEANS), 1)
    true = np.array(MEANS)[second] - np.array(MEANS)[first]
    wrong = (decision == WORSE) | ((decision == BETTER) & (true == 0)) | ((decision == SIMILAR) & (true > MARGIN))
    return {
        "wrong": 100 * float(wrong.any(axis=1).mean()),
        "complete": 100 * float((decision != UNDECIDED).all(axis=1).mean()),
        "runs": float(np.concatenate(used).mean()),
    }


def bounded_runs(studies: int = 200) -> dict[str, float]:
    """Return the mean number of runs to decide about Bernoulli(0.3) and Bernoulli(0.5), by interval."""
    used: dict[str, list[np.ndarray]] = {"anytime": [], "betting": []}
    for _, runs in batches(300, (bernoulli(0.3), bernoulli(0.5)), studies):
        runs = runs + np.array([0.3, 0.5])[:, None]
        for name, interval in (("anytime", jo.intervals.Anytime()), ("betting", jo.intervals.Betting(0.0, 1.0))):
            used[name].append(decide(runs, jo.UntilDecided(0.1), interval)[1])
    return {name: float(np.concatenate(n).mean()) for name, n in used.items()}


def section() -> str:
    """Return the section about sequential comparisons."""
    four, bounded = four_learners(), bounded_runs()
    means = ", ".join(f"{mean:g}" for mean in MEANS)
    return f"""`simulate(..., stop=jo.UntilDecided(margin))` looks after 100 runs, and then after each further block of
{GROUP} runs or 10 % more runs, until each pair of learners is decided, or until {MOST_RUNS:,} runs. The tables show
{STUDIES:,} simulated studies of learners with independent runs. The first table shows the percentage of studies that
find a difference between two learners with equal means at one of the looks (`margin=0`, so studies without an error use
all runs). It should be at most 5; the simulation error is 1.0. A t-test at each look is the wrong method. AdaStop
(Mathieu and others 2023) permutes runs, in {MOST_RUNS // GROUP} groups of {GROUP} runs; it tests whether the
distributions are equal.

{error_rates().markdown()}
`Anytime` decides nothing while skewness / sqrt(runs) of the differences is above 0.1. It cannot know an event that
occurs in no run, as in the last two rows: an event of probability 2 % is missing from 13 % of samples of 100 runs.
Increase `least_runs` if such events are possible: an event with a probability above 3 / least_runs is missing from at
most 5 % of samples. If losses are bounded, `Betting` holds at every number of runs. For Bernoulli(0.3) and
Bernoulli(0.5) with `margin=0.1`, it needs {bounded["betting"]:,.0f} runs on
average, and `Anytime` {bounded["anytime"]:,.0f} (200 studies).

The second table shows the decisions about two learners with normal runs of variance 1 (`margin={MARGIN:g}`, as
percentages of the studies), the mean number of runs, and what AdaStop and a t-test after {MOST_RUNS:,} runs find. Below
the margin, two answers are correct: better, and no difference that matters. AdaStop and the t-test cannot conclude that
there is no difference that matters.

{power().markdown()}
Four learners with the means {means} (6 pairs, `margin={MARGIN:g}`): a decision is wrong in {four["wrong"]:.1f} % of the
studies, all pairs are decided in {four["complete"]:.1f} %, and studies need {four["runs"]:,.0f} runs of
{MOST_RUNS:,} on average.
"""
