"""Arms and experts that are not always available, in NumPy: losses [T, K] and masks [T, K]."""

import numpy as np


def ucb1(losses, masks, exploration=2.0):
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


class SleepingWeights:
    """Freund, Schapire, Singer and Warmuth (1997): multiply the awake weights, and keep their sum."""

    def __init__(self, n_experts, eta):
        self.all, self.eta = np.full(n_experts, 1.0 / n_experts), eta

    def awake(self, mask):
        """The weights of a round."""
        weights = np.zeros(len(mask))
        weights[mask] = self.all[mask] / self.all[mask].sum()
        return weights

    def update(self, losses, mask):
        """Update the awake experts."""
        before = self.all[mask].sum()
        self.all[mask] *= np.exp(-self.eta * losses[mask])
        self.all[mask] *= before / self.all[mask].sum()


def hedge(losses, masks, eta, delay=0):
    """The weights of each round [T, K], if losses arrive `delay` rounds late."""
    weights, moves = SleepingWeights(losses.shape[1], eta), []
    for t, mask in enumerate(masks):
        moves.append(weights.awake(mask))
        if t >= delay:
            weights.update(losses[t - delay], masks[t - delay])
    return np.array(moves)


def exp3(losses, masks, eta, exploration, arms):
    """The probabilities of each round [T, K] of EXP3 that draws these arms."""
    weights, moves = SleepingWeights(losses.shape[1], eta), []
    for row, mask, arm in zip(losses, masks, arms, strict=True):
        p = (1 - exploration) * weights.awake(mask) + exploration * mask / mask.sum()
        moves.append(p)
        estimates = np.zeros(len(row))
        estimates[arm] = row[arm] / p[arm]
        weights.update(estimates, mask)
    return np.array(moves)


def awake_regret(learner_losses, losses, masks):
    """The regret to each expert over its awake rounds [K]."""
    return np.array([(learner_losses - losses[:, k])[masks[:, k]].sum() for k in range(losses.shape[1])])
