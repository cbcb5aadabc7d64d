"""The overhead of `simulate` over a plain `jax.lax.scan`: online gradient descent, 512 runs in one block, one core.

A round gathers a row for each run, predicts, adds the squared loss, and makes a gradient step with a projection on a
ball. The plain scan gets the rows of all rounds in advance. With order "iid" or "shuffled", `simulate` also draws them;
the table shows the time of these draws alone, and the rest of the time divided by the time of the plain scan.

    python -m benchmarks.plain_scan [--repeats N] [--dimensions D ...] [--json FILE]
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxonline as jo
from benchmarks._timing import machine, side_by_side
from jaxonline import random
from jaxonline.game.keys import INSTANCE, part_key
from jaxonline.random.exact import shuffled_indices

RUNS, N_ROWS, STEP, RADIUS = 512, 2000, 0.01, 1.0
PASSES = {20: 8, 200: 2}  # over the rows, by dimension: a second or less for each turn
# the loops of the plain programs stay on one core, as those of `simulate`
ONE_CORE = {"xla_disable_hlo_passes": "cpu-parallel-task-assigner"} if jax.default_backend() == "cpu" else None

Turn = Callable[[], float]


def data(d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows [N_ROWS, d] of length about 1, and targets of a linear model."""
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((N_ROWS, d)) / np.sqrt(d)).astype(np.float32)
    w = rng.standard_normal(d).astype(np.float32)
    return X, X @ (w / np.linalg.norm(w))


def plain_scan(d: int) -> Turn:
    """Return the plain program, with independent random rows."""
    X, y = (jnp.asarray(part) for part in data(d))
    rows = np.random.default_rng(1).integers(N_ROWS, size=(PASSES[d] * N_ROWS, RUNS), dtype=np.int32)

    def play_round(carry, row):
        w, loss = carry
        x = X[row]
        residual = w @ x - y[row]
        w = w - (2 * STEP * residual) * x
        return (w * (RADIUS / jnp.sqrt(jnp.maximum(w @ w, RADIUS**2))), loss + residual**2), None

    def play(rows):
        start = jnp.zeros((RUNS, d)), jnp.zeros(RUNS)
        return jax.lax.scan(lambda carry, row: (jax.vmap(play_round)(carry, row)[0], None), start, rows)[0][1]

    return _turn(play, jnp.asarray(rows), units=rows.size)


def draws(order: str, d: int) -> Turn:
    """Return a program that draws the rows of all runs as `DataStream` does, without playing."""
    keys, passes = jax.vmap(random.inlined)(jax.random.split(jax.random.key(2), RUNS)), PASSES[d]

    def shuffle(i, total):
        drawn = jax.vmap(lambda key: shuffled_indices(part_key(key, i, INSTANCE), N_ROWS))(keys)
        return total + drawn[:, 0]

    def resample(i, total):
        drawn = jax.vmap(lambda key: random.randint(part_key(key, i, INSTANCE), (), 0, N_ROWS))(keys)
        return total + drawn

    function, number = (shuffle, passes) if order == "shuffled" else (resample, passes * N_ROWS)
    return _turn(
        lambda number: jax.lax.fori_loop(0, number, function, jnp.zeros(RUNS, jnp.int32)), jnp.int32(number),
        units=passes * N_ROWS * RUNS,
    )  # fmt: skip


def ours(order: str, d: int) -> Turn:
    """Return a study of this package."""
    game = jo.Game(jo.environments.DataStream(*data(d), order=order), jo.FullInformation())
    learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=STEP, radius=RADIUS)
    rounds = PASSES[d] * N_ROWS

    def play() -> float:
        jo.simulate(game, learner, n_runs=RUNS, n_rounds=rounds, record_at=1, block_size=RUNS)
        return RUNS * rounds

    return play


def _turn(function: Callable[..., Any], *args: Any, units: int) -> Turn:
    program = jax.jit(function, compiler_options=ONE_CORE).lower(*args).compile()

    def play() -> float:
        jax.block_until_ready(program(*args))
        return units

    return play


def measure(d: int, repeats: int) -> dict[str, Any]:
    """Return the medians in ns a round and run, and the ratios to the plain scan (median, minimum and maximum)."""
    contenders = {"plain scan": plain_scan(d)} | {order: ours(order, d) for order in ("file", "iid", "shuffled")}
    contenders |= {f"draws, {order}": draws(order, d) for order in ("iid", "shuffled")}
    rates = side_by_side(contenders, repeats, {}, clock=time.process_time)
    ns = {name: [1e9 / rate for rate in values] for name, values in rates.items()}
    rows = []
    for name in ("plain scan", "file", "iid", "shuffled"):
        drawn = ns.get(f"draws, {name}", [0.0] * repeats)
        ratios = [(mine - draw) / plain for mine, draw, plain in zip(ns[name], drawn, ns["plain scan"], strict=True)]
        spread = statistics.median(ratios), min(ratios), max(ratios)
        rows.append(
            {"order": name, "ns": statistics.median(ns[name]), "draws": statistics.median(drawn), "ratio": spread}
        )
    return {"d": d, "rows": rows}


def main() -> None:
    """Measure and print a table for each dimension."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--dimensions", type=int, nargs="+", choices=list(PASSES), default=list(PASSES))
    parser.add_argument("--json", type=Path, help="write the measurements to this file")
    options = parser.parse_args()
    print(f"{machine()}; processor time in ns a round and run, medians of {options.repeats} turns")
    tables = []
    for d in options.dimensions:
        tables.append(measure(d, options.repeats))
        print(f"d = {d:<12}  time  of this, draws  (time - draws) / plain scan")
        for row in tables[-1]["rows"]:
            median, low, high = row["ratio"]
            print(f"  {row['order']:12} {row['ns']:6.1f} {row['draws']:15.1f}  {median:.2f} ({low:.2f} to {high:.2f})")
    if options.json is not None:
        options.json.write_text(json.dumps({"machine": machine(), "tables": tables}, indent=1) + "\n")


if __name__ == "__main__":
    main()
