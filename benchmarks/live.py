"""The workload "live": one example at a time, with d = 20, full information and squared loss.

It compares `jo.Live` with scikit-learn's `partial_fit`, with river and with a NumPy loop. A prediction comes before the
label, so it measures the time of a call. `learn` has the labels in advance. The learners are made and compiled once.

    python -m benchmarks.live
"""

from collections.abc import Iterator

import numpy as np

import jaxonline as jo
from benchmarks._workload import Workload, command, is_installed
from benchmarks.noisy_linear import STEP, data
from benchmarks.online_gradient import numpy_loop, river_stream, scikit_learn


def workloads(quick: bool) -> Iterator[Workload]:
    """Yield the workload; it is always small."""
    X, y = data()
    learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=STEP)
    live, regressor = jo.Live(learner), jo.OnlineRegressor(learner, fit_intercept=False)

    def ours() -> float:
        loss = 0.0
        for t in np.random.default_rng(1).permutation(len(y)):
            loss += (live.predict(X[t]) - y[t]) ** 2
            live.update(X[t], y[t])
        return len(y)

    def known() -> float:
        return live.learn(X, y).loss.size

    def estimator() -> float:
        for t in range(len(y)):
            regressor.partial_fit(X[t : t + 1], y[t : t + 1])
            regressor.predict(X[t : t + 1])
        return len(y)

    contenders = {"NumPy loop": lambda: numpy_loop(X, y)}
    if is_installed("sklearn"):
        contenders |= {"scikit-learn partial_fit": lambda: scikit_learn(X, y), "jaxonline, OnlineRegressor": estimator}
    if is_installed("river"):
        contenders["river"] = lambda: river_stream(X, y)
    contenders |= {"jaxonline, learn": known, "jaxonline": ours}
    yield Workload(f"live, d={X.shape[1]}", "example", contenders)


if __name__ == "__main__":
    command(__doc__, workloads)
