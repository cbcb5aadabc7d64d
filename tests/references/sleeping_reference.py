"""Arms and experts that are not always available, in NumPy: losses [T, K] and masks [T, K]."""

import numpy as np


def ucb(losses, masks, exploration=2.0):
    """The arms of UCB1 among the available arms; the first available arm that was never pulled comes first."""
    n_arms = losses.shape[1]
    pulls, sums, arms = np.zeros(n_arms), np.zeros(n_arms), []
    for row, mask in zip(losses, masks, strict=True):
        best, smallest = None, np.inf
        for k in range(n_arms):
            if not mask[k]:
                continue
            index = -np.inf
            if pulls[k] > 0:
                index = sums[k] / pulls[k] - np.sqrt(exploration * np.log(max(len(arms), 1)) / pulls[k])
            if best is None or index < smallest:
                best, smallest = k, index
        pulls[best] += 1
        sums[best] += row[best]
        arms.append(best)
    return arms


def hedge(losses, masks, eta, delay=0):
    """Freund, Schapire, Singer and Warmuth (1997): multiply the awake weights, and keep their sum. The weights of each
    round [T, K], if losses arrive `delay` rounds late."""
    weights, moves = np.full(losses.shape[1], 1.0 / losses.shape[1]), []
    for t, mask in enumerate(masks):
        moves.append(np.where(mask, weights, 0.0) / weights[mask].sum())
        if t >= delay:
            row, awake = losses[t - delay], masks[t - delay]
            before = weights[awake].sum()
            weights[awake] *= np.exp(-eta * row[awake])
            weights[awake] *= before / weights[awake].sum()
    return np.array(moves)
