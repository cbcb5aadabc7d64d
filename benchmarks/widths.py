"""Time of a core for a round and run, by the number of runs in a block, and from how many runs a GPU pays off.

The rule of `blocks.default_width` rests on this table. Programs of all widths take turns in one process. The time of
the process is measured, not the time of a clock, so that other work on the machine disturbs less. The number of runs
from which a GPU pays off is an estimate from the kernels of a round (`benchmarks.kernels`): no GPU was measured.

    python -m benchmarks.widths                       # all workloads
    python -m benchmarks.widths "UCB1, K=100" --repeats 11
"""

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

import jaxonline as jo
from benchmarks.kernels import kernels_per_round
from benchmarks.noisy_kernel import SETTINGS, problem
from benchmarks.noisy_kernel import learner as noisy_kernel_learner
from jaxonline.estimators.fourier import Dictionary
from jaxonline.parameters.struct import cast_leaves
from jaxonline.simulation.blocks import MAX_CPU_WIDTH, default_mesh, default_width
from jaxonline.simulation.measures import with_defaults
from jaxonline.simulation.segments import Matchup, records_per_call, traced_programs
from jaxonline.simulation.sweeps import as_team

WIDTHS, N_ROWS = (8, 16, 32, 64, 128, 256, 512), 1000
HORIZON, KERNELS_HORIZON = 10_000, 500  # rounds of a call; the storage of noisy kernels is made for a horizon
GPU_KERNEL_SECONDS = 3e-6, 8e-6  # of a kernel with few runs, from the literature
GameAndLearner = tuple[jo.Game, Any]


def stream(d: int, feedback: Any, learner: Any, order: str = "shuffled") -> GameAndLearner:
    X = np.random.default_rng(0).normal(size=(N_ROWS, d)) / np.sqrt(d)
    return jo.Game(jo.environments.DataStream(X, X[:, 0], order=order), feedback), learner


def gradient(d: int, order: str = "shuffled") -> GameAndLearner:
    learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.1, radius=1.0)
    return stream(d, jo.FullInformation(), learner, order)


def noisy_linear(d: int) -> GameAndLearner:
    learner = jo.GradientLearner(jo.estimators.TwoCopies(), step_size=0.01, radius=1.0)
    return stream(d, jo.NoisyCopies(jo.noise.gaussian(0.01)), learner, "file")


def noisy_kernels() -> GameAndLearner:
    copies = jo.NoisyCopies(jo.noise.gaussian(SETTINGS["noise_sd"] ** 2))
    return jo.Game(jo.environments.DataStream(*problem(KERNELS_HORIZON, SETTINGS["d"])), copies), noisy_kernel_learner(
        KERNELS_HORIZON, sure=False
    )


def many_kernels() -> GameAndLearner:
    frequencies = np.random.default_rng(0).normal(size=(5, 50, 5))
    return stream(5, jo.FullInformation(), jo.learners.Raker(Dictionary(frequencies)))


def arms(n: int, learner: Any) -> GameAndLearner:
    environment = jo.environments.BernoulliArms(np.linspace(0.3, 0.7, n))
    if isinstance(learner, jo.learners.Hedge):
        return jo.Game(environment, jo.FullInformation(), loss=jo.losses.ExpectedLoss()), learner
    return jo.Game(environment, jo.Bandit(), loss=jo.losses.ArmLoss()), learner


WORKLOADS: dict[str, Callable[[], GameAndLearner]] = {
    "gradient descent, d=20, file": lambda: gradient(20, "file"),
    **{f"gradient descent, d={d}": lambda d=d: gradient(d) for d in (2, 20, 200, 784)},
    **{f"EXP3, K={k}": lambda k=k: arms(k, jo.learners.EXP3(0.01)) for k in (10, 100, 1000)},
    **{f"UCB1, K={k}": lambda k=k: arms(k, jo.learners.UCB1()) for k in (10, 100, 1000)},
    **{f"Thompson sampling, K={k}": lambda k=k: arms(k, jo.learners.BernoulliThompson()) for k in (10, 100)},
    "Hedge, K=100": lambda: arms(100, jo.learners.Hedge(jo.learners.EWA(0.1))),
    "noisy linear, d=20": lambda: noisy_linear(20),
    "noisy kernels, d=5": noisy_kernels,
    "Raker, 5 kernels, d=5": many_kernels,
    **{f"attributes, d={d}": lambda d=d: stream(d, jo.Attributes(4), jo.learners.AER(4, 0.01, 1.0)) for d in (20, 784)},
}


