"""Bandits of river and MABWiser: the same decisions with the same random numbers, or equal distributions.

`make test-all` installs both packages. Both maximise rewards, which are -loss or 1 - loss here.
"""

import jax
import numpy as np
import pytest
from bandit_rounds import own_moves, random_rounds
from scipy import stats

import jaxonline as jo
from jaxonline.learners import EXP3, UCB1, BernoulliThompson, LinUCB
from jaxonline.simulation.blocks import default_mesh

pytestmark = [pytest.mark.fast_compile, pytest.mark.long]


FALSE_ALARM = 1e-6
ARMS = [0, 1, 2, 3]


@pytest.fixture(scope="module")
def bandit():
    """Return the policies of river."""
    from river import bandit

    return bandit


def test_ucb1_pulls_the_same_arms_as_river(x64, bandit):
    """Losses are continuous, so there are no ties."""

    def theirs(delta):
        policy, arms = bandit.UCB(delta=delta, burn_in=1, seed=1), []
        for row in losses:
            arms.append(policy.pull(ARMS))
            policy.update(arms[-1], -row[arms[-1]])
        return arms

    x, losses = random_rounds()
    arms, _ = own_moves(UCB1(), x, losses)
    assert arms == theirs(1.0)
    assert arms != theirs(1.1)
    assert set(arms) == set(ARMS)


def test_exp3_has_the_same_probabilities_as_river(x64, bandit):
    """In river gamma is the exploration, and gamma / K the rate. Its policy pulls the arms of our draws."""

    class FixedArm:
        arm = 0

        def choices(self, arms, weights):
            return [self.arm]

    x, losses = random_rounds()
    for gamma in (0.1, 0.4):
        arms, probabilities = own_moves(EXP3(gamma / len(ARMS), exploration=gamma), x, losses)
        policy, expected = bandit.Exp3(gamma=gamma), []
        policy._rng = FixedArm()
        for arm, row in zip(arms, losses, strict=True):
            policy._rng.arm = arm
            assert policy.pull(ARMS) == arm
            expected.append([policy._probabilities[k] for k in ARMS])
            policy.update(arm, -row[arm])
        np.testing.assert_allclose(probabilities, expected, rtol=1e-9)
    assert np.ptp(expected[-1]) > 0.1
    assert len(set(arms)) == 4


def test_thompson_sampling_has_the_same_pulls_as_river(bandit):
    """Pulls of the worse of two Bernoulli arms in 60 rounds: 400 runs of river and 4,096 of ours (Kolmogorov-Smirnov,
    false alarm 1e-6). The test detects the prior Beta(4, 1)."""
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
    result = jo.simulate(
        game, learners, n_runs=4096, n_rounds=n_rounds, key=2, record_at=1, measures=[jo.Pulls()],
        mesh=default_mesh(jax.devices()[:1]),
    )  # fmt: skip
    ours, other = result.measures["pulls"][:, :, -1, 1]
    assert stats.ks_2samp(ours, theirs).pvalue > FALSE_ALARM
    assert stats.ks_2samp(other, theirs).pvalue < FALSE_ALARM


def test_lin_ucb_pulls_the_same_arms_as_mabwiser(x64):
    """The arms of MABWiser share a context and have separate weights. Our feature vector of an arm thus has the context
    in the arm's own block, and zeros elsewhere. MABWiser must fit the first round before it predicts, and it confuses A
    with its inverse for an unpulled arm, so the regularizer is 1."""
    from mabwiser import mab

    x, losses = random_rounds()
    contexts, n_arms = x[:, 0], len(ARMS)
    features = np.einsum("jk,td->tjkd", np.eye(n_arms), contexts).reshape(len(losses), n_arms, -1)
    arms, _ = own_moves(LinUCB(0.3, 1.0), features, losses)

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
