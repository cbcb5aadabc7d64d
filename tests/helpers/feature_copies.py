"""Noisy copies for tests of feature maps."""

import itertools

import numpy as np

X, X2 = np.array([0.6, 0.5]), np.array([0.5, 0.7])
STEPS = np.array([[0.3, -0.2], [-0.1, 0.4]])  # noise: one of the two rows, or minus it, each with probability 1/4
NOISE = np.concatenate([STEPS, -STEPS])
COVARIANCE = NOISE.T @ NOISE / 4


def copies_of(x, n):
    """All equally likely arrays of n noisy copies, [4^n, n, d]."""
    return np.array([[x + e for e in noise] for noise in itertools.product(NOISE, repeat=n)]).reshape(4**n, n, 2)
