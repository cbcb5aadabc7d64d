"""When a study with `Precision` stops, which interval it uses, and what it says about rare events."""

import tracemalloc
import warnings

import numpy as np
import pytest
from scipy import stats

import jaxonline as jo
from jaxonline.parameters.errors import PrecisionWarning
from jaxonline.simulation.options import is_deterministic
from jaxonline.simulation.stopping_rules import until_precise
from jaxonline.simulation.sweeps import as_team

Q = "cumulative_loss"
ARMS = jo.Game(jo.environments.BernoulliArms([0.2, 0.8]), jo.Bandit(), loss=jo.losses.ArmLoss())
DATA = jo.Game(jo.environments.DataStream(np.eye(2), np.ones(2), order="iid"), jo.FullInformation())
DESCENT = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.1, radius=1.0)
BETTING, ANYTIME = jo.intervals.Betting(0.0, 1.0, Q), jo.intervals.Anytime()


def stop(precision: jo.Precision, runs: np.ndarray, interval=ANYTIME, **options) -> jo.Result:
    """The result of a study of one round whose run r has the loss runs[r]."""

    def play(wanted: range, before: jo.Result | None) -> jo.Result:
        loss = runs[: wanted.stop].reshape(1, -1, 1)
        measures = {Q: loss, "queries": 0 * loss}
        return jo.Result(("a",), np.arange(wanted.stop), np.array([1]), measures)

    return until_precise(play, precision, len(runs), 1, interval, **options)


def test_a_sample_without_variance_does_not_stop_a_study():
    """Losses are 0 in the first 150 runs. A rule that stops at a half-width of 0 stops after 100 runs."""
    found = stop(jo.Precision(0.5, quantity=Q), np.r_[np.zeros(150), np.ones(50)])
    assert len(found.runs) == 200
    assert found.meta["precision"]["unseen_probability"] == pytest.approx(3 / 200, rel=0.01)
    with pytest.warns(PrecisionWarning, match="runs of a learner do not vary"):
        found = stop(jo.Precision(0.5, quantity=Q), np.zeros(150))
    assert not found.meta["precision"]["reached"]
    assert len(stop(jo.Precision(0.5, quantity=Q), np.zeros(150), is_deterministic=lambda: True).runs) == 100


def test_skewed_runs_do_not_stop_a_study():
    """One run in 25 costs 9: the interval is narrow after 100 runs, and skewness / sqrt(runs) is at most 0.1 later."""
    runs = np.where(np.arange(4000) % 25 == 0, 9.0, np.arange(4000) % 2)
    found = stop(jo.Precision(0.5, quantity=Q), runs)
    ratio = abs(stats.skew(runs[: len(found.runs)])) / len(found.runs) ** 0.5
    assert ratio <= 0.1 < abs(stats.skew(runs[:100])) / 10
    assert len(found.runs) > 1000
    assert len(stop(jo.Precision(0.5, quantity=Q), runs % 2).runs) == 100
    with pytest.warns(PrecisionWarning, match="too skewed"):
        assert not stop(jo.Precision(0.5, quantity=Q), runs[:300]).meta["precision"]["reached"]


def test_the_first_look_follows_from_the_rarest_event():
    for rarest, n in ((0.03, 100), (0.01, 300)):
        found = stop(jo.Precision(0.5, quantity=Q, rarest_event=rarest), np.arange(400) % 2)
        assert len(found.runs) == n
        assert (1 - rarest) ** n < 0.05


def test_the_betting_interval_covers_a_rare_loss_where_the_anytime_interval_does_not():
    """Losses from 0 to 1: small noise, and 1 with probability 0.005, in 10 studies. A betting interval misses the mean
    with a probability of at most 5 %: more than 3 misses come once in 900. No large loss occurs in 100 runs with the
    probability 0.995^100 = 0.61; then the anytime interval stops the study and misses the mean."""
    rng, missed = np.random.default_rng(0), dict.fromkeys((BETTING, ANYTIME), 0)
    for _ in range(10):
        runs = 0.01 * rng.random(400) + 0.99 * (rng.random(400) < 0.005)
        with warnings.catch_warnings(action="ignore", category=PrecisionWarning):  # too skewed, after 400 runs
            for interval in missed:
                estimate = stop(jo.Precision(0.05, quantity=Q), runs, interval).mean(Q)
                missed[interval] += not estimate.low[0, -1] <= 0.00995 <= estimate.high[0, -1]
    assert missed[BETTING] <= 3
    assert missed[ANYTIME] >= 2


