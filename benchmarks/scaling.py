"""How time and memory depend on runs, dimension, horizon and cores.

python -m benchmarks.scaling --figure scaling.png [--json FILE]    # rounds a second of noisy linear
python -m benchmarks.scaling cores       # speedup by cores, in blocks of the default size
python -m benchmarks.scaling memory      # memory, and time for a round and run, up to 10^6 runs or rounds
"""

import argparse
import functools
import json
import multiprocessing
import os
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

import jaxonline as jo
from benchmarks._timing import machine, parallel_blocks, peak, ratios, side_by_side
from benchmarks.noisy_linear import RADIUS, STD, STEP
from jaxonline.results.report.plotting import (
    COLOURS,
    PAGE_WIDTH,
    legend_entries,
    set_log_scales,
    style_axes,
    use_style,
    wrap_title,
    write_figure,
)
from jaxonline.simulation.blocks import MAX_CPU_WIDTH, default_width

RUNS, D, ROUNDS = 1024, 20, 1000


class Size(NamedTuple):
    """Sizes of a study."""

    runs: int = RUNS
    d: int = D
    rounds: int = ROUNDS


AXES: dict[str, Sequence[Size]] = {
    "runs": [Size(runs=n) for n in (2, 8, 32, 128, 512, 2048, 8192)],
    "d": [Size(d=n, runs=256) for n in (2, 8, 32, 128, 512, 2048)],
    "rounds": [Size(rounds=n) for n in (10, 100, 1000, 10_000)],
}
MEMORY_SIZES = (
    (10_000, 1000), (100_000, 1000), (1_000_000, 1000), (10_000, 10_000), (1000, 100_000), (128, 1_000_000),
)  # fmt: skip
LABELS = {"runs": "runs", "d": "dimension (256 runs)", "rounds": "rounds"}


