"""Bandits with Bernoulli arms: loops compiled by numba, with parallel runs.

The incremental loops update only the numbers that a round changes. The other loops compute all indices or weights in
every round, as the algorithms are printed.
"""

import functools

import numpy as np


@functools.cache
def numba_loops(fastmath: bool = False):
    """Return the loops by name; `play(means, parameter, rounds, runs)` returns the cumulative loss of every run.

    The parameter is the rate of EXP3 and the epsilon of epsilon-greedy; other policies do not use it.

    Args:
        fastmath: whether the compiler may change the order of floating-point operations.
    """
    import numba

    compile_loop = numba.njit(parallel=True, fastmath=fastmath)

    @numba.njit(fastmath=fastmath)
    def draw_arm(w, norm):
        level = np.random.random() * norm  # noqa: NPY002
        for k in range(len(w)):
            level -= w[k]
            if level < 0:
                return k
        return len(w) - 1

    @compile_loop
    def exp3(means, eta, rounds, runs):
        K, total = len(means), np.zeros(runs)
        for run in numba.prange(runs):
            np.random.seed(run)  # noqa: NPY002
            L, w = np.zeros(K), np.zeros(K)
            for _ in range(rounds):
                least, norm = L.min(), 0.0
                for k in range(K):
                    w[k] = np.exp(-eta * (L[k] - least))
                    norm += w[k]
                arm = draw_arm(w, norm)
                if np.random.random() < means[arm]:  # noqa: NPY002
                    L[arm] += norm / w[arm]
                    total[run] += 1
        return total

    @compile_loop
    def exp3_incremental(means, eta, rounds, runs):
        K, total = len(means), np.zeros(runs)
        for run in numba.prange(runs):
            np.random.seed(run)  # noqa: NPY002
            w, norm = np.ones(K), float(K)
            for t in range(rounds):
                if t % 1024 == 0 or norm < 1e-100:  # against rounding errors of the sum, and against underflow
                    w *= K / w.sum()
                    norm = w.sum()
                arm = draw_arm(w, norm)
                if np.random.random() < means[arm]:  # noqa: NPY002
                    weight = w[arm] * np.exp(-eta * norm / w[arm])
                    norm += weight - w[arm]
                    w[arm] = weight
                    total[run] += 1
        return total

    @compile_loop
    def ucb1(means, _, rounds, runs):
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

    @compile_loop
    def ucb1_incremental(means, _, rounds, runs):
        K, total = len(means), np.zeros(runs)
        for run in numba.prange(runs):
            np.random.seed(run)  # noqa: NPY002
            pulls, sums, mean, width = np.zeros(K), np.zeros(K), np.zeros(K), np.zeros(K)
            for t in range(rounds):
                arm, best, growth = t, np.inf, np.sqrt(2 * np.log(max(t, 1)))
                if t >= K:
                    for k in range(K):
                        index = mean[k] - growth * width[k]
                        if index < best:
                            arm, best = k, index
                loss = 1.0 if np.random.random() < means[arm] else 0.0  # noqa: NPY002
                pulls[arm] += 1
                sums[arm] += loss
                total[run] += loss
                mean[arm], width[arm] = sums[arm] / pulls[arm], 1 / np.sqrt(pulls[arm])
        return total

    @compile_loop
    def epsilon_greedy(means, epsilon, rounds, runs):
        K, total = len(means), np.zeros(runs)
        for run in numba.prange(runs):
            np.random.seed(run)  # noqa: NPY002
            pulls, sums, mean = np.zeros(K), np.zeros(K), np.zeros(K)
            for _ in range(rounds):
                if np.random.random() < epsilon:  # noqa: NPY002
                    arm = np.random.randint(K)  # noqa: NPY002
                else:
                    arm = mean.argmin()
                loss = 1.0 if np.random.random() < means[arm] else 0.0  # noqa: NPY002
                pulls[arm] += 1
                sums[arm] += loss
                total[run] += loss
                mean[arm] = sums[arm] / pulls[arm]
        return total

    @compile_loop
    def thompson(means, _, rounds, runs):
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

    @numba.njit(fastmath=fastmath)
    def kl_index(mean, budget, q):
        """The smallest q with kl(mean, q) <= budget, by Newton steps from q; above the solution, the first step ends
        below it, because kl is convex."""
        if mean == 0:
            return 0.0
        least = max(mean - np.sqrt(2 * budget * min(mean, 0.25)), mean * np.exp(-1 - budget / mean))
        q = max(q, least)
        for _ in range(50):
            kl = mean * np.log(mean / q)
            if mean < 1:
                kl += (1 - mean) * np.log((1 - mean) / (1 - q))
            step = (kl - budget) * q * (1 - q) / (mean - q)
            q = max(q + step, least)
            if abs(step) < 1e-10:
                break
        return q

    @compile_loop
    def kl_ucb(means, _, rounds, runs):
        K, total = len(means), np.zeros(runs)
        for run in numba.prange(runs):
            np.random.seed(run)  # noqa: NPY002
            pulls, sums, mean, width, q = np.zeros(K), np.zeros(K), np.zeros(K), np.zeros(K), np.zeros(K)
            arm = 0
            for t in range(rounds):
                if t < K:
                    arm = t
                else:
                    log_t = np.log(t)
                    root, best = np.sqrt(log_t), 2.0
                    for k in range(K):
                        # this lower bound on the index excludes most arms
                        if mean[k] - root * width[k] < best:
                            q[k] = kl_index(mean[k], log_t / pulls[k], q[k])
                            if q[k] < best:
                                arm, best = k, q[k]
                loss = 1.0 if np.random.random() < means[arm] else 0.0  # noqa: NPY002
                pulls[arm] += 1
                sums[arm] += loss
                total[run] += loss
                mean[arm], q[arm] = sums[arm] / pulls[arm], 0.0
                width[arm] = np.sqrt(2 * min(mean[arm], 0.25) / pulls[arm])
        return total

    return {
        "EXP3": exp3, "EXP3, incremental": exp3_incremental, "UCB1": ucb1, "UCB1, incremental": ucb1_incremental,
        "epsilon-greedy": epsilon_greedy, "Thompson": thompson, "KL-UCB": kl_ucb,
    }  # fmt: skip
