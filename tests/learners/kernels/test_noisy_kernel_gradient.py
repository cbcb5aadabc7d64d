"""The step of Algorithm 1 along a real run: its mean is the gradient of the loss at the hypothesis of that round.

The gradient is l'(..) Psi(x) in the RKHS. The tests check its values at a few points z, <g~ Psi~, Psi(z)>, which
must have the mean l'(<w_t, Psi(x_t)>, y_t) k(x_t, z). The hypothesis w_t is that of a run of the learner, the target
comes from the NumPy pseudocode on the same copies, and the second moments of the estimates are exact.
"""

import functools
import itertools
import math
from typing import Any

import jax
import jax.numpy as jnp
import noisy_kernel_reference as reference
import numpy as np
import pytest
from noisy_kernel_draws import drawn, reference_kernel
from tiers import some

import jaxonline as jo
from jaxonline import verify
from jaxonline.estimators.counts import FiniteDistribution, Geometric, minimum_variance
from jaxonline.estimators.feature_maps import DotProductFeatureMap, GaussianFeatureMap
from jaxonline.estimators.gradient_length import GradientLength
from jaxonline.game import Specs, stream_keys
from jaxonline.kernels import Gaussian, Inhomogeneous, PowerSeries
from jaxonline.learners import NoisyKernel, Storage
from jaxonline.losses import Exponential, SmoothedAbsolute, SmoothedHinge, Squared
from jaxonline.parameters.struct import cast_leaves, struct
from jaxonline.simulation.blocks import default_mesh

pytestmark = pytest.mark.fast_compile
T, D, VARIANCE, STEP = 40, 2, 0.04, 0.1
DETECT = 0.05  # of the largest value of the gradient at the points; found with probability 0.999, false alarms 1e-9
WIDTH, P = 1.5, 3.0
POINTS = np.array([[0.6, 0.1], [-0.3, 0.5], [0.1, -0.7]])
ONE_DEVICE = default_mesh(jax.devices()[:1])
CHANNEL = jo.NoisyCopies(jo.noise.gaussian(VARIANCE))
KEY = jax.random.key(7)

MAPS = {
    "polynomial": DotProductFeatureMap(Inhomogeneous(2), FiniteDistribution([0.5, 0.35, 0.15])),
    "quadratic": DotProductFeatureMap(
        Inhomogeneous(2), FiniteDistribution([0.0, 0.0, 1.0])
    ),  # of which only this part is learned
    "Gaussian": GaussianFeatureMap(Gaussian(WIDTH), Geometric(P)),
}
KERNELS = {
    "polynomial": lambda x, z: (1 + x @ z) ** 2,
    "quadratic": lambda x, z: (x @ z) ** 2,
    "Gaussian": lambda x, z: math.exp(-np.sum((x - z) ** 2) / WIDTH**2),
}
RADII = {"polynomial": 0.5, "quadratic": 0.3, "Gaussian": 0.5}
STORAGE = {
    "polynomial": Storage(tensor_levels=2, deepest=2, most_pairs=0, most_fresh=1, n_chunks=1),
    "quadratic": Storage(tensor_levels=2, deepest=2, most_pairs=0, most_fresh=1, n_chunks=1),
    "Gaussian": Storage(tensor_levels=2, deepest=24, most_pairs=24, most_fresh=24, n_chunks=20),
}
LENGTHS = {  # second moments are guesses: the estimators are unbiased whatever they are
    "squared": GradientLength.for_loss(Squared(), minimum_variance, 1.0),
    "exponential": GradientLength.for_loss(Exponential(), Geometric(P), 0.5, n_terms=24),
    "hinge": GradientLength.for_loss(SmoothedHinge(0.5), Geometric(P), 0.5, n_terms=24),
}
SLOPES = {  # the derivative of the loss by the prediction
    "squared": lambda a, y: 2 * (a - y),
    "exponential": lambda a, y: -y * math.exp(-y * a),
    "hinge": lambda a, y: y * (math.erf(0.5 * (y * a - 1)) - 1) / 2,
}


