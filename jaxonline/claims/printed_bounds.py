"""Theorems as printed, wrong or loose, with the arguments of their corrections in `jaxonline.bounds`."""

import math

import numpy as np
from jaxtyping import ArrayLike, Float

from jaxonline.bounds import (
    Features,
    RegretBound,
    concatenated,
    factor_moment,
    gradient_descent,
    noisy_kernel_geometric,
    unbiased_steps,
)
from jaxonline.claims.printed_kernels import printed_lemma5_bound, printed_lemma7_bound
from jaxonline.estimators.series_moments import lemma1_bound
from jaxonline.kernels import DotProductKernel, Gaussian
from jaxonline.losses import SeriesLoss
from jaxonline.parameters import check
from jaxonline.parameters.numbers import host_float


def printed_noisy_kernel(
    kernel: DotProductKernel | Gaussian, loss: SeriesLoss, p: float, radius: float, copy_moment: float, n_rounds: int
) -> RegretBound:
    """E19, A Theorems 1 and 2: `noisy_kernel_geometric` without the labels, for the Gaussian kernel with E6 and E7."""
    if not isinstance(kernel, Gaussian):
        return noisy_kernel_geometric(kernel, loss, p, radius, copy_moment, n_rounds, y_bound=0.0)
    feature_moment = printed_lemma5_bound(p, copy_moment, host_float("width", kernel.width))
    if math.isinf(feature_moment):
        return unbiased_steps(radius, feature_moment, math.inf, n_rounds)
    length_moment = lemma1_bound(loss, p, factor_moment(radius, feature_moment))
    return unbiased_steps(radius, feature_moment, length_moment, n_rounds)


def printed_two_copies(radius: float, x_bound: float, y_bound: float, n_rounds: int) -> RegretBound:
    """E10, B Lemma 1 and Theorem 1: G = 4 (B_w^2 B^2 + B_y^2) B^2, without the cross term."""
    return gradient_descent(radius, 4 * (radius**2 * x_bound**2 + y_bound**2) * x_bound**2, n_rounds)


def printed_known_covariance(
    radius: float, x_bound: float, y_bound: float, covariance_norm: float, n_rounds: int
) -> RegretBound:
    """E11, B Lemma 2 and Theorem 2: (G + 1)/2 B_w sqrt(T) for the step B_w / sqrt(T), with the G of Lemma 2."""
    B_w, B, B_y, B_S = radius, x_bound, y_bound, covariance_norm
    G = 8 * B_w**2 * B**4 + 8 * B_y**2 * B**2 + 4 * B_w**2 * B**2 * B_S + B_S**2 * B_w**2
    return RegretBound((G + 1) / 2 * B_w * np.sqrt(n_rounds), B_w / np.sqrt(n_rounds), G, B_w, 2 * B_w)


def printed_surrogate_radius(radius: float, ratio: float, angle: float) -> float:
    """B, Lemmas 5, 6 and 9: W = sqrt(5) B_w ratio / sin(beta), right but looser than `surrogate_radius`."""
    return math.sqrt(5) * radius * ratio / math.sin(angle)


def printed_surrogate_kernel(radius: float, constant: float, y_bound: float, n_rounds: int) -> RegretBound:
    """E12, B Theorem 3: G = 4 R^2 (W^2 R^2 + B_y^2), without the cross term."""
    return gradient_descent(radius, 4 * constant**2 * (radius**2 * constant**2 + y_bound**2), n_rounds)


def printed_surrogate_radial_kernel(
    radius: float, variance: float, c: float, dimension: int, y_bound: float, n_rounds: int
) -> RegretBound:
    """Paper B, Theorem 5, as printed: R = e^(sigma c) for c < d / (4 sigma) (erratum E13), no cross term (E12)."""
    sigma = math.sqrt(variance)
    check.number("c", c, gt=0.0, lt=dimension / (4 * sigma))
    return printed_surrogate_kernel(radius, math.sqrt(printed_lemma7_bound(sigma, c)), y_bound, n_rounds)


def printed_concatenated(
    f_norm: float, n_kernels: int, features: Features, y_bound: float, n_rounds: ArrayLike, regularizer: float = 1.0
) -> Float[np.ndarray, "..."]:
    """D, Lemma 2 and Theorem 1: N T |f|^2/m where T |f|^2/m would do; right but looser than `concatenated`."""
    extra = (n_kernels - 1) * features.variance / 2 * np.asarray(n_rounds, float) * f_norm**2 / features.frequencies
    return concatenated(f_norm, n_kernels, features, y_bound, n_rounds, regularizer) + extra


def printed_exponential_weights(n_experts: int, n_rounds: int) -> tuple[float, float]:
    """E18, E: the step 8 ln N / T, without its root, and the bound sqrt(T ln N), without its half."""
    return 8 * math.log(n_experts) / n_rounds, math.sqrt(n_rounds * math.log(n_experts))
