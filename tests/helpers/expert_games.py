"""Random games of experts."""

import numpy as np


def game_of_experts(T=200, K=7, seed=0):
    rng = np.random.default_rng(seed)
    y = np.clip(0.5 + 0.3 * np.sin(np.arange(T) / 9) + 0.1 * rng.normal(size=T), 0, 1)
    noise = rng.uniform(0.02, 0.5, size=K)
    return np.clip(y[:, None] + noise * rng.normal(size=(T, K)), 0, 1), y
