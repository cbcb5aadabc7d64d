"""The overhead of workers: two processes of Dask on two cores, and two threads of one process, with the same store.

A first study with another key compiles the programs. The rate of empty tasks limits the number of workers
(docs/clusters.md).

    python -m benchmarks.cluster
"""

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import jaxonline as jo
from benchmarks._timing import machine, ratios, side_by_side
from jaxonline.simulation.cluster import connect_workers

D, ROUNDS, BLOCKS, WIDTH = 20, 16_000, 8, 512


def study(folder: Path, key: int, **where: Any) -> None:
    """Run a study with noisy copies, in blocks of a few seconds."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, D)).astype(np.float32) / D**0.5
    game = jo.Game(jo.environments.DataStream(X, X[:, 0]), jo.NoisyCopies(jo.noise.gaussian(0.01)))
    learner = jo.GradientLearner(jo.estimators.TwoCopies(), step_size=0.01, radius=1.0)
    sizes = {"n_runs": BLOCKS * WIDTH, "n_rounds": ROUNDS, "block_size": WIDTH}
    jo.simulate(game, learner, comparator=jo.L2Ball(1.0), key=key, checkpoint=folder, **sizes, **where)


def timed_study(root: Path, name: str, **where: Any) -> Callable[[], float]:
    """Return a contender that uses another key each time, because a finished store does not run again."""
    keys = iter(range(1000))

    def play() -> float:
        folder = root / f"{name} {next(keys)}"
        study(folder, int(folder.name.rpartition(" ")[2]), **where)
        shutil.rmtree(folder)
        return BLOCKS * WIDTH * ROUNDS

    return play


def tasks_per_second(client: Any, n: int) -> float:
    """Measure how many of n empty tasks the scheduler completes per second."""
    began = time.perf_counter()
    client.gather([client.submit(int, i, pure=False) for i in range(n)])
    return n / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, connect_workers(2) as workers:
        root = Path(folder)
        contenders = {
            "two threads": timed_study(root, "threads"),
            "two workers": timed_study(root, "workers", cluster=workers),
        }
        rates = side_by_side(contenders, options.repeats)
        speedups = ratios(rates, "two workers", "two threads")
        print(f"\n{BLOCKS} blocks of {WIDTH} runs and {ROUNDS:,} rounds, on {machine()}")
        for name, values in rates.items():
            seconds = BLOCKS * WIDTH * ROUNDS / statistics.median(values)
            print(f"  {name}: {statistics.median(values):.3g} rounds/s, {seconds:.2f} s")
        print(f"  workers / threads: {statistics.median(speedups):.2f} ({min(speedups):.2f} .. {max(speedups):.2f})")
        print(f"  empty tasks: {tasks_per_second(workers.client, 2000):,.0f} a second")


if __name__ == "__main__":
    main()
