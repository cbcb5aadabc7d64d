"""Algorithm 1 in simple NumPy: round by round, vectorised over the stored terms of each level.

The algorithm, problem and settings are those of `noisy_kernel_numpy`, whose variants draw all random numbers of a run
first and predict in blocks.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from benchmarks.noisy_kernel_numpy import Outcome, cumulative_loss, step_size


class Feature(NamedTuple):
    """Psi~ = number x~(1) (x) ... (x) x~(n), with the copies in `factors` [n, d]."""

    number: float
    factors: np.ndarray


class Level:
    """The stored terms of one level: amounts [m] and factors [m, n, d], in arrays that double when they are full."""

    def __init__(self, n: int, d: int):
        self.m, self.amounts, self.factors = 0, np.zeros(8), np.zeros((8, n, d))

    def add(self, amount: float, factors: np.ndarray) -> None:
        if self.m == len(self.amounts):
            self.amounts = np.concatenate([self.amounts, np.zeros_like(self.amounts)])
            self.factors = np.concatenate([self.factors, np.zeros_like(self.factors)])
        self.amounts[self.m], self.factors[self.m] = amount, factors
        self.m += 1

    def at(self, x: np.ndarray) -> float:
        """Return the sum of amounts times <factor, x> for every factor."""
        return float((self.factors[: self.m] @ x).prod(axis=1) @ self.amounts[: self.m])

    def inner(self, factors: np.ndarray) -> float:
        """Return the sum of amounts times the inner products of stored factors with `factors` [n, d]."""
        products = np.einsum("mnd,nd->mn", self.factors[: self.m], factors)
        return float(products.prod(axis=1) @ self.amounts[: self.m])


def run_rounds(
    seed: Any, T: int, d: int, p: float, width: float, noise_sd: float, eta: float, B_w: float, X: Any, y: Any,
    sure: bool = False,
) -> Outcome:  # fmt: skip
    """Run Algorithm 1 once; arguments and result of `noisy_kernel_numpy.run`."""
    rng, stay = np.random.default_rng(seed), 1.0 - 1.0 / p
    step, scale = step_size(eta, T, p, sure), math.sqrt(2.0) / width
    levels: dict[int, Level] = {}
    norm, queries, predictions = 0.0, 0, np.zeros(T)

    def feature(x: np.ndarray, pairs: int, n: int) -> Feature:
        copies = x + noise_sd * rng.standard_normal((2 * pairs + n, d))
        inner = -np.einsum("kd,kd->k", copies[:pairs], copies[pairs : 2 * pairs]) / width**2
        number = float(inner.prod()) / math.factorial(pairs) * scale**n / math.sqrt(math.factorial(n))
        return Feature(number * p ** (pairs + n + 2) / (p - 1.0) ** 2, copies[2 * pairs :])

    def product(psi: Feature) -> float:
        level = levels.get(len(psi.factors))
        return 0.0 if level is None else psi.number * level.inner(psi.factors)

    for t in range(T):
        x = X[t]
        roots = ((scale**n / math.sqrt(math.factorial(n)), level) for n, level in levels.items())
        predictions[t] = sum(root * level.at(x) for root, level in roots)
        fresh = 1 if sure else int(rng.geometric(stay)) - 1
        counts = rng.geometric(stay, (fresh + 1, 2)) - 1
        queries += int((2 * counts[:, 0] + counts[:, 1]).sum())
        if fresh != 1:
            continue  # g~ = 0: the copies are queries, but w does not change
        psi, other = (feature(x, *count) for count in counts.tolist())
        alpha = step * (product(other) - y[t])
        size = psi.number**2 * float((psi.factors**2).sum(axis=1).prod())
        norm += alpha * (2.0 * product(psi) + alpha * size)
        n = len(psi.factors)
        levels.setdefault(n, Level(n, d)).add(alpha * psi.number, psi.factors)
        if norm > B_w:
            for level in levels.values():
                level.amounts[: level.m] *= math.sqrt(B_w / norm)
            norm = B_w
    return cumulative_loss(predictions, X, y, width), queries
