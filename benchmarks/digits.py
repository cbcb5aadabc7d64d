"""Contextual policies on scikit-learn's digits as a bandit: the share of rounds with the right digit.

    python -m benchmarks.digits [POLICY ...] [--runs 20] [--rounds 1797]

1,797 images of 64 pixels in [0, 1] and a constant, in a random order in each of 20 runs; one pass. Prints the mean of
the runs and its interval of Student, level 95 %.
"""

import argparse
from collections.abc import Sequence

import numpy as np
from scipy import stats
from sklearn.datasets import load_digits

import jaxonline as jo


def policies() -> dict[str, jo.Learner]:
    """Return the learners."""
    ridge = jo.learners.VAW(forward=False, allow_float32=True)
    return {
        "LogisticThompson": jo.learners.LogisticThompson(0.5, model="disjoint"),
        "LogisticUCB": jo.learners.LogisticUCB(0.5, model="disjoint"),
        "LinThompson": jo.learners.LinThompson(0.2, model="disjoint"),
        "LinUCB": jo.learners.LinUCB(0.2, model="disjoint"),
        "LinUCB, hybrid": jo.learners.LinUCB(0.2, model="hybrid"),
        "SquareCB": jo.learners.SquareCB(ridge),
        "EpsilonGreedyCB": jo.learners.EpsilonGreedyCB(ridge, 0.1),
        "ExploreFirstCB": jo.learners.ExploreFirstCB(ridge, 400),
        "BaggingCB": jo.learners.BaggingCB(ridge, 5),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("policies", nargs="*", metavar="POLICY", help="default: all")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=1797)
    options = parser.parse_args(arguments)
    n, rounds = options.runs, options.rounds
    X, digits = load_digits(return_X_y=True)
    X = np.column_stack([X / 16, np.ones(len(X))])
    game = jo.Game(
        jo.environments.Rewards(jo.environments.DataStream(X, np.eye(10)[digits], order="shuffled")),
        jo.Bandit(),
        loss=jo.losses.ArmLoss(),
    )
    print("| policy | rounds right |\n| --- | ---: |")
    learners = policies()
    for name in options.policies or learners:
        result = jo.simulate(game, learners[name], n_runs=n, n_rounds=rounds, record_at=1, key=0)
        shares = 100 * np.asarray(result.values("cumulative_reward"))[0, :, -1] / rounds
        half = stats.t.ppf(0.975, n - 1) * shares.std(ddof=1) / np.sqrt(n)
        print(f"| `{name}` | {shares.mean():.1f} ± {half:.1f} % |", flush=True)


if __name__ == "__main__":
    main()
