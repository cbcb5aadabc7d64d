"""Delayed feedback as a loop with a queue, in NumPy: UCB1, EXP3, gradient descent updated on arrival, and BOLD."""

from collections.abc import Sequence

import numpy as np


def arrivals(delays: Sequence[int], t: int) -> list[int]:
    """The rounds s = 1, ..., t whose answers arrive at the end of round t, in order."""
    return [s for s in range(1, t + 1) if s + delays[s - 1] == t]


def delayed_ucb1(losses: np.ndarray, delays: Sequence[int]) -> list[int]:
    """The arms of UCB1 (exploration 2); an arm without an answer comes first, then the smallest index."""
    n_rounds, n_arms = losses.shape
    answered, sums, arms = np.zeros(n_arms), np.zeros(n_arms), []
    for t in range(1, n_rounds + 1):
        if (answered == 0).any():
            arms.append(int(np.argmax(answered == 0)))
        else:
            arms.append(int(np.argmin(sums / answered - np.sqrt(2 * np.log(answered.sum()) / answered))))
        for s in arrivals(delays, t):
            answered[arms[s - 1]] += 1
            sums[arms[s - 1]] += losses[s - 1, arms[s - 1]]
    return arms


def delayed_exp3(losses: np.ndarray, delays: Sequence[int], eta: float, arms: Sequence[int]) -> np.ndarray:
    """The probabilities of EXP3 in each round, for the arms that it drew: weights of the probabilities at that time."""
    n_rounds, n_arms = losses.shape
    estimates, rows = np.zeros(n_arms), []
    for t in range(1, n_rounds + 1):
        weights = np.exp(-eta * (estimates - estimates.min()))
        rows.append(weights / weights.sum())
        for s in arrivals(delays, t):
            arm = arms[s - 1]
            estimates[arm] += losses[s - 1, arm] / rows[s - 1][arm]
    return np.array(rows)


def bold_hedge(losses: np.ndarray, delays: Sequence[int], eta: float) -> np.ndarray:
    """The weights of BOLD over Hedge: each round is played by the first copy that does not wait."""
    n_rounds, n_experts = losses.shape
    n_copies = max(delays) + 1
    totals, waiting, copy_of_round, rows = np.zeros((n_copies, n_experts)), [False] * n_copies, [], []
    for t in range(1, n_rounds + 1):
        copy = waiting.index(False)
        waiting[copy] = True
        copy_of_round.append(copy)
        weights = np.exp(-eta * (totals[copy] - totals[copy].min()))
        rows.append(weights / weights.sum())
        for s in arrivals(delays, t):
            totals[copy_of_round[s - 1]] += losses[s - 1]
            waiting[copy_of_round[s - 1]] = False
    return np.array(rows)


def delayed_gradient_descent(
    X: np.ndarray, y: np.ndarray, delays: Sequence[int], step: float, radius: float
) -> list[float]:
    """The predictions of projected gradient descent for the squared loss, updated on arrival."""
    w, predictions = np.zeros(X.shape[1]), []
    for t in range(1, len(X) + 1):
        predictions.append(float(w @ X[t - 1]))
        for s in arrivals(delays, t):
            w = w - step * 2 * (w @ X[s - 1] - y[s - 1]) * X[s - 1]
            w = w * min(1.0, radius / np.linalg.norm(w))
    return predictions
