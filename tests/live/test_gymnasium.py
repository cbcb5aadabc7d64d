"""Bandit games as environments of gymnasium: its own check, the losses of `jo.play`, and what an episode is."""

import warnings

import jax
import numpy as np
import pytest

import jaxonline as jo
from benchmarks.papers.engines.sleeping import Sleeping

gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is in the extras `gym` and `test-all`")

from gymnasium.utils.env_checker import check_env  # noqa: E402

ROUNDS = 40


def bandit_game(environment, pseudo=False):
    return jo.Game(environment, jo.Bandit(), loss=jo.losses.ArmLoss(), pseudo=pseudo)


ARMS = bandit_game(jo.environments.BernoulliArms([0.25, 0.5, 0.875]), pseudo=True)
GAUSSIAN = bandit_game(jo.environments.GaussianArms([0.25, 0.5], std=0.5))
CONTEXTS = bandit_game(jo.environments.ContextualLinearArms([0.5, -0.5], n_arms=4, noise_std=0.1))
TABLE = np.random.default_rng(0).integers(2, size=(60, 3)).astype(np.float32)
DATA = bandit_game(jo.environments.DataStream(None, TABLE))


@jo.struct
class Reacting(jo.environments.BernoulliArms):
    """The loss of an arm is 1 if and only if the arm was also pulled in the round before."""

    def init(self, key):
        return np.int32(-1)

    def outcome(self, key, state, t, x, y_hat):
        arms = np.arange(self.means.shape[0], dtype=np.int32)
        return (arms == state).astype(self.means.dtype), y_hat

    def mean_outcome(self, state, t, x, y):
        return y


GAMES = {"Bernoulli": ARMS, "Gaussian": GAUSSIAN, "contexts": CONTEXTS, "data": DATA}
LEARNERS = {"contexts": jo.learners.LinUCB(width=0.5), "Gaussian": jo.learners.GaussianThompson()}


@pytest.mark.parametrize("name", GAMES)
def test_the_check_of_gymnasium(name):
    env = jo.BanditEnv(GAMES[name], ROUNDS)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(env)
    messages = [str(warning.message) for warning in caught]
    expected = ("render modes due to the environment not having a spec", "is -infinity", "is infinity")
    assert [message for message in messages if not any(words in message for words in expected)] == []


@pytest.mark.parametrize("name", GAMES)
def test_an_episode_has_the_instances_and_losses_of_a_run(name):
    """The seed is the key of `jo.play`, which computes in one program; the last bits may differ."""
    env = jo.BanditEnv(GAMES[name], ROUNDS)
    _, history = jo.play(GAMES[name], LEARNERS.get(name, jo.learners.UCB1()), 7, ROUNDS)
    observation, info = env.reset(seed=7)
    assert info == {}
    losses = np.asarray(history.y)
    for t, arm in enumerate(np.asarray(getattr(history.y_hat, "arm", history.y_hat))):
        assert env.observation_space.contains(observation)
        if name == "contexts":
            np.testing.assert_allclose(observation, history.x[t], rtol=1e-6)
        else:
            assert observation == 0
        observation, reward, terminated, truncated, info = env.step(arm)
        assert reward == pytest.approx(1.0 - losses[t, arm], abs=1e-6)
        assert info["loss"] == pytest.approx(losses[t, arm], abs=1e-6)
        assert (terminated, truncated) == (False, t == ROUNDS - 1)
    assert env.action_space.n == losses.shape[1]


