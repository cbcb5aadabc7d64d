"""Algorithm 1 of "Online learning of noisy data with kernels" (COLT 2010) as its pseudocode stands, in float64 NumPy.

It draws nothing: a `Round` has the numbers of copies and the copies that another implementation drew. The formulas are
the corrected ones: E3 (a series about c has the factors a - c), E6 (the root in the Gaussian kernel's feature map), E8
(the projection), E9 (y inside the product). Laws and series are functions of n: P(N = n), beta_n, gamma_n.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

Function = Callable[[int], float]
Psi = tuple[Any, np.ndarray]
"""An estimate of a feature vector as the paper stores it: the counts, and the copies, one a row (rows that the counts
do not reach are ignored). The counts are N for a dot-product kernel, (N1, N2) for the Gaussian kernel."""


def geometric(p: float) -> Function:
    """The paper's law, P(N = n) = (p - 1) / p^(n+1)."""
    return lambda n: (p - 1.0) / p ** (n + 1)


def table(values: Sequence[float]) -> Function:
    """The function n -> values[n], 0 beyond the end: a finite law, a polynomial's coefficients."""
    return lambda n: float(values[n]) if n < len(values) else 0.0


@dataclass(frozen=True)
class DotProduct:
    """The kernel sum beta_n <x, x'>^n; Subroutines 3 and 4. `law` is the law of N."""

    beta: Function
    law: Function

    def prod(self, psi: Psi, psi2: Psi) -> float:
        """Prod(Psi~, Psi~')."""
        (n, copies), (n2, copies2) = psi, psi2
        if n != n2:
            return 0.0
        value = self.beta(n) / self.law(n) ** 2
        for j in range(n):
            value *= float(copies[j] @ copies2[j])
        return value

    def prod_clean(self, psi: Psi, x: np.ndarray) -> float:
        """Prod(Psi~, x')."""
        n, copies = psi
        value = self.beta(n) / self.law(n)
        for j in range(n):
            value *= float(copies[j] @ x)
        return value


@dataclass(frozen=True)
class Gaussian:
    """The kernel exp(-|x - x'|^2 / width^2); Subroutines 6 and 7. `pair_law` is the law of N1, `law` that of N2."""

    width: float
    pair_law: Function
    law: Function

    def prod(self, psi: Psi, psi2: Psi) -> float:
        """Prod(Psi~, Psi~')."""
        ((n1, n2), copies), ((m1, m2), copies2) = psi, psi2
        if n2 != m2:
            return 0.0
        value = self._pairs(n1, copies) * self._pairs(m1, copies2) * self._level(n2) / self.law(n2) ** 2
        for j in range(n2):
            value *= float(copies[2 * n1 + j] @ copies2[2 * m1 + j])
        return value

    def prod_clean(self, psi: Psi, x: np.ndarray) -> float:
        """Prod(Psi~, x')."""
        (n1, n2), copies = psi
        value = self._pairs(n1, copies) * self._level(n2) / self.law(n2) * math.exp(-(x @ x) / self.width**2)
        for j in range(n2):
            value *= float(copies[2 * n1 + j] @ x)
        return value

    def _pairs(self, n1: int, copies: np.ndarray) -> float:
        """(-1)^n1 / (n1! width^(2 n1) P(N1 = n1)) times the product over pairs <x~(2j-1), x~(2j)>."""
        value = (-1.0) ** n1 / (math.factorial(n1) * self.width ** (2 * n1) * self.pair_law(n1))
        for j in range(n1):
            value *= float(copies[2 * j] @ copies[2 * j + 1])
        return value

    def _level(self, n2: int) -> float:
        return (2.0 / self.width**2) ** n2 / math.factorial(n2)


Kernel = DotProduct | Gaussian


@dataclass(frozen=True)
class Loss:
    """l'(centre + h) = sum gamma_n h^n, at a = y <w, Psi> ("classification") or a = <w, Psi> - y ("regression"). `law`
    is the law of n, the number of fresh estimates. With `constant_outside` gamma_0 is no part of the draw."""

    gamma: Function
    kind: str
    law: Function
    centre: float = 0.0
    constant_outside: bool = False


class Round(NamedTuple):
    """What happens in a round: the clean x (for the referee's prediction only), the label y (in regression a noisy one
    for each of the n factors of the gradient length), and the draws of the learner."""

    x: np.ndarray
    y: float | Sequence[float]
    psi: Psi
    n: int
    fresh: Sequence[Psi]


