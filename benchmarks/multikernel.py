"""The workload "multikernel": 76 kernels x 100 random features in float64, one forecaster for each kernel.

The textbook update reads and writes a 100 x 100 matrix for each kernel: 2 x 76 x 80 kB = 12 MB a round, and 4 m^2 =
40,000 flops a kernel, 3 Mflop a round. Blocks of b rounds need 12 MB / b, and no memory traffic if few kernels at a
time go through all rounds (80 kB a matrix, 1 MB of cache). The flops become matrix products: 4 m^2 + 4 b m + b^2 =
54,000 a kernel at b = 32, 4.1 Mflop a round, about 25 us at 80 Gflop/s, the rate of XLA's float64 products on each of
two cores. The features are 3,800 sines and cosines, 5 us.

It also measures the published table: AR(4) and made-up sets of the sizes of Airfoil and Concrete, five dictionaries,
both forecasters, all combiners, Raker and OMKL-GF.

    python -m benchmarks.multikernel
"""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks._workload import Workload, command, is_installed
from benchmarks.papers.engines.kernels import expert_forecasts
from jaxonline.estimators.fourier import Dictionary

N, M, D, T = 76, 100, 5, 640


def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((T, D)) / np.sqrt(D)
    y = np.sin(3 * X.sum(axis=1)) + 0.1 * rng.standard_normal(T)
    return Dictionary.published(0, D).frequencies, X, y


