"""AER (Algorithm 2, corrected) and AERR of Hazan and Koren, "Linear Regression with Limited Observation", in NumPy."""

import numpy as np


def project(w, radius):
    """On the l1 ball, by bisection for the threshold: it shares nothing with a projection that sorts."""
    if np.abs(w).sum() <= radius:
        return w
    low, high = 0.0, np.abs(w).max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(np.abs(w) - middle, 0).sum() > radius else (low, middle)
    return np.sign(w) * np.maximum(np.abs(w) - high, 0)


def reference(X, y, choose, *, law, rate, radius):
    """Algorithm 2 (corrected) line by line, or AERR: w after each round, and the attributes looked at."""
    d, w, path, seen = X.shape[1], np.zeros(X.shape[1]), [], []
    for t, (x, target) in enumerate(zip(X, y, strict=True), start=1):
        C, draws = choose(t, w)
        v, y_hat = np.zeros(d), 0.0
        for j in C:
            v[j] += d / len(C) * x[j]
        for i in draws:
            if w[i] != 0:
                scale = np.sign(w[i]) * np.abs(w).sum() if law == "l1" else (w @ w) / w[i]
                y_hat += scale * x[i] / len(draws)
        if law == "l1":
            w = project((1 - 1 / t) * w - 2 / (rate * t) * (y_hat - target) * v, radius)
        else:
            w = w - rate * 2 * (y_hat - target) * v
            w = w * min(1.0, radius / max(np.linalg.norm(w), 1e-300))
        path.append(w)
        seen.append([*C, *draws])
    return np.array(path), np.array(seen)


# -1/(1 + e^a) = -1/2 + a/4 - a^3/48 + a^5/480 - 17 a^7/80640 + ..., from the series of tanh
LOGISTIC = np.array([-1 / 2, 1 / 4, 0, -1 / 48, 0, 1 / 480, 0, -17 / 80640])


def optimal_counts(gammas, root):
    """Probabilities of N proportional to |gamma_n| root^n."""
    sizes = np.abs(gammas) * root ** np.arange(len(gammas))
    return sizes / sizes.sum()


def logistic_reference(X, y, draw, *, radius, step, n_subset):
    """Gradient descent on the logistic loss in the l1 ball: w before each round, and the attributes charged."""
    gammas = LOGISTIC
    pmf = optimal_counts(gammas, radius)
    d, w, path, charged = X.shape[1], np.zeros(X.shape[1]), [], []
    for t, (x, label) in enumerate(zip(X, y, strict=True), start=1):
        path.append(w)
        n, subset, draws = draw(t, w)
        v = np.zeros(d)
        for j in subset:
            v[j] += d / n_subset * x[j]
        slope = gammas[n] / pmf[n]
        for i in draws[:n]:
            slope *= label * np.sign(w[i]) * np.abs(w).sum() * x[i]
        w = project(w - step * label * slope * v, radius)
        charged.append(n_subset + n)
    return np.array(path), np.array(charged)


def l1_gradient(w, x, target, subset, draws, k):
    """AER's estimate of the gradient of the squared loss."""
    v, y_hat = np.zeros(len(w)), 0.0
    for j in subset:
        v[j] += 2 / k * len(w) * x[j]
    for i in draws:
        y_hat += 2 / k * np.sign(w[i]) * np.abs(w).sum() * x[i]
    return 2 * (y_hat - target) * v


def p_norm_reference(X, y, choose, *, p, step, k):
    """The weights of gradient sums theta that minimise (p - 1) |w|_q^2 / 2 - <theta, w>: w before each round."""
    theta, path, q = np.zeros(X.shape[1]), [], p / (p - 1)
    for t, (x, target) in enumerate(zip(X, y, strict=True), start=1):
        norm = np.linalg.norm(theta, p)
        w = np.sign(theta) * np.abs(theta) ** (p - 1) * norm ** (2 - p) / (p - 1) if norm else theta
        back = np.sign(w) * np.abs(w) ** (q - 1) * (p - 1) * np.linalg.norm(w, q) ** (2 - q) if norm else theta
        np.testing.assert_allclose(back, theta, atol=1e-12)  # the gradient of the regularizer at w
        path.append(w)
        theta = theta - step * l1_gradient(w, x, target, *choose(t, w), k)
    return np.array(path)


def exponentiated_reference(X, y, choose, *, radius, step, k):
    """Exponentiated gradient with two copies of each weight, from k attributes: w before each round."""
    d, path = X.shape[1], []
    plus, minus = np.ones(d), np.ones(d)
    for t, (x, target) in enumerate(zip(X, y, strict=True), start=1):
        total = plus.sum() + minus.sum()
        w = radius * (plus - minus) / total
        path.append(w)
        g = l1_gradient(w, x, target, *choose(t, w), k)
        plus, minus = plus * np.exp(-step * radius * g), minus * np.exp(step * radius * g)
    return np.array(path)
