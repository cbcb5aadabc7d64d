"""Coverage of the 95 % intervals of the package, by simulation: writes docs/intervals.md.

PYTHONPATH=tests python -m interval_coverage
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from scipy import stats

import jaxonline as jo
from jaxonline.results.report.tables import Number, Table, Text
from jaxonline.results.statistics import mean_over_runs, simultaneous
from jaxonline.results.statistics.quantiles import quantile_over_runs

PAGE = Path(__file__).parents[2] / "docs" / "intervals.md"
STUDIES = 1000
RUNS = (20, 100, 500)
DISTRIBUTIONS = {  # draws, and the expectation
    "normal": (lambda rng, size: rng.normal(size=size), 0.0),
    "exponential": (lambda rng, size: rng.exponential(size=size), 1.0),
    "lognormal, sigma 1": (lambda rng, size: rng.lognormal(sigma=1.0, size=size), np.exp(0.5)),
    "lognormal, sigma 2": (lambda rng, size: rng.lognormal(sigma=2.0, size=size), np.exp(2.0)),
    "1 with probability 0.01, else 0": (lambda rng, size: (rng.random(size) < 0.01).astype(float), 0.01),
    "1 with probability 0.2, else 0": (lambda rng, size: (rng.random(size) < 0.2).astype(float), 0.2),
}
ROUNDS = 20


INTERVALS = {
    "student": jo.intervals.Student(), "bootstrap-t": jo.intervals.BootstrapT(), "anytime": jo.intervals.Anytime(),
    "bounded": jo.intervals.Bounded(0.0, 1.0),
}  # fmt: skip


def coverage_of_means(
    distributions: Iterable[str] = tuple(DISTRIBUTIONS), numbers_of_runs: Iterable[int] = RUNS
) -> Table:
    """Coverage of the intervals of one mean, for each distribution, number of runs and interval."""
    rows = []
    for distribution in distributions:
        draw, mean = DISTRIBUTIONS[distribution]
        for n in numbers_of_runs:
            values = draw(np.random.default_rng([1, n]), (STUDIES, n))
            row: dict = {"distribution": distribution, "runs": n}
            for interval, kind in INTERVALS.items():
                if interval == "bounded" and not distribution.startswith("1 with"):
                    continue
                estimate = mean_over_runs(values, interval=kind)
                row[interval] = 100 * float(((estimate.low <= mean) & (mean <= estimate.high)).mean())
                row[f"{interval} above"] = 100 * float((estimate.high < mean).mean())
            rows.append(row)
    columns = [Text("distribution"), Number("runs", "runs", "{:,d}")]
    for interval, head in (("student", "Student"), ("bootstrap-t", "bootstrap-t"), ("anytime", "anytime")):
        columns += [Number(interval, head, "{:.1f}"), Number(f"{interval} above", "too low", "{:.1f}")]
    return Table("One mean", rows, (*columns, Number("bounded", "bounded", "{:.1f}")))


def coverage_of_curves(
    distributions: Iterable[str] = ("normal", "exponential"), numbers_of_runs: Iterable[int] = RUNS[:2]
) -> Table:
    """Coverage of the bands of whole curves: cumulative sums at 20 rounds."""
    rows = []
    for distribution in distributions:
        draw, mean = DISTRIBUTIONS[distribution]
        for n in numbers_of_runs:
            steps = draw(np.random.default_rng([2, n]), (STUDIES, n, ROUNDS))
            curves, truth = np.cumsum(steps, axis=2), mean * np.arange(1, ROUNDS + 1)
            row: dict = {"distribution": distribution, "runs": n}
            for name, band in (("pointwise", mean_over_runs(curves)), ("simultaneous", simultaneous(curves))):
                row[name] = 100 * float(((band.low <= truth) & (truth <= band.high)).all(axis=1).mean())
            rows.append(row)
    columns = (
        Text("distribution of the steps"),
        Number("runs", "runs", "{:,d}"),
        Number("pointwise", "pointwise", "{:.1f}"),
    )
    rows = [{"distribution of the steps": row["distribution"], **row} for row in rows]
    return Table("A whole curve", rows, (*columns, Number("simultaneous", "simultaneous", "{:.1f}")))


def coverage_of_quantiles(
    probabilities: Iterable[float] = (0.5, 0.95), numbers_of_runs: Iterable[int] = RUNS[1:]
) -> Table:
    """Coverage of the intervals of quantiles, for a continuous and a discrete distribution."""
    laws = {
        "lognormal, sigma 2": (lambda rng, size: rng.lognormal(sigma=2.0, size=size), stats.lognorm(2.0)),
        "Poisson, mean 3": (lambda rng, size: rng.poisson(3.0, size).astype(float), stats.poisson(3.0)),
    }
    rows = []
    for name, (draw, law) in laws.items():
        for p in probabilities:
            for n in numbers_of_runs:
                estimate = quantile_over_runs(draw(np.random.default_rng([3, n]), (STUDIES, n)), p, 0.95)
                covered = (estimate.low <= law.ppf(p)) & (law.ppf(p) <= estimate.high)
                share = 100 * float(covered.mean())
                rows.append({"distribution": name, "quantile": p, "runs": n, "covers": share})
    columns = (
        Text("distribution"),
        Number("quantile", "quantile", "{:g}"),
        Number("runs", "runs", "{:,d}"),
        Number("covers", "covers", "{:.1f}"),
    )
    return Table("A quantile", rows, columns)


def page() -> str:
    """Return the text of docs/intervals.md."""
    return f"""# How often do the intervals cover?

The tables show the percentage of {STUDIES:,} simulated studies in which the 95 % interval contains the true value. "Too
low" is the percentage in which the whole interval lies below the true value, which makes a regret look too small. With
a correct interval, 95 % of the entries lie between 93.6 and 96.4. `PYTHONPATH=tests python -m interval_coverage` writes
this page, and a test checks it.

## One mean

{coverage_of_means().markdown()}

Which interval should you use?

| interval | use it if |
| --- | --- |
| `Student()`, the default | the mean of the runs is nearly normal, as in the studies of this package |
| `BootstrapT()` | the runs are skewed; it corrects much of the error, but not all |
| `Bounded(low, high)` | losses are bounded; the only one that covers if a rare large loss occurs in no run |
| `Anytime()` | you look at several numbers of runs; it covers all of them together, so it covers each more often |

Student's interval is too short on the long side of a skewed distribution. `Result.mean` warns if
skewness / sqrt(runs) is above 0.3.

## A whole curve

The table shows the percentage of studies in which the band contains the whole curve, for cumulative sums of independent
steps at {ROUNDS} rounds. Figures of `Result.plot` show the simultaneous bands. Tables show the interval of the last
round.

{coverage_of_curves().markdown()}

## A quantile

The table shows the percentage of studies in which the interval of `Result.quantile_interval` contains the quantile. Its
ends are order statistics, so it covers at least 95 % for every distribution.

{coverage_of_quantiles().markdown()}
"""


if __name__ == "__main__":
    PAGE.write_text(page())
