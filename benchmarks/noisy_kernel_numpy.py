"""Algorithm 1 of "Online learning of noisy data with kernels" in optimised NumPy: O(T^2) operations a run.

Gaussian kernel exp(-|x - x'|^2 / width^2), squared loss, Gaussian noise, P(N = n) = (p - 1) / p^(n+1) for all numbers
of copies. These optimisations do not change the algorithm:

* A few calls draw the random numbers of a run. If n is not 1, the length g~ of the gradient is 0 and the round adds no
  term to w. Its copies count as queries but are not drawn.
* |w|^2 is updated recursively. <w, Psi~> uses only the stored terms of the level of Psi~. w does not change while g~ =
  0, so all predictions between two terms are one product with the stored copies.

Three variants are equal up to rounding for equal seeds. `run` is as above. `run_tensor` stores levels 0 to 3 of w as
numbers in R, R^d, R^(d x d) and R^(d x d x d), and deeper terms as copies. `run_ahead` computes the inner products of
all pairs of terms before the first round, as matrix products. All draw the random numbers of a run before its first
round; `noisy_kernel_rounds` draws them round by round.
"""

import functools
import math
from typing import Any, NamedTuple

import numpy as np

SETTINGS: dict[str, Any] = {"T": 500, "d": 5, "p": 2.0, "width": 2.0, "noise_sd": 0.2, "eta": 0.1, "B_w": 4.0}
DEEPEST = 3  # of the levels that `run_tensor` holds as tensors
Outcome = tuple[float, int]


class Draws(NamedTuple):
    """Random numbers of a run in which A rounds change w.

    Attributes:
        queries: number of copies in all rounds.
        active: [A], the rounds with n = 1, in order.
        pairs, level: [2A], N1 and N2 of the Psi~ of these rounds, then of the fresh Psi~ of their lengths.
        first, second: [sum of pairs, d], the two copies of each pair, one Psi~ after the other.
        factors: [sum of level, d], the other copies.
        start: [2A], index of the first factor of each Psi~.
    """

    queries: int
    active: np.ndarray
    pairs: np.ndarray
    level: np.ndarray
    first: np.ndarray
    second: np.ndarray
    factors: np.ndarray
    start: np.ndarray


