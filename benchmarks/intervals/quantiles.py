"""Coverage of the intervals of quantiles."""

from collections.abc import Iterable

import numpy as np
from scipy import stats

from benchmarks.intervals.distributions import STUDIES
from jaxonline.results.report.tables import Number, Table, Text
from jaxonline.results.statistics.means import quantile_over_runs

TITLE = "A quantile"


def coverage_of_quantiles(
    probabilities: Iterable[float] = (0.5, 0.95), numbers_of_runs: Iterable[int] = (100, 500)
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


def section() -> str:
    """Return the section about quantiles."""
    return f"""\
The table shows the percentage of studies in which the interval of `Result.quantile_interval` contains the quantile. Its
ends are order statistics, so it covers at least 95 % for every distribution.

{coverage_of_quantiles().markdown()}"""
