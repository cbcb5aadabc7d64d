"""Algorithm 1 as loops compiled by numba, term by term like `benchmarks.noisy_kernel_numpy.run`."""

import functools
from collections.abc import Callable

import numpy as np

from benchmarks.noisy_kernel_numpy import Outcome, cumulative_loss, draw, level_roots, step_size, weights


def run_numba(seed, T, d, p, width, noise_sd, eta, B_w, X, y, sure=False) -> Outcome:
    """`run` as compiled loops; the first call compiles."""
    draws = draw(np.random.default_rng(seed), X, p, noise_sd, sure)
    weight = weights(draws, p, width)
    roots = level_roots(np.arange(draws.level.max(initial=0) + 1), width)
    terms = draws.level, draws.start, weight, weight * roots[draws.level], draws.factors
    predictions = _compiled()(draws.active, *terms, step_size(eta, T, p, sure), B_w, X, y)
    return cumulative_loss(predictions, X, y, width), draws.queries


@functools.cache
def _compiled() -> Callable[..., np.ndarray]:
    import numba

    @numba.njit(fastmath=True)
    def dot(a, b, d):
        total = 0.0
        for k in range(d):
            total += a[k] * b[k]
        return total

    @numba.njit(fastmath=True)
    def play(active, level, start, weight, clean_weight, factors, step, B_w, X, y):
        (T, d), A = X.shape, len(active)
        alphas, predictions = np.zeros(A), np.zeros(T)
        last = np.full(level.max() + 1 if A else 1, -1)  # the newest term of each level
        before = np.full(A, -1)  # the one before a term in its level
        norm, i = 0.0, 0
        for t in range(T):
            for j in range(i):
                value = alphas[j] * clean_weight[j]
                for k in range(start[j], start[j] + level[j]):
                    value *= dot(factors[k], X[t], d)
                predictions[t] += value
            if i == A or active[i] != t:
                continue
            n, fresh, own, square = level[i], 0.0, 0.0, weight[i] ** 2
            j = last[level[A + i]]
            while j >= 0:
                value = alphas[j] * weight[j] * weight[A + i]
                for k in range(level[j]):
                    value *= dot(factors[start[j] + k], factors[start[A + i] + k], d)
                fresh += value
                j = before[j]
            j = last[n]
            while j >= 0:
                value = alphas[j] * weight[j] * weight[i]
                for k in range(n):
                    value *= dot(factors[start[j] + k], factors[start[i] + k], d)
                own += value
                j = before[j]
            for k in range(start[i], start[i] + n):
                square *= dot(factors[k], factors[k], d)
            alphas[i] = step * (fresh - y[t])
            norm += alphas[i] * (2.0 * own + alphas[i] * square)
            before[i], last[n] = last[n], i
            i += 1
            if norm > B_w:
                for j in range(i):
                    alphas[j] *= np.sqrt(B_w / norm)
                norm = B_w
        return predictions

    return play
