"""Coverage of the bands of whole curves."""

import warnings
from collections.abc import Iterable

import numpy as np

from benchmarks.intervals.distributions import bernoulli, exponential, lognormal, normal
from jaxonline.parameters.errors import SkewedRunsWarning
from jaxonline.results.report.tables import Number, Table, Text
from jaxonline.results.statistics import mean_over_runs, simultaneous
from jaxonline.results.statistics.means import warn_of_skewed_curves

TITLE = "A whole curve"
ROUNDS, STUDIES = 20, 1000
DISTRIBUTIONS = {
    "normal": normal(),
    "exponential": exponential(),
    "lognormal, sigma 1.5": lognormal(1.5),
    "1 with probability 0.02, else 0": bernoulli(0.02),
}


def warns(runs: np.ndarray) -> bool:
    """Whether `Result.bands` warns of these runs [R, G]."""
    with warnings.catch_warnings(record=True, action="always", category=SkewedRunsWarning) as caught:
        warn_of_skewed_curves([runs], ["a"], "loss")
    return bool(caught)


def coverage_of_curves(
    distributions: Iterable[str] = tuple(DISTRIBUTIONS), numbers_of_runs: Iterable[int] = (10, 20, 50, 100)
) -> Table:
    """Coverage of the bands of whole curves: cumulative sums at 20 rounds."""
    rows = []
    for distribution in distributions:
        draw, mean, _ = DISTRIBUTIONS[distribution]
        for n in numbers_of_runs:
            steps = draw(np.random.default_rng([2, n]), (STUDIES, n, ROUNDS))
            curves, truth = np.cumsum(steps, axis=2), mean * np.arange(1, ROUNDS + 1)
            bands = {"pointwise": mean_over_runs(curves), "simultaneous": simultaneous(curves)}
            row: dict = {"distribution of the steps": distribution, "runs": n}
            for name, band in bands.items():
                covers = ((band.low <= truth) & (truth <= band.high)).all(axis=1)
                row[name] = 100 * float(covers.mean())
            row["or warns"] = 100 * float((covers | [warns(runs) for runs in curves]).mean())
            rows.append(row)
    columns = (
        Text("distribution of the steps"), Number("runs", "runs", "{:,d}"),
        Number("pointwise", "pointwise", "{:.1f}"), Number("simultaneous", "simultaneous", "{:.1f}"),
        Number("or warns", "simultaneous, or warns", "{:.1f}"),
    )  # fmt: skip
    return Table("A whole curve", rows, columns)


def section() -> str:
    """Return the section about bands."""
    return f"""\
The table shows the percentage of {STUDIES:,} studies in which the band contains the whole curve, for cumulative sums of
independent steps at {ROUNDS} rounds. Figures of `Result.plot` show the simultaneous bands. Tables show the interval of
the last round.

{coverage_of_curves().markdown()}
The simultaneous bands are bootstrap-t bands, or max-t bands if there are at least 100 nearly symmetric
runs. Bootstrap-t bands of heavily skewed runs miss a little more often than promised. Resamples cannot show an event
that occurs in no run, so the bands of rare ones and zeros miss often. `Result.bands` warns (`SkewedRunsWarning`) if the
skewness in some round is above sqrt(runs) / 2, and names the number of runs that is needed. The last column counts such
a warning as success.
"""
