"""Rewards and ties: published and independent numbers of games of rewards, priors of each arm, and errors."""

import warnings

import jax
import numpy as np
import pytest
from scipy import stats

import jaxonline as jo
from jaxonline.environments import ContextualLinearArms, DataStream, Rewards
from jaxonline.learners import (
    BernoulliThompson,
    EpsilonGreedy,
    GaussianThompson,
    LinThompson,
    LinUCB,
    SequentialHalving,
    UpdateOnArrival,
)
from jaxonline.parameters.errors import SettingsWarning

pytestmark = pytest.mark.fast_compile

LINEAR = {"LinUCB": LinUCB(width=0.5), "linear Thompson": LinThompson(width=0.5)}


def arms_game(environment, feedback=None):
    return jo.Game(environment, feedback or jo.Bandit(), loss=jo.losses.ArmLoss(), pseudo=True)


@pytest.mark.long
def test_linear_models_have_the_regret_of_the_game_of_losses():
    """The contexts are the same. With losses 1 - reward the loss is larger by 50. Delayed answers are shifted, too."""
    weights = np.array([0.5, -0.5])
    losses, rewards = (ContextualLinearArms(w, n_arms=4) for w in (-weights, weights))
    games = [arms_game(losses), arms_game(Rewards(rewards))]
    losses, rewards = (jo.simulate(game, LINEAR, n_runs=20, n_rounds=300, record_at=1) for game in games)
    best = [result.cumulative_loss[:, :, -1] for result in (losses, rewards)]
    np.testing.assert_allclose((best[1] - 300).mean(axis=1), best[0].mean(axis=1), atol=1.0)
    delayed = arms_game(games[1].environment, jo.Delayed(jo.Bandit(), 2))
    late = jo.simulate(delayed, UpdateOnArrival(LINEAR["LinUCB"]), n_runs=20, n_rounds=300, record_at=1)
    assert abs(late.cumulative_loss[0, :, -1] - best[1][0]).mean() < 5


@pytest.mark.long
@pytest.mark.parametrize("learner", [LinUCB(width=0.5), EpsilonGreedy(0.0), GaussianThompson(1.0, 0.3)])
def test_live_rewards_are_those_of_the_game(learner):
    rng = np.random.default_rng(0)
    x, rewards = rng.normal(size=(40, 3, 2)), rng.normal(size=(40, 3))
    _, history = jo.play(arms_game_of_rows(x, rewards), learner, 5, 40)
    live = jo.Live(learner, jo.Bandit(), outcome=3, rewards=isinstance(learner, GaussianThompson), key=5)
    for t in range(40):
        move = live.predict(x[t])
        arm = int(getattr(move, "arm", move))
        assert arm == int(np.asarray(getattr(history.y_hat, "arm", history.y_hat))[t])
        record = live.update(reward=rewards[t, arm])
        assert record.reward == pytest.approx(rewards[t, arm], abs=1e-5)


def arms_game_of_rows(x, rewards):
    arms = Rewards(DataStream(x.astype(np.float32), rewards.astype(np.float32)))
    return jo.Game(arms, jo.Bandit(), loss=jo.losses.ArmLoss())


@pytest.mark.long
def test_the_language_of_live_is_that_of_its_prior():
    warm = BernoulliThompson([9, 9, 2], [1, 1, 8])
    live = jo.Live(warm, jo.Bandit(), outcome=3, instance=0)
    live.predict()
    with pytest.raises(ValueError, match=r"rewards: must be True.*BernoulliThompson.*got False"):
        live.update(reward=1.0)
    live.update(loss=1.0)
    table = np.random.default_rng(0).integers(2, size=(30, 3)).astype(np.float32)
    shown = jo.Live(warm, jo.Bandit(), outcome=3, rewards=True, key=1)
    history = shown.learn(None, table)
    expected = jo.play(jo.Game(Rewards(DataStream(None, table)), jo.Bandit(), loss=jo.losses.ArmLoss()), warm, 1, 30)[1]
    assert history.y_hat.tolist() == expected.y_hat.tolist()
    np.testing.assert_array_equal(history.reward, expected.reward)
    shown.predict()
    assert shown.update(loss=0.25).reward == 0.75


@pytest.mark.long
def test_greedy_arms_on_the_testbed_are_those_of_a_loop_of_rewards():
    """Ten Gaussian arms, epsilon 0, 200 rounds: mean regrets of 1,000 runs and of 1,000 runs in NumPy (Welch's test,
    false alarm 1e-6). The test detects arms that start at the reward 1."""
    means, rng = np.random.default_rng(0).normal(size=10), np.random.default_rng(1)
    game = jo.bandit_game(means, rewards=True, std=1.0)
    result = jo.simulate(game, EpsilonGreedy(0.0), n_runs=1000, n_rounds=200, record_at=1, comparator=jo.BestArm())

    def regrets(start):
        sums, pulls, total, run = np.zeros((1000, 10)), np.zeros((1000, 10)), np.zeros(1000), np.arange(1000)
        order = rng.permuted(np.tile(np.arange(10), (1000, 1)), axis=1)
        for _ in range(200):
            values = np.where(pulls > 0, sums / np.maximum(pulls, 1), start)
            arm = order[run, np.take_along_axis(values, order, 1).argmax(1)]
            sums[run, arm] += means[arm] + rng.normal(size=1000)
            pulls[run, arm] += 1
            total += means.max() - means[arm]
        return total

    ours = result.regret[0, :, -1]
    assert stats.ttest_ind(ours, regrets(0.0), equal_var=False).pvalue > 1e-6
    assert stats.ttest_ind(ours, regrets(1.0), equal_var=False).pvalue < 1e-6


