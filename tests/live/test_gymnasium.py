"""Bandit games as environments of gymnasium, and learners in such environments: the numbers of `jo.play`."""

import math
import warnings

import numpy as np
import pytest
from tiers import some

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


@pytest.mark.parametrize("name", some(GAMES, "contexts"))
def test_the_check_of_gymnasium(name):
    env = jo.BanditEnv(GAMES[name], ROUNDS)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(env)
    expected = ("render modes due to the environment not having a spec", "is -infinity", "is infinity")
    assert all(any(words in str(warning.message) for words in expected) for warning in caught)


@pytest.mark.parametrize("name", some(GAMES, "Bernoulli", "contexts"))
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
    ]:  # fmt: skip
        with pytest.raises(kind, match=message):
            call()
    fresh.reset(seed=0)
    for action in (3, -1, 0.5, "left"):
        with pytest.raises(ValueError, match="action: must be an arm"):
            fresh.step(action)
    assert fresh.step(0)[1] in (0.0, 1.0), "a bad action plays no round"


SEEDS = [3, 11]
POLICIES = {"UCB1": jo.learners.UCB1(), "EXP3": jo.learners.EXP3(0.1)}


class Machines(gymnasium.Env):
    """An environment of another author: Bernoulli rewards, actions from `start`, episodes of `length` steps."""

    def __init__(self, means, start=5, length=1, observations=None):
        self.means, self.length = means, length
        self.action_space = gymnasium.spaces.Discrete(len(means), start=start)
        self.observation_space = observations or gymnasium.spaces.Discrete(1)
        self.resets = []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.resets.append(seed)
        self.steps = 0
        return self.observation(), {}

    def step(self, action):
        self.steps += 1
        reward = float(self.np_random.random() < self.means[action - self.action_space.start])
        return self.observation(), 10.0 * reward, self.steps == self.length, False, {}

    def observation(self):
        return getattr(self.observation_space, "low", 0)


def ucb1_rewards(means, seed, n_rounds):
    """UCB1 for rewards in NumPy, with the draws of `Machines`."""
    rng = np.random.Generator(np.random.PCG64(seed))
    totals, pulls, rewards = np.zeros(len(means)), np.zeros(len(means)), []
    for t in range(n_rounds):
        unpulled = np.flatnonzero(pulls == 0)
        width = np.sqrt(2.0 * math.log(max(t, 1)) / np.maximum(pulls, 1.0))
        arm = unpulled[0] if len(unpulled) else int(np.argmax(totals / np.maximum(pulls, 1.0) + width))
        rewards.append(float(rng.random() < means[arm]))
        totals[arm], pulls[arm] = totals[arm] + rewards[-1], pulls[arm] + 1.0
    return np.array(rewards)


