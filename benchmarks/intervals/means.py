"""Coverage of the intervals of one mean."""

from collections.abc import Iterable

import numpy as np

import jaxonline as jo
from benchmarks.intervals.distributions import STUDIES, bernoulli, exponential, lognormal, normal
from jaxonline.results.report.tables import Number, Table, Text
from jaxonline.results.statistics import mean_over_runs

TITLE = "One mean"
RUNS = (20, 100, 500)
DISTRIBUTIONS = {
    "normal": normal(),
    "exponential": exponential(),
    "lognormal, sigma 1": lognormal(1.0),
    "lognormal, sigma 2": lognormal(2.0),
    "1 with probability 0.01, else 0": bernoulli(0.01),
    "1 with probability 0.2, else 0": bernoulli(0.2),
}
INTERVALS = {
    "student": jo.intervals.Student(), "skew-corrected": jo.intervals.SkewCorrected(),
    "anytime": jo.intervals.Anytime(), "bounded": jo.intervals.Bounded(0.0, 1.0),
    "betting": jo.intervals.Betting(0.0, 1.0),
}  # fmt: skip


def coverage_of_means(
    distributions: Iterable[str] = tuple(DISTRIBUTIONS), numbers_of_runs: Iterable[int] = RUNS
) -> Table:
    """Coverage of the intervals of one mean, for each distribution, number of runs and interval."""
    rows = []
    for distribution in distributions:
        draw, mean, limits = DISTRIBUTIONS[distribution]
        for n in numbers_of_runs:
            values = draw(np.random.default_rng([1, n]), (STUDIES, n))
            row: dict = {"distribution": distribution, "runs": n}
            for interval, kind in INTERVALS.items():
                if isinstance(kind, jo.intervals.Bounded) and limits is None:
                    continue
                estimate = mean_over_runs(values, interval=kind)
                row[interval] = 100 * float(((estimate.low <= mean) & (mean <= estimate.high)).mean())
                row[f"{interval} above"] = 100 * float((estimate.high < mean).mean())
            rows.append(row)
    columns = [Text("distribution"), Number("runs", "runs", "{:,d}")]
    for interval, head in (("student", "Student"), ("skew-corrected", "skew-corrected"), ("anytime", "anytime")):
        columns += [Number(interval, head, "{:.1f}"), Number(f"{interval} above", "too low", "{:.1f}")]
    return Table(
        "One mean", rows, (*columns, Number("bounded", "bounded", "{:.1f}"), Number("betting", "betting", "{:.1f}"))
    )


def section() -> str:
    """Return the section about one mean."""
    return f"""\
{coverage_of_means().markdown()}
Which interval should you use?

| interval | use it if |
| --- | --- |
| `Student()`, the default | the mean of the runs is nearly normal, as in the studies of this package |
| `SkewCorrected()` | the runs are few or skewed; it corrects much of the error, but not all |
| `Betting(low, high)` | losses are bounded; it covers at every number of runs, also if rare losses occur in no run |
| `Bounded(low, high)` | losses are bounded, and you look at one number of runs; it is often wider than `Betting` |
| `Anytime()` | you look at several numbers of runs; it covers all of them together, so it covers each more often |

Student's interval is too short on the long side of a skewed distribution. `Result.mean` warns if
skewness / sqrt(runs) is above 0.3.
"""
