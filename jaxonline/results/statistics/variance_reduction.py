"""Variance reduction: control variates with coefficients estimated from the other runs, and antithetic pairs.

The measure `CONTROL` of a result is a control variate with expectation exactly 0. If a run is the mean of two
simulations with opposite noise, the measure `HALF_DIFFERENCE` is half the difference between these two simulations.
"""

import numpy as np
from jaxtyping import Float

CONTROL = "control_variate"
HALF_DIFFERENCE = "antithetic_half_difference"


def subtract_controls(
    values: Float[np.ndarray, "R *rest"], controls: Float[np.ndarray, "K R *rest"]
) -> Float[np.ndarray, "R *rest"]:
    """Return values_r - sum_k beta_k controls_kr, with beta fitted by least squares to the runs other than r.

    Run r is independent of a beta fitted to the other runs, and the K controls have expectation 0. Therefore the
    subtracted term has expectation 0, and means stay unbiased, for any number of runs. Runs with a NaN stay unchanged
    and are left out of the fits. The fit without run r follows from the fit of all runs (Miller 1974): it is beta -
    (C'C)^-1 c e / (1 - h), with centred controls c and values v, the residual e = v - beta c, and the leverage h = 1 /
    n + c' (C'C)^-1 c.

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
    """Return the variance of plain runs divided by that of the `used` runs: the factor by which fewer runs suffice.

    The variances are per simulation; `half_difference` is half the difference between the two simulations of an
    antithetic run. NaN in `values` marks excluded runs; the result is NaN if fewer than two runs are left, or if they
    do not vary.
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
