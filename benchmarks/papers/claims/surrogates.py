"""Claims on remarks and proofs about surrogate kernels (paper B, section 6 and appendix D)."""

import math

import jax
import numpy as np
from jaxtyping import ArrayLike, Float

from benchmarks.papers.claims.printed_proofs import printed_surrogate_factors, surrogate_integrals
from benchmarks.papers.claims.registry import SamplingOptions, claim
from jaxonline.comparators import positive_negative_angle
from jaxonline.kernels import Gaussian
from jaxonline.verify.bias import unbiased
from jaxonline.verify.moments import bound
from jaxonline.verify.result import Verification


def triangle(r: Float[ArrayLike, "..."]) -> np.ndarray:
    """max(0, 1 - r), a kernel on R: its Fourier transform is (sin(v/2) / (v/2))^2."""
    return np.maximum(1 - np.asarray(r), 0)


def wendland(r: Float[ArrayLike, "..."]) -> np.ndarray:
    """max(0, 1 - r)^4 (4r + 1), a kernel on R^3 (Wendland 1995)."""
    r = np.asarray(r)
    return np.maximum(1 - r, 0) ** 4 * (4 * r + 1)


@claim(
    "radial kernels on R and R^3 that are no Gaussian mixtures",
    "B, Theorem 4",
    erratum=31,
    cost="exact",
    mathematics=("printed", "corrected"),
    printed="violated",
    corrected="respected",
)
def _schoenberg(form: str, options: SamplingOptions) -> Verification:
    """Printed: mixtures have g^2 <= g(r) g(s) at the root of (r^2 + s^2)/2, by Cauchy and Schwarz; here r = 0, s = 0.9.

    Corrected: both are positive semi-definite at random points, as the absolute sum of eigenvalues is the trace.
    """
    kernels = {1: triangle, 3: wendland}
    if form == "printed":
        middle = math.sqrt(0.9**2 / 2)
        return bound(min(float(g(middle) ** 2 / (g(0.0) * g(0.9))) for g in kernels.values()), 1.0)
    rng, ratios = np.random.default_rng(0), []
    for dimension, g in kernels.items():
        points = rng.uniform(-1, 1, (60, dimension))
        gram = g(np.linalg.norm(points[:, None] - points[None], axis=-1))
        ratios.append(float(np.abs(np.linalg.eigvalsh(gram)).sum() / np.trace(gram)))
    return bound(max(ratios), 1.0)


@claim(
    "factors of E k^(a, x~) by quadrature, unequal variances",
    "B, Eq. 7",
    erratum=32,
    cost="exact",
    mathematics=("printed", "corrected"),
    printed="biased",
    corrected="within tolerance",
)
def _factors(form: str, options: SamplingOptions) -> Verification:
    """Each factor against exp(-(a_i - x_i)^2/s^2)."""
    s, sigmas, a, x = 2.0, np.array([0.5, 0.9]), np.array([0.3, -0.2]), np.array([1.0, 0.4])
    if form == "printed":
        factors = printed_surrogate_factors(s, sigmas, a, x)
    else:
        sizes = np.sqrt(s**2 / (s**2 - 2 * sigmas**2)) / np.sqrt(2 * math.pi * sigmas**2)
        factors = sizes * surrogate_integrals(s, sigmas, a - x)
    return unbiased(None, np.exp(-((a - x) ** 2) / s**2), support=[(1.0, factors)], detect=1e-9)


@claim(
    "cosine of beta_u if the examples coincide",
    "B, section 6",
    erratum=33,
    cost="exact",
    printed="biased",
    corrected="within tolerance",
)
def _angle(form: str, options: SamplingOptions) -> Verification:
    """u+ = Psi(x_1) + 2 Psi(x_2) against u- = 2 Psi(x_1) + Psi(x_2), and against 3 u+; k(x_1, x_2) = 1/2."""
    points = np.array([0.0, math.sqrt(math.log(2.0))])[[0, 1, 0, 1], None]
    negative = [-2.0, -1.0] if form == "printed" else [-3.0, -6.0]
    with jax.enable_x64(True):
        angle = positive_negative_angle(Gaussian(1.0), points, np.array([1.0, 2.0, *negative]))
    return unbiased(None, 1.0, support=[(1.0, math.cos(angle))], detect=1e-6)
