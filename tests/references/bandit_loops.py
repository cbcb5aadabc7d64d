"""Independent NumPy loops of bandit algorithms, with the random numbers of the learners."""

import functools

import numpy as np
from scipy import optimize, special


def _stats(arms, losses, k):
    mine = [losses[t, arm] for t, arm in enumerate(arms) if arm == k]
    return len(mine), sum(mine)


def index_policy(losses, index):
    """Return the arms of a policy with `index(pulls, sum, t)` after t rounds, which first pulls each arm once."""
    arms = []
    for t in range(len(losses)):
        values = []
        for k in range(losses.shape[1]):
            n, total = _stats(arms, losses, k)
            values.append(-np.inf if n == 0 else index(n, total, t))
        arms.append(int(np.argmin(values)))
    return arms


def ucb1(losses, exploration=2.0):
    return index_policy(losses, lambda n, s, t: s / n - np.sqrt(exploration * np.log(t) / n))


def moss(losses, horizon, exploration=1.0):
    K = losses.shape[1]
    return index_policy(losses, lambda n, s, t: s / n - np.sqrt(exploration * max(np.log(horizon / (K * n)), 0) / n))


def kl(p, q):
    return special.rel_entr(p, q) + special.rel_entr(1 - p, 1 - q)


def kl_lower(mean, budget):
    """Return the smallest q with kl(mean, q) <= budget, by bisection of its logarithm."""
    if mean <= 0 or kl(mean, 1e-300) <= budget:
        return 0.0
    if budget <= 0:
        return mean
    return np.exp(optimize.brentq(lambda u: kl(mean, np.exp(u)) - budget, -690, np.log(mean), xtol=1e-15, rtol=1e-15))


def kl_ucb(losses, c=0.0):
    def index(n, s, t):
        budget = np.log(t) + (c * np.log(np.log(t)) if t > np.e else 0.0)
        return kl_lower(s / n, budget / n)

    return index_policy(losses, index)


def explore_then_commit(losses, m):
    T, K = losses.shape
    turns = [t % K for t in range(min(T, m * K))]
    means = [losses[k : m * K : K, k].mean() for k in range(K)]
    return turns + [int(np.argmin(means))] * (T - len(turns))


def inversion(p, u):
    total = 0.0
    for k, probability in enumerate(p):
        total += probability
        if u < total:
            return k
    return int(np.flatnonzero(p)[-1])


def epsilon_greedy(losses, uniforms, epsilon, power):
    T, K = losses.shape
    arms = []
    for t in range(1, T + 1):
        stats = [_stats(arms, losses, k) for k in range(K)]
        best = int(np.argmin([s / n if n else 0.0 for n, s in stats]))
        e = min(1.0, epsilon / t**power)
        arms.append(inversion([e / K + (1 - e) * (k == best) for k in range(K)], uniforms[t - 1]))
    return arms


def exponential(losses, uniforms, eta, gamma=0.0, beta=None, mixing=0.0, advice=None):
    """EXP3-IX; with `beta` EXP3.P, on gains; with `advice` [T, N, K] EXP4."""
    T, K = losses.shape
    totals, arms = np.zeros(K if advice is None else advice.shape[1]), []
    for t in range(T):
        w = np.exp(-eta * (totals - totals.min()))
        w = w / w.sum()
        p = (1 - mixing) * (w if advice is None else w @ advice[t]) + mixing / K
        arm = inversion(p, uniforms[t])
        arms.append(arm)
        if beta is None:
            estimate = np.zeros(K)
            estimate[arm] = losses[t, arm] / (p[arm] + gamma)
        else:
            gain = np.zeros(K)
            gain[arm] = 1 - losses[t, arm]
            estimate = -(gain + beta) / p
        totals = totals + (estimate if advice is None else advice[t] @ estimate)
    return arms


def gaussian_thompson(losses, normals, noise_std, prior_mean, prior_std):
    T, K = losses.shape
    arms = []
    for t in range(T):
        draws = []
        for k in range(K):
            n, s = _stats(arms, losses, k)
            variance = 1 / (1 / prior_std**2 + n / noise_std**2)
            mean = variance * (prior_mean / prior_std**2 + s / noise_std**2)
            draws.append(mean + np.sqrt(variance) * normals[t][k])
        arms.append(int(np.argmin(draws)))
    return arms


def gamma_proposal(shape, z):
    d = shape - 1 / 3
    v = (1 + z / np.sqrt(9 * d)) ** 3
    return (d * v, 0.5 * z**2 + d - d * v + d * np.log(v)) if v > 0 else (0.0, -np.inf)


def beta_proposals(lengths, angles, levels):
    """Return two normal numbers (Box and Muller) and a uniform one, from words of 32 bits."""
    length = np.sqrt(-2 * np.log((lengths // 2 + 0.5) / 2**31))
    rest = ((angles.astype(np.int64) * 4 + 2**31) % 2**32 - 2**31) / 2**32  # of a quarter, from its middle
    angle = np.pi / 2 * (angles // 2**30 + rest)
    return np.stack([length * np.cos(angle), length * np.sin(angle)], axis=-1), (levels // 2 + 0.5) / 2**31


def beta_draws(a, b, proposals):
    """Return beta variables; `proposals(turn)` returns normal and uniform numbers [K, 2], [K] (turn 0) or [2], []."""
    draws, turn, again = np.full(len(a), np.nan), 0, list(range(len(a)))
    while again:
        z, u = proposals(turn)
        for k in list(again) if turn == 0 else again[:1]:
            normal, level = (z[k], u[k]) if turn == 0 else (z, u)
            (g, first), (h, second) = (
                gamma_proposal(shape, value) for shape, value in zip((a[k], b[k]), normal, strict=True)
            )
            if np.log(level) <= first + second:
                draws[k] = g / (g + h)
                again.remove(k)
        turn += 1
    return draws


def bernoulli_thompson(losses, tosses, proposals, a=1.0, b=1.0):
    """Thompson sampling with beta variables from `proposals(t, turn)`."""
    T, K = losses.shape
    ones, pulls, arms = np.zeros(K), np.zeros(K), []
    for t in range(T):
        draws = beta_draws(a + ones, b + pulls - ones, functools.partial(proposals, t))
        arms.append(int(np.argmin(draws)))
        pulls[arms[-1]] += 1
        ones[arms[-1]] += tosses[t] < losses[t, arms[-1]]
    return arms


def linear(losses, features, width, regularizer, normals=None):
    """LinUCB or, with normal numbers [T, d], linear Thompson sampling; every round solves the linear system."""
    A, b, arms = regularizer * np.eye(features.shape[2]), np.zeros(features.shape[2]), []
    for t in range(len(losses)):
        P = np.linalg.inv(A)
        w = np.linalg.solve(A, b)
        if normals is None:
            values = [w @ x - width * np.sqrt(x @ P @ x) for x in features[t]]
        else:
            values = features[t] @ (w + width * np.linalg.cholesky(P) @ normals[t])
        arms.append(int(np.argmin(values)))
        x = features[t, arms[-1]]
        A, b = A + np.outer(x, x), b + losses[t, arms[-1]] * x
    return arms
