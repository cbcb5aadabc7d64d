"""Noisy kernels: Algorithm 1 with the Gaussian kernel and the squared loss, 1,024 runs, T = 500, d = 5, p = 2.

It compares the time per run with NumPy round by round, NumPy that draws all random numbers first and predicts in
blocks, and the same compiled by numba, with one process on each core. With the paper's distribution, the length of the
gradient is 0 in 3 of 4 rounds, which do not change w. With n = 1 for certain, every round adds a term. It also prints
the memory of a run and of its expected copies.

With the paper's distribution, a round adds a term with probability 1/4, on average of level 1. Levels 0 to 3 are
tensors of 1 + 5 + 25 + 125 numbers, so a prediction has 156 multiplications and additions. A term of a deeper level, 1
in 16, is stored as copies, on average 5. After t rounds there are t/64 of them, and a prediction costs t/64 x 5 x 5
more: T^2/6 operations a run, 42,000 at T = 500, in addition to 78,000 for the tensors. A term costs 6 copies of 5
normal numbers, and about 1,000 operations. A round without a term draws three to four numbers.

    python -m benchmarks.noisy_kernel
"""

import functools
import multiprocessing
import os
from collections.abc import Callable, Iterator
from multiprocessing.pool import Pool
from typing import Any

import jax
import numpy as np

import jaxonline as jo
from benchmarks._many_runs import ManyRuns
from benchmarks._timing import parallel_blocks
from benchmarks._workload import Workload, command, is_installed
from benchmarks.noisy_kernel_numpy import SETTINGS, Outcome, problem, run, run_ahead, run_tensor
from benchmarks.noisy_kernel_rounds import run_rounds
from jaxonline.estimators import GaussianFeatureMap, Geometric, GradientLength, minimum_variance
from jaxonline.learners.kernels.noisy import NoisyKernel, Storage

ROUNDS, RUNS = 500, 1024
ONE_THREAD = {
    "OPENBLAS_NUM_THREADS": "1",  # other runs use the other cores
    "OMP_NUM_THREADS": "1",
    "MALLOC_MMAP_THRESHOLD_": "1000000000",  # reuse memory instead of returning it: up to 1.5 times faster
    "MALLOC_TRIM_THRESHOLD_": "1000000000",
}


def numba_loops(*arguments: Any, **named: Any) -> Outcome:
    from benchmarks.noisy_kernel_numba import run_numba

    return run_numba(*arguments, **named)


VARIANTS: dict[str, Callable[..., Outcome]] = {
    "NumPy, round by round": run_rounds,
    "NumPy, in blocks": run,
    "NumPy, in blocks, tensors": run_tensor,
    "NumPy, in blocks, ahead": run_ahead,
    "numba": numba_loops,
}


def learner(n_rounds: int, sure: bool) -> NoisyKernel:
    """Return our learner with the settings of the others."""
    p = SETTINGS["p"]
    feature_map = GaussianFeatureMap(jo.kernels.Gaussian(SETTINGS["width"]), Geometric(p))
    length = GradientLength.for_loss(jo.losses.Squared(), minimum_variance if sure else Geometric(p), 1.0)
    storage = Storage.for_horizon(feature_map, length, SETTINGS["d"], n_rounds)
    step = SETTINGS["eta"] / n_rounds**0.5
    return NoisyKernel(feature_map, length, step, SETTINGS["B_w"] ** 0.5, storage)


def ours(n_rounds: int, runs: int, sure: bool, width: int | None = None) -> Callable[[], float]:
    """Return a contender: a study in blocks of `width` runs, or one block for each core."""
    X, y = problem(n_rounds, SETTINGS["d"])
    noise = jo.noise.gaussian(SETTINGS["noise_sd"] ** 2)
    game, entrant = jo.Game(jo.environments.DataStream(X, y), jo.NoisyCopies(noise)), learner(n_rounds, sure)

    def play() -> float:
        size = -(-runs // parallel_blocks()) if width is None else width
        result = jo.simulate(game, entrant, n_runs=runs, n_rounds=n_rounds, record_at=1, block_size=size)
        assert result.failed.sum() + result.overflowed.sum() == 0
        return runs

    return play


def in_processes(name: str, n_rounds: int, runs: int, sure: bool) -> Callable[[], float]:
    """Return a contender that distributes the runs to one process on each core."""
    processes = os.cpu_count() or 1
    shares = [(name, range(first, runs, 4 * processes), n_rounds, sure) for first in range(4 * processes)]

    def play() -> float:
        _workers(processes).starmap(_some_runs, shares, 1)
        return runs

    return play


def _some_runs(name: str, seeds: range, n_rounds: int, sure: bool) -> None:
    settings = SETTINGS | {"T": n_rounds}
    X, y = problem(n_rounds, settings["d"])
    for seed in seeds:
        VARIANTS[name](seed, X=X, y=y, sure=sure, **settings)


@functools.cache
def _workers(processes: int) -> Pool:
    """Return the pool of processes with one thread each; they stay alive with their compiled functions."""
    before = dict(os.environ)
    os.environ.update(ONE_THREAD)
    try:
        return multiprocessing.get_context("spawn").Pool(processes)
    finally:
        os.environ.clear()
        os.environ.update(before)


def memory(n_rounds: int) -> tuple[int, float]:
    """Return the bytes of the state of a run, and of its expected copies with their coefficients.

    The paper's algorithm stores the N2 copies of every term (the pairs are numbers), a coefficient and a level. With
    the paper's distribution a round adds a term with probability 1/4, with p/(p-1) - 1 = 1 copies on average.
    """
    entrant = learner(n_rounds, sure=False)
    instance = jax.ShapeDtypeStruct((SETTINGS["d"],), np.float32)
    state = jax.eval_shape(
        lambda key: entrant.init(key, jo.game.Specs(instance, jax.ShapeDtypeStruct((), instance.dtype))),
        jax.random.key(0),
    )
    ours = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state))
    p = SETTINGS["p"]
    terms = n_rounds * (p - 1) / p**2
    return ours, terms * (SETTINGS["d"] / (p - 1) + 2) * 4


def workloads(quick: bool) -> Iterator[Workload]:
    """Yield the workloads with the paper's distribution and with n = 1 for certain."""
    rounds, runs = ROUNDS, 16 if quick else RUNS
    names = [name for name in VARIANTS if name != "numba" or is_installed("numba")]
    for sure, distribution in ((False, "the paper's law"), (True, "n = 1 for certain")):
        contenders = {"jaxonline": ours(rounds, runs, sure)}
        contenders |= {name: in_processes(name, rounds, runs, sure) for name in names}
        copies = 6 * (1 if sure else 1 / 4)  # that are used, on average
        needs = {"normals": copies * SETTINGS["d"] * rounds}
        title = f"noisy kernels, {runs:,} runs, T={rounds}, d=5, p=2, {distribution}"
        many = ManyRuns(
            f"noisy kernels, T={rounds}, d=5, p=2, {distribution}",
            lambda runs, width, sure=sure: {"jaxonline": ours(rounds, runs, sure, width)},
        )
        yield Workload(title, "run", contenders, needs=needs, many=many)


if __name__ == "__main__":
    command(__doc__, workloads, repeats=3)
    for T in (500, 1000, 10_000):
        state, copies = memory(T)
        print(f"T = {T}: {state:,} bytes a run; the expected copies take {copies:,.0f}: {state / copies:.2f} times")