def problem(T: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return clean instances [T, d] with squared norm about 1, and targets [T]."""
    X = np.random.default_rng(0).standard_normal((T, d)) / math.sqrt(d)
    return X, np.sin(3.0 * X[:, 0])


def draw(rng: np.random.Generator, X: np.ndarray, p: float, noise_sd: float, sure: bool) -> Draws:
    """Draw the random numbers of a run."""
    T = len(X)
    n = np.ones(T, int) if sure else rng.geometric(1.0 - 1.0 / p, T) - 1
    counts = rng.geometric(1.0 - 1.0 / p, (2, T + int(n.sum()))) - 1
    queries = int(2 * counts[0].sum() + counts[1].sum())
    active = np.flatnonzero(n == 1)
    pairs, level = counts[:, : 2 * len(active)]
    of_pair, of_factor = (np.repeat(np.concatenate([active, active]), k) for k in (pairs, level))
    copies = X[np.concatenate([of_pair, of_pair, of_factor])]
    copies += noise_sd * rng.standard_normal(copies.shape)
    first, second, factors = np.split(copies, [len(of_pair), 2 * len(of_pair)])
    return Draws(queries, active, pairs, level, first, second, factors, np.cumsum(level) - level)


def weights(draws: Draws, p: float, width: float) -> np.ndarray:
    """Return the coefficient of each Psi~, [2A]."""
    upto = np.arange(max(draws.pairs.max(initial=0), draws.level.max(initial=0)) + 1)
    inverse = p ** (upto + 1.0) / (p - 1.0)  # 1 / P(N = n)
    weight = (inverse / factorials(upto))[draws.pairs] * (inverse * level_roots(upto, width))[draws.level]
    inner = np.einsum("kd,kd->k", draws.first, draws.second) / -(width**2)
    np.multiply.at(weight, np.repeat(np.arange(len(weight)), draws.pairs), inner)
    return weight


def factorials(upto: np.ndarray) -> np.ndarray:
    return np.cumprod(np.maximum(upto, 1.0))


def level_roots(upto: np.ndarray, width: float) -> np.ndarray:
    """Return sqrt((2 / width^2)^n / n!) for n = 0, 1, ..."""
    return np.sqrt((2.0 / width**2) ** upto / factorials(upto))


def squared_norms(draws: Draws, weight: np.ndarray) -> np.ndarray:
    """Return |Psi~|^2 of the terms, [A]."""
    A = len(draws.active)
    level = draws.level[:A]
    factors = draws.factors[: level.sum()]
    squares = weight[:A] ** 2
    np.multiply.at(squares, np.repeat(np.arange(A), level), np.einsum("kd,kd->k", factors, factors))
    return squares


def run(
    seed: int,
    T: int,
    d: int,
    p: float,
    width: float,
    noise_sd: float,
    eta: float,
    B_w: float,
    X: np.ndarray,
    y: np.ndarray,
    sure: bool = False,
) -> Outcome:
    """Run Algorithm 1 once, term by term.

    Args:
        seed: seed of the run.
        T, d: rounds and dimension, the shape of `X`.
        p: parameter of the geometric distributions, above 1.
        width: width of the Gaussian kernel.
        noise_sd: standard deviation of the noise in each coordinate.
        eta: the step size is eta / sqrt(T).
        B_w: bound on the squared norm of w.
        X, y: clean instances [T, d] and targets [T].
        sure: n = 1 for certain (minimum variance for the squared loss) instead of the paper's distribution; every
            round adds a term, four times as many as with p = 2.

    Returns:
        The sum over rounds of (<w_t, Psi(x_t)> - y_t)^2, and the number of copies asked for.
    """
    draws = draw(np.random.default_rng(seed), X, p, noise_sd, sure)
    weight = weights(draws, p, width)
    A, top = len(draws.active), int(draws.level.max(initial=0))
    level, start, coefficients = draws.level.tolist(), draws.start.tolist(), weight.tolist()

    # Copies of each term in order, with its coefficient in the first copy; level 0 is the coefficient of a constant 1.
    size = np.maximum(draws.level[:A], 1)
    begin = np.cumsum(size) - size
    copies = np.zeros((size.sum(), d + 1))
    empty = begin[draws.level[:A] == 0]
    copies[np.delete(np.arange(len(copies)), empty), :d] = draws.factors[: draws.level[:A].sum()]
    copies[empty, d] = 1.0
    copies[begin] *= (weight * level_roots(np.arange(top + 1), width)[draws.level])[:A, None]
    end, X1 = [*begin.tolist(), len(copies)], np.column_stack([X, np.ones(T)])

    # The terms of each level, and their factors [level, terms, d].
    members = [np.flatnonzero(draws.level[:A] == n) for n in range(top + 1)]
    stored = [draws.factors[draws.start[m] + np.arange(n)[:, None]] for n, m in enumerate(members)]
    amounts = [np.zeros(len(m)) for m in members]  # alpha times the coefficient
    seen = [0] * (top + 1)

    def product(i: int) -> float:
        """<w, Psi~_i>."""
        n, number = level[i], coefficients[i]
        m = seen[n]
        if m == 0:
            return 0.0
        if n == 0:
            return number * float(amounts[0][:m].sum())
        if n == 1:
            return number * float((stored[1][0, :m] @ draws.factors[start[i]]) @ amounts[1][:m])
        factors = draws.factors[start[i] : start[i] + n, :, None]
        return number * float(np.multiply.reduce((stored[n][:, :m] @ factors)[..., 0], axis=0) @ amounts[n][:m])

    step, squares, targets = step_size(eta, T, p, sure), squared_norms(draws, weight).tolist(), y[draws.active].tolist()
    bounds = [0, *(draws.active + 1).tolist(), T]
    alphas, norm, predictions = np.zeros(A), 0.0, np.zeros(T)
    scale = 1.0  # of all alphas and amounts; a projection changes only this
    for i in range(A + 1):
        block = slice(bounds[i], bounds[i + 1])
        if i > 0:
            products = np.multiply.reduceat(X1[block] @ copies[: end[i]].T, begin[:i], axis=1)
            predictions[block] = products @ alphas[:i] * scale
        if i == A:
            break
        alpha = step * (scale * product(A + i) - targets[i])
        norm += alpha * (2.0 * scale * product(i) + alpha * squares[i])
        alphas[i] = alpha / scale
        amounts[level[i]][seen[level[i]]] = alphas[i] * coefficients[i]
        seen[level[i]] += 1
        if norm > B_w:
            scale *= math.sqrt(B_w / norm)
            norm = B_w
        if scale < 1e-100:
            for array in (alphas, *amounts):
                array *= scale
            scale = 1.0
    return cumulative_loss(predictions, X, y, width), draws.queries


def step_size(eta: float, T: int, p: float, sure: bool) -> float:
    """Return alpha / (<w, Psi~> - y) of Algorithm 1: -eta / sqrt(T) times gamma_1 / P(n = 1)."""
    return -eta / math.sqrt(T) * 2.0 * (1.0 if sure else p**2 / (p - 1.0))


def cumulative_loss(predictions: np.ndarray, X: np.ndarray, y: np.ndarray, width: float) -> float:
    """Return the sum of squared errors; predictions lack the factor e^(-|x|^2 / width^2) of Psi(x)."""
    errors = predictions * np.exp(-np.einsum("td,td->t", X, X) / width**2) - y
    return float(errors @ errors)


def run_tensor(*arguments: Any, deepest: int = DEEPEST, **named: Any) -> Outcome:
    """`run`, with the levels 0 .. `deepest` of w as tensors; same arguments and result."""
    return _run_on_coordinates(deepest, *arguments, **named)


def run_ahead(*arguments: Any, **named: Any) -> Outcome:
    """`run`, with all inner products computed before the first round; same arguments and result."""
    return _run_on_coordinates(-1, *arguments, **named)


def _run_on_coordinates(deepest, seed, T, d, p, width, noise_sd, eta, B_w, X, y, sure=False) -> Outcome:
    """Run with w as one vector: the coordinates of levels up to `deepest`, then the alphas of deeper terms."""
    draws = draw(np.random.default_rng(seed), X, p, noise_sd, sure)
    weight = weights(draws, p, width)
    A, top = len(draws.active), int(draws.level.max(initial=0))
    roots = level_roots(np.arange(max(top, deepest) + 1), width)
    of_level = [np.flatnonzero(draws.level == n) for n in range(top + 1)]
    factors = [draws.factors[draws.start[m] + np.arange(n)[:, None]] for n, m in enumerate(of_level)]
    offsets = np.cumsum([0] + [d**n for n in range(deepest + 1)]).tolist()
    shallow = offsets[-1]
    deep = np.flatnonzero(draws.level[:A] > deepest)
    K = shallow + len(deep)

    read = np.zeros((2 * A, K))  # <w, Psi~_i> = read[i] @ w
    clean = np.empty((K, T))  # <w, Psi(x_t)> = w @ clean[:, t], without e^(-|x_t|^2 / width^2)
    power = np.ones((1, T))
    for n in range(deepest + 1):
        rows = slice(offsets[n], offsets[n + 1])
        np.multiply(roots[n], power, out=clean[rows])
        power = outer(power, X.T) if n < deepest else power
        if n <= top:
            read[of_level[n], rows] = functools.reduce(outer, factors[n].mT, weight[None, of_level[n]]).T
    for n in range(deepest + 1, top + 1):
        terms = of_level[n][: np.searchsorted(of_level[n], A)]
        rows = shallow + np.searchsorted(deep, terms)
        mine = factors[n][:, : len(terms)]
        products = functools.reduce(np.multiply, factors[n] @ mine.mT, weight[of_level[n], None])
        read[of_level[n][:, None], rows] = products * weight[terms]
        clean[rows] = functools.reduce(np.multiply, mine @ X.T, (roots[n] * weight[terms])[:, None])

    place = np.full(A, -1)  # index of a deep term's alpha
    place[deep] = shallow + np.arange(len(deep))
    places, squares, targets = place.tolist(), squared_norms(draws, weight).tolist(), y[draws.active].tolist()
    step, bounds = step_size(eta, T, p, sure), [0, *(draws.active + 1).tolist(), T]
    w, norm, predictions = np.zeros(K), 0.0, np.zeros(T)
    pairs = read.reshape(2, A, K)
    for i in range(A):
        np.dot(w, clean[:, bounds[i] : bounds[i + 1]], out=predictions[bounds[i] : bounds[i + 1]])
        own, fresh = pairs[:, i].dot(w).tolist()
        alpha = step * (fresh - targets[i])
        norm += alpha * (2.0 * own + alpha * squares[i])
        if places[i] < 0:
            w[:shallow] += alpha * read[i, :shallow]
        else:
            w[places[i]] = alpha
        if norm > B_w:
            w *= math.sqrt(B_w / norm)
            norm = B_w
    np.dot(w, clean[:, bounds[A] :], out=predictions[bounds[A] :])
    return cumulative_loss(predictions, X, y, width), draws.queries


def outer(product: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """Return outer products column by column: [k, m] and [d, m] give [k d, m]."""
    return (product[:, None] * factor).reshape(-1, product.shape[1])
