"""Learners in feature space: against a NumPy loop in the features, and against the kernel <phi, phi>."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from kernel_loops import exponential, rounds_of, smoothed_absolute, squared

import jaxonline as jo
from jaxonline.estimators import FourierFeatures, FullGradient, KnownCovariance, MeanOfCopies, NaiveCopy, TwoCopies
from jaxonline.kernels import Gaussian, Kernel
from jaxonline.learners import KernelGradient, WithFeatures
from jaxonline.learners.wrappers import FeaturedOracle
from jaxonline.losses import Exponential, SmoothedAbsolute, Squared
from jaxonline.parameters.struct import struct

ROUNDS = 60
OMEGA = np.random.default_rng(7).normal(size=(8, 3))
PHASES = np.random.default_rng(8).uniform(0, 2 * np.pi, 8)
FORMS = {
    "pair": (FourierFeatures(OMEGA), lambda x: np.concatenate([np.cos(OMEGA @ x), np.sin(OMEGA @ x)]) / np.sqrt(8)),
    "cosine": (FourierFeatures(OMEGA, PHASES), lambda x: np.cos(OMEGA @ x + PHASES) / 2),
}
LOSSES = {
    "squared": (Squared(), squared),
    "absolute": (SmoothedAbsolute(2.0), smoothed_absolute(2.0)),
    "exponential": (Exponential(), exponential),
}


def noisy():
    return jo.NoisyCopies(jo.noise.gaussian([0.1, 0.2, 0.1]), label_noise=jo.noise.uniform(0.04))


def data(classes=False):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROUNDS, 3)) / 2
    y = np.sin(3 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=ROUNDS)
    return X, np.where(y > 0, 1.0, -1.0) if classes else y


def clean(w, phi, slope, seen):
    return slope(w @ phi(seen.x), seen.y) * phi(seen.x)


def one_copy(w, phi, slope, seen):
    return slope(w @ phi(seen.copies[0]), seen.label) * phi(seen.copies[0])


def two_copies(w, phi, slope, seen):
    return slope(w @ phi(seen.copies[0]), seen.label) * phi(seen.copies[1])


def mean_of_features(w, phi, slope, seen):
    mean = np.mean([phi(copy) for copy in seen.copies[:4]], axis=0)
    return slope(w @ mean, seen.label) * mean


GRADIENTS = {
    "clean": (FullGradient, clean, 1),
    "one copy": (NaiveCopy, one_copy, 1),
    "two copies": (lambda loss: TwoCopies(), two_copies, 2),
    "mean of 4": (lambda loss: MeanOfCopies(4, loss), mean_of_features, 4),
}


@pytest.mark.parametrize(
    ("form", "loss", "gradient", "radius"),
    [
        ("pair", "squared", "clean", None),
        ("pair", "squared", "one copy", 0.8),
        ("cosine", "exponential", "one copy", None),
        ("cosine", "absolute", "mean of 4", 0.5),
        ("pair", "squared", "two copies", 0.8),
    ],
)
@pytest.mark.long
def test_a_learner_of_features_equals_its_numpy_loop(form, loss, gradient, radius, x64):
    """Predictions and weights in float64, to 1e-9 relative, on the same copies."""
    (features, phi), (loss, slope), (estimator, gradient, queries) = FORMS[form], LOSSES[loss], GRADIENTS[gradient]
    X, y = data(classes=loss.kind == "classification")
    key = jax.random.fold_in(jax.random.key(2), 3)
    y_hat, w, projections = [], np.zeros(features.size), 0
    for t, seen in enumerate(rounds_of(noisy(), key, X, y, 4), start=1):
        y_hat.append(w @ phi(seen.x))
        w = w - 0.4 / np.sqrt(t) * gradient(w, phi, slope, seen)
        if radius is not None and np.linalg.norm(w) > radius:
            w, projections = w * radius / np.linalg.norm(w), projections + 1
    assert projections == 0 if radius is None else 3 < projections < ROUNDS

    inner = jo.GradientLearner(estimator(loss), step_size=jo.InverseSqrt(0.4), radius=radius)
    feedback = jo.FullInformation() if gradient is clean else noisy()
    game = jo.Game(jo.environments.DataStream(X, y), feedback, loss=loss)
    state, history = jo.play(game, WithFeatures(inner, features), key, ROUNDS)
    np.testing.assert_allclose(history.y_hat, y_hat, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(state.w, w, rtol=1e-9, atol=1e-10)
    assert history.queries.tolist() == [queries] * ROUNDS
    assert np.ptp(y_hat) > 0.1, "a learner that does not move would be no test"


@struct
class FeatureKernel(Kernel):
    features: FourierFeatures

    def __call__(self, x, x2):
        return self.features(x) @ self.features(x2)


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
def test_gradient_descent_on_features_equals_kernel_gradient_descent(form, x64):
    """w = sum alpha_i phi(x_i): one copy, the same noise, projections included."""
    features, _ = FORMS[form]
    X, y = data()
    game = jo.Game(jo.environments.DataStream(X, y), noisy())
    options = {"step_size": jo.InverseSqrt(0.4), "radius": 0.8}
    kernel = KernelGradient(FeatureKernel(features), NaiveCopy(), n_rounds=ROUNDS, **options)
    featured = WithFeatures(jo.GradientLearner(NaiveCopy(), **options), features)
    expected = jo.play(game, kernel, jax.random.key(0), ROUNDS)[1].y_hat
    found = jo.play(game, featured, jax.random.key(0), ROUNDS)[1].y_hat
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_a_wrapped_learner_equals_the_learner_on_a_stream_of_features():
    """A learner of full information sees phi(x): the same as the learner on a stream of features."""
    features, phi = FORMS["pair"]
    X, y = data()
    Phi = np.array([phi(x) for x in X], np.float32)
    inner = jo.GradientLearner(FullGradient(), step_size=0.3, hypothesis="average")
    streams = [jo.environments.DataStream(x, y) for x in (Phi, X.astype(np.float32))]
    (_, expected), (_, found) = (
        jo.play(jo.Game(stream, jo.FullInformation()), learner, jax.random.key(0), ROUNDS)
        for stream, learner in zip(streams, (inner, WithFeatures(inner, features)), strict=True)
    )
    np.testing.assert_allclose(found.y_hat, expected.y_hat, rtol=1e-4, atol=1e-5)


@pytest.mark.long
def test_feature_maps_of_one_size_share_one_program():
    """The features are leaves: maps of one size are one program."""
    X, y = data()
    game = jo.Game(jo.environments.DataStream(X.astype(np.float32), y), noisy())
    inner = jo.GradientLearner(NaiveCopy(), step_size=0.1)
    each = {
        str(seed): WithFeatures(inner, FourierFeatures.draw(jax.random.key(seed), Gaussian(1.5), 3, 20))
        for seed in range(2)
    }
    together = jo.simulate(game, jo.sweep(each), n_runs=3, n_rounds=20).cumulative_loss
    alone = jo.simulate(game, each, n_runs=3, n_rounds=20).cumulative_loss
    np.testing.assert_allclose(together, alone, rtol=1e-4)
    assert (alone[0] != alone[1]).any()


@pytest.mark.long
def test_the_oracle_of_features_maps_answers_and_keeps_the_count():
    """Every answer is phi of the answer underneath, and the meter is the meter underneath."""
    features, phi = FORMS["pair"]

    def opened():
        x, y = jnp.float32([0.1, -0.4, 0.3]), jnp.float32(1.0)
        return noisy().open(jax.random.key(0), jnp.int32(3), x, y, y)

    under, oracle = opened(), FeaturedOracle(opened(), features, features)

    def close(found, expected):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)

    close(oracle.copy(1), phi(np.asarray(under.copy(1))))
    close(oracle.label(), under.label())
    close(oracle.label(2), under.label(2))
    close(oracle.labels(3, jnp.int32(3)), [under.label(j) for j in range(3)])
    rows = oracle.copies(2, 4, jnp.int32(3))
    close(rows[:3], [phi(np.asarray(under.copy(j))) for j in (2, 3, 4)])
    assert not rows[3].any()
    assert oracle.queries() == 4
    close(oracle.reserve(jnp.int32(2))(jnp.int32(7)), phi(np.asarray(under.copy(7))))
    assert oracle.queries() == 6
    with pytest.raises(ValueError, match="covariance"):
        _ = oracle.covariance
    assert not hasattr(oracle, "x"), "what the oracle underneath does not show"


def test_a_learner_that_needs_the_covariance_raises():
    X, y = data()
    feedback = jo.NoisyCopies(jo.noise.gaussian(0.1), reveal_covariance=True)
    game = jo.Game(jo.environments.DataStream(X.astype(np.float32), y), feedback)
    learner = WithFeatures(jo.GradientLearner(KnownCovariance(), step_size=0.1), FORMS["pair"][0])
    with pytest.raises(ValueError, match="covariance"):
        jo.play(game, learner, jax.random.key(0), 3)
