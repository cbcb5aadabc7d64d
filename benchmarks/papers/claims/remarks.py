"""Claims on remarks, figures and numbered equations of papers A and B, all computed exactly."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.papers.claims.registry import SamplingOptions, claim
from jaxonline.bounds import gradient_descent
from jaxonline.estimators.count_distributions import FiniteDistribution
from jaxonline.estimators.feature_maps import DotProductFeatureMap
from jaxonline.estimators.surrogates import Surrogate
from jaxonline.kernels import Gaussian, Homogeneous
from jaxonline.kernels.radial import Cauchy
from jaxonline.losses import SmoothedAbsolute, SmoothedHinge
from jaxonline.numerics.elementwise import run_compiled
from jaxonline.verify.bias import unbiased
from jaxonline.verify.moments import bound
from jaxonline.verify.result import Verification


@claim(
    "gradient of a linear loss from one copy",
    "A, section 3.1",
    erratum=35,
    cost="exact",
    mathematics=("printed", "corrected"),
    printed="biased",
    corrected="within tolerance",
)
def _linear_loss(form: str, options: SamplingOptions) -> Verification:
    """l(a) = c a with c = -2, x = (0.6, -0.3), noise (0.5, 0.2) or its negative: the mean is c x, printed x."""
    c, x, noise = -2.0, np.array([0.6, -0.3]), np.array([0.5, 0.2])
    support = [(0.5, c * (x + sign * noise)) for sign in (-1, 1)]
    return unbiased(None, x if form == "printed" else c * x, support=support)


@claim("features of <r, s>^2 from two copies", "A, section 3.3", cost="exact", printed="within tolerance")
def _quadratic_features(form: str, options: SamplingOptions) -> Verification:
    """The mean of <Psi~, Psi(s)> at three points s, for r = (0.6, -0.3), whose coordinates have errors +-0.5, +-0.2."""
    r, noise, points = np.array([0.6, -0.3]), np.array([0.5, 0.2]), np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    copies = [r + noise * signs for signs in itertools.product((-1, 1), repeat=2)]
    pairs = np.array(list(itertools.product(copies, repeat=2)))
    feature_map = DotProductFeatureMap(Homogeneous(2), FiniteDistribution([0.0, 0.0, 1.0]))
    with jax.enable_x64(True):
        products = np.asarray(run_compiled(_products, feature_map, pairs, points))
    return unbiased(None, (points @ r) ** 2, support=[(1 / 16, row) for row in products])


def _products(feature_map, pairs, points):
    """Return <Psi~, Psi(s)> for each pair of copies and each point s."""

    def row(copies):
        psi = feature_map.assemble(jnp.int32(2), copies)
        return jax.vmap(lambda s: feature_map.prod_clean(psi, s))(points)

    return jax.vmap(row)(pairs)


@claim("distance of the smoothed losses from the absolute and the hinge loss", "A, Figure 1", cost="exact",
       printed="respected")  # fmt: skip
def _smoothed_losses(form: str, options: SamplingOptions) -> Verification:
    """The losses are at most 1/(s sqrt(pi)) and half of it above, for s = 1 (the figure), 3 and 10."""
    a, ratios = np.linspace(-4, 4, 801), []
    with jax.enable_x64(True):
        for s in (1.0, 3.0, 10.0):
            distances = (
                SmoothedAbsolute(s)(a, np.zeros(801)) - np.abs(a),
                SmoothedHinge(s)(a, np.ones(801)) - np.maximum(1 - a, 0),
            )
            for distance, limit in zip(distances, (1.0, 0.5), strict=True):
                ratios.append(float(np.abs(distance).max()) * s * math.sqrt(math.pi) / limit)
    return bound(max(ratios), 1.0)


@claim("gradient descent on any vectors", "B, Lemma 3", cost="exact", printed="respected")
def _any_vectors(form: str, options: SamplingOptions) -> Verification:
    """The largest sum of <v_t, w_t - u> / bound of 300 sequences, for the best u in the ball; T = 1 reaches 1."""
    rng, largest = np.random.default_rng(0), 0.0
    for n in (1, 5, 40):
        for _ in range(100):
            v = rng.normal(size=(n, 3)) + rng.choice([0.0, 2.0]) * rng.normal(size=3)
            radius, G = float(rng.uniform(0.2, 3)), float(np.sum(v**2) / n)
            theorem, w, total = gradient_descent(radius, G, n), np.zeros(3), 0.0
            step = theorem.step_size * rng.choice([0.5, 1.0, 2.0])
            for vector in v:
                total += vector @ w
                w = w - step * vector
                w = w * min(1.0, radius / np.linalg.norm(w))
            worst = total + radius * np.linalg.norm(v.sum(axis=0))
            largest = max(largest, float(worst / theorem.constant_step(step, n)))
    return bound(largest, 1.0)


@claim("parallel worlds: E <w^, g~ psi^(x~)> = <w, g psi(x)>", "B, Eq. 15", cost="exact", printed="within tolerance")
def _parallel_worlds(form: str, options: SamplingOptions) -> Verification:
    """Three support points, one dimension, noise of variance 0.3, by Gauss-Hermite quadrature over both copies."""
    return parallel_worlds(Surrogate(Gaussian(1.0), 0.3, 1))


def parallel_worlds(kernel: Surrogate | Gaussian) -> Verification:
    """Compare E <w^, g~ psi^(x~)> in the RKHS of a kernel with <w, g psi(x)> in that of the Gaussian kernel."""
    points, alphas, x, y, variance = np.array([-0.4, 0.3, 1.1]), np.array([0.5, -0.8, 0.6]), 0.2, 0.7, 0.3
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()
    with jax.enable_x64(True):
        copies = x + math.sqrt(variance) * nodes
        noisy = np.asarray(run_compiled(_predict, kernel, points, alphas, copies))
        clean = float(run_compiled(_predict, Gaussian(1.0), points, alphas, np.array([x]))[0])
    support = [
        (float(p * q), float(2 * (one - y) * other))
        for p, one in zip(weights, noisy, strict=True)
        for q, other in zip(weights, noisy, strict=True)
    ]
    return unbiased(None, 2 * (clean - y) * clean, support=support, detect=1e-6)


def _predict(kernel, points, alphas, copies):
    """Return the predictions sum of alpha_i k(points_i, copy) for each copy."""
    row = jax.vmap(lambda copy: jax.vmap(lambda point: kernel(point[None], copy[None]))(points))
    return row(copies) @ alphas


@claim("R of the surrogate for widths s^2 = 4 d", "B, Theorem 3", cost="exact", printed="respected")
def _constant_of_wide_kernels(form: str, options: SamplingOptions) -> Verification:
    """R = (1 - 1/(2 d))^(-d/4) for noise of variance 1 falls from 2^(1/4) at d = 1 to e^(1/8)."""
    with jax.enable_x64(True):
        constants = [
            float(run_compiled(Surrogate.constant, Surrogate(Gaussian(2.0 * math.sqrt(d)), 1.0, d))) for d in (1, 4, 64)
        ]
    return bound(max(constants), 2**0.25)


@claim("1 - k/g of the kernel (1 + r^2/d)^-1", "B, Figure 1", cost="exact", printed="respected")
def _distance_from_g(form: str, options: SamplingOptions) -> Verification:
    """k/g is at least 1 - e^-c at every distance, for c = 2 and 4 as in the figure, d = 1 and 10."""
    squares, ratios = np.linspace(0, 30, 301), []
    for d, c in itertools.product((1.0, 10.0), (2.0, 4.0)):
        share = np.asarray(Cauchy(d).truncated_profile(squares, c / d)) * (1 + squares / d)
        ratios.append(float((1 - share).max()) * math.exp(c))
    return bound(max(ratios), 1.0)
