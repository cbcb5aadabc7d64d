"""The gain of each workaround for compilers, in jobs of the benchmark suite.

    python -m benchmarks.workarounds [NAME ...] [--repeats N] [--json FILE]

A job's rounds are compiled with and without the workaround, and both programs take turns in one process, in a single
thread. If the ratio (time without / time with) is below 1.05 in all of its jobs, the workaround should be removed. NAME
is a part of the name of a workaround, or the name of a job.
"""

import argparse
import contextlib
import importlib
import json
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np

import jaxonline as jo
from benchmarks import bandits, noisy_kernel, noisy_linear
from jaxonline._xla import compile_options
from jaxonline._xla.threads import usable_cores
from jaxonline.parameters.struct import cast_leaves
from jaxonline.random.threefry import to_jax
from jaxonline.simulation import segments
from jaxonline.simulation.blocks import default_mesh
from jaxonline.simulation.measures import with_defaults
from jaxonline.simulation.sweeps import as_team

SECONDS = 0.3  # of one call

Work = Callable[[], Any]
Patches = dict[str, Any]  # replacements by "module.name"


class Job(NamedTuple):
    """A game with a learner, the number of rounds, and the number of runs in a block."""

    game: jo.Game
    learner: Any
    rounds: int
    width: int


def _noisy_linear() -> Job:
    stream = jo.environments.DataStream(*noisy_linear.data())
    game = jo.Game(stream, jo.NoisyCopies(jo.noise.gaussian(noisy_linear.STD**2)))
    learner = jo.GradientLearner(jo.estimators.TwoCopies(), step_size=noisy_linear.STEP, radius=noisy_linear.RADIUS)
    return Job(game, learner, noisy_linear.T, 128)


def _gradient(order: str) -> Job:
    game = jo.Game(jo.environments.DataStream(*noisy_linear.data(), order=order), jo.FullInformation())
    learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=noisy_linear.STEP)
    return Job(game, learner, noisy_linear.T, 128)


def _noisy_kernels(sure: bool) -> Job:
    rounds, settings = noisy_kernel.ROUNDS, noisy_kernel.SETTINGS
    stream = jo.environments.DataStream(*noisy_kernel.problem(rounds, settings["d"]))
    game = jo.Game(stream, jo.NoisyCopies(jo.noise.gaussian(settings["noise_sd"] ** 2)))
    return Job(game, noisy_kernel.learner(rounds, sure), rounds, 128)


def _bandit(policy: str, n_arms: int) -> Job:
    return Job(*bandits.study_arguments(policy, n_arms, 5000), 5000, 128 if n_arms < 100 else 64)


JOBS: dict[str, Callable[[], Job]] = {
    "noisy linear": _noisy_linear,
    "online gradient, shuffled": lambda: _gradient("shuffled"),
    "noisy kernels": lambda: _noisy_kernels(False),
    "noisy kernels, n = 1": lambda: _noisy_kernels(True),
    **{
        f"{policy}, K={n_arms}": lambda policy=policy, n_arms=n_arms: _bandit(policy, n_arms)
        for policy, n_arms in (
            ("UCB1", 10), ("UCB1", 100), ("UCB1", 1000), ("EXP3", 10), ("epsilon-greedy", 10), ("epsilon-greedy", 100),
            ("Thompson", 100), ("KL-UCB", 200),
        )
    },
}  # fmt: skip


def _call(function: Callable[..., Any], *args: Any) -> Any:
    return function(*args)


def _same(value: Any) -> Any:
    return value


def _first_argmin(values: jax.Array, order: Any = None) -> jax.Array:
    if order is None:
        return jnp.argmin(values).astype(jnp.int32)
    return order.things[jnp.argmin(values[order.things])]


def _permutation(key: jax.Array, n: int) -> jax.Array:
    return jax.random.permutation(to_jax(key), n).astype(jnp.int32)


