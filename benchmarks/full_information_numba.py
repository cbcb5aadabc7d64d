"""Learners with full information: loops compiled by numba, with parallel runs.

The loops return cumulative losses [runs]. With `fastmath=True` the compiler may change the order of floating-point
operations, so that it adds several products at a time.
"""

import numpy as np


def gradient_loop(loss: str, shuffled: bool, step: float, radius: float | None = None, fastmath: bool = False):
    """Return gradient descent: `play(X, y, runs)`, one pass over the rows.

    Args:
        loss: "squared", or "logistic" for labels of -1 and 1.
        shuffled: whether each run draws an order of the rows.
        step: step size.
        radius: radius of the ball into which w is projected; None for no projection.
        fastmath: an option of numba.
    """
    import numba

    is_squared, projects, length, eta = loss == "squared", radius is not None, radius or 0.0, np.float32(step)
    one, two = np.float32(1.0), np.float32(2.0)

    @numba.njit(parallel=True, fastmath=fastmath)
    def play(X, y, runs):
        (T, d), total = X.shape, np.zeros(runs)
        for run in numba.prange(runs):
            np.random.seed(run)  # noqa: NPY002
            w, order = np.zeros(d, np.float32), np.arange(T if shuffled else 0)
            if shuffled:
                np.random.shuffle(order)  # noqa: NPY002
            for i in range(T):
                t = order[i] if shuffled else i
                prediction, norm = np.float32(0.0), np.float32(0.0)
                for j in range(d):
                    prediction += w[j] * X[t, j]
                if is_squared:
                    residual = prediction - y[t]
                    total[run] += residual * residual
                    slope = two * residual
                else:
                    margin = y[t] * prediction
                    small = np.exp(-np.abs(margin))
                    total[run] += np.log1p(small) + max(-margin, np.float32(0.0))
                    slope = -y[t] * (small if margin > 0 else one) / (one + small)
                for j in range(d):
                    w[j] -= eta * slope * X[t, j]
                    if projects:
                        norm += w[j] * w[j]
                if projects and norm > length * length:
                    scale = np.float32(length / np.sqrt(norm))
                    for j in range(d):
                        w[j] *= scale
        return total

    return play


def ridge_loop(regularizer: float, fastmath: bool = False):
    """Return online ridge regression: `play(X, y, runs)`, with a rank-one update of the inverse in each round."""
    import numba

    @numba.njit(parallel=True, fastmath=fastmath)
    def play(X, y, runs):
        (T, d), total = X.shape, np.zeros(runs)
        for run in numba.prange(runs):
            P, w, Px = np.eye(d) / regularizer, np.zeros(d), np.zeros(d)
            for t in range(T):
                prediction, leverage = 0.0, 1.0
                for i in range(d):
                    product = 0.0
                    for j in range(d):
                        product += P[i, j] * X[t, j]
                    Px[i] = product
                    leverage += X[t, i] * product
                    prediction += w[i] * X[t, i]
                residual = y[t] - prediction
                total[run] += residual * residual
                for i in range(d):
                    factor = Px[i] / leverage
                    w[i] += factor * residual
                    for j in range(d):
                        P[i, j] -= factor * Px[j]
        return total

    return play


def hedge_loop(eta: float, fastmath: bool = False):
    """Return Hedge: `play(losses, runs)` with the losses of all experts in all rounds [T, K]."""
    import numba

    @numba.njit(parallel=True, fastmath=fastmath)
    def play(losses, runs):
        (T, K), total = losses.shape, np.zeros(runs)
        for run in numba.prange(runs):
            L = np.zeros(K)
            for t in range(T):
                least, norm, mean = L.min(), np.float32(0.0), np.float32(0.0)
                for k in range(K):
                    weight = np.exp(np.float32(-eta * (L[k] - least)))
                    norm += weight
                    mean += weight * losses[t, k]
                    L[k] += losses[t, k]
                total[run] += mean / norm
        return total

    return play
