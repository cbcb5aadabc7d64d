"""The expected regret of Algorithm 1 against the best predictor of the RKHS ball, below the corrected bound.

Theorem 4 with the exact second moments of the estimates, at the step that it prescribes. The regret of a learner that
stays at w = 0 is above every bound.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special

import jaxonline as jo
from jaxonline.bounds import factor_moment, noisy_kernel
from jaxonline.comparators import RKHSBall
from jaxonline.estimators.counts import distribution_from_magnitudes, minimum_variance
from jaxonline.estimators.feature_maps import DotProductFeatureMap, GaussianFeatureMap
from jaxonline.estimators.gradient_length import GradientLength
from jaxonline.kernels import Gaussian, Inhomogeneous
from jaxonline.learners import NoisyKernel, Storage
from jaxonline.losses import Exponential, SmoothedAbsolute, SmoothedHinge, Squared
from jaxonline.parameters.struct import cast_leaves

pytestmark = pytest.mark.fast_compile
T, D, RUNS, RADIUS, VARIANCE, SCALE, WIDTH = 512, 2, 64, 0.5, 0.01, 0.5, 1.5
ROUNDS = np.array([64, 128, 256, 512])
MARGIN = 6.0  # standard errors; predictions, and so losses, are bounded: wrong with a probability of about 1e-9


def smoothed(a):
    return a * special.erf(SCALE * a) + np.exp(-((SCALE * a) ** 2)) / (SCALE * np.sqrt(np.pi))


LOSSES = {  # with the value at prediction and label
    "squared": (Squared(), lambda a, y: (a - y) ** 2),
    "absolute": (SmoothedAbsolute(SCALE), lambda a, y: smoothed(a - y)),
    "exponential": (Exponential(), lambda a, y: np.exp(-a * y)),
    "hinge": (SmoothedHinge(SCALE), lambda a, y: (smoothed(a * y - 1) - (a * y - 1)) / 2),
}
RNG = np.random.default_rng(0)
X = RNG.uniform(-0.3, 0.3, (T, D)).astype(np.float32)
TARGETS = {
    "regression": (0.45 + 0.1 * np.sin(8 * X[:, 0]) * np.sign(X[:, 1])).astype(np.float32),
    "classification": np.where(X[:, 0] + X[:, 1] + 0.1 * RNG.normal(size=T) > -0.3, np.float32(1), np.float32(-1)),
}
COPY_MOMENT = float((X**2).sum(axis=1).max()) + D * VARIANCE


def best_laws():
    """The feature maps with the laws of smallest variance for these copies."""
    n = np.arange(20)
    polynomial, gaussian = Inhomogeneous(2), Gaussian(WIDTH)
    roots = np.sqrt(polynomial.coefficients(3) * COPY_MOMENT ** n[:3])
    vectors = np.sqrt((2 * COPY_MOMENT / WIDTH**2) ** n / special.factorial(n))
    pairs = (COPY_MOMENT / WIDTH**2) ** n / special.factorial(n)
    polynomial_law, *laws = map(distribution_from_magnitudes, (roots, vectors, pairs))
    return {
        "polynomial": DotProductFeatureMap(polynomial, polynomial_law),
        "Gaussian": GaussianFeatureMap(gaussian, *laws),
    }


MAPS = best_laws()


def skewed(key, t, x):
    """Noise of labels: 0.9 with probability 0.1, else -0.1; its variance is 0.09."""
    return jax.random.bernoulli(key, 0.1, x.shape).astype(x.dtype) - jnp.asarray(0.1, x.dtype)


def setting(kernel, loss, label_variance):
    """The learner with the prescribed step, its bound and its targets."""
    loss, _ = LOSSES[loss]
    feature_map, y = MAPS[kernel], TARGETS[loss.kind]
    y_bound = float(np.sqrt((y**2).max() + label_variance)) if loss.kind == "regression" else 0.0
    moment = factor_moment(RADIUS, feature_map.second_moment(COPY_MOMENT), y_bound)
    length = GradientLength.for_loss(loss, minimum_variance, moment, n_terms=24)
    bound = noisy_kernel(feature_map, length, RADIUS, COPY_MOMENT, T, y_bound if loss.kind == "regression" else None)
    storage = Storage(tensor_levels=2, deepest=12, most_pairs=12 * (kernel == "Gaussian"), most_fresh=16, n_chunks=80)
    return NoisyKernel(feature_map, length, bound.step_size, RADIUS, storage), bound, y


@jax.jit
def predictions(game, learner, keys):
    def run(key):
        history = jo.play(game, learner, key, T)[1]
        return history.y_hat, history.info.overflow[-1]

    return jax.vmap(run)(keys)


@pytest.mark.long
@pytest.mark.parametrize(
    ("kernel", "loss", "label_variance"),
    [
        ("polynomial", "squared", 0.0), ("Gaussian", "hinge", 0.0), ("Gaussian", "exponential", 0.0),
        ("Gaussian", "absolute", 0.0), ("polynomial", "absolute", 0.09),
    ],
)  # fmt: skip
def test_the_regret_is_below_the_corrected_bound(kernel, loss, label_variance):
    """The upper ends of the intervals of the mean over runs, at every one of the rounds. With skewed noise of labels
    sqrt(E y~^2) takes the place of |y| in the bound."""
    learner, bound, y = setting(kernel, loss, label_variance)
    label_noise = jo.noise.CustomNoise(skewed) if label_variance else None
    feedback = jo.NoisyCopies(jo.noise.gaussian(VARIANCE), label_noise=label_noise)
    value = LOSSES[loss][1]
    game = jo.Game(jo.environments.DataStream(X, y), feedback)
    learner, game = cast_leaves((learner, game), np.float32)
    y_hat, overflow = predictions(game, learner, jax.random.split(jax.random.key(1), RUNS))
    assert not overflow.any()
    best = RKHSBall(MAPS[kernel].kernel, RADIUS, LOSSES[loss][0]).best_losses(X, y, ROUNDS)
    losses = np.cumsum(value(np.asarray(y_hat, float), y), axis=1)[:, ROUNDS - 1]
    mean, error = losses.mean(axis=0) - best, losses.std(axis=0, ddof=1) / np.sqrt(RUNS)
    limits = bound.at_rounds(ROUNDS)
    still = np.cumsum(value(0.0, y))[ROUNDS - 1] - best
    assert (mean + MARGIN * error <= limits).all(), (mean, error, limits)
    assert (mean - MARGIN * error)[-1] > 0, "there is something to learn"
    assert still[-1] > bound.value, "the bound is not empty"