@pytest.mark.long
@pytest.mark.parametrize("best", [0, 3])
def test_regret_and_errors_of_an_order_of_arms_are_those_of_random_ties(best):
    """Epsilon-greedy on means .1 and .05 has the regret 19.1 in NumPy and PyMAB; sequential halving recommends a wrong
    arm in 71 % of the runs. With ties to the first arm: 9.7 or 23.7, and 40 % or 89 %. Intervals of 6 deviations."""
    means = np.full(4, 0.05)
    means[best] = 0.1
    game = jo.bandit_game(means, rewards=True)
    result = jo.simulate(game, EpsilonGreedy(0.1), n_runs=3000, n_rounds=1000, record_at=1, comparator=jo.BestArm())
    regret = result.regret[0, :, -1]
    assert abs(regret.mean() - 19.1) < 6 * regret.std() / np.sqrt(3000) + 0.05
    means[best] = 0.06
    measure = jo.WrongRecommendation()
    result = jo.simulate(jo.bandit_game(means, rewards=True), SequentialHalving(64), n_runs=4000, n_rounds=64,
                         record_at=1, measures=[measure])  # fmt: skip
    wrong = result.measures["wrong_recommendation"][0, :, -1].mean()
    assert abs(wrong - 0.71) < 6 * np.sqrt(0.71 * 0.29 / 4000) + 0.005


@pytest.mark.long
def test_a_prior_of_each_arm_is_a_warm_start():
    game = jo.bandit_game([0.9, 0.9, 0.2], rewards=True)
    learners = {"uniform": BernoulliThompson(), "warm": BernoulliThompson([9, 9, 2], [1, 1, 8])}
    result = jo.simulate(game, learners, n_runs=200, n_rounds=50, record_at=1, comparator=jo.BestArm())
    uniform, warm = result.regret[:, :, -1].mean(axis=1)
    assert warm < 0.4 * uniform
    for learner in (BernoulliThompson([9, 9], [1, 1]), GaussianThompson(prior_mean=[0.5, 0.5])):
        with pytest.raises(ValueError, match=r"prior_\w+: must be a number, or one for each arm \(3,\) \(got .*2"):
            jo.play(game, learner, 0, 5)
    with pytest.raises(ValueError, match=r"prior_ones: must be at least 1 \(got"):
        BernoulliThompson([9, 0.5])


@pytest.mark.long
def test_a_gaussian_prior_far_from_the_means_is_a_warning():
    """Arms 50, 52, 55 with standard deviation 10; the language of the prior is that of the game."""
    game, far = jo.bandit_game([50, 52, 55], rewards=True, std=10.0), "prior_mean: the mean of an arm is 55"
    with pytest.warns(SettingsWarning, match=far):
        jo.play(game, GaussianThompson(10.0), 0, 3)
    with pytest.warns(SettingsWarning, match="prior_mean"):
        jo.play(jo.bandit_game([50, 52, 55], std=10.0), GaussianThompson(10.0, -52.0, 10.0), 0, 3)
    table = Rewards(DataStream(None, np.full((4, 2), 50.0)))
    with pytest.warns(SettingsWarning, match="prior_mean"):
        jo.play(jo.Game(table, jo.Bandit(), loss=jo.losses.ArmLoss()), GaussianThompson(10.0, 5.0, 8.0), 0, 3)
    near = {"52": GaussianThompson(10.0, 52.0, 10.0), "flat": GaussianThompson(10.0, prior_std=None)}
    with warnings.catch_warnings():
        warnings.simplefilter("error", SettingsWarning)
        result = jo.simulate(game, near, n_runs=50, n_rounds=300, record_at=1, comparator=jo.BestArm())
    assert (result.regret[:, :, -1].mean(axis=1) < 450).all()  # a random arm has 800


def test_random_orders_differ_between_runs_and_are_kept():
    game = jo.bandit_game([0.5] * 6)
    orders = set()
    for seed in range(5):
        _, history = jo.play(game, jo.learners.UCB1(), seed, 6)
        assert sorted(history.y_hat.tolist()) == [0, 1, 2, 3, 4, 5]
        orders.add(tuple(history.y_hat.tolist()))
    assert len(orders) > 3
    first = jo.play(game, jo.learners.UCB1(ties="first"), jax.random.key(0), 6)[1].y_hat
    assert first.tolist() == [0, 1, 2, 3, 4, 5]
    assert repr(jo.learners.UCB1()) == "UCB1(exploration=2.0)"
    assert "ties='first'" in repr(jo.learners.UCB1(ties="first"))
    with pytest.raises(ValueError, match=r"ties: must be .*random.*first"):
        jo.learners.UCB1(ties="last")
