"""A small problem with a dictionary of random Fourier features, and its features in NumPy."""

import numpy as np

from jaxonline.estimators.fourier import Dictionary


def small_problem(T=40, d=3, N=5, m=4, seed=0):
    """Rows [T, d], labels [T] and a dictionary of N kernels with m frequencies each."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(T, d))
    return X, rng.uniform(size=T), Dictionary(rng.normal(size=(N, m, d)))


def features_in_numpy(dictionary, X):
    """Features [T, N, 2 m] of rows [T, d]."""
    angles = np.einsum("kmd,td->tkm", dictionary.frequencies, X)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=2) / np.sqrt(dictionary.frequencies.shape[1])
