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
