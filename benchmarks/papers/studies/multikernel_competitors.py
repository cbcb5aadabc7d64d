"""Learners outside the paper's table, on the same data: exact kernels, Nystroem features, a budget, OGD-OGD.

The first three use one kernel, the mean of the 76 published kernels. VAW on the features of all kernels, divided by
sqrt(N), approximates VAW with this kernel. OGD-OGD uses the random features of the table. Steps are fixed beforehand
and not tuned.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.spatial.distance import cdist

from benchmarks.papers.engines.kernel_competitors import (
    MAX_EXACT_ROUNDS,
    budgeted_forecasts,
    exact_forecasts,
    nystroem_forecasts,
    two_level_descent,
)
from jaxonline.estimators.dictionary import GAUSSIAN_VARIANCES, LAPLACIAN_SCALES, Dictionary
from jaxonline.results.report.tables import Number, Text
from jaxonline.study import Context

POINTS = 100  # landmarks and budget: as many as each kernel of the table has features
NORMA_STEP, OGD_STEP, OUTER_STEP, OGD_PENALTY = 0.5, 0.1, 0.5, 1e-3
EXACT, NYSTROEM, BUDGET, OGD_OGD = "exact kernel", f"Nystroem, {POINTS} landmarks", f"NORMA, {POINTS} points", "OGD-OGD"


class Errors(NamedTuple):
    """Mean squared errors on one data set by algorithm and forecaster ("ridge", "vaw" or "ogd"), one per dictionary."""

    name: str
    mse: dict[tuple[str, str], np.ndarray]


def mean_kernel(X: Float[np.ndarray, "n d"], Z: Float[np.ndarray, "k d"]) -> Float[np.ndarray, "n k"]:
    """Return the mean of the published kernels between two sets of instances."""
    squares, distances = cdist(X, Z, "sqeuclidean"), cdist(X, Z, "cityblock")
    total = np.zeros_like(squares)
    for variance in GAUSSIAN_VARIANCES:
        total += np.exp(squares / (-2.0 * variance))
    for scale in LAPLACIAN_SCALES:
        total += np.exp(distances / -scale)
    return total / (len(GAUSSIAN_VARIANCES) + len(LAPLACIAN_SCALES))


def run_competitors(
    context: Context, name: str, X: np.ndarray, y: np.ndarray, frequencies: Float[np.ndarray, "S N m d"]
) -> Errors:
    """Return the errors of the competitors, read from the checkpoint if they are stored there.

    With more than `MAX_EXACT_ROUNDS` rounds, the exact kernel and NORMA are left out: they need all kernel values.
    """

    def compute() -> dict[str, np.ndarray]:
        predictions: dict[str, Any] = {}
        if len(y) <= MAX_EXACT_ROUNDS:
            gram = mean_kernel(X, X)
            exact = exact_forecasts(gram, y)
            predictions |= {f"{EXACT}/ridge": [exact.ridge], f"{EXACT}/vaw": [exact.vaw]}
            predictions[f"{BUDGET}/ogd"] = [budgeted_forecasts(gram, y, NORMA_STEP, POINTS)]
        few = nystroem_forecasts(mean_kernel(X, X[:POINTS]), y)
        predictions |= {f"{NYSTROEM}/ridge": [few.ridge], f"{NYSTROEM}/vaw": [few.vaw]}
        steps = OGD_STEP, OUTER_STEP, OGD_PENALTY
        predictions[f"{OGD_OGD}/ogd"] = [
            two_level_descent(Dictionary(jnp.asarray(draw)), jnp.asarray(X), jnp.asarray(y), *steps)
            for draw in frequencies
        ]
        return {
            which: np.mean((np.array([np.asarray(row) for row in rows]) - y) ** 2, axis=1)
            for which, rows in predictions.items()
        }

    with jax.enable_x64(True):
        stored = context.compute_once(("competitors", X, y, frequencies), compute)
    return Errors(
        name, {(algorithm, kind): mse for path, mse in stored.items() for algorithm, kind in [path.split("/")]}
    )


def competitor_rows(results: list[Errors]) -> list[dict[str, Any]]:
    """Return one row per set and algorithm: mean squared errors x 1000 by forecaster, means over the dictionaries."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for result in results:
        for (algorithm, kind), mse in result.mse.items():
            row = rows.setdefault((result.name, algorithm), {"set": result.name, "algorithm": algorithm})
            row[kind] = 1e3 * float(mse.mean())
    return [{"ridge": None, "vaw": None, "ogd": None} | row for row in rows.values()]


COLUMNS = (
    Text("algorithm", "set, algorithm"),
    Number("ridge", "online ridge", "{:.5f}"),
    Number("vaw", "true VAW", "{:.5f}"),
    Number("ogd", "gradient descent", "{:.5f}"),
)
