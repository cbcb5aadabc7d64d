"""Significance of the differences in the published multi-kernel table, which averages five draws of the features.

The data are fixed, and the features (and OMKL-GF's own draws) are random. All algorithms use the same features in a
draw, so that differences are paired.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy import special

from jaxonline.estimators.dictionary import Dictionary, published_kernels
from jaxonline.parameters import check
from jaxonline.results.statistics import Estimate, mean_over_runs
from jaxonline.study import Context
from jaxonline.study.ready.multikernel_runs import ALGORITHMS, DESCENT, run_set_once

PUBLISHED_DRAWS = 5


class Draws(NamedTuple):
    """Mean squared errors on one data set, by algorithm and forecaster: one number per draw [D]."""

    name: str
    mse: dict[tuple[str, str], np.ndarray]


def draw_many(
    name: str, X: Float[np.ndarray, "T d"], y: Float[np.ndarray, "T"], context: Context | None = None, *,
    n_draws: int = 200, together: int = 5,
) -> Draws:  # fmt: skip
    """Run all algorithms with `n_draws` random dictionaries, of which `together` are run at the same time.

    Draw i has key `fold_in(seed, i)`. JAX draws the dictionaries. X and y are scaled as in `scaled`. The default
    context has seed 0 and no checkpoint. Raises a ValueError if `n_draws` is below 2 or a target is outside [0, 1].
    """
    check.count("n_draws", n_draws, ge=2)
    context = context or Context()
    firsts, rows = range(0, n_draws, together), []
    with jax.enable_x64(True), context.parts(len(firsts)) as part:
        root = jax.random.key(context.seed)
        draw = jax.jit(jax.vmap(lambda k: Dictionary.draw(k, published_kernels(), X.shape[1], 50).frequencies))
        for first in firsts:
            keys = jax.vmap(lambda i: jax.random.fold_in(root, i))(jnp.arange(first, first + together))
            omkl_key = jax.random.fold_in(jax.random.fold_in(root, n_draws), first)
            rows.append(run_set_once(part(f"draw {first}"), name, X, y, np.asarray(draw(keys)), key=omkl_key).mse)
    return Draws(name, {which: np.concatenate([row[which] for row in rows])[:n_draws] for which in rows[0]})


def intervals(draws: Draws, level: float = 0.95) -> dict[tuple[str, str], Estimate]:
    """Return the mean squared error over draws with its interval, by algorithm and forecaster."""
    estimate = mean_over_runs(np.stack(list(draws.mse.values())), level)
    return {which: Estimate(*(field[i] for field in estimate)) for i, which in enumerate(draws.mse)}


def interval_rows(studies: Sequence[Draws]) -> list[dict[str, Any]]:
    """Return `intervals` as rows, with the standard deviation of a single draw."""
    return [
        {"set": draws.name, "algorithm": algorithm, "forecaster": forecaster}
        | {name: float(getattr(estimate, name)) for name in ("mean", "low", "high")}
        | {"deviation": float(draws.mse[algorithm, forecaster].std(ddof=1))}
        for draws in studies
        for (algorithm, forecaster), estimate in intervals(draws).items()
    ]


def differences(studies: Sequence[Draws], level: float = 0.95) -> list[dict[str, Any]]:
    """Compare all pairs of algorithms on all sets and for both forecasters, with simultaneous intervals.

    The intervals are Student's t intervals of paired differences, with Bonferroni's correction. All intervals hold
    together with probability at least `level`, if means over draws are normal.

    Returns:
        Rows with the data set's name, the forecaster, the `better` and the `worse` algorithm by mean, the mean of worse
            - better with its limits, the share of draws in which `better` is better, the probability that means over
            five draws have the opposite order, and whether the interval excludes 0.
    """
    pairs = [
        (draws, forecaster, pair)
        for draws in studies
        for forecaster in ("ridge", "vaw")
        for pair in itertools.combinations([a for a in ALGORITHMS if _column(a, forecaster) in draws.mse], 2)
    ]
    rows = []
    for draws, forecaster, (a, b) in pairs:
        gap = draws.mse[_column(b, forecaster)] - draws.mse[_column(a, forecaster)]
        if gap.mean() < 0:
            a, b, gap = b, a, -gap
        mean, _, low, high, _ = (float(field[0]) for field in mean_over_runs(gap[None], level, together=len(pairs)))
        deviation = float(gap.std(ddof=1))
        wrong = float(special.ndtr(-mean * math.sqrt(PUBLISHED_DRAWS) / deviation)) if deviation > 0 else 0.0
        row = {"name": draws.name, "forecaster": forecaster, "better": a, "worse": b, "mean": mean, "low": low}
        rows.append(row | {"high": high, "wins": float((gap > 0).mean()), "misleading": wrong, "real": low > 0})
    return rows


def summary(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return lines that state which `differences` are significant, and which of them five draws may reverse."""
    lines = []
    for name, forecaster in dict.fromkeys((row["name"], row["forecaster"]) for row in rows):
        own = [row for row in rows if (row["name"], row["forecaster"]) == (name, forecaster)]
        real = f"{sum(row['real'] for row in own)} of {len(own)} differences are significant"
        lines.append(f"{name}, {forecaster}: {real} (simultaneous 95 % intervals)")
        for row in own:
            order, ends = "{better} < {worse}".format(**row), [1e3 * row[end] for end in ("mean", "low", "high")]
            if not row["real"]:
                lines.append("  not resolved: {} by {:.4f} ({:.4f} .. {:.4f})e-3".format(order, *ends))
            elif row["misleading"] > 0.025:
                chance = f"five draws show the other order with probability {row['misleading']:.0%}"
                lines.append(f"  significant, but {chance}: {order}")
    return lines


def _column(algorithm: str, forecaster: str) -> tuple[str, str]:
    return algorithm, "ogd" if algorithm in DESCENT else forecaster
