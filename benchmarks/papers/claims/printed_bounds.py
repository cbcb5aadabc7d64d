"""Wrong or loose bounds as printed in the papers, with the arguments of the correct bounds in `jaxonline.bounds`."""

import math

import numpy as np
from jaxtyping import ArrayLike, Float

from benchmarks.papers.claims.printed_kernels import printed_lemma5_bound, printed_lemma7_bound
from jaxonline.bounds import (
    Features,
    RegretBound,
    concatenated,
    factor_moment,
    gradient_descent,
    noisy_kernel_geometric,
    unbiased_steps,
)
from jaxonline.estimators.series_moments import lemma1_bound
from jaxonline.kernels import DotProductKernel, Gaussian
from jaxonline.losses import SeriesLoss
from jaxonline.parameters import check
from jaxonline.parameters.types import host_float


def printed_noisy_kernel(
    kernel: DotProductKernel | Gaussian, loss: SeriesLoss, p: float, radius: float, copy_moment: float, n_rounds: int
) -> RegretBound:
    """Regret bound printed in paper A, Theorems 1, 2: without labels (erratum E19); Gaussian kernels: E6 and E7."""
    if not isinstance(kernel, Gaussian):
        return noisy_kernel_geometric(kernel, loss, p, radius, copy_moment, n_rounds, y_bound=0.0)
    feature_moment = printed_lemma5_bound(p, copy_moment, host_float("width", kernel.width))
    if math.isinf(feature_moment):
        return unbiased_steps(radius, feature_moment, math.inf, n_rounds)
    length_moment = lemma1_bound(loss, p, factor_moment(radius, feature_moment))
    return unbiased_steps(radius, feature_moment, length_moment, n_rounds)


def printed_two_copies(radius: float, x_bound: float, y_bound: float, n_rounds: int) -> RegretBound:
    """Regret bound of paper B, Theorem 1, as printed: G = 4 (B_w^2 B^2 + B_y^2) B^2 lacks a term (erratum E10)."""
    return gradient_descent(radius, 4 * (radius**2 * x_bound**2 + y_bound**2) * x_bound**2, n_rounds)


def printed_known_covariance(
    radius: float, x_bound: float, y_bound: float, covariance_norm: float, n_rounds: int
) -> RegretBound:
    """Regret bound (G + 1)/2 B_w sqrt(T) and step B_w / sqrt(T) printed in paper B, Theorem 2 (erratum E11)."""
    B_w, B, B_y, B_S = radius, x_bound, y_bound, covariance_norm
    G = 8 * B_w**2 * B**4 + 8 * B_y**2 * B**2 + 4 * B_w**2 * B**2 * B_S + B_S**2 * B_w**2
    return RegretBound((G + 1) / 2 * B_w * np.sqrt(n_rounds), B_w / np.sqrt(n_rounds), G, B_w, 2 * B_w)


def printed_surrogate_radius(radius: float, ratio: float, angle: float) -> float:
    """Radius W = sqrt(5) B_w ratio / sin(beta) of paper B, Lemmas 5, 6, 9: right but looser than `surrogate_radius`."""
    return math.sqrt(5) * radius * ratio / math.sin(angle)


def printed_surrogate_kernel(radius: float, constant: float, y_bound: float, n_rounds: int) -> RegretBound:
    """Regret bound of paper B, Theorem 3, as printed: G = 4 R^2 (W^2 R^2 + B_y^2) lacks a cross term (erratum E12)."""
    return gradient_descent(radius, 4 * constant**2 * (radius**2 * constant**2 + y_bound**2), n_rounds)


def printed_surrogate_radial_kernel(
    radius: float, variance: float, c: float, dimension: int, y_bound: float, n_rounds: int
) -> RegretBound:
    """Regret bound printed in paper B, Theorem 5: R = e^(sigma c), c < d/(4 sigma), no cross term (errata E12, E13)."""
    sigma = math.sqrt(variance)
    check.number("c", c, gt=0.0, lt=dimension / (4 * sigma))
    return printed_surrogate_kernel(radius, math.sqrt(printed_lemma7_bound(sigma, c)), y_bound, n_rounds)


def printed_concatenated(
    f_norm: float, n_kernels: int, features: Features, y_bound: float, n_rounds: ArrayLike, regularizer: float = 1.0
) -> Float[np.ndarray, "..."]:
    """Regret bound of paper D, Theorem 1 (Lemma 2), as printed: right but looser than `concatenated`.

    The printed bound has the term N T |f|^2 / m where T |f|^2 / m suffices.
    """
    extra = (n_kernels - 1) * features.variance / 2 * np.asarray(n_rounds, float) * f_norm**2 / features.frequencies
    return concatenated(f_norm, n_kernels, features, y_bound, n_rounds, regularizer) + extra


def printed_exponential_weights(n_experts: int, n_rounds: int) -> tuple[float, float]:
    """Return the step 8 ln N / T and the regret bound sqrt(T ln N) as printed in lecture E (erratum E18).

    The printed step lacks the square root, and the printed bound lacks the factor of a half under the root.
    """
    return 8 * math.log(n_experts) / n_rounds, math.sqrt(n_rounds * math.log(n_experts))
