"""Errors of the bands of whole curves."""

import warnings
from collections.abc import Iterable

import numpy as np

from benchmarks.intervals.laws import LAWS, RUNS, Row, errors_by_runs, shares
from jaxonline.parameters.errors import SkewedRunsWarning
from jaxonline.results.statistics import simultaneous
from jaxonline.results.statistics.means import warn_of_skewed_curves

TITLE = "A whole curve"
ROUNDS, STUDIES = 20, 300
CHOSEN = (
    "normal", "Poisson", "exponential", "lognormal", "Pareto",
    "spikes 5%", "events 2%", "rare 2%",
)  # fmt: skip


def warns(runs: np.ndarray) -> bool:
    """Whether `Result.bands` warns of these runs [R, G]."""
    with warnings.catch_warnings(record=True, action="always", category=SkewedRunsWarning) as caught:
        warn_of_skewed_curves([runs], ["a"], "loss")
    return bool(caught)


def errors_of_bands(laws: Iterable[str] = CHOSEN, numbers_of_runs: Iterable[int] = RUNS) -> list[Row]:
    """Return the errors of the bands of cumulative sums over 20 rounds, whose expectation is 0."""
    rows = []
    for law in laws:
        for n in numbers_of_runs:
            steps = LAWS[law].centred(np.random.default_rng([4, n]), (STUDIES, n, ROUNDS))
            curves = np.cumsum(steps, axis=2)
            band = simultaneous(curves)
            wrong = ((band.low > 1e-9) | (band.high < -1e-9)).any(axis=1)
            rows.append({"law": law, "runs": n} | shares(wrong, np.array([warns(runs) for runs in curves])))
    return rows


def section() -> str:
    """Return the section about bands."""
    return f"""\
Bands of cumulative sums of independent steps at {ROUNDS} rounds, in {STUDIES} studies; the law is that of a step.
Figures of `Result.plot` show these bands. A band is wrong if it misses the expected curve in any round.

{errors_by_runs(errors_of_bands(), studies=STUDIES).markdown()}"""