def data(loss):
    X = np.random.default_rng(3).uniform(-0.7, 0.7, (T, D)).astype(np.float32)
    y = np.sin(3 * X[:, 0]) + 0.5 * X[:, 1]
    return X, y if loss == "squared" else np.where(y > 0, np.float32(1.0), np.float32(-1.0))


def learner_of(kernel, loss):
    return cast_leaves(NoisyKernel(MAPS[kernel], LENGTHS[loss], STEP, RADII[kernel], STORAGE[kernel]), np.float32)


@jax.jit
def states_of(learner, X, y):
    """The states before the rounds 1, ..., T of a run."""
    keys = stream_keys(KEY)

    def step(state, seen):
        t, x, y = seen
        oracle = CHANNEL.open(jax.random.fold_in(keys.oracle, t), t, x, y, y)
        key = jax.random.fold_in(jax.random.fold_in(keys.learner, t), 1)
        return learner.update(key, state, oracle)[0], state

    start = learner.init(keys.learner, Specs.of_vectors(D, X.dtype))
    return jax.lax.scan(step, start, (jnp.arange(1, T + 1, dtype=jnp.int32), X, y))[1]


@functools.cache
def trajectory(kernel, loss):
    """The learner's states before each round; the estimates Psi~_t, and before each round the alphas of the
    pseudocode."""
    learner = learner_of(kernel, loss)
    X, y = data(loss)
    states, draws = states_of(learner, X, y), drawn(learner, CHANNEL, X, KEY)
    rounds = [
        reference.Round(X[t], y[t], draws.psi(t), int(draws.n[t]), [draws.psi(t, j + 1) for j in range(draws.n[t])])
        for t in range(T)
    ]
    series = LENGTHS[loss].series
    law = reference.table(np.exp(series.law.log_table(200)))
    length = reference.Loss(reference.table(np.asarray(series.coefficients)), LENGTHS[loss].kind, law)
    record = reference.algorithm_1(reference_kernel(MAPS[kernel]), length, rounds, STEP, RADII[kernel] ** 2)
    np.testing.assert_allclose(states.w.squared_norm[1:], record.norms[:-1], rtol=1e-4, atol=1e-6)
    assert (record.unprojected > RADII[kernel] ** 2).sum() > 3, "the run meets the ball"
    return states, [r.psi for r in rounds], np.vstack([np.zeros(T), record.alphas])


@struct
class Repeating:
    """An oracle that repeats its first `period` copies."""

    oracle: Any
    period: Any

    def reserve(self, number):
        draw = self.oracle.reserve(number)
        return lambda index: draw(index % self.period)

    def label(self):
        return self.oracle.label()

    def labels(self, capacity, number):
        return self.oracle.labels(capacity, number)


def estimate(learner, state, x, y, period, key):
    """g~ <Psi~, Psi(z)> at every point z, from an update of w with step size 1."""
    learner_key, oracle_key = jax.random.split(key)
    learner = NoisyKernel(learner.feature_map, learner.gradient_length, 1.0, None, learner.storage)
    oracle = Repeating(CHANNEL.open(oracle_key, jnp.int32(1), x, y, y), period)
    after, info = learner.update(learner_key, state, oracle)
    points = jnp.asarray(POINTS, x.dtype)
    before, later = (jax.vmap(lambda z, w=w: learner.predict(key, w, z))(points) for w in (state, after))
    return verify.Capped(before - later, info.overflow)


