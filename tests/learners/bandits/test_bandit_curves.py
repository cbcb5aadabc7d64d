"""Regret on two-armed problems, round by round: against exact curves, and against the limit law of UCB1.

The problems are the two-armed ones of Auer, Cesa-Bianchi and Fischer (2002), section 4: rewards of (0.9, 0.6) and of
(0.55, 0.45), which are coins.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from bandit_loops import kl_lower
from scipy import optimize, stats

import jaxonline as jo
from jaxonline.environments import BernoulliArms, GaussianArms
from jaxonline.learners import KLUCB, MOSS, UCB1, EpsilonGreedy, ExploreThenCommit
from jaxonline.simulation.blocks import default_mesh

pytestmark = pytest.mark.long

FALSE_ALARM = 1e-6
T, RUNS = 60, 16_384
PROBLEMS = {"distribution 1": (0.1, 0.4), "distribution 3": (0.55, 0.45)}  # mean losses


# ---------------------------------------------------------------------------------------------------------------------
# The exact law: how often each arm was pulled, and how often with a loss of 1


def by_index(index):
    """The probability of the first arm, by an index `index(pulls, sum, t)`: tables over all pulls and sums."""

    def law(t, n):
        """[n + 1, t - n + 1], for all sums of both arms, after t rounds of which n were the first arm's."""
        tables = [
            np.array([-np.inf if pulls == 0 else index(pulls, s, t) for s in range(pulls + 1)]) for pulls in (n, t - n)
        ]
        return (tables[0][:, None] <= tables[1][None, :]).astype(float)

    return law


def greedy(epsilon, power):
    def law(t, n):
        means = [np.arange(pulls + 1) / max(pulls, 1) for pulls in (n, t - n)]
        e = min(1.0, epsilon / (t + 1) ** power)
        return (1 - e) * (means[0][:, None] <= means[1][None, :]) + e / 2

    return law


@functools.cache
def kl_index(pulls, s, t, factor):
    return kl_lower(s / pulls, factor * (np.log(t) + (np.log(np.log(t)) if t > np.e else 0.0)) / pulls)


def exact_curve(law, means, n_rounds):
    """The expected regret after each round, by the probabilities of all states."""
    states, regret, curve = {0: np.ones((1, 1))}, 0.0, []
    gaps = np.subtract(means, min(means))
    for t in range(n_rounds):
        after = {n: np.zeros((n + 1, t - n + 2)) for n in range(t + 2)}
        for n, p in states.items():
            first = law(t, n) * p
            second = p - first
            regret += gaps[0] * first.sum() + gaps[1] * second.sum()
            after[n + 1][:-1] += (1 - means[0]) * first
            after[n + 1][1:] += means[0] * first
            after[n][:, :-1] += (1 - means[1]) * second
            after[n][:, 1:] += means[1] * second
        states = after
        curve.append(regret)
    return np.array(curve)


def committed_curve(m, means, n_rounds):
    """Of explore-then-commit: the probability that the worse arm has the smaller number of losses, the first of two
    with equally many being chosen."""
    ones = np.arange(m + 1)
    joint = np.outer(*(stats.binom.pmf(ones, m, mean) for mean in means))
    first = joint[ones[:, None] <= ones].sum()
    gaps = np.subtract(means, min(means))
    later = gaps[0] * first + gaps[1] * (1 - first)
    return np.cumsum([gaps[t % 2] if t < 2 * m else later for t in range(n_rounds)])


def of_law(law):
    return lambda c, means: exact_curve(law(c), means, T)


