"""Variance reduction: control variates with coefficients from the other runs, and antithetic pairs.

A result has the measures `CONTROL`, with expectation exactly 0, and `HALF_DIFFERENCE`, half the difference between two
simulations with opposite noise; a run is the mean of these simulations.
"""

import numpy as np
from jaxtyping import Float

CONTROL = "control_variate"
HALF_DIFFERENCE = "antithetic_half_difference"


def subtract_controls(
    values: Float[np.ndarray, "R *rest"], controls: Float[np.ndarray, "K R *rest"]
) -> Float[np.ndarray, "R *rest"]:
    """values_r - sum_k beta_k controls_kr, where beta is least squares without run r, so that means stay unbiased.

    A run is independent of the beta of the other runs, so the subtracted term has expectation 0 for any number of runs,
    as the K controls do. Runs with a NaN stay unchanged and do not enter betas. Leave-one-out least squares follow from
    the full fit (Miller 1974): with centred controls c and values v, e = v - beta c and the leverage h = 1 / n + c'
    (C'C)^-1 c, they are beta - (C'C)^-1 c e / (1 - h).

    Example:
        >>> control = np.array([1.0, -2.0, 0.5, 1.5])
        >>> subtract_controls(7.0 + 3.0 * control, control[None]).round(9).tolist()
        [7.0, 7.0, 7.0, 7.0]
    """
    complete = ~np.isnan(values.reshape(len(values), -1)).any(axis=1)
    n = int(complete.sum())
    if n < 3 or not controls.any():
        return values
    raw = np.moveaxis(controls[:, complete], 0, -1)  # [n, *rest, K]
    size = np.sqrt((raw**2).mean(axis=0))
    raw = raw / np.where(size > 0, size, 1.0)
    c, v = raw - raw.mean(axis=0), values[complete] - values[complete].mean(axis=0)
    inverse = np.linalg.pinv(np.einsum("r...k,r...l->...kl", c, c), rcond=1e-12, hermitian=True)
    beta = np.einsum("...kl,r...l,r...->...k", inverse, c, v)
    solved = np.einsum("...kl,r...l->r...k", inverse, c)
    left = 1.0 - 1.0 / n - np.einsum("r...k,r...k->r...", solved, c)  # 1 - h
    error = v - np.einsum("...k,r...k->r...", beta, c)
    known = left > 1e-9  # else the other runs do not determine beta
    without = beta - solved * (error / np.where(known, left, 1.0))[..., None]
    adjusted = values.copy()
    adjusted[complete] -= np.where(known, np.einsum("r...k,r...k->r...", without, raw), 0.0)
    return adjusted


def variance_reduction(
    values: Float[np.ndarray, "L R"], used: Float[np.ndarray, "L R"], half_difference: Float[np.ndarray, "L R"] | None
) -> Float[np.ndarray, "L"]:
    """The variance of plain runs divided by the variance of the `used` runs, per simulation: fewer runs by this factor.

    `half_difference` is half the difference between the two simulations of an antithetic run. NaN in `values` marks
    excluded runs; the result is NaN if fewer than two runs are left, or if they do not vary.
    """
    n_runs = (~np.isnan(values)).sum(axis=1)

    def variance(runs: np.ndarray) -> np.ndarray:
        divisor = np.maximum(n_runs, 1)[:, None]
        centred = runs - np.nansum(runs, axis=1, keepdims=True) / divisor
        return np.nansum(centred**2, axis=1) / np.maximum(n_runs - 1, 1)

    single, plays = variance(values), 1
    if half_difference is not None:  # the simulations of a pair are mean ± half difference
        squares = np.where(np.isnan(values), 0.0, half_difference) ** 2
        single, plays = single + squares.sum(axis=1) / np.maximum(n_runs, 1), 2
    left = plays * variance(used)
    return np.where((n_runs > 1) & (left > 0), single / np.where(left > 0, left, 1.0), np.nan)
