"""Combiners of experts as NumPy loops, round by round.

Exponential weights (Cesa-Bianchi and Lugosi 2006, section 2.2), BOA (Wintenberger 2017), ML-Poly and ML-Prod (Gaillard,
Stoltz and van Erven 2014), from the losses of the experts and the loss of the weighted move.
"""

import numpy as np

START = 2.0**-20


def weights_of(name, losses, own=None, eta=0.7, start=START):
    """Weights [T, K] before each round; `own(w, t)` is the loss of the move, by default the weighted mean."""
    n_rounds, n_experts = losses.shape
    own = own or (lambda w, t: w @ losses[t])
    out, L = np.zeros((n_rounds, n_experts)), np.zeros(n_experts)
    n, V, B, M = *(np.full(n_experts, start) for _ in range(3)), 0.0
    for t in range(n_rounds):
        if name == "ewa":
            w = np.exp(-eta * (L - L.min()))
        elif name == "boa":
            w = n * np.exp(n * L - np.max(n * L))
        elif name == "ml-prod":
            w = n * np.exp(L - np.max(L))
        else:
            w = n * np.maximum(L, 0) if (L > 0).any() else np.ones(n_experts)
        out[t] = w / w.sum()
        r = own(out[t], t) - losses[t]
        if name == "ewa":
            L = L + losses[t]
        elif name == "boa":
            B, V = np.maximum(B, np.abs(r)), V + r**2
            B2 = 2.0 ** np.ceil(np.log2(B))
            n = np.minimum(1 / B2, np.sqrt(np.log(n_experts) / V))
            L = L + (r - n * r**2 + B2 * (n * r > 0.5)) / 2
        elif name == "ml-prod":
            B, V, old = np.maximum(B, np.abs(r)), V + r**2, n
            n = np.minimum(0.5 / B, np.sqrt(np.log(n_experts) / V))
            L = n / old * L + np.log(1 + n * r)
        else:
            L, D = L + r, max((r**2).max() - M, 0.0)
            n, M = 1 / (1 / n + r**2 + D), M + D
    return out


def predictions_of(name, X, y, late=False, **options):
    """Weighted means of the experts' predictions X [T, K] under the squared loss; a late start skips round 1."""
    if late:
        return np.append(0.0, predictions_of(name, X[1:], y[1:], **options))
    losses = (X - y[:, None]) ** 2
    weights = weights_of(name, losses, lambda w, t: (w @ X[t] - y[t]) ** 2, **options)
    return (weights * X).sum(axis=1)
