"""Statements of paper C as printed, wrong, only for comparison with the right ones."""

import numpy as np
from jaxtyping import ArrayLike, Float

from jaxonline.bounds import aer_regret, baseline_risk


def printed_baseline_risk(dimension: int, n_attributes: int, radius: float, n_examples: int, delta: float) -> float:
    """E40, C Theorem 1: a constant times B^2, the constant being that of `bounds.baseline_risk` for B = 1."""
    return radius**2 * baseline_risk(dimension, n_attributes, 1.0, n_examples, delta)


def printed_regularised_minimiser(regularizer: float) -> float:
    """E42, C Eq. 5: where (w - 1)^2 + lambda w^2 is least, for the example x = y = 1; lambda w^2 / 2 is right."""
    return 1 / (1 + regularizer)


def printed_sum_of_gradients(dimension: int, n_attributes: int, radius: float, norm: float, n_examples: int) -> float:
    """E43, C Eq. 7: alpha, the bound on the sum of <z_t, w_t - w*>, with the constant of `bounds.aer_regret`.

    It is a bound on the mean over the examples; m alpha bounds the sum.
    """
    return aer_regret(dimension, n_attributes, radius, norm, n_examples).value / n_examples


def printed_identity_solution(labels: Float[ArrayLike, "m"], estimates: Float[ArrayLike, "m d"]) -> np.ndarray:
    """E44, C footnote 2: the sum of y v over the examples; the mean is right."""
    return np.asarray(labels, float) @ np.asarray(estimates, float)
