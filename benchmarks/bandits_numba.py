"""Bandits with Bernoulli arms: loops compiled by numba, with parallel runs."""

import numpy as np


def numba_loops():
    """Return EXP3, UCB1 and Thompson sampling by name; `play(means, eta, rounds, runs)` returns cumulative losses."""
    import numba

    @numba.njit(parallel=True, fastmath=True)
    def exp3(means, eta, rounds, runs):
        K, total = len(means), np.zeros(runs)
        for run in numba.prange(runs):
            np.random.seed(run)  # noqa: NPY002
            L, w = np.zeros(K), np.zeros(K)
            for _ in range(rounds):
                least = L.min()
                norm = 0.0
                for k in range(K):
                    w[k] = np.exp(-eta * (L[k] - least))
                    norm += w[k]
                level, arm = np.random.random() * norm, K - 1  # noqa: NPY002
                for k in range(K):
                    level -= w[k]
                    if level < 0:
                        arm = k
                        break
                if np.random.random() < means[arm]:  # noqa: NPY002
                    L[arm] += norm / w[arm]
                    total[run] += 1
        return total

    @numba.njit(parallel=True, fastmath=True)
    def ucb1(means, eta, rounds, runs):
        K, total = len(means), np.zeros(runs)
        for run in numba.prange(runs):
            np.random.seed(run)  # noqa: NPY002
            pulls, sums = np.zeros(K), np.zeros(K)
            for t in range(rounds):
                arm, best, growth = 0, np.inf, 2 * np.log(max(t, 1))
                for k in range(K):
                    index = -1e30 if pulls[k] == 0 else sums[k] / pulls[k] - np.sqrt(growth / pulls[k])
                    if index < best:
                        arm, best = k, index
                loss = 1.0 if np.random.random() < means[arm] else 0.0  # noqa: NPY002
                pulls[arm] += 1
                sums[arm] += loss
                total[run] += loss
        return total

    @numba.njit(parallel=True, fastmath=True)
    def thompson(means, eta, rounds, runs):
        K, total = len(means), np.zeros(runs)
        for run in numba.prange(runs):
            np.random.seed(run)  # noqa: NPY002
            ones, zeros = np.ones(K), np.ones(K)
            for _ in range(rounds):
                arm, best = 0, 2.0
                for k in range(K):
                    draw = np.random.beta(ones[k], zeros[k])  # noqa: NPY002
                    if draw < best:
                        arm, best = k, draw
                if np.random.random() < means[arm]:  # noqa: NPY002
                    ones[arm] += 1
                    total[run] += 1
                else:
                    zeros[arm] += 1
        return total

    return {"EXP3": exp3, "UCB1": ucb1, "Thompson": thompson}