def test_another_quantity_of_a_stopped_study_has_the_anytime_interval():
    found = stop(jo.Precision(0.2, quantity=Q), np.random.default_rng(0).random(400), BETTING)
    found.measures["queries"][:] = 7.0 + found.measures[Q]
    assert found.meta["precision"]["biased_mean"]
    anytime = found.mean("queries", interval=jo.intervals.Anytime())
    np.testing.assert_array_equal(found.mean("queries").high, anytime.high)


def test_given_limits_choose_the_betting_interval():
    betting = jo.Precision(0.1, quantity=Q, low=0.0, high=4.0).choose_interval(10, 10_000)
    assert betting == jo.intervals.Betting(0.0, 4.0, Q)
    assert jo.Precision(0.1, quantity=Q).choose_interval(10, 10_000) == ANYTIME
    relative = jo.Precision(0.1, relative=True, low=-1.0, high=1.0)
    assert relative.choose_interval(1000, 100) == jo.intervals.Betting(-1.0, 1.0, "regret")


def test_a_betting_interval_that_is_too_wide_names_the_number_of_runs():
    """Equal runs have the narrowest intervals: log(40) / -log(1 - 2 * 0.1 / 1000) = 18,442 runs at least."""
    wanted = jo.Precision(0.1, quantity=Q, low=0.0, high=1.0)
    with pytest.warns(PrecisionWarning, match=r"at least 18,443 runs \(n_runs=5,000\)"):
        assert wanted.choose_interval(1000, 5000) == jo.intervals.Anytime()
    assert wanted.choose_interval(1000, 20_000) == jo.intervals.Betting(0.0, 1.0, Q)
    runs = np.random.default_rng(1).random(200)
    with pytest.warns(PrecisionWarning, match=r"about 2\d0 runs are needed \(about 2\d0 without low and high"):
        stop(jo.Precision(0.06, quantity=Q), runs, BETTING)


@pytest.mark.long
def test_random_parts_of_a_game_are_found():
    data = jo.environments.DataStream(np.eye(2), np.ones(2))
    shuffled = jo.environments.DataStream(np.eye(2), np.ones(2), order="shuffled")
    gradient = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.1)
    arms = jo.Game(jo.environments.DataStream(None, np.eye(2)), jo.Bandit(), loss=jo.losses.ArmLoss())
    full = jo.FullInformation()
    assert is_deterministic(as_team(jo.Game(data, full), "a", gradient))
    assert is_deterministic(as_team(arms, "a", jo.learners.UCB1(ties="first")))
    assert not is_deterministic(as_team(arms, "a", jo.learners.UCB1()))
    assert not is_deterministic(as_team(arms, "a", jo.learners.EXP3(0.1)))
    assert not is_deterministic(as_team(jo.Game(shuffled, full), "a", gradient))
    assert not is_deterministic(as_team(ARMS, "a", jo.learners.UCB1()))


@pytest.mark.long
def test_the_largest_number_of_runs_needs_no_memory():
    """The indices of 10^9 runs would need 8 GB; the study ends after the first batches."""
    tracemalloc.start()
    found = jo.simulate(ARMS, jo.learners.UCB1(), n_runs=10**9, n_rounds=5, stop=jo.Precision(0.5, quantity=Q))
    assert (len(found.runs) < 10_000, tracemalloc.get_traced_memory()[1] < 2**28) == (True, True)
    tracemalloc.stop()


@pytest.mark.parametrize("rule", [jo.Precision(0.5, quantity="pulls"), jo.UntilDecided(0.5, quantity="pulls")])
def test_the_quantity_of_a_rule_is_checked_before_the_first_round(rule):
    with pytest.raises(ValueError, match=r"stop: must be one of 'regret', .*'queries' \(got 'pulls'\)"):
        jo.simulate(ARMS, jo.learners.UCB1(), n_runs=200, n_rounds=5, stop=rule)
    with pytest.raises(ValueError, match="comparator: must be given for the regret"):
        jo.simulate(ARMS, jo.learners.UCB1(), n_runs=200, n_rounds=5, stop=jo.replace(rule, quantity="regret"))
    with pytest.raises(ValueError, match=r"stop: .* \(got 'pulls', which is a vector\)"):
        jo.simulate(ARMS, jo.learners.UCB1(), n_runs=200, n_rounds=5, stop=rule, measures=[jo.Pulls()])