KERNELS = ("noisy kernels", "noisy kernels, n = 1")
BATCH_MAX = {f"{module}.batch_max": _same for module in ("random.exact", "numerics.ragged", "_xla.barriers")}
OPAQUE = {"numerics.elementwise.opaque_zero": lambda _: 0, "random.threefry.opaque_one": lambda _: 1}
ROUNDS: dict[str, tuple[tuple[str, ...], Patches]] = {
    "compute_once: one entry of a lazy vector": (("UCB1, K=10", "epsilon-greedy, K=10"), {
        "losses.arms.compute_once": _call}),
    "compute_once: the number that decides a draw": (("epsilon-greedy, K=10", "epsilon-greedy, K=100"), {
        "random.exact.compute_once": _call}),
    "random.inlined: threefry": (("noisy linear", *KERNELS), {"random.inlined": _same}),
    "random.threefry: keys without concatenation": (KERNELS, {
        "random.threefry._pair": lambda a, b: jnp.stack([a, b], axis=-1)}),
    "random.threefry: few keys one by one": (KERNELS, {"random.threefry._MAX_UNROLLED_KEYS": 0}),
    "random.stack_draws: whole registers": (("noisy linear",), {"random.threefry.is_inlined": lambda _: False}),
    "random.permutation: sort of 64-bit numbers": (("online gradient, shuffled",), {
        "environments.data.shuffled_indices": _permutation}),
    "random.weighted_index: search in blocks": (("epsilon-greedy, K=100",), {
        "random.exact._SEARCHED_AT_ONCE": 10**9}),
    "sincos_small: a short series": (("Thompson, K=100",), {
        "random.exact.sincos_small": lambda angle: (jnp.sin(angle), jnp.cos(angle))}),
    "first_argmin: two searches": (("UCB1, K=100", "UCB1, K=1000"), {
        "learners.bandits.index_policies.first_argmin": _first_argmin}),
    "first_argmin: one search in few numbers": (("UCB1, K=10", "epsilon-greedy, K=10"), {
        "numerics.elementwise._SHORT": 0}),
    "opaque_one: arrays that are read and updated": (KERNELS, OPAQUE),
    "batch_max: loops of different lengths": (("Thompson, K=100", *KERNELS), BATCH_MAX),
    "short_axes: unrolled sums": (KERNELS, {"numerics.triangular._MAX_UNROLLED": 0}),
    "prefix_sums: sums in blocks": (KERNELS, {"numerics.elementwise._MAX_BLOCKS": 0}),
    "Program: wide vectors": (("KL-UCB, K=200", "EXP3, K=10"), {"_xla.compile_options._WIDE_VECTORS": {}}),
}  # fmt: skip


@contextlib.contextmanager
def without(patches: Patches) -> Iterator[None]:
    """Context in which names of this package are replaced."""
    with contextlib.ExitStack() as stack:
        for name, replacement in patches.items():
            module, _, attribute = name.rpartition(".")
            owner = importlib.import_module(f"jaxonline.{module}")
            stack.enter_context(mock.patch.object(owner, attribute, replacement))
        yield


def compile_rounds(job: Job, patches: Patches) -> Callable[[int], float]:
    """Compile the rounds of a block; returns a function that plays rounds and returns the seconds."""
    with without(patches):
        jax.clear_caches()
        for program in (segments.keys_of_runs, segments.begin, segments.advance):
            program._compiled.clear()
        team, mesh = as_team(job.game, "learner", job.learner), default_mesh(jax.devices()[:1])
        matchup = cast_leaves(segments.Matchup(team.game, team.entrant, None, with_defaults(())), job.game.dtype)
        traced = segments.traced_programs(matchup, jax.random.key(0), job.width, mesh)
        keys_of_runs, begin, advance = (program.lower().compile() for program in traced)

    def play(rounds: int) -> float:
        keys = keys_of_runs(jax.random.key(0), np.zeros(1, np.int32))
        carry = jax.block_until_ready(begin(matchup, keys))
        ends = np.zeros(segments.records_per_call(carry) + 1, np.int32)
        ends[0] = rounds
        start_time = time.perf_counter()
        jax.block_until_ready(advance(matchup, keys, np.int32(0), ends, carry))
        return time.perf_counter() - start_time

    return play


