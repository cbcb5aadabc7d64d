"""How often the 95 % intervals of the package cover, by simulation: the tables of docs/intervals.md.

PYTHONPATH=tests python -m interval_coverage
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

import jaxonline as jo
from jaxonline.results.report.tables import Number, Table, Text
from jaxonline.results.statistics import mean_over_runs, simultaneous

PAGE = Path(__file__).parents[2] / "docs" / "intervals.md"
STUDIES = 1000
RUNS = (20, 100, 500)
LAWS = {  # draws, and the expectation
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


def of_means(laws: Iterable[str] = tuple(LAWS), numbers_of_runs: Iterable[int] = RUNS) -> Table:
    """Of one mean: each law, each number of runs, each interval."""
    rows = []
    for law in laws:
        draw, mean = LAWS[law]
        for n in numbers_of_runs:
            values = draw(np.random.default_rng([1, n]), (STUDIES, n))
            row: dict = {"law": law, "runs": n}
            for interval, kind in INTERVALS.items():
                if interval == "bounded" and not law.startswith("1 with"):
                    continue
                found = mean_over_runs(values, interval=kind)
                row[interval] = 100 * float(((found.low <= mean) & (mean <= found.high)).mean())
                row[f"{interval} above"] = 100 * float((found.high < mean).mean())
            rows.append(row)
    columns = [Text("law"), Number("runs", "runs", "{:,d}")]
    for interval, head in (("student", "Student"), ("bootstrap-t", "bootstrap-t"), ("anytime", "anytime")):
        columns += [Number(interval, head, "{:.1f}"), Number(f"{interval} above", "too low", "{:.1f}")]
    return Table("Of one mean", rows, (*columns, Number("bounded", "bounded", "{:.1f}")))


def of_curves(laws: Iterable[str] = ("normal", "exponential"), numbers_of_runs: Iterable[int] = RUNS[:2]) -> Table:
    """Of a whole curve of cumulative sums at 20 rounds."""
    rows = []
    for law in laws:
        draw, mean = LAWS[law]
        for n in numbers_of_runs:
            steps = draw(np.random.default_rng([2, n]), (STUDIES, n, ROUNDS))
            curves, truth = np.cumsum(steps, axis=2), mean * np.arange(1, ROUNDS + 1)
            row: dict = {"law": law, "runs": n}
            for name, found in (("pointwise", mean_over_runs(curves)), ("simultaneous", simultaneous(curves))):
                row[name] = 100 * float(((found.low <= truth) & (truth <= found.high)).all(axis=1).mean())
            rows.append(row)
    columns = Text("law of the steps"), Number("runs", "runs", "{:,d}"), Number("pointwise", "pointwise", "{:.1f}")
    rows = [{"law of the steps": row["law"], **row} for row in rows]
    return Table("Of a whole curve", rows, (*columns, Number("simultaneous", "simultaneous", "{:.1f}")))


def page() -> str:
    """The text of docs/intervals.md."""
    return f"""# What the intervals cover

Of {STUDIES:,} simulated studies each, the part in per cent whose 95 % interval holds the true value; "too low": the
part whose whole interval lies below it, which for a regret is the side that flatters. A right interval shows 93.6 to
96.4 in 95 of 100 lines. Written by `PYTHONPATH=tests python -m interval_coverage`, and tested.

## Of one mean

{of_means().markdown()}

Student's interval, the default, is right for laws that are nearly normal, as the regrets of this package's studies are
over their runs. For skewed laws it is too short on the long side, and `Result.mean` says so where the runs show it
(skewness / sqrt(runs) above 0.3). Bootstrap-t mends much of that, not all, and nothing that is made of the runs alone
can know of a catastrophe that no run has seen: where losses are bounded, `Bounded(low, high)` does. `Anytime()` holds
for all numbers of runs together, and so covers more often at each.

## Of a whole curve

Cumulative sums of independent steps at {ROUNDS} rounds: the part of studies in which the whole curve lies in its band.
Figures of `Result.plot` show the simultaneous bands, tables the interval of the last round.

{of_curves().markdown()}
"""


if __name__ == "__main__":
    PAGE.write_text(page())
