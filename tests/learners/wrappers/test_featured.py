"""Learners in feature space against a NumPy loop in the features, and risk on held-out rows."""

import convex_rows
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from kernel_loops import exponential, rounds_of, smoothed_absolute, squared

import jaxonline as jo
from jaxonline.estimators import FourierFeatures, FullGradient, MeanOfCopies, NaiveCopy, TwoCopies
from jaxonline.learners import WithFeatures, held_out_risk
from jaxonline.learners.wrappers import FeaturedOracle
from jaxonline.losses import Exponential, SmoothedAbsolute, Squared

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


T, RUNS = 40, 3
X, Y = convex_rows.data(6, T)
X_TEST, Y_TEST = convex_rows.data(7, 25)


def risks(hypotheses):
    return np.mean((X_TEST @ hypotheses.T - Y_TEST[:, None]) ** 2, axis=0)


@pytest.mark.long
@pytest.mark.parametrize(
    ("feedback", "estimator"),
    [(jo.FullInformation(), FullGradient(Squared())), (jo.NoisyCopies(jo.noise.gaussian(0.2)), TwoCopies())],
    ids=["full information", "two copies"],
)
def test_risks_are_those_of_the_hypotheses_of_the_run(x64, feedback, estimator):
    """Against NumPy, from the hypotheses of `play`; the risk of the mean is below the mean risk."""
    game = jo.Game(jo.environments.DataStream(X, Y, order="iid"), feedback, loss=Squared())
    learner = jo.GradientLearner(estimator, 0.1, radius=1.0)
    found = held_out_risk(game, learner, X_TEST, Y_TEST, T, RUNS, seed=4)
    assert found.mean.shape == found.random.shape == found.last.shape == (RUNS, T)
    assert not found.overflowed.any()
    for run in range(RUNS):
        key = jax.random.fold_in(jax.random.key(4), run)
        after = [np.asarray(jo.play(game, learner, key, t)[0].w) for t in (1, 2, T // 2, T)]
        np.testing.assert_allclose(found.last[run, [0, 1, T // 2 - 1, T - 1]], risks(np.array(after)), rtol=1e-10)
        np.testing.assert_allclose(found.mean[run, :2], risks(np.array([0 * after[0], after[0] / 2])), rtol=1e-10)
    before = np.concatenate([np.full((RUNS, 1), risks(np.zeros((1, 3)))), found.last[:, :-1]], axis=1)
    np.testing.assert_allclose(found.random, np.cumsum(before, axis=1) / np.arange(1, T + 1), rtol=1e-10)
    assert np.all(found.mean[:, 1:] < found.random[:, 1:])


def test_bad_held_out_rows_and_moves_are_named():
    game = jo.Game(jo.environments.DataStream(X, Y), jo.FullInformation(), loss=Squared())
    learner = jo.GradientLearner(FullGradient(), 0.1)
    with pytest.raises(ValueError, match=r"^X\b.*shape \(25, 2\)"):
        held_out_risk(game, learner, X_TEST[:, :2], Y_TEST, T)
    with pytest.raises(ValueError, match=r"as many rows"):
        held_out_risk(game, learner, X_TEST, Y_TEST[1:], T)
    arms = jo.Game(jo.environments.BernoulliArms([0.2, 0.4]), jo.Bandit(), loss=jo.losses.ArmLoss())
    with pytest.raises(TypeError, match=r"^learner\b.*UCB1"):
        held_out_risk(arms, jo.learners.UCB1(), X_TEST, Y_TEST, T)
