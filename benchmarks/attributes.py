"""The workload "attributes": AER with k = 4, d = 784, 12,000 rounds, a grid of 64; made-up data like MNIST's "3 vs 5".

The grid has 8 regularisers and 8 radii. All of its runs use the same rows, as in a cross-validation. A round of a run
reads k = 4 attributes, writes k/2 coordinates and draws twice by |w|. Without trees for norms and averages, it also
computes the norm (2 d = 1,568 operations, 4 d = 3,136 bytes read) and the sum of hypotheses (3 d operations, 12 d
bytes). The loop in numba is that of a paper's supplement: it shrinks w, sorts |w| if w is outside of the ball, and adds
w to the average. "numba, no sorting" projects by Newton's method, as `engines.attribute_streams` does.

    python -m benchmarks.attributes
"""

import functools
from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks._many_runs import ManyRuns, shorten_horizon
from benchmarks._workload import Workload, command, is_installed
from benchmarks.papers.engines.attributes import play_streams
from jaxonline._xla.threads import run_parallel

D, T, K = 784, 12_000, 4
RATES, RADII = np.geomspace(2.0, 50.0, 8), np.geomspace(1.0, 16.0, 8)


def data() -> tuple[np.ndarray, np.ndarray]:
    """Return centred images of two classes, with some constant pixels."""
    rng = np.random.default_rng(0)
    y = np.sign(rng.standard_normal(T)).astype(np.float32)
    means = rng.uniform(0, 0.6, size=(2, D)) * (rng.uniform(size=D) < 0.8)
    X = np.clip(means[(y > 0).astype(int)] + 0.3 * rng.standard_normal((T, D)) * (means[0] > 0), 0, 1)
    return (X - X.mean(axis=0)).astype(np.float32), y


@functools.cache
def numba_loop(sort: bool):
    """Loops compiled by numba, one run on each core."""
    import numba

    @numba.njit
    def threshold(w, radius):
        if sort:
            sizes = np.sort(np.abs(w))[::-1]
            total, tau = 0.0, 0.0
            for i in range(len(sizes)):
                total += sizes[i]
                if sizes[i] > (total - radius) / (i + 1):
                    tau = (total - radius) / (i + 1)
            return tau
        tau = 0.0
        while True:
            total, alive = 0.0, 0
            for i in range(len(w)):
                if abs(w[i]) > tau:
                    total += abs(w[i]) - tau
                    alive += 1
            if total <= radius * (1 + 1e-6):
                return tau
            tau += (total - radius) / alive

    @numba.njit(parallel=True)
    def play(X, y, rates, radii):
        R, (m, d) = len(rates), X.shape
        averages = np.zeros((R, d), np.float32)
        for r in numba.prange(R):
            np.random.seed(r)  # noqa: NPY002
            w = np.zeros(d, np.float32)
            chosen = np.zeros(K // 2, np.int64)
            norm = 0.0
            for t in range(m):
                y_hat = 0.0
                for _ in range(K // 2):
                    point, i = np.random.random() * norm, -1  # noqa: NPY002
                    while point >= 0 and i < d - 1:
                        i += 1
                        point -= abs(w[i])
                    y_hat += 2 / K * np.sign(w[max(i, 0)]) * norm * X[t, max(i, 0)]
                chosen[0] = np.random.randint(d)  # noqa: NPY002
                for h in range(1, K // 2):
                    chosen[h] = np.random.randint(d)  # noqa: NPY002
                    while chosen[h] == chosen[h - 1]:
                        chosen[h] = np.random.randint(d)  # noqa: NPY002
                shrink = 1 - 1 / (t + 1)
                for i in range(d):
                    w[i] *= shrink
                step = 2 / (rates[r] * (t + 1)) * (y_hat - y[t]) * 2 / K * d
                for h in range(K // 2):
                    w[chosen[h]] -= step * X[t, chosen[h]]
                norm = 0.0
                for i in range(d):
                    norm += abs(w[i])
                if norm > radii[r]:
                    tau, norm = threshold(w, radii[r]), 0.0
                    for i in range(d):
                        w[i] = np.sign(w[i]) * max(abs(w[i]) - tau, 0.0)
                        norm += abs(w[i])
                for i in range(d):
                    averages[r, i] += w[i]
        return averages / m

    return play


def workloads(quick: bool) -> Iterator[Workload]:
    """Yield the workload."""
    n = 300 if quick else T
    X, y = (part[:n] for part in data())
    rates, radii = (part.ravel() for part in np.meshgrid(RATES, RADII))
    rows, halves = np.arange(n)[None], np.array_split(np.arange(len(rates)), 2)
    device_X, device_y = jnp.asarray(X), jnp.asarray(y)

    def ours() -> float:
        jobs = [
            lambda part=part: play_streams(
                "aer", device_X, device_y, rows, jax.random.split(jax.random.key(0), 1), rates[part], radii[part], K
            )
            for part in (halves if jax.default_backend() == "cpu" else [slice(None)])
        ]
        run_parallel(jobs)
        return len(rates) * n

    def many(runs: int, width: int) -> dict[str, Callable[[], float]]:
        """Return the contender for several streams, each with the whole grid."""
        streams, rounds = -(-runs // len(rates)), shorten_horizon(n, runs)
        order = np.random.default_rng(2).integers(n, size=(streams, rounds), dtype=np.int32)
        keys = jax.random.split(jax.random.key(0), streams)

        def play() -> float:
            jax.block_until_ready(play_streams("aer", device_X, device_y, order, keys, rates, radii, K))
            return streams * len(rates) * rounds

        return {"jaxonline": play}

    def numba(sort: bool) -> float:
        numba_loop(sort)(X, y, rates, radii)
        return len(rates) * n

    contenders = {"jaxonline": ours}
    if is_installed("numba"):
        contenders |= {"numba, sorting": lambda: numba(True), "numba, no sorting": lambda: numba(False)}
    title, of_many = f"attributes, AER, d={D}, k={K}", ManyRuns(f"attributes, AER, d={D}, k={K}", many, in_blocks=False)
    yield Workload(f"{title}, {n:,} rounds, grid of {len(rates)}", "round", contenders, many=of_many)


if __name__ == "__main__":
    command(__doc__, workloads, repeats=3)
