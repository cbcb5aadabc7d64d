"""Arms with rewards: learners receive 1 - reward, with the draws of the same arms with losses."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiers import some

import jaxonline as jo
from jaxonline.environments import (
    BernoulliArms,
    ContextualLinearArms,
    DataStream,
    DriftingArms,
    GaussianArms,
    RestlessArms,
    Rewards,
    SwitchingArms,
)
from jaxonline.losses.arms import LazyOutcome, as_vector
from jaxonline.parameters.types import PyTree

MEANS = np.array([0.9, 0.6, 0.35], np.float32)
SEGMENTS = np.stack([MEANS, MEANS[::-1]])
CHAIN = np.full((len(SEGMENTS), len(SEGMENTS)), 1 / len(SEGMENTS))
WITH_MEANS = {  # arms with mean rewards, and the same arms with the mean losses 1 - means
    "Bernoulli": (BernoulliArms(MEANS), BernoulliArms(1 - MEANS)),
    "Gaussian": (GaussianArms(3 * MEANS, 0.5), GaussianArms(1 - 3 * MEANS, 0.5)),
    "drifting": (DriftingArms(MEANS, 0.1), DriftingArms(1 - MEANS, 0.1)),
    "switching": (SwitchingArms(SEGMENTS, [4]), SwitchingArms(1 - SEGMENTS, [4])),
    "restless": (RestlessArms(SEGMENTS, CHAIN), RestlessArms(1 - SEGMENTS, CHAIN)),
}
TABLE = np.random.default_rng(0).integers(0, 65, (20, 3)).astype(np.float32) / 64  # 1 - reward is exact


def losses_of(environment, n_rounds=6):
    """The losses and mean losses [T, K] of an environment."""
    state, rows, means = environment.init(jax.random.key(1)), [], []
    for t in range(1, n_rounds + 1):
        key, now = jax.random.fold_in(jax.random.key(2), t), jnp.int32(t)
        x, state = environment.instance(jax.random.fold_in(key, 1), state, now)
        y, state = environment.outcome(jax.random.fold_in(key, 2), state, now, x, jnp.int32(0))
        rows.append(np.asarray(as_vector(y)))
        means.append(np.asarray(environment.mean_outcome(state, now, x, as_vector(y))))
    return np.stack(rows), np.array(means)


@pytest.mark.parametrize("name", some(WITH_MEANS, *WITH_MEANS.keys() - {"Gaussian", "restless"}))
def test_arms_with_mean_rewards_have_the_draws_of_the_mean_losses(name):
    rewards, losses = WITH_MEANS[name]
    for shown, expected in zip(losses_of(Rewards(rewards)), losses_of(losses), strict=True):
        assert len(expected) == 6  # these arms have mean losses
        np.testing.assert_array_equal(shown, expected)


@pytest.mark.parametrize("order", ["file", "iid"])
def test_a_loss_of_a_table_of_rewards_is_one_minus_the_reward(order):
    shown, _ = losses_of(Rewards(DataStream(None, TABLE, order=order)))
    np.testing.assert_array_equal(shown, losses_of(DataStream(None, 1 - TABLE, order=order))[0])
    if order == "file":
        np.testing.assert_array_equal(shown, 1 - TABLE[:6])


def test_losses_of_contextual_arms_are_one_minus_the_reward():
    arms = ContextualLinearArms([1.0, -2.0], n_arms=3, noise_std=0.5)
    (shown, means), (plain, plain_means) = losses_of(Rewards(arms)), losses_of(arms)
    np.testing.assert_array_equal(shown, 1 - plain)
    np.testing.assert_array_equal(means, 1 - plain_means)


@jo.struct
class OwnArms(BernoulliArms):
    """Arms of a user, with lazy outcomes that no list of this package names."""

    oblivious = True

    @property
    def outcomes(self) -> PyTree:
        """All outcomes that can occur."""
        return np.array([0.0, 1.0])


def test_lazy_rewards_stay_lazy(monkeypatch):
    monkeypatch.setattr("jaxonline.environments.bandit_games.ARMS_WITH_MEANS", ())
    arms, key = OwnArms([0.5, 0.5, 0.5, 0.5]), jax.random.key(3)
    plain = arms.outcome(key, (), jnp.int32(1), None, None)[0]
    shown = Rewards(arms).outcome(key, (), jnp.int32(1), None, None)[0]
    assert isinstance(shown, LazyOutcome)
    entries = [float(shown[jnp.int32(k)]) for k in range(4)]
    assert entries == (1 - np.asarray(plain.vector())).tolist() == shown.vector().tolist()
    assert len(set(entries)) == 2


def test_traits_have_the_losses():
    table = DataStream(None, 4 * TABLE)
    game = jo.Game(Rewards(table), jo.Bandit(), loss=jo.losses.ArmLoss())
    np.testing.assert_array_equal(game.environment.outcomes, 1 - 4 * TABLE)
    assert game.rewards
    assert not jo.Game(table, jo.Bandit(), loss=jo.losses.ArmLoss()).rewards


def test_bandit_game_builds_the_game():
    plain, rewards = jo.bandit_game([0.1, 0.4]), jo.bandit_game([0.9, 0.6], rewards=True)
    assert isinstance(plain.environment, BernoulliArms)
    for game in (plain, rewards):
        assert game.pseudo
        assert isinstance(game.loss, jo.losses.ArmLoss)
        assert isinstance(game.feedback, jo.Bandit)
    assert jo.bandit_game([-3.0, 3.0], std=2.0).environment.std == 2.0
    moving = jo.bandit_game([[0.1, 0.2], [0.2, 0.1]], True, starts=[5]).environment
    assert isinstance(moving.environment, SwitchingArms)
    delayed = jo.Delayed(jo.Bandit(), jo.delays.GivenDelays(2))
    assert jo.bandit_game([0.1, 0.2], feedback=delayed).feedback is delayed
