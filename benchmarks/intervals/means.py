"""Errors of the intervals of means, differences of means, growth exponents and quantiles."""

import warnings
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from scipy import stats

import jaxonline as jo
from benchmarks.intervals.laws import LAWS, RUNS, STUDIES, Row, coverage_table, errors_by_runs, shares, skewed
from jaxonline.parameters.errors import SkewedRunsWarning
from jaxonline.results.report.tables import Table
from jaxonline.results.statistics import difference_of_means, growth, mean_over_runs
from jaxonline.results.statistics.intervals import skewness
from jaxonline.results.statistics.means import LARGEST_RATIOS, quantile_over_runs

TITLE = "Means, differences and slopes"
ROUNDS = np.arange(1, 9)
KINDS = {
    "Student": jo.intervals.Student(), "SkewCorrected": jo.intervals.SkewCorrected(), "Anytime": jo.intervals.Anytime()
}  # fmt: skip


def errors_of_means(laws: Iterable[str] = tuple(LAWS), numbers_of_runs: Iterable[int] = RUNS[1:]) -> list[Row]:
    """Return the errors of the default interval of a mean."""
    rows = []
    for law in laws:
        for n in numbers_of_runs:
            values = LAWS[law].centred(np.random.default_rng([1, n]), (STUDIES, n))
            of = mean_over_runs(values)
            rows.append({"law": law, "runs": n} | shares((of.low > 0) | (of.high < 0), skewed(values)))
    return rows


def kinds_of_intervals(laws: Iterable[str] = tuple(LAWS), n_runs: int = 50) -> Table:
    """Return the errors of each kind of interval of a mean."""
    rows = []
    for law in laws:
        values = LAWS[law].centred(np.random.default_rng([1, n_runs]), (STUDIES, n_runs))
        limits = LAWS[law].limits
        kinds = KINDS | ({"Betting": jo.intervals.Betting(*(np.array(limits) - LAWS[law].mean))} if limits else {})
        row: Row = {"law": law}
        for name, kind in kinds.items():
            of = mean_over_runs(values, interval=kind)
            row[name] = 100 * float(((of.low > 0) | (of.high < 0)).mean())
        rows.append(row)
    return coverage_table(rows, *KINDS, "Betting")


def effect_of_the_limit(limits: Iterable[float] = (0.2, 0.3, 0.4), n_runs: int = 50) -> Table:
    """Return what other limits of |skewness| / sqrt(runs) would change, for the default interval of a mean."""
    rows = []
    for law in ("exponential", "lognormal", "Pareto"):
        values = LAWS[law].centred(np.random.default_rng([1, n_runs]), (4 * STUDIES, n_runs))
        of, ratios = mean_over_runs(values), np.abs(skewness(values)) / n_runs**0.5
        parts = {limit: shares((of.low > 0) | (of.high < 0), ratios > limit) for limit in limits}
        cells = {f"limit {limit:g}": f"{part['silent']:.1f} ({part['warned']:.0f})" for limit, part in parts.items()}
        rows.append({"law": law} | cells)
    return coverage_table(rows)


def warned_intervals(
    simulate: Callable[[np.random.Generator, str, int], tuple[float, float]], truth: float, seed: int,
    laws: Iterable[str] = tuple(LAWS), numbers_of_runs: Iterable[int] = RUNS,
) -> list[Row]:  # fmt: skip
    """Return the errors of the intervals that `simulate(generator, law, runs)` returns, and of its warnings."""
    rows = []
    for law in laws:
        for n in numbers_of_runs:
            rng, wrong, warned = np.random.default_rng([seed, n]), np.zeros(STUDIES, bool), np.zeros(STUDIES, bool)
            for study in range(STUDIES):
                with warnings.catch_warnings(record=True, action="always", category=SkewedRunsWarning) as caught:
                    low, high = simulate(rng, law, n)
                wrong[study], warned[study] = low > truth or high < truth, bool(caught)
            rows.append({"law": law, "runs": n} | shares(wrong, warned))
    return rows


def two_studies(rng: np.random.Generator, law: str, n: int) -> tuple[float, float]:
    """Return the interval of the difference of two studies with mean 0, one of them with normal runs."""
    return difference_of_means(LAWS[law].centred(rng, n), rng.normal(size=n))[1:]


def slope(rng: np.random.Generator, law: str, n: int) -> tuple[float, float]:
    """Return the interval of the growth exponent of sums over 8 rounds, whose steps have the mean 1 deviation."""
    steps = 1.0 + LAWS[law].centred(rng, (n, len(ROUNDS))) / LAWS[law].deviation
    return growth(ROUNDS, np.cumsum(steps, axis=1))[1:]


def coverage_of_quantiles(probabilities: Iterable[float] = (0.5, 0.95), numbers_of_runs: Sequence[int] = (100, 500)):
    """Coverage of the intervals of quantiles, for a continuous and a discrete law."""
    laws = {"lognormal, sigma 2": stats.lognorm(2.0), "Poisson, mean 3": stats.poisson(3.0)}
    rows = []
    for name, law in laws.items():
        for p in probabilities:
            row: Row = {"law": name, "quantile": f"{p:g}"}
            for n in numbers_of_runs:
                values = law.rvs((STUDIES, n), random_state=np.random.default_rng([3, n])).astype(float)
                of = quantile_over_runs(values, p, 0.95)
                row[f"{n} runs"] = 100 * float(((of.low <= law.ppf(p)) & (law.ppf(p) <= of.high)).mean())
            rows.append(row)
    return coverage_table(rows, *(f"{n} runs" for n in numbers_of_runs))


def section() -> str:
    """Return the section about means."""
    return f"""\
### The mean of one learner, and the difference of two learners in the same runs

`Result.mean`, the tables, and `Result.paired_difference` have this interval (`SkewCorrected`). For a difference, the
law is that of the differences of two learners, run by run. Fewer than 6 runs have no interval. An interval is wrong if
it misses the mean:

{errors_by_runs(errors_of_means()).markdown()}
A warning comes if |skewness| / sqrt(runs) is above {LARGEST_RATIOS["mean"]:g}. Other limits, with {4 * STUDIES:,}
studies of 50 runs: percentage that is wrong without a warning, and in brackets that warns.

{effect_of_the_limit().markdown()}
### Other kinds of intervals

Percentage of studies of 50 runs in which the interval misses the mean. `Betting` requires limits of the values, so the
other laws have none.

{kinds_of_intervals().markdown()}
| interval | use it if |
| --- | --- |
| `SkewCorrected()`, the default | the limits of the losses are unknown |
| `Student()` | the mean of the runs is nearly normal, or you compare with other programs |
| `Betting(low, high)` | losses are bounded; it also covers rare losses that occur in no run, and holds at every look |
| `Anytime()` | you look at several numbers of runs, so that the interval must hold at all of them together |

### The difference of two studies

`difference_of_means` compares two samples of independent runs of equal size. One has the named law, the other is
normal with the same mean. An interval is wrong if it misses the difference:

{errors_by_runs(warned_intervals(two_studies, 0.0, 2)).markdown()}
### The slope of a curve

`Result.growth` of curves that grow linearly over 8 rounds. The steps are independent, and have the named law with
the mean 1 and the standard deviation 1. An interval is wrong if it misses the slope:

{errors_by_runs(warned_intervals(slope, 1.0, 3, numbers_of_runs=RUNS[1:])).markdown()}
### A quantile

Percentage of studies in which the interval of `Result.quantile_interval` contains the quantile. Its ends are order
statistics, so it covers at least 95 % for every law.

{coverage_of_quantiles().markdown()}"""
