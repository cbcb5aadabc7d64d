"""CUCB and RUCB: theorems, any linear optimisation, and errors of arguments."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import jaxonline as jo
from jaxonline import bounds
from jaxonline.environments import BernoulliArms, DataStream, PreferenceArms
from jaxonline.learners import CUCB, RUCB
from jaxonline.losses import PairLoss, SmallestArms, SumOfArms

MEANS = np.array([0.7, 0.2, 0.6, 0.3, 0.9])
PREFERENCES = np.array([[0.5, 0.3, 0.6, 0.8], [0.7, 0.5, 0.8, 0.9], [0.4, 0.2, 0.5, 0.3], [0.2, 0.1, 0.7, 0.5]])


@jo.struct
class Neighbours:
    """Sets of two neighbours on a circle."""

    def __call__(self, values):
        first = jnp.argmin(values + jnp.roll(values, -1))
        return jnp.stack([first, (first + 1) % len(values)]).astype(jnp.int32)


def test_cucb_and_its_comparator_take_any_linear_optimisation(x64):
    losses, sets = np.random.default_rng(0).random((60, 5)) * MEANS, [(k, (k + 1) % 5) for k in range(5)]
    game = jo.Game(DataStream(None, losses), jo.SemiBandit(), loss=SumOfArms())
    moves = jo.play(game, CUCB(Neighbours()), jax.random.key(0), 60)[1].y_hat
    assert set(map(tuple, moves.tolist())) < set(sets)
    assert set(moves.ravel().tolist()) == set(range(5))
    best = jo.BestSet(Neighbours()).best_loss(losses.sum(axis=0))
    np.testing.assert_allclose(best, min(losses[:, arms].sum() for arms in sets), rtol=1e-12)


def test_a_selection_that_is_no_set_raises_an_error_and_a_repeated_arm_fails():
    game = jo.Game(BernoulliArms(MEANS), jo.SemiBandit(), loss=SumOfArms())
    with pytest.raises(ValueError, match=r"\bm: must be at most .*5.*got 6"):
        jo.play(game, CUCB(SmallestArms(6)), jax.random.key(0), 3)
    with pytest.raises(ValueError, match=r"\bselect: must return a set of 1 to 5 arms"):
        jo.play(game, CUCB(jax.tree_util.Partial(jnp.negative)), jax.random.key(0), 3)
    twice = CUCB(jax.tree_util.Partial(lambda values: jnp.zeros(2, jnp.int32)))
    assert np.isnan(jo.play(game, twice, jax.random.key(0), 3)[1].loss).all()


@pytest.mark.parametrize("m", [1, 3, 5])
@pytest.mark.parametrize("means", [MEANS, [0.2, 0.2, 0.2, 0.5, 0.5], [0.4] * 5], ids=["distinct", "ties", "equal"])
def test_bound_of_cucb_has_the_gaps_of_all_sets(m, means):
    means, T = np.asarray(means), np.array([10, 1000])
    sums = {arms: means[list(arms)].sum() for arms in itertools.combinations(range(5), m)}
    total, largest_gap = 0.0, 0.0
    for k in range(5):
        gaps = [sums[arms] - min(sums.values()) for arms in sums if k in arms]
        gaps = [gap for gap in gaps if gap > 1e-9]
        if gaps:
            total += 2 / min(gaps) - 1 / max(gaps)
            largest_gap = max(largest_gap, *gaps)
    expected = 6 * m**2 * np.log(T) * total + (np.pi**2 / 3 + 1) * 5 * largest_gap
    np.testing.assert_allclose(bounds.cucb(means, m, T), expected, rtol=1e-9)


@pytest.mark.long
@pytest.mark.parametrize(("means", "m"), [(MEANS, 2), ([0.1, *[0.5] * 5], 1)])
def test_regret_of_cucb_satisfies_the_theorem(means, m):
    """200 runs: the upper end of a 1 - 1e-6 interval of the mean is below the bound."""
    game = jo.Game(BernoulliArms(means), jo.SemiBandit(), SumOfArms(), pseudo=True)
    result = jo.simulate(game, CUCB(SmallestArms(m)), n_runs=200, n_rounds=2000, key=1, record_at=[1000, 2000],
                         comparator=jo.BestSet(SmallestArms(m)))  # fmt: skip
    for i, T in enumerate((1000, 2000)):
        regret = result.regret[0, :, i]
        upper = regret.mean() + stats.norm.ppf(1 - 1e-6) * regret.std(ddof=1) / np.sqrt(len(regret))
        assert upper < bounds.cucb(means, m, T)
    assert result.regret.min() > -1e-3
    growth = np.diff(result.regret, axis=-1).mean(axis=1)[:, 0]
    assert growth[0] < 1000 * np.ptp(means) * m / 10


@pytest.mark.long
@pytest.mark.parametrize("alpha", [1.0, 2.0])
def test_regret_of_rucb_satisfies_the_theorem(alpha):
    """1,000 runs: an exact binomial test of the probability that the regret exceeds the bound at any of 20 rounds,
    against delta = 0.1, false alarm 1e-6. With alpha = 2 the bound is below the regret of the worst pair."""
    delta, n_rounds, n_runs = 0.1, 20_000, 1000
    game = jo.Game(PreferenceArms(PREFERENCES), jo.Duel(), PairLoss(1), pseudo=True)
    result = jo.simulate(game, RUCB(alpha), n_runs=n_runs, n_rounds=n_rounds, key=1, record_at=20,
                         comparator=jo.CondorcetWinner(PREFERENCES))  # fmt: skip
    limits = bounds.rucb(PREFERENCES, result.rounds, delta, alpha)
    failures = int((result.regret[0] > limits).any(axis=1).sum())
    assert stats.binomtest(failures, n_runs, delta, alternative="greater").pvalue > 1e-6
    assert limits[-1] < n_rounds * 0.4 or alpha == 1.0
    assert (result.regret[0, :, -1] < n_rounds * 0.4 / 10).mean() > 0.9


@pytest.mark.long
def test_pulls_count_every_arm_of_a_set_or_pair():
    sets = jo.Game(BernoulliArms(MEANS), jo.SemiBandit(), loss=SumOfArms()), CUCB(SmallestArms(2))
    pairs = jo.Game(PreferenceArms(PREFERENCES), jo.Duel(), loss=PairLoss(1)), RUCB()
    for (game, learner), n_arms in ((sets, 5), (pairs, 4)):
        result = jo.simulate(game, learner, n_runs=2, n_rounds=40, record_at=1, measures=[jo.Pulls()])
        assert result.measures["pulls"].shape[-1] == n_arms
        assert (result.measures["pulls"].sum(axis=-1) == 80).all()
