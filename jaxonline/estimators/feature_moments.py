"""Exact moments of noisy copies and of estimates of feature vectors, in float64 on the host."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy import special

from jaxonline.estimators.count_distributions import FiniteDistribution, Geometric
from jaxonline.estimators.count_protocol import CountDistribution
from jaxonline.feedback.noise import Covariance
from jaxonline.kernels import DotProductKernel
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.types import Vector, host_float

_LOG_RELATIVE_REST = np.log(1e-15)  # of the last quarter of the terms of a series
_SMALL = 1e-290  # smaller float64 numbers may be inaccurate or 0


@validate_arguments
def copy_moments(x: Vector, covariance: Covariance) -> tuple[float, float]:
    """Return E |x~|^2 and E <x~, x~'>^2 of independent copies x~, x~' with mean `x` and covariance `covariance`.

    Args:
        x: the true instance [d].
        covariance: covariance of the noise: a variance (number), variances [d] or a matrix [d, d].

    Example:
        >>> from jaxonline.estimators.feature_maps import copy_moments
        >>> copy_moments([1.0, 0.0], [0.5, 0.25])
        (1.75, 2.3125)
    """
    second = _second_moments(x, covariance)
    return float(np.trace(second)), float((second**2).sum())


def _second_moments(x: Any, covariance: Any) -> np.ndarray:
    """Return the second moments E x~ x~' [d, d] of a copy x~ with mean x."""
    x, covariance = np.asarray(x, float), np.asarray(covariance, float)
    if covariance.ndim < 2:
        covariance = np.diag(np.broadcast_to(covariance, x.shape))
    return np.outer(x, x) + covariance


@validate_arguments
def inner_moment(x: Vector, x2: Vector, covariance: Covariance) -> float:
    """Return the second moment E <x~, x2>^2 of the inner product of a noisy copy x~ of x and a fixed vector x2."""
    x2 = np.asarray(x2, float)
    return float(x2 @ _second_moments(x, covariance) @ x2)


def log_coefficients(kernel: DotProductKernel, n_terms: int) -> np.ndarray:
    """Return log beta_n for n = 0 .. n_terms - 1 in float64, even if beta_n underflows (such as 1/200!)."""
    betas = kernel.coefficients(n_terms)
    with np.errstate(divide="ignore"):
        logs = np.log(betas)
    if kernel.degree is None and (betas < _SMALL).any():
        with jax.ensure_compile_time_eval(), jax.enable_x64(True):
            exact = np.asarray(kernel.log_coefficient(jnp.arange(n_terms)), np.float64)
        logs = np.where(betas < _SMALL, exact, logs)
    return logs


def weighted_series(
    law: CountDistribution, a: float, series: Callable[[float], float], log_terms: Callable[[np.ndarray], np.ndarray]
) -> float:
    """Return sum_n t_n a^n / P(N = n), where `series(a)` = sum t_n a^n and `log_terms(n)` = log t_n."""
    if isinstance(law, Geometric):
        p = host_float("p", law.p)
        return p / (p - 1.0) * series(p * a)
    if isinstance(law, FiniteDistribution):
        logs = _log_weighted_terms(law, a, log_terms, len(law.probabilities))
        return float(np.exp(np.asarray(special.logsumexp(logs))))
    for n_terms in (256, 1024, 4096):
        logs = _log_weighted_terms(law, a, log_terms, n_terms)
        total = np.asarray(special.logsumexp(logs))
        if special.logsumexp(logs[-len(logs) // 4 :]) < total + _LOG_RELATIVE_REST:
            return float(np.exp(total))
    raise ArgumentError("law", "must make the second moment finite, with at most 4,096 terms that matter")


def _log_weighted_terms(
    law: CountDistribution, a: float, log_terms: Callable[[np.ndarray], np.ndarray], n_terms: int
) -> np.ndarray:
    """Return ln (t_n a^n / P(N = n)) for the n < `n_terms` with P(N = n) > 0."""
    n = np.flatnonzero(support_mask(law, n_terms))
    return log_terms(np.arange(n_terms))[n] + special.xlogy(n, a) - law.log_table(n_terms)[n]


def support_mask(law: CountDistribution, n_terms: int) -> np.ndarray:
    """Return whether P(N = n) > 0, for n = 0 .. n_terms - 1."""
    return law.log_table(n_terms) > -np.inf
