"""Errors in variables, written another way: loops over pairs of copies, singular values, and closed forms."""

import itertools

import numpy as np


def minimise_over_pairs(copies, y):
    """Least squares in which x x' is the mean of x~_i x~_j' over all i != j of a row (U-statistic)."""
    second, first = 0.0, 0.0
    for row, target in zip(copies, y, strict=True):
        pairs = list(itertools.permutations(range(len(row)), 2))
        second = second + sum(np.outer(row[i], row[j]) for i, j in pairs) / len(pairs)
        first = first + target * row.mean(axis=0)
    return np.linalg.solve(second, first)


def svd_total_least_squares(X, y, covariance, label_variance):
    """Whiten the noise, and take the last right singular vector of (X, y)."""
    d = X.shape[1]
    noise = np.zeros((d + 1, d + 1))
    noise[:d, :d], noise[d, d] = covariance, label_variance
    factor = np.linalg.cholesky(noise)
    whitened = np.linalg.solve(factor, np.column_stack([X, y]).T).T
    v = np.linalg.solve(factor.T, np.linalg.svd(whitened)[2][-1])  # back to a normal vector of (x, y)
    return -v[:d] / v[d]


def orthogonal_slope(signal, residual, noise, label_noise, w):
    """Limit of total least squares in one dimension, if y = w x + residual + label noise and the residual is ignored.

    The slope of the major axis for the ratio label_noise / noise of the variances (Carroll and Ruppert 1996).
    """
    xx, xy, yy = signal + noise, w * signal, w * w * signal + residual + label_noise
    ratio = label_noise / noise
    gap = yy - ratio * xx
    return (gap + np.sqrt(gap**2 + 4 * ratio * xy**2)) / (2 * xy)


def extrapolant(mean_estimate, degree):
    """Least-squares polynomial through the mean estimate at the levels 0, 0.5, ..., 2, evaluated at -1."""
    levels = np.arange(5) / 2
    design = np.stack([levels**k for k in range(degree + 1)], axis=1)
    coefficients = np.linalg.inv(design.T @ design) @ design.T @ [mean_estimate(level) for level in levels]
    return sum(c * (-1.0) ** k for k, c in enumerate(coefficients))
