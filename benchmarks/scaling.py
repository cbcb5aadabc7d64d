"""Rounds a second of noisy linear by runs, dimension and horizon.

python -m benchmarks.scaling --figure docs/scaling.png [--json FILE]
"""

import argparse
import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

import jaxonline as jo
from benchmarks._timing import machine, parallel_blocks, side_by_side
from benchmarks.noisy_linear import RADIUS, STD, STEP
from jaxonline.results.report.plotting import COLOURS, set_log_scales, style_axes

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
LABELS = {"runs": "runs", "d": "dimension (256 runs)", "rounds": "rounds"}


def ours(size: Size) -> float:
    """Run a study with a block for every core or device."""
    X, y = data(size)
    game = jo.Game(jo.environments.DataStream(X, y), jo.NoisyCopies(jo.noise.gaussian(STD**2)))
    learner = jo.GradientLearner(jo.estimators.TwoCopies(), step_size=STEP, radius=RADIUS)
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


def draw(measured: dict[str, list[dict[str, Any]]], path: Path) -> None:
    """Draw three panels."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.5, 3.9), layout="constrained")
    for axes, (name, rows) in zip(figure.subplots(1, len(measured), sharey=True), measured.items(), strict=True):
        set_log_scales(axes)
        for contender, colour, marker in zip(CONTENDERS, COLOURS, "os", strict=False):
            rates = [statistics.median(row["rates"][contender]) for row in rows]
            axes.plot([row["size"][name] for row in rows], rates, color=colour, marker=marker, lw=1.8, label=contender)
        style_axes(axes, LABELS[name], "rounds per second" if name == "runs" else "", "")
        axes.legend(frameon=False, fontsize=9)
    figure.suptitle(
        f"Noisy linear: {RUNS:,} runs, d = {D}, {ROUNDS:,} rounds, but for what varies; {machine()}", fontsize=11
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--figure", type=Path, help="path of the figure")
    parser.add_argument("--json", type=Path, help="write the measurements to this file")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
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