@pytest.mark.parametrize("length", [1, 7, 1000])
def test_ucb1_earns_the_rewards_of_an_independent_loop(length):
    """The learner goes on after the end of an episode, and the draws of the environment do, too."""
    env = Machines([0.3, 0.8, 0.6], length=length)
    result = jo.play_env(
        env, jo.learners.UCB1(ties="first"), 200, seeds=SEEDS, reward_range=(0.0, 10.0), best_reward=8.0, record_at=[50]
    )
    rewards = np.array([ucb1_rewards([0.3, 0.8, 0.6], seed, 200) for seed in SEEDS])
    expected = rewards.cumsum(axis=1)[:, [49, 199]]
    assert result.learners == ("learner",)
    assert result.runs.tolist() == SEEDS
    assert result.rounds.tolist() == [50, 200]
    np.testing.assert_array_equal(result.measures["cumulative_reward"][0], 10.0 * expected)
    np.testing.assert_allclose(result.cumulative_loss[0], [50, 200] - expected, rtol=1e-12)
    np.testing.assert_allclose(result.regret[0], np.array([50, 200]) * 0.8 - expected, atol=1e-9)
    np.testing.assert_array_equal(result.queries[0], [[50, 200]] * 2)
    assert [seed for seed in env.resets if seed is not None] == SEEDS
    assert len(env.resets) == 2 * (1 + 200 // length)
    unknown = jo.play_env(env, jo.learners.UCB1(), 5, seeds=[0], reward_range=(0.0, 10.0))
    assert unknown.comparator_loss is None


def test_runs_equal_those_of_play_and_are_saved(tmp_path):
    """With the key as seed, all learners pull the same arms; losses are those of the means, as in `jo.simulate`."""
    result = jo.play_env(jo.BanditEnv(ARMS, n_rounds=ROUNDS), POLICIES, ROUNDS, seeds=SEEDS, record_at=ROUNDS)
    assert result.learners == ("UCB1", "EXP3")
    for i, learner in enumerate(POLICIES.values()):
        for r, seed in enumerate(SEEDS):
            _, history = jo.play(ARMS, learner, seed, ROUNDS)
            arms = np.asarray(getattr(history.y_hat, "arm", history.y_hat))
            rewards = 1.0 - np.asarray(history.y)[np.arange(ROUNDS), arms]
            np.testing.assert_allclose(result.measures["cumulative_reward"][i, r], rewards.cumsum(), rtol=1e-12)
            np.testing.assert_allclose(result.cumulative_loss[i, r], np.cumsum(history.loss), rtol=1e-5)
            np.testing.assert_allclose(
                result.regret[i, r], np.cumsum(np.array([0.25, 0.5, 0.875])[arms] - 0.25), rtol=1e-5, atol=1e-5
            )
    loaded = jo.load_result(result.save(tmp_path / "runs.npz"))
    np.testing.assert_array_equal(loaded.regret, result.regret)
    assert loaded.meta["regret_label"] == result.meta["regret_label"]


def test_learners_see_the_contexts_of_the_environment():
    """LinUCB pulls the arms of `jo.play`, with losses that have no limits."""
    learner = LEARNERS["contexts"]
    result = jo.play_env(
        jo.BanditEnv(CONTEXTS, ROUNDS, offset=0.0), learner, ROUNDS, seeds=SEEDS, reward_range=None, record_at=ROUNDS
    )
    for r, seed in enumerate(SEEDS):
        _, history = jo.play(CONTEXTS, learner, seed, ROUNDS)
        losses = np.asarray(history.y)[np.arange(ROUNDS), np.asarray(history.y_hat)]
        np.testing.assert_allclose(result.measures["cumulative_reward"][0, r], np.cumsum(-losses), rtol=1e-5)
        means = np.asarray(history.x) @ [0.5, -0.5]
        regret = np.cumsum(means[np.arange(ROUNDS), np.asarray(history.y_hat)] - means.min(axis=1))
        np.testing.assert_allclose(result.regret[0, r], regret, rtol=1e-4, atol=1e-5)


@pytest.mark.long
def test_linear_and_gaussian_models_learn_rewards_in_any_range():
    """The arms are those of `jo.play` in the game of rewards."""
    environment = jo.environments.Rewards(CONTEXTS.environment)
    for learner in (LEARNERS["contexts"], jo.learners.EpsilonGreedy(0.2), jo.learners.GaussianThompson(prior_mean=0.5)):
        game = bandit_game(environment)
        result = jo.play_env(
            jo.BanditEnv(game, ROUNDS), learner, ROUNDS, seeds=SEEDS, reward_range=(-2.0, 2.0), record_at=ROUNDS
        )
        for r, seed in enumerate(SEEDS):
            _, history = jo.play(game, learner, seed, ROUNDS)
            np.testing.assert_allclose(
                result.measures["cumulative_reward"][0, r], np.cumsum(history.reward), rtol=1e-4, atol=1e-4
            )


class NaNRewards(Machines):
    """All rewards are NaN."""

    def step(self, action):
        return 0, math.nan, False, False, {}


def test_bad_calls_of_runs():
    ucb1, env = jo.learners.UCB1(), Machines([0.3, 0.8])
    spaces = gymnasium.spaces
    wide = Machines([0.3, 0.8], observations=spaces.Discrete(3))
    for message, kind, call in [
        (r"Discrete\(1\) \(got Discrete\(3\)\); wrap", ValueError, lambda: jo.play_env(wide, ucb1, 5)),
        ("seeds: must be distinct", ValueError, lambda: jo.play_env(env, ucb1, 5, seeds=[1, 1])),
        ("UCB1 needs rewards from 0 to 1", ValueError, lambda: jo.play_env(env, ucb1, 5, reward_range=None)),
        ("reward_range: must contain all", ValueError, lambda: jo.play_env(env, ucb1, 50)),
        ("finite rewards .got the reward nan", ValueError, lambda: jo.play_env(NaNRewards([0.5, 0.5]), ucb1, 5)),
        ("LinUCB cannot play this game", ValueError, lambda: jo.play_env(env, jo.learners.LinUCB(width=0.5), 5)),
    ]:  # fmt: skip
        with pytest.raises(kind, match=message):
            call()
