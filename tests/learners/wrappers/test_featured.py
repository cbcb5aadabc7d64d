"""The oracle of features, and risk on held-out rows."""

import convex_rows
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxonline as jo
from jaxonline.estimators import FourierFeatures, FullGradient, TwoCopies
from jaxonline.learners import held_out_risk
from jaxonline.learners.wrappers import FeaturedOracle
from jaxonline.losses import Squared

pytestmark = pytest.mark.fast_compile
OMEGA = np.random.default_rng(7).normal(size=(8, 3))


def phi(x):
    return np.concatenate([np.cos(OMEGA @ x), np.sin(OMEGA @ x)]) / np.sqrt(8)


@pytest.mark.long
def test_the_oracle_of_features_maps_answers_and_keeps_the_count():
    """Every answer is phi of the answer underneath, and the meter is the meter underneath."""
    features = FourierFeatures(OMEGA)
    noisy = jo.NoisyCopies(jo.noise.gaussian([0.1, 0.2, 0.1]), label_noise=jo.noise.uniform(0.04))

    def opened():
        x, y = jnp.float32([0.1, -0.4, 0.3]), jnp.float32(1.0)
        return noisy.open(jax.random.key(0), jnp.int32(3), x, y, y)

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
    close(oracle.copies(2, 3), rows[:3])
    assert oracle.queries() == 7
    close(oracle.reserve(jnp.int32(2))(jnp.int32(7)), phi(np.asarray(under.copy(7))))
    assert oracle.queries() == 9
    with pytest.raises(ValueError, match="covariance"):
        _ = oracle.covariance
    assert not hasattr(oracle, "x"), "what the oracle underneath does not show"


T, RUNS = 5, 2
X, Y = convex_rows.data(6, T)
X_TEST, Y_TEST = convex_rows.data(7, 25)


def risks(hypotheses):
    return np.mean((X_TEST @ hypotheses.T - Y_TEST[:, None]) ** 2, axis=0)


@pytest.mark.long
def test_risks_are_those_of_the_hypotheses_of_the_run(x64):
    """Against NumPy, from the hypotheses of `play`; the risk of the mean is below the mean risk."""
    game = jo.Game(jo.environments.DataStream(X, Y, order="iid"), jo.NoisyCopies(jo.noise.gaussian(0.2)))
    learner = jo.GradientLearner(TwoCopies(), 0.1, radius=1.0)
    found = held_out_risk(game, learner, X_TEST, Y_TEST, T, RUNS, seed=4)
    assert found.mean.shape == found.random.shape == found.last.shape == (RUNS, T)
    assert not found.overflowed.any()
    for run in range(RUNS):
        key = jax.random.fold_in(jax.random.key(4), run)
        w = np.array([np.zeros(3), *(jo.play(game, learner, key, t)[0].w for t in range(1, T + 1))])
        np.testing.assert_allclose(found.last[run], risks(w[1:]), rtol=1e-10)
        means = np.cumsum(w[:-1], axis=0) / np.arange(1, T + 1)[:, None]
        np.testing.assert_allclose(found.mean[run], risks(means), rtol=1e-10)
    before = np.concatenate([np.full((RUNS, 1), risks(np.zeros((1, 3)))), found.last[:, :-1]], axis=1)
    np.testing.assert_allclose(found.random, np.cumsum(before, axis=1) / np.arange(1, T + 1), rtol=1e-10)
    assert np.all(found.mean[:, 1:] < found.random[:, 1:])


@jo.struct
class Asking:
    """An estimator that asks for a number of copies that no compiler knows."""

    number: float

    def __call__(self, key, w, oracle):
        return w - oracle.reserve(jnp.where(w[0] > 9.0, 0.0, self.number).astype(jnp.int32))(jnp.int32(0))


@pytest.mark.parametrize(("number", "overflowed"), [(2.0, False), (3.0, True)])
def test_runs_that_ask_for_more_copies_than_are_measured_are_marked(number, overflowed):
    game = jo.Game(jo.environments.DataStream(X, Y), jo.Replicates(np.stack([X, X], axis=1)))
    learner = jo.GradientLearner(Asking(number), 0.1)
    assert held_out_risk(game, learner, X_TEST, Y_TEST, T).overflowed.tolist() == [overflowed]


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
