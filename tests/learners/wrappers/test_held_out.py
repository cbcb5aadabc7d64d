"""Risk on held-out rows: of the mean, of a random and of the last hypothesis, under full and noisy feedback."""

import jax
import numpy as np
import pytest
from convex_rows import D, data

import jaxonline as jo
from jaxonline.environments import DataStream
from jaxonline.estimators import FullGradient, TwoCopies
from jaxonline.learners import GradientLearner, held_out_risk
from jaxonline.losses import Squared

pytestmark = pytest.mark.fast_compile

T, RUNS = 40, 3
X, Y = data(6, T)
X_TEST, Y_TEST = data(7, 25)


def risks(hypotheses):
    """The risks of hypotheses [n, D] on the held-out rows."""
    return np.mean((X_TEST @ hypotheses.T - Y_TEST[:, None]) ** 2, axis=0)


@pytest.mark.long
@pytest.mark.parametrize(
    ("feedback", "estimator"),
    [(jo.FullInformation(), FullGradient(Squared())), (jo.NoisyCopies(jo.noise.gaussian(0.2)), TwoCopies())],
    ids=["full information", "two copies"],
)
def test_risks_are_those_of_the_hypotheses_of_the_run(x64, feedback, estimator):
    """Against NumPy, from the hypotheses of `play`: prediction with the mean vector is the mean prediction. The risk of
    the mean is below the mean risk, and a mean of the hypotheses after the updates has other risks."""
    game = jo.Game(DataStream(X, Y, order="iid"), feedback, loss=Squared())
    learner = GradientLearner(estimator, 0.1, radius=1.0)
    found = held_out_risk(game, learner, X_TEST, Y_TEST, T, RUNS, seed=4)
    assert found.mean.shape == found.random.shape == found.last.shape == (RUNS, T)
    assert not found.overflowed.any()
    for run in range(RUNS):
        key = jax.random.fold_in(jax.random.key(4), run)
        after = [np.asarray(jo.play(game, learner, key, t)[0].w) for t in (1, 2, T // 2, T)]
        np.testing.assert_allclose(found.last[run, [0, 1, T // 2 - 1, T - 1]], risks(np.array(after)), rtol=1e-10)
        np.testing.assert_allclose(found.mean[run, :2], risks(np.array([0 * after[0], after[0] / 2])), rtol=1e-10)
    before = np.concatenate([np.full((RUNS, 1), risks(np.zeros((1, D)))), found.last[:, :-1]], axis=1)
    np.testing.assert_allclose(found.random, np.cumsum(before, axis=1) / np.arange(1, T + 1), rtol=1e-10)
    assert np.all(found.mean[:, 1:] < found.random[:, 1:])


def test_bad_held_out_rows_and_moves_are_named():
    game, learner = (
        jo.Game(DataStream(X, Y), jo.FullInformation(), loss=Squared()),
        GradientLearner(FullGradient(), 0.1),
    )
    with pytest.raises(ValueError, match=r"^X\b.*shape \(25, 2\)"):
        held_out_risk(game, learner, X_TEST[:, :2], Y_TEST, T)
    with pytest.raises(ValueError, match=r"as many rows"):
        held_out_risk(game, learner, X_TEST, Y_TEST[1:], T)
    arms = jo.Game(jo.environments.BernoulliArms([0.2, 0.4]), jo.Bandit(), loss=jo.losses.ArmLoss())
    with pytest.raises(TypeError, match=r"^learner\b.*UCB1"):
        held_out_risk(arms, jo.learners.UCB1(), X_TEST, Y_TEST, T)
