"""Regret bounds of multi-kernel online least squares (Rokhlin and Gurtovaya 2025).

The bounds are for half squared losses, sum (prediction - y)^2 / 2, and labels |y| <= Y. Theorem 1 is the bound of Vovk
(2001) and Azoury and Warmuth (2001), applied to the features. Theorems 1 to 3 hold in expectation over the random
features, against functions f of an RKHS, through the weights of Lemma 1. The paper uses m features sqrt(2) cos(<omega,
x> + b) for each kernel. Features divided by sqrt(m), as in a `Dictionary`, give the same algorithm with lambda m in
place of lambda (`scaled=True`). Pairs (cos, sin) of m frequencies have 2m weights, and the squared norm of these
features is at most m instead of 2m (erratum E46: the paper has the same bound for both). So the term 2 |f|^2 / m of
Lemma 1 becomes |f|^2 / m.
"""

import dataclasses
import math
from typing import Literal

import numpy as np
from jaxtyping import Float

from jaxonline.bounds.assumptions import OBLIVIOUS, assumes
from jaxonline.parameters.citations import cites
from jaxonline.parameters.types import Count, Horizons, NonNegativeFloat, PositiveFloat
from jaxonline.parameters.validation import check_fields, validate_arguments


@dataclasses.dataclass(frozen=True)
class Features:
    """Random features of one kernel, as used in the theorems.

    Attributes:
        frequencies: m.
        layout: "cosine", sqrt(2) cos(<omega, x> + b); or "pair", (cos, sin).
        scaled: whether the features are divided by sqrt(m).

    Example:
        >>> from jaxonline.bounds import Features
        >>> Features(50, "pair", scaled=True).weights
        100
    """

    frequencies: Count
    layout: Literal["cosine", "pair"] = "cosine"
    scaled: bool = False

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def weights(self) -> int:
        """Number of features."""
        return self.frequencies * (2 if self.layout == "pair" else 1)

    @property
    def variance(self) -> float:
        """The constant c in E(<w^, phi(x)> - f(x))^2 <= c |f|^2 / m (Lemma 1)."""
        return 1.0 if self.layout == "pair" else 2.0

    @validate_arguments
    def effective(self, regularizer: PositiveFloat) -> float:
        """Return the regularizer that gives the same forecaster with unscaled features."""
        return regularizer * (self.frequencies if self.scaled else 1)


@cites("vovk2001competitive", "azoury2001relative", "rokhlin2025random")
@assumes()
@validate_arguments
def vaw(
    w_norm: NonNegativeFloat, n_features: Count, x_bound: PositiveFloat, y_bound: PositiveFloat, n_rounds: Horizons,
    regularizer: PositiveFloat = 1.0,
) -> Float[np.ndarray, "..."]:  # fmt: skip
    """Regret bound of VAW against a fixed w: lambda/2 |w|^2 + m Y^2/2 ln(1 + rho^2 T/(lambda m)) (Eq. 11).

    Args:
        w_norm: |w|.
        n_features: m.
        x_bound: rho, bound on the norm of instances.
        y_bound: Y.
        n_rounds: the horizon T, or several horizons.
        regularizer: lambda.

    Example:
        >>> from jaxonline.bounds import vaw
        >>> round(float(vaw(1.0, 1, 1.0, 1.0, 100)), 3)  # (1 + ln 101) / 2
        2.808
    """
    growth = np.log1p(x_bound**2 * np.asarray(n_rounds, float) / (regularizer * n_features))
    return regularizer / 2 * w_norm**2 + n_features * y_bound**2 / 2 * growth


@cites("rokhlin2025random")
@assumes(OBLIVIOUS)
@validate_arguments
def concatenated(
    f_norm: NonNegativeFloat,
    n_kernels: Count,
    features: Features,
    y_bound: PositiveFloat,
    n_rounds: Horizons,
    regularizer: PositiveFloat = 1.0,
) -> Float[np.ndarray, "..."]:
    """Regret bound of VAW on the features of all kernels, against any f of the RKHS of k_1 + ... + k_N.

    The paper's Theorem 1 (Eq. 17) has the term N T |f|^2 / m. Here it is T |f|^2 / m, which suffices if the features of
    different kernels are independent, so the bound is smaller than the printed one for N > 1 (erratum E61).

    Args:
        f_norm: norm of the comparator f.
        n_kernels: N.
        features: features of each kernel.
        y_bound: Y.
        n_rounds: the horizon T, or several horizons.
        regularizer: lambda.

    Example:
        >>> from jaxonline.bounds import Features, concatenated
        >>> round(float(concatenated(1.0, 10, Features(50), 1.0, 100)))
        1328
    """
    T = np.asarray(n_rounds, float)
    # Features of different kernels are independent, so variances add; the factor N of Lemma 2 is not needed.
    approximation = features.variance / 2 * T
    weights = features.effective(regularizer) / 2
    energy = f_norm**2 / features.frequencies
    return (weights + approximation) * energy + n_kernels * _log_term(features, y_bound, T, regularizer)


