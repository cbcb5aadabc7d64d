"""Bandits against river's and MABWiser's: equal decisions under equal randomness, or two samples.

`make test-all` installs both. Both maximise rewards: they are the losses with the other sign, or 1 - loss.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from bandit_rounds import keys_of, played, rounds
from scipy import stats

import jaxonline as jo
from jaxonline.feedback import BanditOracle
from jaxonline.game import Specs
from jaxonline.learners import EXP3, UCB1, BernoulliThompson, EpsilonGreedy, LinUCB
from jaxonline.simulation.blocks import default_mesh

pytestmark = [pytest.mark.fast_compile, pytest.mark.long]


@pytest.fixture(scope="module")
def bandit():
    """river's policies."""
    from river import bandit

    return bandit


FALSE_ALARM = 1e-6
ARMS = [0, 1, 2, 3]


class Told:
    """Random numbers for a policy of river: they come out so that it pulls the arm that it is told."""

    arm = 0

    def choices(self, arms, weights):
        return [self.arm]

    def uniform(self, low, high):
        return high


def river_arms(policy, losses):
    """The arms of a run of a policy."""
    arms = []
    for row in losses:
        arms.append(policy.pull(ARMS))
        policy.update(arms[-1], -row[arms[-1]])
    return arms


def test_ucb1_pulls_the_arms_of_rivers(x64, bandit):
    """Each arm once, and then by the index; losses are continuous, so that there are no ties."""
    x, losses = rounds()
    arms = played(UCB1(), jnp.asarray(x), jnp.asarray(losses), jax.random.key(0)).tolist()
    assert arms == river_arms(bandit.UCB(delta=1.0, burn_in=1, seed=1), losses)
    assert arms != river_arms(bandit.UCB(delta=1.1, burn_in=1, seed=1), losses)
    assert set(arms) == set(ARMS)


def moves_of(learner, losses):
    """The draws of a run."""

    @jax.jit
    def run(losses):
        def play_round(state, row):
            t, losses = row
            move = learner.predict(keys_of(jax.random.key(0), t)[0], state, ())
            return learner.update(None, state, BanditOracle((), move, losses))[0], move

        specs = Specs((), jax.ShapeDtypeStruct(losses.shape[1:], losses.dtype))
        return jax.lax.scan(play_round, learner.init(None, specs), (jnp.arange(len(losses)), losses))[1]

    return run(jnp.asarray(losses))


def test_exp3_has_the_probabilities_of_rivers(x64, bandit):
    """river's has gamma both as exploration and, divided by K, as rate. It is given the arms that ours draws."""
    _, losses = rounds()
    for gamma in (0.1, 0.4):
        draws = moves_of(EXP3(gamma / len(ARMS), exploration=gamma), losses)
        policy, expected = bandit.Exp3(gamma=gamma), []
        policy._rng = Told()
        for arm, row in zip(draws.arm.tolist(), losses, strict=True):
            policy._rng.arm = arm
            assert policy.pull(ARMS) == arm
            expected.append([policy._probabilities[k] for k in ARMS])
            policy.update(arm, -row[arm])
        np.testing.assert_allclose(draws.probabilities, expected, rtol=1e-9)
    assert np.ptp(expected[-1]) > 0.1
    assert len(set(draws.arm.tolist())) == 4


def test_epsilon_greedy_exploits_what_river_exploits(x64, bandit):
    """The arm with the largest probability is the one that river pulls when it does not explore."""
    _, losses = rounds()
    draws = moves_of(EpsilonGreedy(0.5), losses)
    policy = bandit.EpsilonGreedy(epsilon=0.5)
    policy._rng, seen = Told(), set()
    for arm, p, row in zip(draws.arm.tolist(), np.asarray(draws.probabilities), losses, strict=True):
        if len(seen) == len(ARMS):  # an arm never pulled has the mean reward 0 there, and the mean loss 0 here
            assert policy.pull(ARMS) == p.argmax()
        policy.update(arm, -row[arm])
        seen.add(arm)
    np.testing.assert_allclose(np.sort(p), [0.125] * 3 + [0.625], rtol=1e-6)


def test_thompson_sampling_pulls_as_often_as_rivers(bandit):
    """Pulls of the worse of two coins in 60 rounds: two samples, 400 runs of river's and 4,096 of ours
    (Kolmogorov-Smirnov, false alarm 1e-6). Ours with the prior Beta(4, 1) is seen to be another learner."""
    from river import proba

    means, n_rounds, rng = np.array([0.3, 0.5]), 60, np.random.default_rng(0)
    theirs = []
    for run in range(400):
        policy, pulls = bandit.ThompsonSampling(reward_obj=proba.Beta(), seed=run), 0
        for row in rng.uniform(size=(n_rounds, 2)) < means:
            arm = policy.pull([0, 1])
            policy.update(arm, not row[arm])
            pulls += arm
        theirs.append(pulls)
    game = jo.Game(jo.environments.BernoulliArms(means), jo.Bandit(), loss=jo.losses.ArmLoss())
    learners = {"ours": BernoulliThompson(), "other": BernoulliThompson(4.0, 1.0)}
    found = jo.simulate(
        game, learners, n_runs=4096, n_rounds=n_rounds, key=2, record_at=1, measures=[jo.Pulls()],
        mesh=default_mesh(jax.devices()[:1]),
    )  # fmt: skip
    ours, other = found.measures["pulls"][:, :, -1, 1]
    assert stats.ks_2samp(ours, theirs).pvalue > FALSE_ALARM
    assert stats.ks_2samp(other, theirs).pvalue < FALSE_ALARM


def test_lin_ucb_pulls_the_arms_of_mabwisers(x64):
    """MABWiser's arms share a context and have weights of their own: ours are given the context in the arm's own place
    of a long feature vector, with zeros elsewhere. It is fitted to the first round before it can
    predict, and takes the inverse of A for A itself where an arm was not pulled yet: hence regularizer 1."""
    from mabwiser import mab

    x, losses = rounds()
    contexts, n_arms = x[:, 0], len(ARMS)
    features = np.einsum("jk,td->tjkd", np.eye(n_arms), contexts).reshape(len(losses), n_arms, -1)
    arms = played(LinUCB(0.3, 1.0), jnp.asarray(features), jnp.asarray(losses), jax.random.key(0)).tolist()

    def theirs(alpha):
        policy, pulled = mab.MAB(ARMS, mab.LearningPolicy.LinUCB(alpha=alpha, l2_lambda=1.0)), []
        for t, (context, row) in enumerate(zip(contexts, losses, strict=True)):
            pulled.append(arms[0] if t == 0 else policy.predict(context[None]))
            learn = policy.fit if t == 0 else policy.partial_fit
            learn([pulled[-1]], [-row[pulled[-1]]], context[None])
        return pulled

    assert arms == theirs(0.3)
    assert arms != theirs(0.4)
    assert set(arms) == set(ARMS)
