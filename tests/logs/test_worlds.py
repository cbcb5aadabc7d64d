"""Policies from scores, logs of simulated games, and replay of learners."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxonline as jo
from jaxonline import logs
from jaxonline.parameters.errors import UnsupportedArmsWarning


def test_policies_from_scores():
    """The formulas by hand, for NumPy, for JAX, and inside jit."""
    scores = np.array([[0.0, 2.0, 1.0], [1.0, 1.0, -1.0]], np.float32)
    greedy, soft = [[0.1, 0.8, 0.1], [0.8, 0.1, 0.1]], np.exp(scores / 0.5)
    soft = soft / soft.sum(axis=1, keepdims=True)
    for table in (scores, jnp.asarray(scores)):
        np.testing.assert_allclose(logs.epsilon_greedy(table, 0.3), greedy, rtol=1e-6)
        np.testing.assert_allclose(logs.softmax(table, 0.5), soft, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(logs.softmax)(scores[0]), logs.softmax(scores[0]), rtol=1e-6)
    np.testing.assert_allclose(jax.jit(logs.epsilon_greedy)(scores[1]), [0.9 + 0.1 / 3, 0.1 / 3, 0.1 / 3], rtol=1e-6)
    assert logs.softmax([1e5, 0.0]).tolist() == [1.0, 0.0]
    with pytest.raises(ValueError, match="temperature: must be above 0"):
        logs.softmax([0.0, 1.0], 0.0)


def test_worlds_draw_what_they_enumerate():
    """Frequencies of 40,000 rows; a deviation of 0.015 is 6 standard deviations."""
    world = logs.FiniteWorld([0.75, 0.25], [[0.25, 0.75], [0.5, 0.125]], [[0.8, 0.2], [1.0, 0.0]])
    log = world.draw(40_000, seed=1)
    chances = {(*one.contexts[0].astype(int), one.arms[0], one.rewards[0]): p for p, one in world.logs(1)}
    assert len(chances) == 6
    for (x, arm, reward), chance in chances.items():
        share = ((log.contexts[:, 0] == x) & (log.arms == arm) & (log.rewards == reward)).mean()
        assert share == pytest.approx(chance, abs=0.015)
    assert set(log.propensities) == {0.8, 0.2, 1.0}
    assert (world.draw(50, seed=1).arms != world.draw(50, seed=2).arms).any()
    with pytest.raises(ValueError, match="behavior: must have the sum 1"):
        logs.FiniteWorld([1.0], [[0.5, 0.5]], [[0.5, 0.6]])
    with pytest.raises(ValueError, match="means: must have the shape"):
        logs.FiniteWorld([0.5, 0.5], [[0.5, 0.5]], [[0.5, 0.5]])
    with pytest.raises(ValueError, match="policy: must have the shape"):
        world.value([[0.5, 0.5]])


@pytest.mark.long
def test_a_simulated_log_has_the_means_of_its_environment():
    """2,000 rows; the value by IPS is within 5 standard errors of the truth, that of the logging policy is not."""
    arms = jo.environments.ContextualLinearArms([0.25, -0.25], n_arms=3)
    shifted = jo.environments.BernoulliArms([0.2, 0.5, 0.9])
    log, means = logs.simulate_log(shifted, lambda x: jnp.array([0.2, 0.3, 0.5], jnp.float32), 2000, key=3)
    assert means.shape == (2000, 3)
    np.testing.assert_allclose(means[7], [0.8, 0.5, 0.1], rtol=1e-6)
    assert set(log.propensities.round(6)) == {0.2, 0.3, 0.5}
    value = logs.ips(log, [1.0, 0.0, 0.0], interval="student")
    error = (value.high - value.low) / 4
    assert abs(value.value - 0.8) < 5 * error < abs(log.rewards.mean() - 0.8)
    moving = jo.environments.DriftingArms([0.2, 0.5], step=0.1)
    means = logs.simulate_log(moving, lambda x: jnp.array([0.5, 0.5], jnp.float32), 40).means
    assert len(np.unique(means)) > 40
    rows = jo.environments.ClassificationArms(np.arange(3.0)[:, None], [[True], [False], [True]], order="shuffled")
    log, means = logs.simulate_log(rows, lambda x: jnp.array([0.5, 0.5], jnp.float32), 30)
    np.testing.assert_array_equal(means[:, 0], log.contexts[:, 0] == 1)
    np.testing.assert_array_equal(log.rewards, means[np.arange(30), log.arms])
    for p in ([0.2, 0.3, 0.5], [[0.5, 0.5]], [0.2, 0.3], [-0.2, 1.2], [np.nan, 1.0]):
        with pytest.raises(ValueError, match="behavior: must return"):
            logs.simulate_log(moving, lambda x, p=p: jnp.array(p, jnp.float32), 4)
    for environment in (jo.environments.RestedArms([[0.2], [0.4]]), jo.environments.DataStream(None, [[0.2, 0.4]])):
        with pytest.raises(ValueError, match="environment: must have mean outcomes"):
            logs.simulate_log(environment, lambda x: jnp.array([0.5, 0.5], jnp.float32), 4)
    with pytest.raises(ValueError, match="rewards"):  # losses below 0
        logs.simulate_log(arms, lambda x: jnp.full(3, 1 / 3, jnp.float32), 40)
    with pytest.raises(TypeError, match="behavior: must be a function"):
        logs.simulate_log(shifted, 0.5, 40)


def ucb1(log, keep):
    """UCB1 on the rows that it would have chosen, for losses 1 - reward; ties go to the first arm."""
    n, losses, played = np.zeros(log.n_arms), np.zeros(log.n_arms), []
    for row in np.flatnonzero(keep):
        arm = int(np.argmin(n)) if (n == 0).any() else int(np.argmin(losses / n - np.sqrt(2 * np.log(n.sum()) / n)))
        if arm == log.arms[row]:
            n[arm], losses[arm] = n[arm] + 1, losses[arm] + 1 - log.rewards[row]
            played.append(row)
    return played


def test_replay_plays_the_rows_that_the_learner_chooses():
    world = logs.FiniteWorld([1.0], [[0.2, 0.5, 0.8]], np.full((1, 3), 1 / 3))
    drawn = world.draw(300, seed=5)
    log = jo.Log(None, drawn.arms, drawn.rewards, drawn.propensities, 3)
    live = jo.Live(jo.learners.UCB1(ties="first"), jo.Bandit(), outcome=3)
    result, rows = logs.replay(log, live), ucb1(log, np.ones(300, bool))
    assert (result.n_rounds, result.n_discarded, result.n_rows) == (len(rows), 300 - len(rows), 300)
    assert result.value == pytest.approx(log.rewards[rows].mean())
    assert live.round == len(rows)  # the learner is warm
    assert str(result) == (
        f"replay: mean reward {result.value:.5g}, {len(rows)} of 300 rows played, {300 - len(rows)} discarded"
    )
    again = logs.replay(log, live)
    assert live.round == len(rows) + again.n_rounds


def test_replay_makes_the_arms_of_a_log_uniform():
    """A learner that always takes arm 1, and one that takes arm 0; without the rejection of rows, the shares of rows
    played would be 0.1 and 0.9. Both have a standard deviation of 0.007 here."""
    shares = []
    for arm in (0, 1):
        log = logs.FiniteWorld([1.0], [[0.3, 0.6]], [[0.9, 0.1]]).draw(2000, seed=2)
        log = jo.Log(None, log.arms, log.rewards, log.propensities, 2)
        policy = logs.RandomPolicy(lambda x, arm=arm: jnp.asarray([1.0 - arm, float(arm)], jnp.float32))
        result = logs.replay(log, jo.Live(policy, jo.Bandit(), outcome=2))
        shares.append(result.n_rounds / 2000)
        assert result.value == pytest.approx(0.3 + 0.3 * arm, abs=0.15)
    assert shares == pytest.approx([0.1, 0.1], abs=0.035)


@pytest.mark.parametrize(
    ("arms", "propensities", "n_arms", "words"),
    [
        ([0, 1] * 450, [1e-6] + [0.5] * 899, 2, "0 of 900 rows played, 900 discarded (899 to make the arms uniform)"),
        ([0, 1] * 450, 0.5, 3, "1 arms never tried by the log"),
    ],
)
def test_replay_warns_of_arms_that_the_log_never_or_rarely_tries(arms, propensities, n_arms, words):
    live = jo.Live(logs.RandomPolicy(lambda x: jnp.eye(n_arms)[1]), jo.Bandit(), outcome=n_arms)
    with pytest.warns(UnsupportedArmsWarning, match="replay") as record:
        logs.replay(jo.Log(None, arms, [1, 0] * 450, propensities, n_arms), live)
    assert words in str(record[0].message)
    for other in (jo.Live(jo.learners.UCB1(), jo.Bandit(), outcome=5), jo.Live(jo.learners.UCB1(), outcome=n_arms)):
        with pytest.raises(ValueError, match=f"live: must have the feedback .* and outcome={n_arms}"):
            logs.replay(jo.Log(None, arms, [1, 0] * 450, propensities, n_arms), other)


def test_a_contextual_learner_replays_features_of_arms():
    rng = np.random.default_rng(0)
    contexts, arms = rng.normal(size=(200, 3, 2)) / 3, rng.integers(3, size=200)
    log = jo.Log(contexts, arms, (contexts[np.arange(200), arms, 0] > 0).astype(float), 1 / 3)
    live = jo.Live(jo.learners.LinUCB(), jo.Bandit(), outcome=3)
    result = logs.replay(log, live)
    assert 30 < result.n_rounds < 110
    assert result.n_rounds == live.round
    with pytest.raises(TypeError, match="live: must be Live"):
        logs.replay(log, jo.learners.UCB1())
    with pytest.raises(TypeError, match="log: must be Log"):
        logs.replay(3, live)