def numpy_vectorised(frequencies: np.ndarray, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A Python loop over rounds, vectorised over kernels (Sherman-Morrison)."""
    P = np.tile(np.eye(M), (N, 1, 1))
    w = np.zeros((N, M))
    forecasts = np.empty((len(y), N))
    update = np.empty_like(P)
    for t in range(len(y)):
        angles = frequencies @ X[t]
        z = np.concatenate([np.sin(angles), np.cos(angles)], axis=1) / np.sqrt(M / 2)
        Pz = (P @ z[:, :, None])[:, :, 0]
        leverage = 1 + np.einsum("km,km->k", z, Pz)
        means = np.einsum("km,km->k", w, z)
        forecasts[t] = means / leverage
        np.multiply(Pz[:, :, None], (Pz / leverage[:, None])[:, None, :], out=update)
        P -= update
        w += ((y[t] - means) / leverage)[:, None] * Pz
    return forecasts


def numba_loops(tuned: bool):
    """Loops compiled by numba: round by round on one core; or tuned, with parallel kernels."""
    import numba

    @numba.njit(fastmath=tuned)
    def one(k, t, P, w, z, Pz, frequencies, X, y, forecasts):
        for j in range(M // 2):
            angle = 0.0
            for i in range(D):
                angle += frequencies[k, j, i] * X[t, i]
            z[j] = np.sin(angle) / np.sqrt(M / 2)
            z[j + M // 2] = np.cos(angle) / np.sqrt(M / 2)
        leverage, mean = 1.0, 0.0
        for i in range(M):
            total = 0.0
            for j in range(M):
                total += P[i, j] * z[j]
            Pz[i] = total
            leverage += z[i] * total
            mean += w[i] * z[i]
        forecasts[t, k] = mean / leverage
        for i in range(M):
            scaled = Pz[i] / leverage
            w[i] += (y[t] - mean) * scaled
            for j in range(M):
                P[i, j] -= scaled * Pz[j]

    @numba.njit
    def by_round(frequencies, X, y):
        P, w = np.zeros((N, M, M)), np.zeros((N, M))
        z, Pz = np.zeros(M), np.zeros(M)
        forecasts = np.empty((len(y), N))
        for k in range(N):
            for i in range(M):
                P[k, i, i] = 1.0
        for t in range(len(y)):
            for k in range(N):
                one(k, t, P[k], w[k], z, Pz, frequencies, X, y, forecasts)
        return forecasts

    @numba.njit(parallel=True, fastmath=True)
    def by_kernel(frequencies, X, y):
        forecasts = np.empty((len(y), N))
        for k in numba.prange(N):
            P, w, z, Pz = np.eye(M), np.zeros(M), np.zeros(M), np.zeros(M)
            for t in range(len(y)):
                one(k, t, P, w, z, Pz, frequencies, X, y, forecasts)
        return forecasts

    return by_kernel if tuned else by_round


@jax.jit
def plain_jax(frequencies, X, y):
    """Plain jax: a scan over rounds of the Sherman-Morrison update, vmapped over kernels."""

    def kernel(omega):
        def round_(carry, row):
            P, w = carry
            x, target = row
            z = jnp.concatenate([jnp.sin(omega @ x), jnp.cos(omega @ x)]) / np.sqrt(M / 2)
            Pz = P @ z
            leverage = 1 + z @ Pz
            mean = w @ z
            return (P - jnp.outer(Pz, Pz) / leverage, w + (target - mean) / leverage * Pz), mean / leverage

        return jax.lax.scan(round_, (jnp.eye(M), jnp.zeros(M)), (X, y))[1]

    return jax.vmap(kernel, out_axes=1)(frequencies)


def workloads(quick: bool) -> Iterator[Workload]:
    """Yield the forecasters of one dictionary, and the published table."""
    frequencies, X, y = data()
    X, y = (X[:64], y[:64]) if quick else (X, y)
    runs = 5  # dictionaries that jaxonline runs in parallel

    def to_float64(function: Callable[..., Any], *arguments: Any) -> Callable[[], float]:
        def play() -> float:
            with jax.enable_x64(True):
                jax.block_until_ready(function(*arguments))
            return len(y)

        return play

    with jax.enable_x64(True):
        device = jnp.asarray(frequencies), jnp.asarray(X), jnp.asarray(y)
        one, many = Dictionary(frequencies), Dictionary(np.concatenate([frequencies] * runs))
        expected = numpy_vectorised(frequencies, X, y)
        np.testing.assert_allclose(expert_forecasts(one, X, y).vaw, expected, atol=1e-9)

    def ours() -> float:
        return runs * to_float64(lambda: expert_forecasts(many, X, y).vaw)()

    contenders = {"NumPy, vectorised": to_float64(numpy_vectorised, frequencies, X, y)}
    if is_installed("numba"):
        for name, tuned in {"numba": False, "numba, tuned, parallel": True}.items():
            loops = numba_loops(tuned)
            np.testing.assert_allclose(loops(frequencies, X, y), expected, atol=1e-9)
            contenders[name] = to_float64(loops, frequencies, X, y)
    contenders |= {
        "plain jax vmap(scan)": to_float64(plain_jax, *device),
        "jaxonline, one run": to_float64(lambda: expert_forecasts(one, X, y).vaw),
        f"jaxonline, {runs} runs": ours,
    }
    flops = N * (4 * M**2 + 4 * 32 * M + 32**2)
    title = f"multikernel, {N} kernels x {M} features, T={len(y)}"
    # the others run one forecaster, jaxonline runs VAW and online ridge
    yield Workload(title, "round", contenders, f"jaxonline, {runs} runs", {"products": flops})
    if not quick and is_installed("pydantic"):  # required by studies
        yield Workload("multikernel, the published table", "table", {"jaxonline": whole_table()})


def whole_table() -> Callable[[], float]:
    """Return a contender that computes the published table."""
    from benchmarks.papers.studies.multikernel import run_set, scaled
    from jaxonline.datasets import ar4

    rng = np.random.default_rng(0)
    sets = [ar4()[1:3], *((rng.random((n, d)), rng.random(n)) for n, d in ((1503, 5), (1030, 8)))]
    frequencies = [np.stack([Dictionary.published(seed, X.shape[1]).frequencies for seed in range(5)]) for X, _ in sets]

    def play() -> float:
        with jax.enable_x64(True):
            for (X, y), drawn in zip(sets, frequencies, strict=True):
                run_set("", *scaled(X, y), drawn)
        return 1

    return play


if __name__ == "__main__":
    command(__doc__, workloads)
