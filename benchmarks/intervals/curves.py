"""Coverage of the bands of whole curves."""

from collections.abc import Iterable

import numpy as np

from benchmarks.intervals.distributions import STUDIES, exponential, normal
from jaxonline.results.report.tables import Number, Table, Text
from jaxonline.results.statistics import mean_over_runs, simultaneous

TITLE = "A whole curve"
ROUNDS = 20
DISTRIBUTIONS = {"normal": normal(), "exponential": exponential()}


def coverage_of_curves(
    distributions: Iterable[str] = tuple(DISTRIBUTIONS), numbers_of_runs: Iterable[int] = (20, 100)
) -> Table:
    """Coverage of the bands of whole curves: cumulative sums at 20 rounds."""
    rows = []
    for distribution in distributions:
        draw, mean, _ = DISTRIBUTIONS[distribution]
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


def section() -> str:
    """Return the section about bands."""
    return f"""\
The table shows the percentage of studies in which the band contains the whole curve, for cumulative sums of independent
steps at {ROUNDS} rounds. Figures of `Result.plot` show the simultaneous bands. Tables show the interval of the last
round.

{coverage_of_curves().markdown()}"""
