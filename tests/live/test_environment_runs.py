"""Learners in environments of gymnasium: the runs of `jo.play`, and an independent loop with another environment."""

import math

import numpy as np
import pytest

import jaxonline as jo

gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is in the extras `gym` and `test-all`")

ROUNDS, SEEDS = 40, [3, 11]
ARMS = jo.Game(jo.environments.BernoulliArms([0.2, 0.5, 0.9]), jo.Bandit(), loss=jo.losses.ArmLoss(), pseudo=True)
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
        env, jo.learners.UCB1(), 200, seeds=SEEDS, reward_range=(0.0, 10.0), best_reward=8.0, record_at=[50]
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
    assert "mean reward of the best arm" in str(result)


def test_without_means_there_is_no_regret():
    result = jo.play_env(Machines([0.3, 0.8]), jo.learners.UCB1(), 5, seeds=[0], reward_range=(0.0, 10.0))
    assert result.comparator_loss is None
    with pytest.raises(ValueError, match="comparator: "):
        _ = result.regret
    assert result.table is not None
    assert "cumulative loss" in str(result)


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
                result.regret[i, r], np.cumsum(np.array([0.2, 0.5, 0.9])[arms] - 0.2), rtol=1e-5, atol=1e-5
            )
    assert "pseudo-regret" in str(result)
    assert set(result.to_pandas("cumulative_reward")["learner"]) == {"UCB1", "EXP3"}
    loaded = jo.load_result(result.save(tmp_path / "runs.npz"))
    np.testing.assert_array_equal(loaded.regret, result.regret)
    assert loaded.meta["regret_label"] == result.meta["regret_label"]


def test_learners_see_the_contexts_of_the_environment():
    """LinUCB pulls the arms of `jo.play`, with losses that have no limits."""
    game = jo.Game(
        jo.environments.ContextualLinearArms([0.5, -0.5], n_arms=4, noise_std=0.1), jo.Bandit(), jo.losses.ArmLoss()
    )
    learner = jo.learners.LinUCB(width=0.5)
    result = jo.play_env(
        jo.BanditEnv(game, ROUNDS, offset=0.0), learner, ROUNDS, seeds=SEEDS, reward_range=None, record_at=ROUNDS
    )
    for r, seed in enumerate(SEEDS):
        _, history = jo.play(game, learner, seed, ROUNDS)
        losses = np.asarray(history.y)[np.arange(ROUNDS), np.asarray(history.y_hat)]
        np.testing.assert_allclose(result.measures["cumulative_reward"][0, r], np.cumsum(-losses), rtol=1e-5)
        means = np.asarray(history.x) @ [0.5, -0.5]
        regret = np.cumsum(means[np.arange(ROUNDS), np.asarray(history.y_hat)] - means.min(axis=1))
        np.testing.assert_allclose(result.regret[0, r], regret, rtol=1e-4, atol=1e-5)


class NaNRewards(Machines):
    """All rewards are NaN."""

    def step(self, action):
        return 0, math.nan, False, False, {}


def test_bad_calls_of_runs():
    ucb1, env = jo.learners.UCB1(), Machines([0.3, 0.8])
    spaces = gymnasium.spaces
    wide = Machines([0.3, 0.8], observations=spaces.Discrete(3))
    box = Machines([0.3, 0.8])
    box.action_space = spaces.Box(0.0, 1.0, (2,))
    for message, kind, call in [
        (r"action space Discrete \(got Box", ValueError, lambda: jo.play_env(box, ucb1, 5)),
        (r"Discrete\(1\) \(got Discrete\(3\)\); wrap", ValueError, lambda: jo.play_env(wide, ucb1, 5)),
        ("seeds: must be distinct", ValueError, lambda: jo.play_env(env, ucb1, 5, seeds=[1, 1])),
        ("UCB1 needs losses from 0 to 1", ValueError, lambda: jo.play_env(env, ucb1, 5, reward_range=None)),
        ("seeds: must be", ValueError, lambda: jo.play_env(env, ucb1, 5, seeds=[-1])),
        ("reward_range: must be two", ValueError, lambda: jo.play_env(env, ucb1, 5, reward_range=(1.0, 0.0))),
        ("reward_range: must contain all", ValueError, lambda: jo.play_env(env, ucb1, 50)),
        ("finite rewards .got the reward nan", ValueError, lambda: jo.play_env(NaNRewards([0.5, 0.5]), ucb1, 5)),
        ("LinUCB cannot play this game", ValueError, lambda: jo.play_env(env, jo.learners.LinUCB(width=0.5), 5)),
    ]:  # fmt: skip
        with pytest.raises(kind, match=message):
            call()
