"""The workload "online gradient": d = 20, T = 2000, full information, squared loss, data shuffled in every run.

Scikit-learn and river have learners for this workload. A round needs 8 d = 160 floating-point operations, 2 d floats of
state and the row, 240 bytes, and half a random number for the order of the data.

    python -m benchmarks.online_gradient
"""

from collections.abc import Callable, Iterator

import numpy as np

import jaxonline as jo
from benchmarks._many_runs import ManyRuns, shorten_horizon
from benchmarks._timing import parallel_blocks
from benchmarks._workload import Workload, command, is_installed
from benchmarks.full_information_numba import gradient_loop
from benchmarks.noisy_linear import STEP, D, T, data


def numpy_loop(X: np.ndarray, y: np.ndarray) -> float:
    """A Python loop over rounds."""
    w, loss = np.zeros(D, np.float32), 0.0
    for t in np.random.default_rng(1).permutation(T):
        residual = w @ X[t] - y[t]
        loss += residual**2
        w = w - 2 * STEP * residual * X[t]
    return T


def numpy_batched(X: np.ndarray, y: np.ndarray, runs: int) -> float:
    """A Python loop over rounds, vectorised over runs."""
    order = np.random.default_rng(1).permuted(np.tile(np.arange(T), (runs, 1)), axis=1)
    w, loss = np.zeros((runs, D), np.float32), np.zeros(runs)
    for t in range(T):
        x = X[order[:, t]]
        residual = np.einsum("rd,rd->r", w, x) - y[order[:, t]]
        loss += residual**2
        w = w - np.float32(2 * STEP) * residual[:, None] * x
    return runs * T


def scikit_learn(X: np.ndarray, y: np.ndarray) -> float:
    """`SGDRegressor.partial_fit`, one row at a time."""
    from sklearn.linear_model import SGDRegressor

    # its squared loss is half of ours
    model = SGDRegressor(penalty=None, fit_intercept=False, learning_rate="constant", eta0=2 * STEP)
    loss = 0.0
    model.partial_fit(X[:1] * 0, y[:1] * 0)
    for t in np.random.default_rng(1).permutation(T):
        loss += (model.predict(X[t : t + 1])[0] - y[t]) ** 2
        model.partial_fit(X[t : t + 1], y[t : t + 1])
    return T


def river_stream(X: np.ndarray, y: np.ndarray) -> float:
    """river's `LinearRegression`, one dictionary at a time."""
    from river.linear_model import LinearRegression
    from river.optim import SGD

    model, loss = LinearRegression(optimizer=SGD(STEP), intercept_lr=0.0), 0.0
    rows = [dict(enumerate(row.tolist())) for row in X]
    for t in np.random.default_rng(1).permutation(T):
        loss += (model.predict_one(rows[t]) - y[t]) ** 2
        model.learn_one(rows[t], float(y[t]))
    return T


def workloads(quick: bool) -> Iterator[Workload]:
    """Yield the workload."""
    runs = 64 if quick else 1000
    X, y = data()
    game = jo.Game(jo.environments.DataStream(X, y, order="shuffled"), jo.FullInformation())
    learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=STEP)

    def ours() -> float:
        jo.simulate(game, learner, n_runs=runs, n_rounds=T, block_size=-(-runs // parallel_blocks()))
        return runs * T

    def many(runs: int, width: int) -> dict[str, Callable[[], float]]:
        rounds = shorten_horizon(T, runs)

        def play() -> float:
            jo.simulate(game, learner, n_runs=runs, n_rounds=rounds, record_at=1, block_size=width)
            return runs * rounds

        return {"jaxonline": play}

    contenders = {"NumPy loop": lambda: numpy_loop(X, y), "NumPy batched": lambda: numpy_batched(X, y, runs)}
    if is_installed("sklearn"):
        contenders["scikit-learn partial_fit"] = lambda: scikit_learn(X, y)
    if is_installed("river"):
        contenders["river"] = lambda: river_stream(X, y)
    if is_installed("numba"):
        play = gradient_loop("squared", shuffled=True, step=STEP, fastmath=True)
        contenders["numba, parallel"] = lambda: play(X, y, runs).size * T
    contenders["jaxonline"] = ours
    title, of_many = f"online gradient, d={D}, T={T:,}, {runs:,} runs", ManyRuns(f"online gradient, d={D}", many)
    yield Workload(title, "round", contenders, needs={"bytes": 12 * D}, many=of_many)


if __name__ == "__main__":
    command(__doc__, workloads)
