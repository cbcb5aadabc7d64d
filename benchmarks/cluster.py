"""What workers cost: two processes of Dask on two cores against two threads of one process, with the same store.

Both are warm: programs are compiled in a first study with another key. Then what a task costs that does nothing, and
how many blocks of this study a store takes a second: what limits many workers (docs/clusters.md).

    python -m benchmarks.cluster
"""

import argparse
import shutil
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import jaxonline as jo
from benchmarks._timing import machine, ratios, side_by_side
from jaxonline.simulation.cluster import connect_workers

D, ROUNDS, BLOCKS, WIDTH = 20, 16_000, 8, 512


def study(folder: Path, key: int, **where: Any) -> None:
    """Two learners in a game of noisy copies, in blocks of a few seconds."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, D)).astype(np.float32) / D**0.5
    game = jo.Game(jo.environments.DataStream(X, X[:, 0]), jo.NoisyCopies(jo.noise.gaussian(0.01)))
    learner = jo.GradientLearner(jo.estimators.TwoCopies(), step_size=0.01, radius=1.0)
    sizes = {"n_runs": BLOCKS * WIDTH, "n_rounds": ROUNDS, "block_size": WIDTH}
    jo.simulate(game, learner, comparator=jo.L2Ball(1.0), key=key, checkpoint=folder, **sizes, **where)


def timed(root: Path, name: str, **where: Any) -> Callable[[], float]:
    """Plays another key each time, since a store that is finished is not played again."""
    keys = iter(range(1000))

    def play() -> float:
        folder = root / f"{name} {next(keys)}"
        study(folder, int(folder.name.rpartition(" ")[2]), **where)
        shutil.rmtree(folder)
        return BLOCKS * WIDTH * ROUNDS

    return play


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, connect_workers(2) as workers:
        root = Path(folder)
        contenders = {"two threads": timed(root, "threads"), "two workers": timed(root, "workers", cluster=workers)}
        rates = side_by_side(contenders, options.repeats)
        of = ratios(rates, "two workers", "two threads")
        print(f"\n{BLOCKS} blocks of {WIDTH} runs and {ROUNDS:,} rounds, on {machine()}")
        for name, values in rates.items():
            seconds = BLOCKS * WIDTH * ROUNDS / statistics.median(values)
            print(f"  {name}: {statistics.median(values):.3g} rounds/s, {seconds:.2f} s")
        print(f"  workers / threads: {statistics.median(of):.2f} ({min(of):.2f} .. {max(of):.2f})")
        print(f"  tasks that do nothing: {workers.tasks_per_second(2000):,.0f} a second")


if __name__ == "__main__":
    main()
