"""The workload "noisy linear": d = 20, T = 2000, 1,000 runs, two Gaussian copies, gradient descent in a ball.

A round draws 40 normal numbers (two copies of 20), and needs about 8 d = 160 floating-point operations and 2 d floats
of state read and written, 160 bytes. Most of the time is for the normal numbers: each needs about 20 threefry rounds
and an inverse error function, about 100 operations, 4,000 a round.

    python -m benchmarks.noisy_linear
"""

from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np

import jaxonline as jo
from benchmarks._many_runs import ManyRuns, shorten_horizon
from benchmarks._timing import parallel_blocks
from benchmarks._workload import Workload, command, is_installed

D, T, RUNS, STD, STEP, RADIUS = 20, 2000, 1000, 0.1, 0.01, 1.0


def data(d: int = D) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((T, d)) / np.sqrt(d)).astype(np.float32)
    weights = rng.standard_normal(d).astype(np.float32)
    return X, X @ (weights / np.linalg.norm(weights))


def numpy_loop(X: np.ndarray, y: np.ndarray, runs: int) -> float:
    """A Python loop over runs and rounds, as in a paper's supplement."""
    rng = np.random.default_rng(1)
    for _ in range(runs):
        w, loss = np.zeros(D, np.float32), 0.0
        for t in range(T):
            first, second = X[t] + STD * rng.standard_normal((2, D), dtype=np.float32)
            loss += (w @ X[t] - y[t]) ** 2
            w = w - STEP * 2 * (w @ first - y[t]) * second
            w = w * min(1.0, RADIUS / max(np.sqrt(w @ w), 1e-12))
    return runs * T


def numpy_batched(X: np.ndarray, y: np.ndarray, runs: int) -> float:
    """A Python loop over rounds, vectorised over runs."""
    rng = np.random.default_rng(1)
    w, loss = np.zeros((runs, D), np.float32), np.zeros(runs)
    for t in range(T):
        noise = rng.standard_normal((2, runs, D), dtype=np.float32)
        (first, second), clean = X[t] + np.float32(STD) * noise, w @ X[t]
        loss += (clean - y[t]) ** 2
        residual = np.einsum("rd,rd->r", w, first) - y[t]
        w = w - (2 * STEP * residual)[:, None].astype(np.float32) * second
        norm = np.sqrt(np.einsum("rd,rd->r", w, w))
        w = w * np.minimum(1.0, RADIUS / np.maximum(norm, 1e-12))[:, None]
    return runs * T


def numba_parallel():
    """Loops compiled by numba, with parallel runs."""
    import numba

    @numba.njit(parallel=True, fastmath=True)
    def play(X, y, runs):
        total = np.zeros(runs)
        for run in numba.prange(runs):
            np.random.seed(run)  # noqa: NPY002
            w, first, second = np.zeros(D), np.zeros(D), np.zeros(D)
            for t in range(T):
                clean, noisy = 0.0, 0.0
                for j in range(D):
                    second[j] = X[t, j] + STD * np.random.standard_normal()  # noqa: NPY002
                    clean += w[j] * X[t, j]
                for j in range(D):
                    first[j] = X[t, j] + STD * np.random.standard_normal()  # noqa: NPY002
                    noisy += w[j] * first[j]
                total[run] += (clean - y[t]) ** 2
                norm = 0.0
                for j in range(D):
                    w[j] -= STEP * 2 * (noisy - y[t]) * second[j]
                    norm += w[j] * w[j]
                scale = min(1.0, RADIUS / max(np.sqrt(norm), 1e-12))
                for j in range(D):
                    w[j] *= scale
        return total

    return play


@jax.jit
def plain_jax(keys, X, y):
    """Plain jax: vmap of a scan, only for this learner."""

    def run(key):
        def round_(carry, row):
            w, key, loss = carry
            x, target = row
            key, draw = jax.random.split(key)
            first, second = x + STD * jax.random.normal(draw, (2, D))
            loss = loss + (w @ x - target) ** 2
            w = w - STEP * 2 * (w @ first - target) * second
            w = w * jnp.minimum(1.0, RADIUS / jnp.maximum(jnp.linalg.norm(w), 1e-12))
            return (w, key, loss), None

        return jax.lax.scan(round_, (jnp.zeros(D), key, 0.0), (X, y))[0][2]

    return jax.vmap(run)(keys)


def workloads(quick: bool) -> Iterator[Workload]:
    """Yield the workload."""
    runs = 64 if quick else RUNS
    X, y = data()
    game = jo.Game(jo.environments.DataStream(X, y), jo.NoisyCopies(jo.noise.gaussian(STD**2)))
    learner = jo.GradientLearner(jo.estimators.TwoCopies(), step_size=STEP, radius=RADIUS)
    device_X, device_y = jnp.asarray(X), jnp.asarray(y)

    def ours() -> float:
        jo.simulate(game, learner, n_runs=runs, n_rounds=T, block_size=-(-runs // parallel_blocks()))
        return runs * T

    def plain(runs: int, rounds: int = T) -> Callable[[], float]:  # on the first device
        keys = jax.random.split(jax.random.key(0), runs)

        def play() -> float:
            plain_jax(keys, device_X[:rounds], device_y[:rounds]).block_until_ready()
            return runs * rounds

        return play

    def many(runs: int, width: int) -> dict[str, Callable[[], float]]:
        rounds = shorten_horizon(T, runs)

        def ours() -> float:
            jo.simulate(game, learner, n_runs=runs, n_rounds=rounds, record_at=1, block_size=width)
            return runs * rounds

        return {"jaxonline": ours, "plain jax vmap(scan)": plain(runs, rounds)}

    jobs = {"NumPy loop": lambda: numpy_loop(X, y, 8), "NumPy batched": lambda: numpy_batched(X, y, runs)}
    if is_installed("numba"):
        compiled = numba_parallel()
        jobs["numba, parallel"] = lambda: compiled(X, y, runs).size * T
    jobs |= {"plain jax vmap(scan)": plain(runs), "jaxonline": ours}
    yield Workload(
        f"noisy linear, d={D}, T={T:,}, {runs:,} runs", "round", jobs, needs={"normals": 2 * D, "bytes": 8 * D},
        many=ManyRuns(f"noisy linear, d={D}", many),
    )  # fmt: skip


if __name__ == "__main__":
    command(__doc__, workloads)
