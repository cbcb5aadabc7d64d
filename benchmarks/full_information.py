"""The workloads "full information": gradient descent, online ridge regression and Hedge, T = 2,000, 512 runs.

numba has two loops. "numba, fastmath" may add the products of a sum in any order, as XLA does.

python -m benchmarks.full_information
"""

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import numpy as np

import jaxonline as jo
from benchmarks._jobs import FASTMATH, NUMBA, Job, Losses, studies
from benchmarks._workload import Workload, command, is_installed
from benchmarks.full_information_numba import gradient_loop, hedge_loop, ridge_loop
from benchmarks.noisy_linear import RADIUS, STEP, D, T, data

RUNS, EXPERTS, REGULARIZER = 512, 100, 1.0
GRADIENT_JOBS = (  # loss, d, order, goal
    ("squared", D, "file", 1.5),
    ("squared", D, "shuffled", 0.9),
    ("logistic", D, "file", 1.3),
    ("logistic", D, "shuffled", 0.9),
    ("squared", 200, "file", 0.9),
    ("squared", 200, "shuffled", 0.6),
)


def numba_contenders(make_loop: Callable[..., Any], *args: Any) -> dict[str, Losses]:
    """Return the loops of numba without and with the option `fastmath`; none if numba is not installed."""
    if not is_installed("numba"):
        return {}
    return {
        name: functools.partial(make_loop(fastmath=fastmath), *args)
        for name, fastmath in ((NUMBA, False), (FASTMATH, True))
    }


def gradient_descent(
    loss: str, d: int, order: str, runs: int, rounds: int, block_size: int | None = None
) -> Mapping[str, Losses]:
    """Return numba and this package: gradient descent in a ball."""
    X, y = (array[:rounds] for array in data(d))
    y = y if loss == "squared" else np.sign(y)
    scalar_loss = {"squared": jo.losses.Squared(), "logistic": jo.losses.Logistic()}[loss]
    game = jo.Game(jo.environments.DataStream(X, y, order=order), jo.FullInformation(), loss=scalar_loss)
    learner = jo.GradientLearner(jo.estimators.FullGradient(scalar_loss), step_size=STEP, radius=RADIUS)
    loops = numba_contenders(functools.partial(gradient_loop, loss, order == "shuffled", STEP, RADIUS), X, y, runs)
    return loops | studies(game, learner, runs, rounds, block_size)


def ridge(runs: int, rounds: int, block_size: int | None = None) -> Mapping[str, Losses]:
    """Return numba and this package: online ridge regression in float64."""
    X, y = (array[:rounds].astype(float) for array in data())

    def in_float64(play: Losses) -> Losses:
        def run() -> np.ndarray:
            with jax.enable_x64(True):
                return play()

        return run

    with jax.enable_x64(True):
        game = jo.Game(jo.environments.DataStream(X, y), jo.FullInformation())
        learner = jo.learners.VAW(REGULARIZER, forward=False)
    ours = {name: in_float64(play) for name, play in studies(game, learner, runs, rounds, block_size).items()}
    return numba_contenders(functools.partial(ridge_loop, REGULARIZER), X, y, runs) | ours


def hedge(runs: int, rounds: int, block_size: int | None = None) -> Mapping[str, Losses]:
    """Return numba and this package: Hedge on a table of losses."""
    table = np.random.default_rng(0).random((rounds, EXPERTS), dtype=np.float32)
    environment = jo.environments.DataStream(None, table)
    game = jo.Game(environment, jo.FullInformation(), loss=jo.losses.ExpectedLoss())
    learner = jo.learners.Hedge.over_horizon(EXPERTS, rounds)
    loops = numba_contenders(functools.partial(hedge_loop, learner.combiner.eta), table, runs)
    return loops | studies(game, learner, runs, rounds, block_size)


def jobs(quick: bool) -> Iterator[Job]:
    """Yield the jobs."""
    runs, rounds = (64, 300) if quick else (RUNS, T)
    for loss, d, order, goal in GRADIENT_JOBS:
        name = {"squared": "gradient descent", "logistic": "logistic"}[loss]
        title = f"{name}, d={d}, {order}" if order == "shuffled" else f"{name}, d={d}, file order"
        play = functools.partial(gradient_descent, loss, d, order)
        yield Job(title, rounds, runs, play, is_random=order == "shuffled", goal=goal)
    yield Job(f"online ridge, d={D}, float64", rounds, runs, ridge, is_random=False, goal=1.5)
    yield Job(f"Hedge, K={EXPERTS}", rounds, runs, hedge, is_random=False, goal=1.2)


def workloads(quick: bool) -> Iterator[Workload]:
    """Yield the workloads."""
    for job in jobs(quick):
        yield job.workload()


if __name__ == "__main__":
    command(__doc__, workloads)
