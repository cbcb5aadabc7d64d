"""Contextual policies over many runs beside NumPy loops of one run: d = 20 features, K = 10 arms.

    python -m benchmarks.contextual [--runs 1000] [--rounds 500] [--processor-time]

Both sides play the same table of contexts [T, K, d] and losses [T, K], in one process, without a random environment.
The NumPy loops update one inverse matrix in each round (Sherman and Morrison), as a user would write them. Bagging
has 5 models. Prints the rounds per second and their ratio; with `--processor-time`, per second of one core, for a
machine that is busy.
"""

import argparse
import functools
import time
from collections.abc import Callable, Iterator

import jax
import numpy as np

import jaxonline as jo

K, D, MODELS = 10, 20, 5
BLOCK = 64  # runs in a block: the matrices of its arms fit the cache


def table(rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """Return contexts and losses."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rounds, K, D)) / np.sqrt(D)
    return x, np.clip(0.5 + 0.2 * x @ rng.normal(size=D) + 0.1 * rng.normal(size=(rounds, K)), 0, 1)


def numpy_run(policy: str, model: str, x: np.ndarray, losses: np.ndarray, rng: np.random.Generator) -> None:
    """Play one run of a policy with a loop of NumPy."""
    n = 1 if model == "shared" else K
    A, b = np.eye(D), np.zeros(D)  # of a hybrid model
    P, w = np.tile(np.eye(D), (n, 1, 1)), np.zeros((n, D))
    for t, (features, loss) in enumerate(zip(x, losses, strict=True)):
        means = features @ w[0] if n == 1 else (features * w).sum(axis=1)
        if policy in ("LinUCB", "LinThompson", "LogisticUCB", "LogisticThompson"):
            if policy.endswith("Thompson") and n == 1:
                means = features @ (w[0] + np.linalg.cholesky(P[0]) @ rng.standard_normal(D))
            else:
                PX = features @ P[0] if n == 1 else (P @ features[:, :, None])[:, :, 0]
                variances = (PX * features).sum(axis=1)
                if model == "hybrid" and policy == "LinUCB":
                    means, variances = means + PX @ b, variances + (PX @ A * PX).sum(axis=1)
                elif model == "hybrid":
                    means = means + PX @ (b + np.linalg.cholesky(A) @ rng.standard_normal(D))
                deviations = np.sqrt(variances)
                means = means + deviations * (rng.standard_normal(K) if policy.endswith("Thompson") else -1)
            arm = means.argmin()
        elif policy == "SquareCB":
            best = means.argmin()
            p = 1 / (K + 10 * np.sqrt(t + 1) * (means - means[best]))
            p[best] = 0
            p[best] = 1 - p.sum()
            arm = rng.choice(K, p=p)
        elif policy == "EpsilonGreedyCB":
            arm = rng.integers(K) if rng.random() < 0.1 else means.argmin()
        else:  # explore first
            arm = rng.integers(K) if t < 100 else means.argmin()
        k, z = arm if n > 1 else 0, features[arm]
        p = 1 / (1 + np.exp(-z @ w[k])) if policy.startswith("Logistic") else z @ w[k]
        weight = p * (1 - p) if policy.startswith("Logistic") else 1.0
        Pz = P[k] @ z
        gain = Pz / (1 + weight * z @ Pz)
        P[k] -= weight * np.outer(gain, Pz)
        w[k] += gain * (loss[arm] - p)
        if model == "hybrid":
            Az = A @ Pz
            A -= np.outer(Az, Az) / (1 + z @ Pz + Pz @ Az)  # before the update of P: lambda = 1
            b = A @ w.sum(axis=0)


def numpy_bagging(x: np.ndarray, losses: np.ndarray, rng: np.random.Generator) -> None:
    """Play one run of bagging with a loop of NumPy."""
    P, w = np.tile(np.eye(D), (MODELS, K, 1, 1)), np.zeros((MODELS, K, D))
    for features, loss in zip(x, losses, strict=True):
        arm = (features * w).sum(axis=2).argmin(axis=1)[rng.integers(MODELS)]
        z, weights = features[arm], rng.poisson(1.0, MODELS)
        Pz = P[:, arm] @ z
        gains = (weights / (1 + weights * (Pz @ z)))[:, None] * Pz
        P[:, arm] -= gains[:, :, None] * Pz[:, None]
        w[:, arm] += gains * (loss[arm] - w[:, arm] @ z)[:, None]


def cases() -> Iterator[tuple[str, str, jo.Learner]]:
    """Yield policies, models and learners."""
    for name in ("LinUCB", "LinThompson", "LogisticUCB", "LogisticThompson"):
        for model in ("shared", "disjoint", *(["hybrid"] if name.startswith("Lin") else [])):
            yield name, model, getattr(jo.learners, name)(model=model)
    ridge = jo.learners.VAW(forward=False, allow_float32=True)
    yield "SquareCB", "disjoint", jo.learners.SquareCB(ridge)
    yield "EpsilonGreedyCB", "disjoint", jo.learners.EpsilonGreedyCB(ridge)
    yield "ExploreFirstCB", "disjoint", jo.learners.ExploreFirstCB(ridge, 100)
    yield "BaggingCB", "disjoint", jo.learners.BaggingCB(ridge, MODELS)


def seconds(play: Callable[[], object], clock: Callable[[], float]) -> float:
    """Return the time of a call."""
    start = clock()
    play()
    return clock() - start


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--processor-time", action="store_true")
    options = parser.parse_args()
    clock = time.process_time if options.processor_time else time.perf_counter
    x, losses = table(options.rounds)
    game = jo.Game(jo.environments.DataStream(x, losses), jo.Bandit(), loss=jo.losses.ArmLoss())
    print(f"jax {jax.__version__}, {options.runs} runs, {options.rounds} rounds")
    print("| policy | model | jaxonline, rounds/s | NumPy, rounds/s | ratio |\n| --- | --- | ---: | ---: | ---: |")
    for name, model, learner in cases():

        def ours(learner: jo.Learner = learner) -> object:
            sizes = {"n_runs": options.runs, "n_rounds": options.rounds, "record_at": 1}
            return jo.simulate(game, learner, **sizes, block_size=min(BLOCK, options.runs))

        ours()  # compile
        rate = options.runs * options.rounds / min(seconds(ours, clock) for _ in range(3))
        data = x, losses, np.random.default_rng(0)
        bagging = functools.partial(numpy_bagging, *data)
        play = bagging if name == "BaggingCB" else functools.partial(numpy_run, name, model, *data)
        loop = min(seconds(play, clock) for _ in range(20))
        print(f"| {name} | {model} | {rate:,.0f} | {options.rounds / loop:,.0f} | {rate * loop / options.rounds:.1f} |")


if __name__ == "__main__":
    main()
