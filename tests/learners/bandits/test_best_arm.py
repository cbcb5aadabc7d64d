"""Best-arm identification: error probabilities, numbers of pulls, and what happens after stopping."""

import jax
import numpy as np
import pytest
from scipy import stats

import jaxonline as jo
from jaxonline import bounds
from jaxonline.learners import SequentialHalving, SuccessiveElimination

MEANS = np.array([0.7, 0.2, 0.6, 0.8, 0.9])


def test_a_budget_that_is_too_small_is_an_error():
    with pytest.raises(ValueError, match=r"budget.*15.*14"):
        SequentialHalving(14).init(jax.random.key(0), jo.game.Specs((), jax.ShapeDtypeStruct((5,), np.float32)))


def game_of(means):
    arms = jo.environments.BernoulliArms(means)
    return jo.Game(arms, jo.Bandit(), loss=jo.losses.ArmLoss(), pseudo=True)


MEASURES = [jo.StoppingRound(), jo.SimpleRegret(), jo.WrongRecommendation(), jo.Pulls()]


def test_a_stopped_run_is_frozen():
    """Losses, regrets, queries and pulls stay as they are from the stopping round on."""
    learner = SequentialHalving(40)
    result = jo.simulate(game_of(MEANS), learner, n_runs=8, n_rounds=200, record_at=[30, 39, 60, 200],
                         comparator=jo.BestArm(), measures=MEASURES)  # fmt: skip
    rounds = 2 * 5 + 4 * 3 + 6 * 2  # pulls of 5, 3 and 2 arms
    stopping = result.measures["stopping_round"][0]
    assert np.isinf(stopping[:, 0]).all()
    assert (stopping[:, 2:] == rounds).all()
    for numbers in (result.measures["cumulative_loss"], result.regret, result.measures["simple_regret"]):
        np.testing.assert_array_equal(numbers[0, :, 2], numbers[0, :, 3])
    assert (result.measures["queries"][0, :, 2:] == rounds).all()
    assert (result.measures["pulls"][0, :, 3].sum(axis=-1) == rounds).all()
    whole = jo.simulate(game_of(MEANS), learner, n_runs=8, n_rounds=rounds, record_at=[rounds], comparator=jo.BestArm())
    np.testing.assert_array_equal(whole.regret[0, :, 0], result.regret[0, :, 3])


def test_runs_that_have_not_stopped_are_censored():
    result = jo.simulate(game_of(MEANS), SuccessiveElimination(0.05), n_runs=20, n_rounds=50, measures=MEASURES)
    assert np.isinf(result.measures["stopping_round"]).all()
    assert np.isinf(result.mean("stopping_round").mean).all(), "censored runs are seen in the mean"


@pytest.mark.long
@pytest.mark.parametrize("gap", [0.2, 0.4])
@pytest.mark.parametrize("n_arms", [2, 6])
def test_error_and_pulls_of_successive_elimination_satisfy_the_theorem(gap, n_arms):
    """4,000 runs; exact binomial tests of both probabilities against delta = 0.1, false alarm 1e-6 each."""
    means, delta, n_runs = np.array([0.5 - gap, *[0.5] * (n_arms - 1)]), 0.1, 4000
    limit = bounds.successive_elimination(means - means.min(), delta)
    result = jo.simulate(game_of(means), SuccessiveElimination(delta), n_runs=n_runs, n_rounds=limit + 1, key=2,
                         record_at=[limit + 1], measures=MEASURES)  # fmt: skip
    stopping = result.measures["stopping_round"][0, :, 0]
    late, wrong = stopping > limit, result.measures["wrong_recommendation"][0, :, 0]
    for failures in (late, wrong):
        assert stats.binomtest(int(failures.sum()), n_runs, delta, alternative="greater").pvalue > 1e-6


@pytest.mark.long
@pytest.mark.parametrize("means", [[0.1, *[0.5] * 3], [0.3, 0.5, *np.linspace(0.5, 0.9, 6)]], ids=["equal", "spread"])
def test_error_of_sequential_halving_satisfies_the_theorem(means):
    """4,000 runs; exact binomial test against the bound, false alarm 1e-6."""
    means, n_runs = np.array(means), 4000
    budget = next(b for b in range(24, 100_000, 8) if bounds.sequential_halving(means - means.min(), b) < 0.2)
    result = jo.simulate(game_of(means), SequentialHalving(budget), n_runs=n_runs, n_rounds=budget, key=2,
                         record_at=[budget], measures=MEASURES)  # fmt: skip
    wrong = int(result.measures["wrong_recommendation"][0, :, 0].sum())
    limit = bounds.sequential_halving(means - means.min(), budget)
    assert stats.binomtest(wrong, n_runs, limit, alternative="greater").pvalue > 1e-6
    assert np.isfinite(result.measures["stopping_round"]).all()
