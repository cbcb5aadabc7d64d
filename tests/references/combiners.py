"""Combiners and votes of experts as NumPy loops; their constants are the defaults of their arguments.

Exponential weights (Cesa-Bianchi and Lugosi 2006, section 2.2), fixed share (Herbster and Warmuth 1998), follow the
(regularised) leader, BOA (Wintenberger 2017), ML-Poly and ML-Prod (Gaillard, Stoltz and van Erven 2014): weights [T, K]
before each round from losses [T, K]; `own(w, t)` is the loss of the move. Votes: of advice [T, K] and labels [T].
"""

import numpy as np
from bandit_loops import past, softmax

START = 2.0**-20


def _sums(losses):
    return past(losses[None])[0]


def ewa(losses, own=None, eta=0.7):
    return softmax(-eta * _sums(losses))


def fixed_share(losses, own=None, eta=0.7, share=0.1):
    w, out = np.ones(losses.shape[1]) / losses.shape[1], []
    for row in losses:
        out.append(w)
        v = w * np.exp(-eta * row)
        w = ((1 - share) * v + share * v.sum() / len(v)) / v.sum()
    return np.array(out)


def leader(losses, own=None):
    return np.eye(losses.shape[1])[_sums(losses).argmin(axis=1)]


def regularized(losses, own=None, eta=0.2):
    """Projections on the simplex, by bisection of the threshold."""
    scores = -eta * _sums(losses)
    low, high = scores.min(axis=1, keepdims=True) - 1, scores.max(axis=1, keepdims=True)
    for _ in range(60):
        middle = (low + high) / 2
        above = np.maximum(scores - middle, 0).sum(axis=1, keepdims=True) > 1
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.maximum(scores - low, 0)


def boa(losses, own=None, start=START, half=0.5, above=0.5, base=2.0):
    G, n, V, B, out = np.zeros(losses.shape[1]), *(np.full(losses.shape[1], start) for _ in range(3)), []
    for t in range(len(losses)):
        out.append(softmax(np.log(n) + n * G))
        r = _own(own, out, losses) - losses[t]
        B, V = np.maximum(B, np.abs(r)), V + r**2
        B2 = base ** np.ceil(np.log2(B) / np.log2(base))
        n = np.minimum(1 / B2, np.sqrt(np.log(len(r)) / V))
        G = G + half * (r - n * r**2 + B2 * (n * r > above))
    return np.array(out)


def ml_prod(losses, own=None, start=START, half=0.5):
    R, n, V, B, out = np.zeros(losses.shape[1]), *(np.full(losses.shape[1], start) for _ in range(3)), []
    for t in range(len(losses)):
        out.append(softmax(np.log(n) + R))
        r = _own(own, out, losses) - losses[t]
        B, V, old = np.maximum(B, np.abs(r)), V + r**2, n
        n = np.minimum(half / B, np.sqrt(np.log(len(r)) / V))
        R = n / old * R + np.log(1 + n * r)
    return np.array(out)


def ml_poly(losses, own=None, start=START, growth=1.0):
    R, n, M, out = np.zeros(losses.shape[1]), np.full(losses.shape[1], start), 0.0, []
    for t in range(len(losses)):
        w = n * np.maximum(R, 0) if (R > 0).any() else np.ones(len(R))
        out.append(w / w.sum())
        r = _own(own, out, losses) - losses[t]
        R, D = R + r, growth * max((r**2).max() - M, 0.0)
        n, M = 1 / (1 / n + r**2 + D), M + D
    return np.array(out)


def _own(own, out, losses):
    t = len(out) - 1
    return out[t] @ losses[t] if own is None else own(out[t], t)


RULES = {"ewa": ewa, "fixed share": fixed_share, "leader": leader, "regularized": regularized, "boa": boa,
         "ml-poly": ml_poly, "ml-prod": ml_prod}  # fmt: skip


def weights_of(name, losses, own=None, **constants):
    """Return the weights of a rule [T, K]."""
    return RULES[name](losses, own, **constants)


def predictions_of(name, X, y, loss=lambda x, y: (x - y) ** 2, **constants):
    """Return weighted means of the experts' predictions X [T, K] under a loss."""
    weights = weights_of(name, loss(X, y[:, None]), lambda w, t: loss(w @ X[t], y[t]), **constants)
    return (weights * X).sum(axis=1)


def aggregating(X, y, low=0.0, high=1.0, eta=2.0):
    """Return predictions of the aggregating algorithm for the squared loss."""
    L = _sums((X - y[:, None]) ** 2)
    at_high, at_low = (np.log(np.exp(-eta * (L + (X - end) ** 2)).sum(axis=1)) for end in (high, low))
    return np.clip((low + high) / 2 + (at_high - at_low) / (2 * eta * (high - low)), low, high)


def halving(X, y, lazy=False):
    """Return mean votes; an advice of 0, and a vote of 0, is wrong."""
    alive, votes = np.ones(X.shape[1], bool), []
    for x, label in zip(np.sign(X), y, strict=True):
        votes.append(x[alive].mean())
        if not lazy or votes[-1] * label <= 0:
            alive &= x * label > 0
            alive |= not alive.any()
    return np.array(votes)


def weighted_majority(X, y, beta=0.6):
    weights = beta ** _sums(np.sign(X) * y[:, None] <= 0)
    return (weights * np.sign(X)).sum(axis=1) / weights.sum(axis=1)
