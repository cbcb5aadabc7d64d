"""Losses of experts, and runs of learners of full information on them."""

import jax
import jax.numpy as jnp
import numpy as np
from full_rounds import played

T, K = 60, 4
KEY = jax.random.key(0)


def losses_of(seed, n_rounds=T, n_experts=K):
    """Return losses in [0, 1] that are often equal and whose best expert changes."""
    rng = np.random.default_rng(seed)
    wave = 0.5 + 0.4 * np.sin(np.arange(n_rounds)[:, None] / 9 + np.arange(n_experts))
    return np.round(np.clip(wave + 0.3 * rng.normal(size=(n_rounds, n_experts)), 0, 1), 1)


def on_losses(learner, losses):
    return played(learner, ((), jnp.asarray(losses)))
