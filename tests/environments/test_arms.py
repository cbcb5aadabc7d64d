"""Arms: distributions and expected outcomes of their losses, random walks, switches and contexts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from tiers import some

import jaxonline as jo
from jaxonline.environments import (
    BernoulliArms,
    ContextualLinearArms,
    ContextualLogisticArms,
    DriftingArms,
    GaussianArms,
    HiddenBestArm,
    RestedArms,
    RestlessArms,
    SwitchingArms,
)
from jaxonline.environments.arms import reflect
from jaxonline.game import Environment, play_round, start, stream_keys
from jaxonline.parameters.struct import cast_leaves

pytestmark = pytest.mark.fast_compile

FALSE_ALARM = 1e-6
T, RUNS = 30, 400
ARMS = {
    "Bernoulli": BernoulliArms([0.0, 0.3, 0.9]),
    "Gaussian": GaussianArms([-1.0, 0.3, 2.0], std=0.5),
    "hidden": HiddenBestArm(3, gap=0.2),
    "drifting": DriftingArms([0.1, 0.5, 1.0], step=0.1),
    "switching": SwitchingArms([[0.1, 0.5, 0.9], [0.9, 0.5, 0.1], [0.5, 0.2, 0.8]], starts=[11, 21]),
    "restless": RestlessArms([[0.0, 0.3, 1.0], [0.6, 0.9, 0.0]], [[0.9, 0.1], [0.3, 0.7]]),
    "contextual": ContextualLinearArms([1.0, -2.0], n_arms=3, noise_std=0.5, radius=2.0),
    "contextual, of each arm": ContextualLinearArms([[1.0, -2.0], [0.5, 0.0], [0.0, 1.0]], noise_std=0.5, shared=True),
    "logistic": ContextualLogisticArms([[1.0, -2.0], [0.5, 0.0], [0.0, 1.0]], radius=2.0),
}


def play_environment(environment):
    """Instances, outcomes and expected outcomes [RUNS, T, ...], without a learner."""
    game = cast_leaves(jo.Game(environment, jo.Bandit(), jo.losses.ArmLoss(), pseudo=True), np.float32)

    @jax.jit
    def play(game):
        def play_run(run):
            keys = stream_keys(jax.random.fold_in(jax.random.key(0), run))
            rounds = jnp.arange(1, T + 1, dtype=jnp.int32)
            return jax.lax.scan(lambda s, t: play_round(game, None, keys, t, s), start(game, None, keys), rounds)[1]

        return jax.vmap(play_run)(jnp.arange(RUNS, dtype=jnp.uint32))

    record = play(game)
    return tuple(np.asarray(array, float) for array in (record.x, record.y, record.y_comparator))


@pytest.mark.parametrize("name", some(ARMS, "Gaussian", "hidden", "contextual"))
def test_losses_have_the_expected_outcome_as_mean(name):
    """The mean of outcome - expected outcome over all rounds and runs is near 0 for three arms (false alarm 1e-6).

    A bias of 8 standard errors, 0.035 for Bernoulli losses, is detected with probability 0.999. Expected outcomes of
    the next round are detected where the means change.
    """
    environment = ARMS[name]
    assert isinstance(environment, Environment)
    assert type(environment).mean_outcome is not Environment.mean_outcome
    x, y, means = play_environment(environment)
    residuals = (y - means).reshape(-1, 3)
    scale = residuals.std(axis=0)
    limit = stats.norm.ppf(1 - FALSE_ALARM / 6) / np.sqrt(RUNS * T)
    assert (np.abs(residuals.mean(axis=0)) <= limit * scale).all()
    if name == "Gaussian":
        assert stats.kstest(residuals.ravel() / 0.5, "norm").pvalue > FALSE_ALARM
        assert stats.kstest(residuals.ravel() / 0.55, "norm").pvalue < FALSE_ALARM
    elif name == "contextual":
        assert stats.kstest(residuals.ravel() / 0.5, "norm").pvalue > FALSE_ALARM
        np.testing.assert_allclose(means, x @ [1.0, -2.0], atol=1e-5)
        np.testing.assert_allclose(np.linalg.norm(x, axis=-1), 2.0, rtol=1e-5)
        angle = np.arctan2(x[..., 1], x[..., 0]).ravel()
        assert stats.kstest(angle, stats.uniform(-np.pi, 2 * np.pi).cdf).pvalue > FALSE_ALARM
    elif name == "contextual, of each arm":
        assert stats.kstest(residuals.ravel() / 0.5, "norm").pvalue > FALSE_ALARM
        np.testing.assert_allclose(means, x @ np.asarray(environment.weights).T, atol=1e-5)
    else:
        assert set(np.unique(y)) == {0.0, 1.0}
        assert means.min() >= 0
        assert means.max() <= 1
    if name == "logistic":
        products = (x * np.asarray(environment.weights)).sum(axis=-1)
        np.testing.assert_allclose(means, 1 / (1 + np.exp(-products)), atol=1e-5)
    if name == "switching":
        expected = np.repeat(np.asarray(environment.means, float), 10, axis=0)
        np.testing.assert_array_equal(means, np.broadcast_to(expected, means.shape))
        delayed = (y - np.roll(expected, 1, axis=0)).mean(axis=0)
        assert np.abs(delayed[[10, 20]]).max() > 0.25
        assert np.abs((y - expected).mean(axis=0)).max() < 0.13
    if name == "hidden":
        assert (means == means[:, :1]).all()
        good = (means[:, 0] < 0.4).argmax(axis=1)
        np.testing.assert_allclose(np.sort(means[:, 0], axis=1), np.tile([0.3, 0.5, 0.5], (RUNS, 1)), rtol=1e-6)
        assert stats.chisquare(np.bincount(good, minlength=3)).pvalue > FALSE_ALARM
    if name == "restless":  # states are 0 with probability 3/4 in each round, and stay with 1 - 0.1 / (3/4)
        states = means != means.reshape(-1, 3)[np.abs(means - [0.0, 0.3, 1.0]).max(axis=-1).argmin()]
        for share, p in ((states[:, 0], 0.25), (states[:, -1], 0.25), (states[:, 1:] & states[:, :-1], 0.25 * 0.7)):
            deviations = (share.mean(axis=0) - p) / np.sqrt(p * (1 - p) / RUNS)
            assert np.abs(deviations).max() < stats.norm.ppf(1 - FALSE_ALARM / 2 / deviations.size)
        assert abs(np.corrcoef(states[:, 5, 0], states[:, 5, 1])[0, 1]) < 5 / np.sqrt(RUNS)
    if name == "drifting":
        np.testing.assert_allclose(means[:, 0], np.tile([0.1, 0.5, 1.0], (RUNS, 1)), rtol=1e-6)
        inside = np.diff(means[..., 1], axis=1)[:, :2].ravel() / 0.1  # far from both ends
        assert stats.kstest(inside, "norm").pvalue > FALSE_ALARM
        assert stats.kstest(inside * 1.6, "norm").pvalue < FALSE_ALARM


def test_reflect_equals_bouncing_at_0_and_1():
    """The same numbers as a loop."""

    def bounce(value):
        while not 0 <= value <= 1:
            value = -value if value < 0 else 2 - value
        return value

    a = np.linspace(-3.7, 4.2, 80).astype(np.float32)
    np.testing.assert_allclose(reflect(jnp.asarray(a)), [bounce(value) for value in a], atol=1e-6)


def test_rested_arms_change_with_their_pulls_only():
    """Moves are drawn with probabilities, so that a `Draw` is counted as its arm."""
    table = np.array([[0.1, 0.9], [0.2, 0.8], [0.3, 0.4]])
    game = jo.Game(RestedArms(table), jo.Bandit(), jo.losses.ArmLoss(), pseudo=True)
    rounds = jo.play(game, jo.learners.EXP3(0.1), jax.random.key(0), T)[1]
    arms = np.asarray(rounds.y_hat.arm)
    pulls = np.cumsum(np.eye(2, dtype=int)[arms], axis=0) - np.eye(2, dtype=int)[arms]
    np.testing.assert_allclose(rounds.y_comparator, table[np.minimum(pulls, 2), [0, 1]], rtol=1e-6)
    rewards = jo.replace(game, environment=jo.environments.Rewards(RestedArms(1 - table)))
    np.testing.assert_allclose(jo.play(rewards, jo.learners.EXP3(0.1), jax.random.key(0), T)[1].loss, rounds.loss, 1e-6)


def test_arms_that_change_refuse_wrong_arguments():
    with pytest.raises(ValueError, match="square, with rows that add up to 1"):
        RestlessArms([[0.1], [0.2]], [[0.5, 0.4], [0.5, 0.5]])
    with pytest.raises(ValueError, match="a row for each row of means, 1"):
        RestlessArms([[0.1]], [[0.5, 0.5], [0.5, 0.5]])
    game = jo.Game(RestedArms([[0.1, 0.2]]), jo.FullInformation(), jo.losses.ExpectedLoss())
    with pytest.raises(TypeError, match="must pull an arm"):
        jo.play(game, jo.learners.Hedge(jo.learners.EWA(0.5)), jax.random.key(0), 2)
