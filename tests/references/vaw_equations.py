"""Online ridge and VAW by solving the normal equations in every round (Azoury and Warmuth; Vovk), in NumPy."""

import numpy as np


def normal_equations(Z, y, regularizer):
    """Both forecasters by solving a linear system every round."""
    S, b = regularizer * np.eye(Z.shape[1]), np.zeros(Z.shape[1])
    ridge, vaw = [], []
    for z, target in zip(Z, y, strict=True):
        ridge.append(z @ np.linalg.solve(S, b))
        S = S + np.outer(z, z)
        vaw.append(z @ np.linalg.solve(S, b))
        b = b + target * z
    return np.array(ridge), np.array(vaw), np.linalg.solve(S, b)


def sequence(T=300, m=20, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(T, m)) / np.sqrt(m), rng.uniform(-1.0, 1.0, size=T)
