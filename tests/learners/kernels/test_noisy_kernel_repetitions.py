"""Algorithm 1 with the mean of several g~ Psi~ in a round: the NumPy loop on the same copies, storage and queries."""

import dataclasses
import functools
import itertools

import jax
import jax.numpy as jnp
import noisy_kernel_reference as reference
import numpy as np
import pytest
from noisy_kernel_draws import TERMS, drawn, labels, padded, power_series, reference_kernel
from tiers import some

import jaxonline as jo
from jaxonline import verify
from jaxonline.estimators.counts import FiniteDistribution, Geometric, minimum_variance
from jaxonline.estimators.feature_maps import DotProductFeatureMap, GaussianFeatureMap
from jaxonline.estimators.gradient_length import GradientLength
from jaxonline.feedback import ReplicatesOracle
from jaxonline.game import Specs
from jaxonline.kernels import ExponentialKernel, Gaussian, Homogeneous, Inhomogeneous
from jaxonline.learners import NoisyKernel, Storage
from jaxonline.losses import SmoothedAbsolute, SmoothedHinge, Squared

pytestmark = pytest.mark.fast_compile
T, D, PAIRS, STEP, RADIUS = 40, 3, 3, 0.1, 0.2
MAPS = {
    "quadratic": DotProductFeatureMap(Inhomogeneous(2), FiniteDistribution([0.3, 0.4, 0.3])),
    "exponential": power_series(ExponentialKernel(), Geometric(1.5)),
    "gaussian": GaussianFeatureMap(Gaussian(2.0), padded(Geometric(2.0)), padded(Geometric(2.5))),
}
LOSSES = {"squared": Squared(), "hinge": SmoothedHinge(0.3), "absolute": SmoothedAbsolute(0.3)}
CHANNELS = {
    "squared": jo.NoisyCopies(jo.noise.gaussian(0.05), label_noise=jo.noise.gaussian(0.09)),
    "hinge": jo.NoisyCopies(jo.noise.gaussian(0.05), label_noise=jo.noise.FlippedLabels(0.2)),
    "absolute": jo.NoisyCopies(jo.noise.gaussian(0.05), label_noise=jo.noise.gaussian(0.09)),
}
KEY = jax.random.key(5)


def learner_of(kernel, loss, repetitions=PAIRS):
    length = GradientLength.for_loss(LOSSES[loss], Geometric(2.0), second_moment=1.0, n_terms=24)
    if kernel == "quadratic":  # a small program
        length = GradientLength.for_loss(LOSSES[loss], Geometric(2.0), second_moment=1.0)
        return NoisyKernel(MAPS[kernel], length, STEP, RADIUS, Storage(2, 2, 0, 24, 1), repetitions)
    storage = Storage(1, deepest=TERMS, most_pairs=TERMS * (kernel == "gaussian"), most_fresh=24, n_chunks=400)
    return NoisyKernel(MAPS[kernel], length, STEP, RADIUS, storage, repetitions)


def stream(loss):
    X = np.random.default_rng(3).uniform(-0.6, 0.6, (T, D))
    y = np.sin(3 * X[:, 0]) + 0.5 * X[:, 1]
    return X, np.where(y > 0, 1.0, -1.0) if loss == "hinge" else y


def pairs_of(learner, loss, X, y):
    """The draws of each round, PAIRS of them; every g~ has its own labels, one in classification."""
    draws, gammas = drawn(learner, CHANNELS[loss], X, KEY), np.asarray(learner.gradient_length.series.coefficients)
    noisy = labels(CHANNELS[loss], y, KEY, PAIRS * 23)
    rounds = []
    for t in range(T):
        first, pairs = 0, []
        for i, n in enumerate(draws.n[t].tolist()):
            used = n if n < len(gammas) and gammas[n] != 0.0 else 0
            number = 1 if loss == "hinge" else max(used, 1)
            own = noisy[t, first : first + number]
            first += number
            label = own[0] if loss == "hinge" else np.pad(own, (0, max(n - len(own), 0)))
            fresh = [draws.psi(t, j, i) for j in range(1, 1 + n)]
            pairs.append(reference.Round(X[t], label, draws.psi(t, 0, i), n, fresh))
        rounds.append(pairs)
    return rounds


