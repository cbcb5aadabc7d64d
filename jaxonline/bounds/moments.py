"""Moments of a data set with noise, as required by the bounds."""

from typing import NamedTuple

import numpy as np
from jaxtyping import ArrayLike, Float

from jaxonline.feedback.noise import FlippedLabels, Noise
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.numbers import host_float
from jaxonline.parameters.validation import validate_arguments


class MomentBounds(NamedTuple):
    """Constants of paper B's theorems for a data set and its noise; each constant holds for all rows.

    Attributes:
        x_second: B with E|x~|^2 <= B^2.
        x_fourth: B with E|x~|^4 <= B^4, at least `x_second`.
        x_pair: P with E <x~, x~'>^2 <= P^2 for two copies, at most `x_second` squared.
        y_second: B_y with E y~^2 <= B_y^2.
        covariance_norm: spectral norm of the noise's covariance.
    """

    x_second: float
    x_fourth: float
    x_pair: float
    y_second: float
    covariance_norm: float


@validate_arguments
def moment_bounds(
    X: Float[ArrayLike, "n d"], y: Float[ArrayLike, "n"], noise: Noise | None = None,
    label_noise: Noise | FlippedLabels | None = None,
) -> MomentBounds:  # fmt: skip
    """Exact constants of paper B's theorems for a data set with `Noise` F z, where z has independent symmetric entries.

    The moments for the noise n are E|x + n|^4 = |x|^4 + 4 x'Sx + 2 |x|^2 tr S + E|n|^4, E|n|^4 = (tr S)^2 + 2 tr S^2 +
    (kurtosis - 3) sum M_kk^2, with S = F F' and M = F' F; E <x + n, x + n'>^2 = |x|^4 + 2 x'Sx + tr S^2.

    Args:
        X: instances [n, d].
        y: targets [n].
        noise: distribution of the instances' noise with a finite fourth moment (otherwise a ValueError); None for clean
            instances.
        label_noise: distribution of the labels' noise (`Noise`, or `FlippedLabels` with E y~^2 = y^2 / (1 - 2q)^2), or
            None for clean labels.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> jo.bounds.moment_bounds(np.eye(2), 2 * np.ones(2), jo.noise.gaussian(4.0))[:4:3]  # B and B_y
        (3.0, 2.0)
    """
    X, y = (array.astype(float) for array in check.rows("X", X, "y", y))
    norms = (X**2).sum(axis=1)
    factor = np.zeros((X.shape[1],) * 2) if noise is None else noise.factor_matrix(X.shape[1])
    if noise is not None and not np.isfinite(noise.kurtosis):
        raise ArgumentError("noise", f"must have a finite fourth moment (got the kurtosis {noise.kurtosis})")
    S, M = factor @ factor.T, factor.T @ factor
    excess = 0.0 if noise is None else noise.kurtosis - 3
    quadratic = np.einsum("ni,ij,nj->n", X, S, X)
    pair = norms**2 + 2 * quadratic + np.sum(S * S)
    noise_fourth = np.trace(S) ** 2 + 2 * np.sum(S * S) + excess * np.sum(np.diag(M) ** 2)
    fourth = norms**2 + 4 * quadratic + 2 * norms * np.trace(S) + noise_fourth
    return MomentBounds(
        float(np.sqrt(norms.max() + np.trace(S))),
        float(fourth.max() ** 0.25),
        float(np.sqrt(pair.max())),
        float(np.sqrt(_label_second_moments(y, label_noise).max())),
        float(np.linalg.norm(S, 2)),
    )


def _label_second_moments(y: Float[np.ndarray, "n"], noise: Noise | FlippedLabels | None) -> Float[np.ndarray, "n"]:
    """Return E y~^2 of a noisy label y~ of each target."""
    if isinstance(noise, FlippedLabels):
        return (y / (1 - 2 * host_float("rate", noise.rate))) ** 2
    return y**2 if noise is None else y**2 + float(np.sum(noise.factor_matrix(1) ** 2))
