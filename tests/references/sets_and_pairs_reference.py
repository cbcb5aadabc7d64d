"""CUCB and RUCB in NumPy: round by round, as their papers print them."""

import itertools
import math

import numpy as np


def cucb(losses: np.ndarray, sets: list[tuple[int, ...]], exploration: float = 1.5) -> list[tuple[int, ...]]:
    """Return the sets played on a table of losses [T, K]; the best of all `sets` is found by trying each."""
    T, K = losses.shape
    pulls, sums, played = [0] * K, [0.0] * K, []
    for t in range(1, T + 1):
        if min(pulls) == 0:
            values = [-float(pulls[k] == 0) for k in range(K)]
        else:
            values = [sums[k] / pulls[k] - math.sqrt(exploration * math.log(t) / pulls[k]) for k in range(K)]
        chosen = min(sets, key=lambda arms: sum(values[k] for k in arms))
        for k in chosen:
            pulls[k] += 1
            sums[k] += losses[t - 1, k]
        played.append(chosen)
    return played


def all_sets(n_arms: int, m: int) -> list[tuple[int, ...]]:
    return list(itertools.combinations(range(n_arms), m))


def _draw(weights: list[float], uniform: float) -> int:
    """Return the first index at which the cumulative weight exceeds a fraction of the total weight."""
    level, total = uniform * sum(weights), 0.0
    for k, weight in enumerate(weights):
        total += weight
        if total > level:
            return k
    raise AssertionError("the level is below the total weight")


def rucb(duels: np.ndarray, alpha: float, uniforms: np.ndarray) -> list[tuple[int, int]]:
    """Return the pairs compared on a table of duels [T, K, K]; two uniform numbers of each round draw the pair."""
    T, K, _ = duels.shape
    wins, best, pairs = np.zeros((K, K)), set[int](), []
    for t in range(1, T + 1):
        upper = np.zeros((K, K))
        for i in range(K):
            for j in range(K):
                n = wins[i, j] + wins[j, i]
                upper[i, j] = 0.5 if i == j else 2.0 if n == 0 else wins[i, j] / n + math.sqrt(alpha * math.log(t) / n)
        candidates = {i for i in range(K) if all(upper[i, j] >= 0.5 for j in range(K))}
        best &= candidates
        if len(candidates) == 1:
            best = set(candidates)
            (first,) = candidates
        else:
            weights = [1.0] * K
            if candidates:
                for i in range(K):
                    share = 1 / (2 ** len(best) * len(candidates - best))
                    weights[i] = 0.5 if i in best else share if i in candidates else 0.0
            first = _draw(weights, uniforms[t - 1, 0])
        largest = max(upper[:, first])
        rivals = [j for j in range(K) if upper[j, first] == largest]
        if len(rivals) > 1:
            rivals = [j for j in rivals if j != first]
        second = rivals[_draw([1.0] * len(rivals), uniforms[t - 1, 1])]
        won = duels[t - 1, first, second]
        wins[first, second] += won
        wins[second, first] += 1 - won
        pairs.append((first, second))
    return pairs