def measure_rounds(name: str, job: str, repeats: int) -> dict[str, Any]:
    """Measure the nanoseconds of a round of one run with and without a workaround."""
    game = JOBS[job]()
    own, other = compile_rounds(game, {}), compile_rounds(game, ROUNDS[name][1])
    own(50)
    rounds = min(game.rounds, max(20, round(50 * SECONDS / own(50))))
    turns = [(own(rounds), other(rounds)) for _ in range(repeats + 1)][1:]
    nanoseconds = 1e9 / (rounds * game.width)
    return _row(name, job, turns, nanoseconds)


def _row(name: str, job: str, turns: list[tuple[float, float]], scale: float) -> dict[str, Any]:
    own, other = (statistics.median(times) * scale for times in zip(*turns, strict=True))
    ratio = statistics.median(other / own for own, other in turns)
    return {"workaround": name, "job": job, "with": own, "without": other, "ratio": ratio}


def _compilation() -> tuple[Work, Work]:
    """Compile an estimator's check, as `jo.verify.unbiased` does."""
    counter = iter(range(10**6))

    def small_program(A: jax.Array) -> Any:
        return sum(jnp.exp(jnp.sin(A * k)) @ jnp.tanh(A + k) for k in range(12)) * 1e-3

    def compile_with(options):
        k = next(counter)  # a new program each time, so that no cache has it
        jax.jit(lambda A: small_program(A + k), compiler_options=options).lower(jnp.eye(8)).compile()

    return lambda: compile_with(compile_options.fast_compile_options("cpu")), lambda: compile_with(None)


def _products() -> tuple[Work, Work]:
    """Products of small float64 matrices, as in the workload `multikernel`."""

    def steps(P, G):
        return jax.lax.fori_loop(0, 50, lambda _, P: P - G @ (jnp.swapaxes(G, 1, 2) @ P), P)

    with jax.enable_x64(True):
        P = jnp.asarray(np.random.default_rng(0).normal(size=(12, 100, 100)), jnp.float64)
        G = 1e-2 * P[:, :, :32]
        programs = [
            jax.jit(steps, compiler_options=options).lower(P, G).compile()
            for options in (compile_options.matmul_options("cpu"), None)
        ]

    def run(program):
        with jax.enable_x64(True):
            jax.block_until_ready(program(P, G))

    own, other = programs
    return lambda: run(own), lambda: run(other)


PROGRAMS: dict[str, tuple[str, Callable[[], tuple[Work, Work]]]] = {
    "fast_compile_options: compilation": ("a program of 60 operations (ms)", _compilation),
    "matmul_options: products of float64": ("50 steps of 12 matrices (ms)", _products),
}


def measure_program(name: str, repeats: int) -> dict[str, Any]:
    """Measure the milliseconds of a call with and without a workaround."""
    job, make = PROGRAMS[name]
    works = make()

    def seconds(work: Work) -> float:
        start_time = time.perf_counter()
        work()
        return time.perf_counter() - start_time

    turns = [(seconds(works[0]), seconds(works[1])) for _ in range(repeats + 1)][1:]
    return _row(name, job, turns, 1e3)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="part of the name of a workaround or job")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    pairs = [(name, job) for name, (jobs, _) in ROUNDS.items() for job in jobs]
    pairs += [(name, job) for name, (job, _) in PROGRAMS.items()]
    rows = []
    print(f"{'workaround':46} {'job':34} {'with':>8} {'without':>8}  ratio   (ns a round of one run)")
    for name, job in pairs:
        if options.names and not any(part in (name, job) or part in name for part in options.names):
            continue
        measured = measure_rounds(name, job, options.repeats) if name in ROUNDS else None
        row = measured or measure_program(name, options.repeats)
        rows.append(row)
        print(f"{name:46} {job:34} {row['with']:8.1f} {row['without']:8.1f} {row['ratio']:6.2f}", flush=True)
    if options.json is not None:
        machine = f"{jax.default_backend()} x {usable_cores()}, {platform.machine()}, jax {jax.__version__}"
        everything = json.loads(options.json.read_text()) if options.json.exists() else {}
        everything[f"jax {jax.__version__}"] = {"machine": machine, "workarounds": rows}
        options.json.write_text(json.dumps(everything, indent=1) + "\n")


if __name__ == "__main__":
    main()