def test_infos_have_the_mean_rewards():
    env = jo.BanditEnv(ARMS, ROUNDS)
    env.reset(seed=0)
    infos = [env.step(arm)[-1] for arm in (0, 1, 2)]
    assert [info["expected_reward"] for info in infos] == [0.75, 0.5, 0.125]
    assert [info["best_reward"] for info in infos] == [0.75] * 3
    contexts = jo.BanditEnv(CONTEXTS, ROUNDS)
    features, _ = contexts.reset(seed=0)
    *_, info = contexts.step(2)
    means = 1.0 - features @ np.array([0.5, -0.5])
    assert info["expected_reward"] == pytest.approx(means[2], abs=1e-6)
    assert info["best_reward"] == pytest.approx(means.max(), abs=1e-6)
    data = jo.BanditEnv(DATA, ROUNDS)
    data.reset(seed=0)
    assert set(data.step(0)[-1]) == {"loss"}, "the means of data are unknown"


def test_the_offset_is_the_reward_of_the_loss_0():
    rewards = []
    for offset in (0.0, 1.0, 2.5):
        env = jo.BanditEnv(GAUSSIAN, ROUNDS, offset=offset)
        env.reset(seed=2)
        _, reward, _, _, info = env.step(1)
        assert reward == offset - info["loss"]
        assert (info["expected_reward"], info["best_reward"]) == (offset - 0.5, offset - 0.25)
        rewards.append(reward - offset)
    assert rewards == pytest.approx([rewards[0]] * 3)


def test_an_adversary_sees_the_arms():
    env = jo.BanditEnv(bandit_game(Reacting([0.5, 0.5])), ROUNDS)
    env.reset(seed=0)
    assert [env.step(arm)[1] for arm in (0, 0, 1, 1, 1, 0)] == [1.0, 0.0, 1.0, 0.0, 0.0, 1.0]


def test_a_reset_without_a_seed_starts_another_run():
    """A sequence of episodes follows from the first seed, as gymnasium requires."""
    env = jo.BanditEnv(GAUSSIAN, ROUNDS)

    def rewards(seed=None):
        env.reset(seed=seed)
        return [env.step(0)[1] for _ in range(3)]

    first = [rewards(5), rewards(), rewards()]
    assert first == [rewards(5), rewards(), rewards()]
    assert len({tuple(episode) for episode in first}) == 3
    assert rewards(6) != first[0]


def test_float64_is_kept():
    with jax.enable_x64(True):
        env = jo.BanditEnv(bandit_game(jo.environments.ContextualLinearArms([0.5, -0.5], n_arms=4)), ROUNDS)
    assert env.observation_space.dtype == np.float64
    observation, _ = env.reset(seed=0)
    assert observation.dtype == np.float64
    assert env.observation_space.contains(env.step(1)[0])


def test_bad_calls_of_environments():
    ended = jo.BanditEnv(ARMS, 1)
    ended.reset(seed=0)
    ended.step(0)
    fresh = jo.BanditEnv(ARMS, ROUNDS)
    masked = bandit_game(Sleeping(jo.environments.BernoulliArms([0.2, 0.5]), [[1, 1]]))
    for message, kind, call in [
        ("must have the feedback Bandit", ValueError, lambda: jo.BanditEnv(
            jo.Game(ARMS.environment, jo.FullInformation(), loss=jo.losses.ArmLoss()), ROUNDS
        )),
        ("for arms pass loss=jo.losses.ArmLoss", TypeError, lambda: jo.BanditEnv(
            jo.Game(ARMS.environment, jo.Bandit()), ROUNDS
        )),
        ("must have arrays of floating numbers", ValueError, lambda: jo.BanditEnv(masked, ROUNDS)),
        ("the episode has not begun", RuntimeError, lambda: fresh.step(0)),
        ("the episode is over after 1 rounds", RuntimeError, lambda: ended.step(0)),
        ("seed: must be", ValueError, lambda: fresh.reset(seed=2**40)),
    ]:  # fmt: skip
        with pytest.raises(kind, match=message):
            call()
    fresh.reset(seed=0)
    for action in (3, -1, 0.5, "left"):
        with pytest.raises(ValueError, match="action: must be an arm"):
            fresh.step(action)
    assert fresh.step(0)[1] in (0.0, 1.0), "a bad action plays no round"