def value_moment(kernel, psis, alphas, x):
    """E <w, Psi~>^2 for w = sum alpha_i Psi~_i and a fresh Psi~ of x, whose factors are independent: a second moment of
    a copy in each place."""
    square = np.outer(x, x) + VARIANCE * np.eye(D)
    if isinstance(kernel, reference.Gaussian):
        levels = [counts[1] for counts, _ in psis]
        alphas = [a * kernel._pairs(counts[0], copies) for a, (counts, copies) in zip(alphas, psis, strict=True)]
        factors = [copies[2 * counts[0] :] for counts, copies in psis]
        beta, inner = kernel._level, np.trace(square @ square)
        pairs = sum((inner / kernel.width**4) ** m / math.factorial(m) ** 2 / kernel.pair_law(m) for m in range(30))
    else:
        levels, factors = [counts for counts, _ in psis], [copies for _, copies in psis]
        beta, pairs = kernel.beta, 1.0
    total = 0.0
    for i, j in itertools.product(range(len(psis)), repeat=2):
        if (n := levels[i]) == levels[j] and alphas[i] * alphas[j] != 0.0:
            product = np.prod([factors[i][k] @ square @ factors[j][k] for k in range(n)])
            total += pairs * alphas[i] * alphas[j] * beta(n) ** 2 / kernel.law(n) ** 3 * product
    return total


def feature_moment(feature_map, x, z):
    """E <Psi~, Psi(z)>^2."""
    tables = [np.exp(feature_map.law.log_table(30))]
    if isinstance(feature_map, GaussianFeatureMap):
        tables = tables * 2
    counts = itertools.product(*(range(30) for _ in tables))
    total = 0.0
    for each in counts:
        probability = math.prod(table[n] for table, n in zip(tables, each, strict=True))
        if probability > 0.0:
            total += probability * feature_map.second_moment_given(each, x, z, VARIANCE)
    return total


def verdict(kernel, loss, t, mutant=lambda learner: learner, period=1 << 20, detect=DETECT):
    """The verdict on the learner, or a mutant of it, after t rounds of the run."""
    states, psis, alphas = trajectory(kernel, loss)
    X, y = data(loss)
    prods = reference_kernel(MAPS[kernel])
    w = reference.predict(prods, alphas[t], psis, X[t])
    target = np.array([SLOPES[loss](w, y[t]) * KERNELS[kernel](X[t], z) for z in POINTS])
    factors = value_moment(prods, psis, alphas[t], X[t].astype(float))
    if loss == "squared":
        factors += y[t] ** 2 - 2 * y[t] * w
    moments = np.array([feature_moment(MAPS[kernel], X[t], z) for z in POINTS])
    moments *= LENGTHS[loss].second_moment(max(factors, 1e-9))
    learner, state = mutant(learner_of(kernel, loss)), jax.tree.map(lambda leaf: leaf[t], states)
    estimator = jax.tree_util.Partial(estimate, learner, state, X[t], y[t], np.int32(period))
    # what has no room has a probability below 3^-25 for each of a few numbers
    return verify.unbiased(estimator, target, second_moment=moments, detect=detect, cap_bias=1e-6, mesh=ONE_DEVICE)


RUNS = {("polynomial", "squared"): [0, 12, 39], ("Gaussian", "exponential"): [0, 12, 39], ("Gaussian", "hinge"): [12]}
EACH = [(*run, t) for run, rounds in RUNS.items() for t in rounds]
SHORT = (("polynomial", "squared", 12),)


@pytest.mark.long
@pytest.mark.parametrize(("kernel", "loss", "t"), some(EACH, *SHORT))
def test_the_mean_step_equals_the_gradient(kernel, loss, t):
    """At w = 0 and along the run. False-alarm rate 1e-9; a bias of 5 % is detected with probability 0.999."""
    result = verdict(kernel, loss, t)
    assert result.verdict == "within tolerance", result
    assert result.detectable <= DETECT * 1.01


def with_series(change):
    """A mutant with other coefficients of the series of l'."""

    def mutant(learner):
        series = learner.gradient_length.series
        n = np.arange(len(series.coefficients))
        series = jo.replace(series, coefficients=change(np.asarray(series.coefficients), n))
        length = jo.replace(learner.gradient_length, series=series)
        return cast_leaves(jo.replace(learner, gradient_length=length), np.float32)

    return mutant


@pytest.mark.long
def test_a_missing_factor_y_is_detected():
    """E9: without y inside the product, for y = -1, the term n of the series has the factor (-1)^n."""
    assert data("exponential")[1][39] == -1.0
    printed = with_series(lambda gammas, n: gammas * (-1.0) ** n)
    assert verdict("Gaussian", "exponential", 39, printed).verdict == "biased"