POLICIES = {  # the learner, its exact curve or that of a mutant (c is not 1), and c of a mutant that is seen
    "UCB1": (UCB1(), of_law(lambda c: by_index(lambda n, s, t: s / n - np.sqrt(2 * c * np.log(t) / n))), 1.3),
    "MOSS": (
        MOSS(T), of_law(lambda c: by_index(lambda n, s, t: s / n - np.sqrt(max(np.log(c * T / (2 * n)), 0) / n))), 1.3,
    ),
    "KL-UCB": (KLUCB(c=1.0), of_law(lambda c: by_index(lambda n, s, t: kl_index(n, s, t, c))), 1.3),
    "explore then commit": (ExploreThenCommit(8), lambda c, means: committed_curve(round(8 * c), means, T), 1.3),
    "epsilon-greedy": (EpsilonGreedy(3.0, power=0.8), of_law(lambda c: greedy(3.0 * c, 0.8)), 2.0),
}  # fmt: skip


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("name", POLICIES)
def test_the_exact_curve(name, problem):
    """The mean pseudo-regret of 16,384 runs after 5, 15, 30, 45 and 60 rounds, each within an interval of the normal
    limit (false alarm 1e-6 for all five); a policy whose number is 30 % off (epsilon: twice as large) is seen."""
    means, (learner, curve, mutant) = PROBLEMS[problem], POLICIES[name]
    grid = [5, 15, 30, 45, 60]
    game = jo.Game(BernoulliArms(means), jo.Bandit(), jo.losses.ArmLoss(), jo.game.PseudoRegret())
    found = jo.simulate(
        game, learner, n_runs=RUNS, n_rounds=T, key=3, record_at=grid, comparator=jo.BestArm(),
        mesh=default_mesh(jax.devices()[:1]),
    )  # fmt: skip
    regret, z = found.regret[0], stats.norm.ppf(1 - FALSE_ALARM / (2 * len(grid)))
    at = np.array([list(found.rounds).index(t) for t in grid])
    mean, width = regret[:, at].mean(axis=0), z * regret[:, at].std(axis=0, ddof=1) / np.sqrt(RUNS) + 1e-5

    def inside(c):
        return (np.abs(curve(c, means)[np.array(grid) - 1] - mean) <= width).all()

    assert inside(1.0)
    assert not inside(mutant)


def test_the_exact_curve_by_hand():
    """Two arms, one always better: greedy stays with the first, whose mean is 0, and explores or commits as it must."""
    np.testing.assert_allclose(exact_curve(greedy(0.0, 0.0), (0.0, 1.0), 3), 0.0)
    np.testing.assert_allclose(committed_curve(1, (1.0, 0.0), 5), [1, 1, 1, 1, 1])
    assert committed_curve(1, (0.5, 0.25), 3)[-1] == pytest.approx(0.25 * (1 + (1 - 0.5 * 0.75)))
    np.testing.assert_allclose(exact_curve(greedy(100.0, 0.0), (0.2, 0.6), 4), 0.2 * np.arange(1, 5))


# ---------------------------------------------------------------------------------------------------------------------
# UCB1 where the gap is of the order of sqrt(ln T / T)


def share_of_the_best(theta, exploration=2.0):
    """The limit of the share of pulls of the better of two arms with the gap sqrt(theta ln T / T): the root of
    1 / sqrt(1 - share) - 1 / sqrt(share) = sqrt(theta / exploration). Kalvit and Zeevi (2021)."""
    wanted = np.sqrt(theta / exploration)
    return optimize.brentq(lambda s: 1 / np.sqrt(1 - s) - 1 / np.sqrt(s) - wanted, 0.5, 1 - 1e-12)


@pytest.mark.parametrize("noise", [False, True])
def test_the_share_of_pulls_of_ucb1(noise):
    """At T = 20,000, for gaps from none to large: 0.01 near the limit without noise, and with coins the interval of
    the mean share of 512 runs (false alarm 1e-6 for all four) is within 0.03; with another exploration it would be more
    than 0.05 off somewhere."""
    n_rounds, n_runs = 20_000, 512 if noise else 2
    off = []
    for theta in (0.0, 2.0, 8.0, 32.0):
        gap = np.sqrt(theta * np.log(n_rounds) / n_rounds)
        means = [0.5 - gap / 2, 0.5 + gap / 2]
        arms = BernoulliArms(means) if noise else GaussianArms(means, std=0.0)
        found = jo.simulate(
            jo.Game(arms, jo.Bandit(), jo.losses.ArmLoss()), UCB1(), n_runs=n_runs, n_rounds=n_rounds, key=5,
            record_at=1, measures=[jo.Pulls()], mesh=default_mesh(jax.devices()[:1]),
        )  # fmt: skip
        share = found.measures["pulls"][0, :, -1, 0] / n_rounds
        width = stats.norm.ppf(1 - FALSE_ALARM / 8) * share.std(ddof=1) / np.sqrt(n_runs)
        assert abs(share.mean() - share_of_the_best(theta)) + width < (0.03 if noise else 0.01), theta
        off.append(abs(share.mean() - share_of_the_best(theta, exploration=1.0)))
    assert max(off) > 0.05
    assert share_of_the_best(0.0) == pytest.approx(0.5)
    assert jnp.isfinite(share).all()
