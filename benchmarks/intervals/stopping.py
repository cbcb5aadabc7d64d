"""Coverage of the intervals of studies that stop when their interval is narrow (`Precision`)."""

import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

import jaxonline as jo
from benchmarks.intervals.distributions import Distribution, bernoulli, exponential
from jaxonline.parameters.errors import PrecisionWarning, SkewedRunsWarning
from jaxonline.results.report.tables import Number, Table, Text
from jaxonline.simulation.stopping_rules import until_precise

TITLE = "A study that stops when its interval is narrow"
STUDIES, MOST_RUNS, BLOCK, Q = 1000, 20_000, 64, "cumulative_loss"


def rare_large_losses() -> Distribution:
    """1 + U, where U is uniform on [-1, 1], and 50 more with probability 0.004."""
    return Distribution(
        lambda rng, size: 1.0 + rng.uniform(-1, 1, size=size) + 50.0 * (rng.random(size) < 0.004), 1.2, (0.0, 52.0)
    )


class Case(NamedTuple):
    """A distribution, a requested precision, and whether the game knows the limits of the losses."""

    distribution: Distribution
    precision: jo.Precision
    limits: bool


def wanted(half_width: float, relative: bool = False) -> jo.Precision:
    """Return the precision of the table."""
    return jo.Precision(half_width, relative=relative, quantity=Q)


CASES = {
    "1 with probability 0.005, else 0": Case(bernoulli(0.005), wanted(0.02), True),
    "1 with probability 0.02, else 0": Case(bernoulli(0.02), wanted(0.02), True),
    "1 with probability 0.02, else 0, relative": Case(bernoulli(0.02), wanted(0.5, relative=True), True),
    "1 + noise, and 50 with probability 0.004": Case(rare_large_losses(), wanted(1.0), True),
    "exponential": Case(exponential(), wanted(0.2), False),
}


def stop(case: Case, interval: Any, rng: np.random.Generator) -> tuple[jo.Result, bool]:
    """Return the result of a study that stops by itself, and whether it warned of unseen events."""
    losses = case.distribution.draw(rng, MOST_RUNS).reshape(1, -1, 1)
    zeros = np.zeros_like(losses)

    def play(runs: range, before: jo.Result | None) -> jo.Result:
        measures = {Q: losses[:, : runs.stop], "queries": zeros[:, : runs.stop]}
        return jo.Result(("a",), np.arange(runs.stop), np.array([1]), measures)

    with warnings.catch_warnings(record=True, action="always") as caught:
        result = until_precise(play, case.precision, MOST_RUNS, BLOCK, interval)
    if any(issubclass(warning.category, PrecisionWarning) for warning in caught):
        raise RuntimeError("the table needs more runs")
    return result, any(issubclass(warning.category, SkewedRunsWarning) for warning in caught)


def coverage_at_stopping(cases: Iterable[str] = tuple(CASES), studies: int = STUDIES) -> Table:
    """Coverage of the interval with which a study stops, bias of its mean, and number of its runs."""
    rows = []
    for name in cases:
        case = CASES[name]
        kinds = {"betting": jo.intervals.Betting(*case.distribution.limits, Q)} if case.limits else {}
        for kind, interval in (kinds | {"anytime": jo.intervals.Anytime()}).items():
            rng, mean = np.random.default_rng(4), case.distribution.mean
            stopped = [stop(case, interval, rng) for _ in range(studies)]
            ends = [result.mean(Q) for result, _ in stopped]
            covers = np.array([bool((of.low <= mean).all() and (mean <= of.high).all()) for of in ends])
            warned = np.array([warned for _, warned in stopped])
            bias = np.mean([of.mean.item() for of in ends]) / mean - 1.0
            half = case.precision.half_width
            rows.append(
                {
                    "distribution": name.removesuffix(", relative"), "interval": kind,
                    "half-width": f"{100 * half:g} % of the mean" if case.precision.relative else f"{half:g}",
                    "covers": 100 * covers.mean(), "or warns": 100 * (covers | warned).mean(),
                    "bias": 100 * bias, "runs": int(np.median([len(result.runs) for result, _ in stopped])),
                }
            )  # fmt: skip
    columns = (
        Text("distribution"), Text("half-width"), Text("interval"), Number("covers", "covers", "{:.1f}"),
        Number("or warns", "covers or warns", "{:.1f}"), Number("bias", "bias of the mean, %", "{:+.1f}"),
        Number("runs", "median of runs", "{:,d}"),
    )  # fmt: skip
    return Table("Stopped studies", rows, columns)


def section() -> str:
    """Return the section about stopped studies."""
    return f"""\
`simulate(stop=jo.Precision(...))` stops when every interval is narrow. The table shows the percentage of {STUDIES:,}
studies in which the interval at the end contains the mean. Studies look at the interval after {2 * BLOCK} runs, and
then again whenever the requested width is expected.

{coverage_at_stopping().markdown()}
* **Losses with known limits** have the betting interval, which promises 95 % for every distribution. Its price is the
  number of runs.
* **Other losses** have the anytime interval, which relies on the runs. If the rare loss does not occur before the first
  look, the runs look harmless, and the study stops with an interval that does not contain the mean. No number of runs
  excludes this. Therefore each such study warns (`SkewedRunsWarning`) that events with a probability below 3 / runs
  may be missing, and the printed result repeats it. Runs that do not vary never stop a study.
* **The mean of a stopped study is biased.** It is too small if a study stops before large losses occur, and too large
  if the half-width is relative to a rare loss. The interval covers in spite of this bias, so report the interval.
"""
