"""Time to a given half-width for the quickstart's two-copy learner: plain, antithetic, with control variates, with
both.

It is the time of a run (an antithetic one has two) times the number of runs that the 95 % interval needs. In file
order, runs differ only by the noise. In shuffled order, they also differ by the order of the data, which neither option
removes.

    python -m benchmarks.variance_reduction [--runs 1024] [--figure docs/variance-reduction.png]
"""

import argparse
import json
import statistics
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import jaxonline as jo
from benchmarks._timing import machine, side_by_side
from jaxonline.results.report.plotting import COLOURS, set_log_scales, style_axes

PASSES, RADIUS, VARIANCE, ETA = 10, 1.5, 0.04, 0.5
ORDERS = {"shuffled": "shuffled in each pass and run, as in the quickstart", "file": "in file order"}
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "antithetic": {"antithetic": True},
    "control variates": {"control_variates": True},
    "both": {"antithetic": True, "control_variates": True},
}
HALF_WIDTH = 0.01  # relative to the regret


class Measured(NamedTuple):
    """Seconds of a run, and the standard deviation of the averaged values over runs, relative to the regret."""

    seconds: float
    deviation: float
    reduction: float

    def half_width(self, seconds: Any) -> Any:
        """Return the half-width of the 95 % interval after these seconds."""
        return 1.96 * self.deviation * np.sqrt(self.seconds / seconds)

    @property
    def needed(self) -> float:
        """Seconds until the half-width is `HALF_WIDTH`."""
        return self.seconds * (1.96 * self.deviation / HALF_WIDTH) ** 2


def data() -> tuple[np.ndarray, np.ndarray]:
    """Return the data of the quickstart."""
    X, y = jo.datasets.diabetes()
    X = X / X.std(axis=0)
    y = y - y.mean()
    return X / np.linalg.norm(X, axis=1).max(), y / np.abs(y).max()


def measure(order: str, runs: int, repeats: int) -> dict[str, Measured]:
    X, y = data()
    game = jo.Game(jo.environments.DataStream(X, y, order=order), jo.NoisyCopies(jo.noise.gaussian(VARIANCE)))
    learner = jo.GradientLearner(jo.estimators.TwoCopies(), jo.InverseSqrt(ETA), RADIUS)
    sizes = {"n_runs": runs, "n_rounds": PASSES * len(y), "record_at": 1, "comparator": jo.L2Ball(RADIUS)}

    results: dict[str, jo.Result] = {}

    def play(name: str) -> int:
        results[name] = jo.simulate(game, learner, **OPTIONS[name], **sizes, key=1)
        return runs

    rates = side_by_side({name: lambda name=name: play(name) for name in OPTIONS}, repeats)
    measurements, regret = {}, results["both"].mean().mean[0, -1]  # the same for all; this estimate is the most precise
    for name, result in results.items():
        deviation = float(result.mean().standard_error[0, -1] / regret * np.sqrt(runs))
        measurements[name] = Measured(
            1 / statistics.median(rates[name]), deviation, float(result.variance_reduction()[0])
        )
    return measurements


def show(order: str, measurements: dict[str, Measured]) -> None:
    print(f"\nhalf-width {HALF_WIDTH:.0%} of the regret, data {ORDERS[order]}, on {machine()}")
    print(f"  {'':16} {'ms a run':>9} {'deviation':>10} {'variance per run':>19} {'seconds needed':>15} {'gain':>7}")
    for name, one in measurements.items():
        print(
            f"  {name:16} {1000 * of.seconds:9.2f} {of.deviation:10.3%} {'/ ' + format(of.reduction, '.4g'):>19} "
            f"{one.needed:15.3g} {measurements['plain'].needed / one.needed:7.3g}"
        )


def draw(measured: dict[str, dict[str, Measured]], path: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.5, 4.8), layout="constrained")
    panels = figure.subplots(1, len(measured), sharey=True, squeeze=False)[0]
    for axes, (order, measurements) in zip(panels, measured.items(), strict=True):
        set_log_scales(axes)
        seconds = np.geomspace(0.1, 200, 50)
        for (name, one), colour in zip(measurements.items(), COLOURS, strict=False):
            gain = float(f"{measurements['plain'].needed / one.needed:.2g}")
            label = name if name == "plain" else f"{name}: {gain:,g} times faster"
            axes.plot(seconds, 100 * of.half_width(seconds), color=colour, lw=1.8, label=label)
        axes.axhline(100 * HALF_WIDTH, color="0.5", ls="--", lw=1.0)
        style_axes(axes, "seconds", "", f"data {ORDERS[order]}")
        axes.legend(frameon=False, fontsize=9)
    panels[0].set_ylabel("half-width of the 95 % interval, % of the regret")
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1024)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", help="write the measurements to this file")
    parser.add_argument("--figure", help="path of the figure of half-width against time")
    arguments = parser.parse_args()
    measured = {}
    for order in ORDERS:
        measured[order] = measure(order, arguments.runs, arguments.repeats)
        show(order, measured[order])
    if arguments.json:
        numbers = {order: {name: one._asdict() for name, one in by_name.items()} for order, by_name in measured.items()}
        Path(arguments.json).write_text(json.dumps({"machine": machine()} | numbers, indent=1) + "\n")
    if arguments.figure:
        draw(measured, arguments.figure)


if __name__ == "__main__":
    main()
