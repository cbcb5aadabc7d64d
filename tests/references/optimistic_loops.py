"""Independent NumPy loops of variants of UCB and of Tsallis-INF, with the random numbers of the learners."""

import math

import numpy as np
from bandit_loops import index_policy, inversion, moss
from scipy import optimize

moss_with_exploration = moss


def fixed_confidence_ucb(losses, delta, std):
    return index_policy(losses, lambda n, s, t: s / n - math.sqrt(2 * std**2 * math.log(1 / delta) / n))


def asymptotic_ucb(losses, std):
    def index(n, s, t):
        f = 1 + (t + 1) * math.log(t + 1) ** 2
        return s / n - math.sqrt(2 * std**2 * math.log(f) / n)

    return index_policy(losses, index)


def ucb1_tuned(losses, factor=1.0):
    """Return the arms; `factor` multiplies the exploration of a mutant."""
    arms = []
    for t in range(len(losses)):
        index = []
        for k in range(losses.shape[1]):
            mine = np.array([losses[s, arm] for s, arm in enumerate(arms) if arm == k])
            if not len(mine):
                index.append(-np.inf)
                continue
            variance = mine.var() + math.sqrt(2 * math.log(t) / len(mine))
            index.append(mine.mean() - math.sqrt(factor * math.log(t) / len(mine) * min(0.25, variance)))
        arms.append(int(np.argmin(index)))
    return arms


def ucb2(losses, alpha):
    def tau(r):
        return math.ceil((1 + alpha) ** r * (1 - 1e-12))

    T, K = losses.shape
    arms, epochs, total, pulls = list(range(K)), [0] * K, list(losses[range(K), range(K)]), [1] * K
    while len(arms) < T:
        t, index = len(arms), []
        for k in range(K):
            length = tau(epochs[k])
            index.append(total[k] / pulls[k] - math.sqrt((1 + alpha) * math.log(math.e * t / length) / (2 * length)))
        k = int(np.argmin(index))
        for _ in range(tau(epochs[k] + 1) - tau(epochs[k])):
            if len(arms) < T:
                total[k] += losses[len(arms), k]
                pulls[k] += 1
                arms.append(k)
        epochs[k] += 1
    return arms


def forgetting_ucb(losses, weights, exploration, factor):
    """Return the arms of UCB on the losses s rounds ago with the weights `weights(s)`."""
    T, K = losses.shape
    arms = []
    for t in range(T):
        pulls, totals = np.zeros(K), np.zeros(K)
        for s, arm in enumerate(arms):
            weight = weights(t - 1 - s)
            pulls[arm] += weight
            totals[arm] += weight * losses[s, arm]
        unpulled = np.flatnonzero(pulls == 0)
        if len(unpulled):
            arms.append(int(unpulled[0]))
            continue
        width = factor * np.sqrt(exploration * max(math.log(pulls.sum()), 0) / pulls)
        arms.append(int(np.argmin(totals / pulls - width)))
    return arms


def discounted_ucb(losses, discount, exploration):
    return forgetting_ucb(losses, lambda age: discount**age, exploration, 2.0)


def sliding_window_ucb(losses, window, exploration):
    return forgetting_ucb(losses, lambda age: float(age < window), exploration, 1.0)


def tsallis_inf(losses, uniforms, reduced_variance, rate=1.0):
    """Return the arms; `rate` multiplies the learning rate of a mutant."""
    T, K = losses.shape
    arms, sums = [], np.zeros(K)
    for t in range(1, T + 1):
        eta = rate * (4 if reduced_variance else 2) / math.sqrt(t)
        w = tsallis_weights(sums, eta)
        arm = inversion(w, uniforms[t - 1])
        base = np.where(w >= eta**2, 0.5, 0.0) if reduced_variance else np.zeros(K)
        sums += base
        sums[arm] += (losses[t - 1, arm] - base[arm]) / w[arm]
        arms.append(arm)
    return arms


def tsallis_weights(sums, eta):
    """Return the weights, with the normalisation found by bisection."""
    least = sums.min()

    def excess(x):
        return (4 / (eta * (sums - x)) ** 2).sum() - 1

    x = optimize.brentq(excess, least - 2.1 * math.sqrt(len(sums)) / eta, least - 1.9 / eta, xtol=1e-14)
    return 4 / (eta * (sums - x)) ** 2