class Block:
    """A block of `width` runs on one core."""

    def __init__(self, game: jo.Game, learner: Any, width: int):
        team, mesh = as_team(game, "learner", learner), default_mesh(jax.devices()[:1])
        self._matchup = cast_leaves(Matchup(team.game, team.entrant, None, with_defaults(())), game.dtype)
        key = jax.random.key(0)
        programs = (traced.lower().compile() for traced in traced_programs(self._matchup, key, width, mesh))
        keys_of_runs, self._begin, self._advance = programs
        self._keys = keys_of_runs(key, np.zeros(1, np.int32))
        self.width = width
        self.kernels = kernels_per_round(self._advance.as_text())

    def play(self, n_rounds: int, horizon: int) -> float:
        """Play blocks of at most `horizon` rounds, and return the seconds of a core."""
        seconds = 0.0
        for played in range(0, n_rounds, horizon):
            carry = jax.block_until_ready(self._begin(self._matchup, self._keys))
            ends = np.zeros(records_per_call(carry) + 1, np.int32)
            ends[0], start_time = min(horizon, n_rounds - played), time.process_time()
            jax.block_until_ready(self._advance(self._matchup, self._keys, np.int32(0), ends, carry))
            seconds += time.process_time() - start_time
        return seconds


def measure(game: jo.Game, learner: Any, widths: Sequence[int], repeats: int, seconds: float, horizon: int) -> None:
    """Print the nanoseconds of all widths in turns of some seconds, and their ratio to the last width."""
    blocks = [Block(game, learner, width) for width in widths]
    rounds = []
    for block in blocks:
        block.play(100, horizon)
        rounds.append(max(100, int(100 * seconds / block.play(100, horizon))))
    turns = [
        [block.play(n, horizon) / n / block.width for block, n in zip(blocks, rounds, strict=True)]
        for _ in range(repeats)
    ]
    for i, block in enumerate(blocks):
        ratio = statistics.median(turn[i] / turn[-1] for turn in turns)
        print(f"  {block.width:4} runs: {1e9 * statistics.median(turn[i] for turn in turns):7,.0f} ns, {ratio:.2f}")
    default = default_width(game.specs, MAX_CPU_WIDTH, "cpu")
    nearest = min(range(len(widths)), key=lambda i: abs(widths[i] - default))
    core_seconds, kernels = statistics.median(turn[nearest] for turn in turns), blocks[nearest].kernels
    pays = [f"{kernels * seconds / core_seconds:,.0f}" for seconds in GPU_KERNEL_SECONDS]
    print(
        f"  default {default}; {kernels} kernels a round; a GPU is as fast as one core at {pays[0]} to {pays[1]} runs "
        "(estimate), and as c cores at c times as many",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help="by default all: " + "; ".join(WORKLOADS))
    parser.add_argument("--repeats", type=int, default=7, help="turns of each width")
    parser.add_argument("--quick", action="store_true", help="two widths and short turns, as a check that it runs")
    options = parser.parse_args()
    for name in options.workloads:
        if name not in WORKLOADS:
            parser.error(f"WORKLOAD: must be one of {'; '.join(WORKLOADS)} (got {name!r})")
    for name in options.workloads or WORKLOADS:
        print(name, flush=True)
        widths = (8, 16) if options.quick else WIDTHS
        horizon = KERNELS_HORIZON if name == "noisy kernels, d=5" else HORIZON
        measure(*WORKLOADS[name](), widths, options.repeats, 0.0 if options.quick else 0.2, horizon)


if __name__ == "__main__":
    main()