class Record(NamedTuple):
    """Predictions and lengths g~ [T], all projected alpha_i after each round [T, T], |w|^2 [T] by the double sum after
    each round, and the same before the projection."""

    predictions: np.ndarray
    lengths: np.ndarray
    alphas: np.ndarray
    norms: np.ndarray
    unprojected: np.ndarray


def hypothesis(kernel: Kernel, alphas: Sequence[float], psis: Sequence[Psi], psi: Psi) -> float:
    """<w, Psi~> = sum_i alpha_i Prod(Psi~_i, Psi~)."""
    return sum(alpha * kernel.prod(psi_i, psi) for alpha, psi_i in zip(alphas, psis, strict=True))


def predict(kernel: Kernel, alphas: Sequence[float], psis: Sequence[Psi], x: np.ndarray) -> float:
    """<w, Psi(x)> = sum_i alpha_i Prod(Psi~_i, x)."""
    return sum(alpha * kernel.prod_clean(psi_i, x) for alpha, psi_i in zip(alphas, psis, strict=True))


def double_sum(alphas: Sequence[float], products: np.ndarray) -> float:
    """|w|^2 = sum_ij alpha_i alpha_j Prod(Psi~_i, Psi~_j)."""
    t = len(alphas)
    return float((np.outer(alphas, alphas) * products[:t, :t]).sum())


def grad_length_estimate(loss: Loss, n: int, values: Sequence[float], y: float | Sequence[float]) -> float:
    """Subroutine 1, from the values <w, Psi~_tj> of the fresh estimates, and the label or a label for each of them.
    In classification y^2 = 1, so that g~ as a polynomial in y has two different powers of y."""
    labels = [y] * n if np.ndim(y) == 0 else y
    gamma = 0.0 if n == 0 and loss.constant_outside else loss.gamma(n)
    length = 0.0
    if gamma != 0.0:
        if len(values) < n:
            raise ValueError(f"fresh: .*got {len(values)}")
        length = gamma / loss.law(n)
    if loss.kind == "classification":
        polynomial = np.polynomial.Polynomial([length])
        for value in values[:n] if gamma != 0.0 else ():
            polynomial *= np.polynomial.Polynomial([-loss.centre, value])
        polynomial = (polynomial + loss.constant_outside * loss.gamma(0)) * np.polynomial.Polynomial([0.0, 1.0])
        return float(sum(c * (y if power % 2 else 1.0) for power, c in enumerate(polynomial.coef)))
    if gamma != 0.0:
        for value, label in zip(values[:n], labels[:n], strict=True):
            length *= value - label - loss.centre
    return length + loss.constant_outside * loss.gamma(0)


def algorithm_1(kernel: Kernel, loss: Loss, rounds: Sequence[Round], eta_over_sqrt_T: float, B_w: float) -> Record:
    """Algorithm 1. `B_w` bounds the squared norm of w."""
    return algorithm_1_with_means(kernel, loss, [[each] for each in rounds], eta_over_sqrt_T, B_w)


def algorithm_1_with_means(
    kernel: Kernel, loss: Loss, rounds: Sequence[Sequence[Round]], eta_over_sqrt_T: float, B_w: float
) -> Record:
    """Algorithm 1 with the mean of g~ Psi~ over r pairs of a round, with the same x; r T alphas a round."""
    T, r = len(rounds), len(rounds[0])
    predictions, lengths, norms, unprojected = np.zeros((4, T))
    history = np.zeros((T, r * T))
    products = np.zeros((r * T, r * T))  # Prod(Psi~_i, Psi~_j)
    alphas: list[float] = []
    psis: list[Psi] = []
    for t, pairs in enumerate(rounds):
        predictions[t] = predict(kernel, alphas, psis, pairs[0].x)
        gs = [
            grad_length_estimate(loss, n, [hypothesis(kernel, alphas, psis, f) for f in fresh], y)
            for _, y, _, n, fresh in pairs
        ]
        lengths[t] = sum(gs) / r
        for g, pair in zip(gs, pairs, strict=True):
            alphas.append(-g * eta_over_sqrt_T / r)
            psis.append(pair.psi)
            last = len(psis) - 1
            for i in range(len(psis)):
                products[i, last] = products[last, i] = kernel.prod(psis[i], pair.psi)
        unprojected[t] = double_sum(alphas, products)
        if unprojected[t] > B_w:
            alphas = [alpha * math.sqrt(B_w / unprojected[t]) for alpha in alphas]
        history[t, : len(alphas)] = alphas
        norms[t] = double_sum(alphas, products)
    return Record(predictions, lengths, history, norms, unprojected)