def ours(size: Size, width: int | None = None) -> float:
    """Run a study in blocks of `width` runs, by default with a block for every core or device."""
    X, y = data(size)
    game = jo.Game(jo.environments.DataStream(X, y), jo.NoisyCopies(jo.noise.gaussian(STD**2)))
    learner = jo.GradientLearner(jo.estimators.TwoCopies(), step_size=STEP, radius=RADIUS)
    if width is None:
        width = min(-(-size.runs // parallel_blocks()), 512 if jax.default_backend() == "cpu" else 16_384)
    jo.simulate(game, learner, n_runs=size.runs, n_rounds=size.rounds, record_at=1, block_size=width)
    return size.runs * size.rounds


def numpy_batched(size: Size) -> float:
    """Run at most 100 rounds of a NumPy loop, vectorised over runs."""
    X, y = data(size)
    rng, rounds = np.random.default_rng(1), min(size.rounds, 100)
    w, loss = np.zeros((size.runs, size.d), np.float32), np.zeros(size.runs)
    for t in range(rounds):
        first, second = X[t] + np.float32(STD) * rng.standard_normal((2, size.runs, size.d), dtype=np.float32)
        loss += (w @ X[t] - y[t]) ** 2
        residual = np.einsum("rd,rd->r", w, first) - y[t]
        w = w - (2 * STEP * residual)[:, None].astype(np.float32) * second
        norm = np.sqrt(np.einsum("rd,rd->r", w, w))
        w = w * np.minimum(1.0, RADIUS / np.maximum(norm, 1e-12))[:, None]
    return size.runs * rounds


def data(size: Size) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((min(size.rounds, 1000), size.d)) / np.sqrt(size.d)).astype(np.float32)
    return X, X[:, 0]


CONTENDERS = {"jaxonline": ours, "NumPy batched": numpy_batched}


@use_style("paper")
def draw(measured: dict[str, list[dict[str, Any]]], path: Path) -> None:
    """Draw three panels."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(PAGE_WIDTH, 2.7), layout="constrained")
    for axes, (name, rows) in zip(figure.subplots(1, len(measured), sharey=True), measured.items(), strict=True):
        set_log_scales(axes)
        for contender, colour, marker in zip(CONTENDERS, COLOURS, "os", strict=False):
            rates = [statistics.median(row["rates"][contender]) for row in rows]
            axes.plot([row["size"][name] for row in rows], rates, color=colour, marker=marker, label=contender)
        style_axes(axes, LABELS[name], "rounds per second" if name == "runs" else "", "")
    title = f"Noisy linear: {RUNS:,} runs, d = {D}, {ROUNDS:,} rounds, but for what varies; {machine()}"
    figure.suptitle(wrap_title(title, PAGE_WIDTH))
    figure.legend(**legend_entries(*figure.axes), loc="outside lower center", ncols=2)
    write_figure(figure, path, dpi=200)


def measure_cores(repeats: int, quick: bool) -> None:
    """Print the speedup of noisy linear by the number of cores: measured for two, computed for more.

    A core plays one block at a time. So n blocks take the time of ceil(n / c) blocks on c cores, if nothing else limits
    them.
    """
    cores = sorted(os.sched_getaffinity(0))
    X, y = data(Size())
    game = jo.Game(jo.environments.DataStream(X, y), jo.NoisyCopies(jo.noise.gaussian(STD**2)))
    print(f"{machine()}; blocks of earlier versions had 512 runs")
    for runs in (64, 1000, 10_000, 100_000):
        size = Size(runs=runs, rounds=20 if quick else max(20, min(20_000, 10**7 // runs)))
        width = default_width(game.specs, runs, "cpu")

        def play(n: int, size: Size = size, width: int = width) -> float:
            os.sched_setaffinity(0, cores[:n])
            try:
                return ours(size, width)
            finally:
                os.sched_setaffinity(0, cores)

        rates = side_by_side({f"{n} cores": functools.partial(play, n) for n in (1, 2)}, repeats, {})
        blocks, before = -(-runs // width), -(-runs // min(runs, 512))
        speedup = statistics.median(ratios(rates, "2 cores", "1 cores"))
        computed = ", ".join(f"{n} cores {blocks / -(-blocks // n):.1f}" for n in (2, 4, 8, 16, 64))
        earlier = ", ".join(f"{before / -(-before // n):.1f}" for n in (2, 4, 8, 16, 64))
        print(
            f"{runs:,} runs, {blocks} blocks: measured: 2 cores {speedup:.2f}; computed: {computed} (before {earlier})"
        )


def play_and_measure(runs: int, rounds: int) -> tuple[float, float]:
    """Return the seconds of a core and the additional megabytes of a study of UCB1, in a process that has compiled."""
    game = jo.Game(jo.environments.BernoulliArms([0.3, 0.7]), jo.Bandit(), loss=jo.losses.ArmLoss())
    for n, horizon in ((min(runs, MAX_CPU_WIDTH), 100), (runs, rounds)):
        before, start_time = peak(), time.process_time()
        jo.simulate(game, jo.learners.UCB1(), n_runs=n, n_rounds=horizon)
    return time.process_time() - start_time, peak() - before


def measure_memory(quick: bool) -> None:
    """Print memory and time of UCB1 with two arms and 40 recorded rounds, each in a new process."""
    numbers = 40 * 2 * 8 + 2 * 4  # bytes of a run: loss and queries of each recorded round, and two integers
    print(f"{machine()}; the result has {numbers} bytes for each run")
    for runs, rounds in ((200, 50), (400, 50), (200, 100)) if quick else MEMORY_SIZES:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            seconds, megabytes = pool.apply(play_and_measure, (runs, rounds))
        print(
            f"{runs:9,} runs, {rounds:9,} rounds: {1e9 * seconds / runs / rounds:5.0f} ns a round and run, "
            f"{megabytes:6.1f} MB more, {1e6 * megabytes / runs:,.0f} bytes a run",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="?", choices=("sizes", "cores", "memory"), default="sizes")
    parser.add_argument("--figure", type=Path, help="path of the figure of sizes")
    parser.add_argument("--json", type=Path, help="write the measurements of sizes to this file")
    parser.add_argument("--repeats", type=int, default=3, help="turns of sizes and cores")
    parser.add_argument("--quick", action="store_true", help="short studies of cores and memory, as a check")
    options = parser.parse_args()
    if options.part == "cores":
        measure_cores(options.repeats, options.quick)
    elif options.part == "memory":
        measure_memory(options.quick)
    else:
        measure_sizes(options)


def measure_sizes(options: argparse.Namespace) -> None:
    """Measure this package and NumPy by runs, dimension and horizon; write a file and a figure."""
    measured: dict[str, list[dict[str, Any]]] = {}
    for name, sizes in AXES.items():
        for size in sizes:
            print(f"\n{size}", flush=True)
            contenders = {label: lambda play=play, size=size: play(size) for label, play in CONTENDERS.items()}
            rates = side_by_side(contenders, options.repeats)
            print(
                "  " + ", ".join(f"{label} {statistics.median(values):.3g} rounds/s" for label, values in rates.items())
            )
            measured.setdefault(name, []).append({"size": size._asdict(), "rates": rates})
    if options.json:
        options.json.write_text(json.dumps({"machine": machine(), "axes": measured}, indent=1) + "\n")
    if options.figure:
        draw(measured, options.figure)


if __name__ == "__main__":
    main()
