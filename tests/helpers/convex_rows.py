"""Rows of data for learners with convex losses."""

import jax
import jax.numpy as jnp
import numpy as np

T, D, KEY = 60, 3, jax.random.key(0)


def data(seed=0, n_rounds=T, classes=False):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n_rounds, D))
    y = X @ np.array([0.5, -0.3, 0.1]) + 0.2 * rng.normal(size=n_rounds)
    return X, np.where(y > 0, 1.0, -1.0) if classes else np.clip(y, -1, 1)


def rows(X, y):
    return jnp.asarray(X), jnp.asarray(y)
