"""Best-arm identification in NumPy: successive elimination and sequential halving, on a table of losses [T, K]."""

import math

import numpy as np


def successive_elimination(losses: np.ndarray, delta: float) -> tuple[list[int], int, bool]:
    n_arms = losses.shape[1]
    active, sums, arms, n = list(range(n_arms)), np.zeros(n_arms), [], 0
    while True:
        n += 1
        for arm in active:
            if len(arms) == len(losses):
                return arms, min(active, key=lambda k: sums[k]), False
            sums[arm] += losses[len(arms), arm]
            arms.append(arm)
        radius = math.sqrt(math.log(math.pi**2 * n_arms * n**2 / (3 * delta)) / (2 * n))
        means = {arm: sums[arm] / n for arm in active}
        active = [arm for arm in active if means[arm] - min(means.values()) < 2 * radius]
        if len(active) == 1:
            return arms, active[0], True


def sequential_halving(losses: np.ndarray, budget: int) -> tuple[list[int], int]:
    n_arms = losses.shape[1]
    left, arms, phases = list(range(n_arms)), [], max(1, math.ceil(math.log2(n_arms)))
    for _ in range(phases):
        sums = dict.fromkeys(left, 0.0)
        for _ in range(budget // (len(left) * phases)):
            for arm in left:
                sums[arm] += losses[len(arms), arm]
                arms.append(arm)
        left = sorted(sorted(left, key=lambda arm: sums[arm])[: math.ceil(len(left) / 2)])
    (arm,) = left
    return arms, arm