@cites("rokhlin2025random")
@assumes(OBLIVIOUS)
@validate_arguments
def vaw2(
    f_norm: NonNegativeFloat,
    n_kernels: Count,
    features: Features,
    y_bound: PositiveFloat,
    n_rounds: Horizons,
    regularizer: PositiveFloat = 1.0,
    combiner_regularizer: PositiveFloat | None = None,
    truncated: bool = False,
) -> Float[np.ndarray, "..."]:
    """Regret bound of VAW over the kernels' VAW forecasters, against any f of a single kernel's RKHS (Theorem 2).

    Without truncation this is the paper's Eq. 20. A factor N in its logarithm is not needed (erratum E62), so the bound
    is valid and at most N Y^2 / 2 ln N too large.

    Args:
        f_norm: norm of the comparator f.
        n_kernels: N.
        features: features of each kernel.
        y_bound: Y.
        n_rounds: the horizon T, or several horizons.
        regularizer: lambda of the forecasters.
        combiner_regularizer: lambda of the combiner; by default the lambda of the forecasters.
        truncated: whether predictions are truncated to [-Y, Y] before they are combined (the remark after Eq. 28).

    Example:
        >>> from jaxonline.bounds import Features, vaw2
        >>> [round(float(vaw2(1.0, 10, Features(50), 1.0, 100, truncated=truncated))) for truncated in (False, True)]
        [203, 158]
    """
    N, T, Y2 = n_kernels, np.asarray(n_rounds, float), y_bound**2
    combiner = regularizer if combiner_regularizer is None else combiner_regularizer
    largest = Y2 if truncated else 2 * Y2 * (T + 1) + 4 * _log_term(features, y_bound, T, regularizer)
    # Eq. 23 bounds |z|^2 <= Z^2 by the sum over experts and drops N from the denominator of the logarithm
    growth = np.log1p(largest * T / combiner) if truncated else np.log1p(N * largest * T / combiner)
    return _one_kernel_regret(f_norm, features, y_bound, T, regularizer) + combiner / 2 + N * Y2 / 2 * growth


@cites("rokhlin2025random")
@assumes(OBLIVIOUS)
@validate_arguments
def vaw_ewa(
    f_norm: NonNegativeFloat,
    n_kernels: Count,
    features: Features,
    y_bound: PositiveFloat,
    n_rounds: Horizons,
    regularizer: PositiveFloat = 1.0,
) -> Float[np.ndarray, "..."]:
    """Regret bound of EWA over truncated VAW forecasters, against any f of a single kernel's RKHS (Theorem 3).

    Args:
        f_norm: norm of the comparator f.
        n_kernels: N.
        features: features of each kernel.
        y_bound: Y; predictions are truncated to [-Y, Y].
        n_rounds: the horizon T, or several horizons.
        regularizer: lambda of the forecasters.

    Example:
        >>> from jaxonline.bounds import Features, vaw_ewa
        >>> round(float(vaw_ewa(1.0, 10, Features(50), 1.0, 100)))
        144
    """
    T = np.asarray(n_rounds, float)
    return _one_kernel_regret(f_norm, features, y_bound, T, regularizer) + ewa(n_kernels, y_bound)


@cites("rokhlin2025random")
@assumes()
@validate_arguments
def ewa(n_experts: Count, y_bound: PositiveFloat) -> float:
    """Regret bound of EWA with eta = 1/(8 Y^2) against the best expert, for values in [-Y, Y]: 4 Y^2 ln N (Eq. 30).

    For an interval with another centre, Y is half the width, so the bound is width^2 ln N.

    Example:
        >>> from jaxonline.bounds import ewa
        >>> round(ewa(10, 1.0), 3)
        9.21
    """
    return 4 * y_bound**2 * math.log(n_experts)


@cites("cesabianchi2006prediction")
@assumes()
@validate_arguments
def aggregating(n_experts: Count, y_bound: PositiveFloat) -> float:
    """Regret bound of `Aggregating`, |y| <= Y, eta = 1/(2Y^2): Y^2 ln N (Cesa-Bianchi, Lugosi 2006, Prop. 3.2, halved).

    Example:
        >>> from jaxonline.bounds import aggregating
        >>> round(aggregating(10, 1.0), 3)
        2.303
    """
    return y_bound**2 * math.log(n_experts)


def _one_kernel_regret(
    f_norm: float, features: Features, y_bound: float, T: np.ndarray, regularizer: float
) -> np.ndarray:
    """Return (lambda/2 + T) |f|^2/m + m Y^2/2 ln(1 + 2T/lambda), a part of the bounds of Theorems 2 and 3."""
    energy = f_norm**2 / features.frequencies
    first = (features.effective(regularizer) / 2 + features.variance / 2 * T) * energy
    return first + _log_term(features, y_bound, T, regularizer)


def _log_term(features: Features, y_bound: float, T: np.ndarray, regularizer: float) -> np.ndarray:
    """Return the regret bound of VAW against w = 0 (Eq. 12), (n Y^2 / 2) ln(1 + rho^2 T / (lambda n)) for n weights."""
    norm2 = features.variance * features.frequencies
    growth = np.log1p(norm2 * T / (features.effective(regularizer) * features.weights))
    return features.weights * y_bound**2 / 2 * growth