@pytest.mark.long
@pytest.mark.parametrize(
    ("kernel", "loss"), [("quadratic", "squared"), ("exponential", "hinge"), ("gaussian", "absolute")]
)
def test_the_step_is_the_mean_over_pairs_with_their_own_copies_and_labels(x64, kernel, loss):
    """float64, 1e-9: predictions, mean lengths and |w|^2 by the double sum over all 3 T terms; 3 times the copies."""
    learner, (X, y) = learner_of(kernel, loss), stream(loss)
    _, history = jo.play(jo.Game(jo.environments.DataStream(X, y), CHANNELS[loss]), learner, KEY, T)
    rounds = pairs_of(learner, loss, X, y)
    gammas = reference.table(np.asarray(learner.gradient_length.series.coefficients))
    theirs = reference.algorithm_1_with_means(
        reference_kernel(MAPS[kernel]),
        reference.Loss(gammas, LOSSES[loss].kind, reference.geometric(2.0)),
        rounds,
        STEP,
        RADIUS**2,
    )
    assert not bool(history.info.overflow.any())
    np.testing.assert_allclose(history.y_hat, theirs.predictions, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(history.info.length, theirs.lengths, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(history.info.squared_norm, theirs.norms, rtol=1e-9, atol=1e-12)
    copies = [[len(c) for pair in pairs for _, c in (pair.psi, *pair.fresh)] for pairs in rounds]
    assert history.queries.tolist() == [sum(numbers) for numbers in copies]
    assert (theirs.unprojected > RADIUS**2 * (1 + 1e-9)).any(), "projections must happen, or this shows less"


def test_storage_for_repetitions_is_the_storage_for_as_many_rounds():
    learner = learner_of("exponential", "hinge")
    parts = learner.feature_map, learner.gradient_length
    storage = Storage.for_horizon(*parts, D, 100, repetitions=PAIRS)
    assert dataclasses.astuple(storage) == dataclasses.astuple(Storage.for_horizon(*parts, D, 100 * PAIRS))
    assert storage.n_chunks > Storage.for_horizon(*parts, D, 100).n_chunks
    fitting = jo.replace(learner, storage=storage)
    assert fitting.overflow_probability(100) < 1e-6
    assert fitting.overflow_probability(100) == jo.replace(fitting, repetitions=1).overflow_probability(100 * PAIRS)


def sum_of_pairs(patch):
    """Weights that are not divided by the number of pairs."""
    right = NoisyKernel._add_mean_of_pairs

    def add(self, key, w, t, oracle):
        step = self.step_size(t, w.squared_norm.dtype) * self.repetitions
        return right(jo.replace(self, step_size=step), key, w, t, oracle)

    patch.setattr(NoisyKernel, "_add_mean_of_pairs", add)


def one_length_for_all_pairs(patch):
    """The second pair has the fresh copies and the label of the first: the same g~, which is unbiased."""
    right = ReplicatesOracle.reserve

    def reserve(self, number):
        draw = right(self, number)
        return lambda index: draw(jnp.where(index >= 6, index - 4, index))

    patch.setattr(ReplicatesOracle, "reserve", reserve)
    patch.setattr(ReplicatesOracle, "labels", lambda self, capacity, number: jnp.repeat(self.label(0)[None], capacity))


@pytest.mark.parametrize(
    ("plant", "verdict"),
    some([(None, "within tolerance"), (sum_of_pairs, "biased"), (one_length_for_all_pairs, "biased")],
         (None, "within tolerance")),
)  # fmt: skip
def test_mean_and_second_moment_of_two_pairs_by_enumeration(x64, monkeypatch, plant, verdict):
    """All signs of the noise of 8 copies and 2 labels, for the kernel <x, x'>^2 and the squared loss.

    The change of the hypothesis at z, divided by -step, has the mean m = 2 (w(x) - y) <x, z>^2, and the second moment
    m^2 + (S - m^2) / 2 with S = 4 E (<w, Psi~> - y~)^2 E <Psi~, Psi(z)>^2.
    """
    if plant is not None:
        plant(monkeypatch)
        jax.clear_caches()
    x, z, start, y, label_noise = np.array([0.8, 0.3]), np.array([0.9, 0.5]), np.array([0.7, -0.2]), 0.6, 0.5
    noise = 0.4 * np.array([0.6, 0.8])
    feature_map = DotProductFeatureMap(Homogeneous(2), FiniteDistribution([0.0, 0.0, 1.0]))
    length = GradientLength.for_loss(Squared(), minimum_variance, 4.0)
    learner = NoisyKernel(feature_map, length, STEP, None, Storage(2, 2, 0, 1, 1), repetitions=2)
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=10)))
    copies, labels_ = x + signs[:, :8, None] * noise, y + label_noise * signs[:, 8:]
    changes_after_a_round = jax.jit(functools.partial(_changes_after_a_round, start, z))  # a new function: plants trace
    alpha, changes = changes_after_a_round(learner, copies, labels_)
    alpha, changes = float(alpha), np.asarray(changes, float)
    if plant is not None:
        jax.clear_caches()

    def second(a):  # E <x~, a>^2
        return (x @ a) ** 2 + (noise @ a) ** 2

    w = alpha * (start @ x) ** 2
    mean = 2 * (w - y) * (x @ z) ** 2
    length_moment = 4 * (alpha**2 * second(start) ** 2 - 2 * y * w + y**2 + label_noise**2)
    moment = mean**2 + (length_moment * second(z) ** 2 - mean**2) / 2
    support = [(1 / len(signs), np.array([change, change**2])) for change in changes]
    assert verify.unbiased(None, np.array([mean, moment]), support=support, detect=1e-6).verdict == verdict


def _changes_after_a_round(start, z, learner, copies, labels_):
    """Return w(start) after a round without noise and the label 1, divided by |start|^4, and the next changes at z."""
    key = jax.random.key(0)
    clean = ReplicatesOracle(jnp.tile(start, (8, 1)), None, jnp.ones(()))
    before = learner.update(key, learner.init(key, Specs.of_vectors(2, start.dtype)), clean)[0]

    def change(copies, labels_):
        after = learner.update(key, before, ReplicatesOracle(copies, labels_, labels_[0]))[0]
        return (learner.predict(key, before, z) - learner.predict(key, after, z)) / STEP

    return learner.predict(key, before, start) / (start @ start) ** 2, jax.vmap(change)(copies, labels_)