@pytest.mark.long
def test_a_wrong_weight_is_detected():
    """p^(n+2) for p^(n+1) in the one term n = 1. It exceeds the proved second moment, so no verdict is "biased"."""
    off_by_one = with_series(lambda gammas, n: np.where(n == 1, gammas * P, gammas))
    found = verdict("Gaussian", "exponential", 39, off_by_one)
    assert found.verdict == "undecided"
    assert abs(found.bias) > found.half_width


@pytest.mark.long
def test_a_reused_estimate_is_detected():
    """Each estimate has two copies, and the fresh estimates reuse those of Psi~_t: the bias is 3 %."""
    assert verdict("quadratic", "squared", 39, detect=0.015).verdict == "within tolerance"
    assert verdict("quadratic", "squared", 39, period=2, detect=0.015).verdict == "biased"


# Labels 0.5 +- 0.5, a kernel that is 1 everywhere, and the derivative erf: at w = 0 its mean over the labels is
# -0.4214, and at their mean it is -0.5205
FLIPPING = jo.NoisyCopies(jo.noise.gaussian(VARIANCE), label_noise=jo.noise.TwoPoints(0.5))
ON_LABELS = cast_leaves(
    NoisyKernel(
        DotProductFeatureMap(PowerSeries([1.0]), FiniteDistribution([1.0])),
        GradientLength.for_loss(SmoothedAbsolute(1.0), minimum_variance, 0.5),
        STEP, None, Storage(tensor_levels=0, deepest=1, most_pairs=0, most_fresh=40, n_chunks=1),
    ),
    np.float32,
)  # fmt: skip


@struct
class OneLabel:
    """An oracle that repeats its first label if `one` is True; labels beyond the number asked for are NaN."""

    oracle: Any
    one: Any

    def reserve(self, number):
        return self.oracle.reserve(number)

    def labels(self, capacity, number):
        labels = self.oracle.labels(capacity, number)
        asked = jnp.arange(capacity, dtype=jnp.int32) < jnp.maximum(number, 1)
        return jnp.where(asked, jnp.where(self.one, labels[0], labels), jnp.nan)


def length_on_labels(learner, state, one, key):
    learner_key, oracle_key = jax.random.split(key)
    oracle = FLIPPING.open(oracle_key, jnp.int32(1), jnp.ones(D, jnp.float32), jnp.float32(0.5), 0.0)
    _, info = learner.update(learner_key, state, OneLabel(oracle, one))
    return verify.Capped(info.length, info.overflow)


def verdict_on_labels(w, one=False):
    """Verdict on g~ at the hypothesis w; a bias of 8 % is detected with probability 0.999, false alarms 1e-9."""
    state = ON_LABELS.init(jax.random.key(0), Specs.of_vectors(D))
    state = state._replace(w=jo.replace(state.w, tensors=(jnp.float32(w),)))
    moment = ON_LABELS.gradient_length.second_moment((w - 0.5) ** 2 + 0.25)
    estimator = jax.tree_util.Partial(length_on_labels, ON_LABELS, state, np.bool_(one))
    target = math.erf(w - 0.5)
    return verify.unbiased(estimator, target, second_moment=moment, detect=0.08, mesh=ONE_DEVICE), target


@pytest.mark.long
@pytest.mark.parametrize("w", [0.0, -0.3])
def test_noisy_labels_do_not_bias_the_length(w):
    result, _ = verdict_on_labels(w)
    assert result.verdict == "within tolerance", result


@pytest.mark.long
def test_one_label_for_all_factors_is_detected():
    """Its mean is -0.4214, the mean of erf over the labels. It exceeds the proved second moment."""
    result, target = verdict_on_labels(0.0, one=True)
    assert result.verdict == "undecided"
    assert abs(result.bias) > result.half_width
    np.testing.assert_allclose(target - target * result.bias, -math.erf(1.0) / 2, atol=-target * result.half_width)
