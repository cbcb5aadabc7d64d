"""The betting interval: its definition by a loop, its error rate at all numbers of runs, and its JSON."""

import json
import math

import numpy as np
import pytest
from scipy import optimize

import jaxonline as jo
from jaxonline.results.statistics import mean_over_runs, pairwise_p_values
from jaxonline.results.statistics.intervals import interval_from_json

STAKES = [2.0**-k for k in range(12)]


def capital(runs: list[float], m: float) -> float:
    """The hedged capital of Waudby-Smith and Ramdas (2024) for values in [0, 1]: fixed stakes, half of it on a side."""
    above = below = 0.0
    for stake in STAKES:
        product_above = product_below = 0.5 / len(STAKES)
        for run in runs:
            product_above *= 1.0 + stake / m * (run - m)
            product_below *= 1.0 - stake / (1.0 - m) * (run - m)
        above, below = above + product_above, below + product_below
    return max(above, below)


def ends_by_a_loop(runs: list[float], level: float) -> tuple[float, float]:
    mean, excess = sum(runs) / len(runs), lambda m: math.log(capital(runs, m)) + math.log(1.0 - level)
    low = optimize.brentq(excess, 1e-9, mean, xtol=1e-12) if excess(1e-9) > 0 else 0.0
    high = optimize.brentq(excess, mean, 1 - 1e-9, xtol=1e-12) if excess(1 - 1e-9) > 0 else 1.0
    return low, high


def test_the_betting_interval_by_a_loop(monkeypatch):
    """For two learners at three rounds, in chunks of 2 columns; a run with a NaN is left out."""
    monkeypatch.setattr("jaxonline.results.statistics.intervals.CHUNK_ENTRIES", 42)
    values = np.random.default_rng(0).beta(0.3, 2.0, size=(2, 21, 3)) * 4.0 - 1.0
    values[1, 4] = np.nan
    found = mean_over_runs(values, 0.9, interval=jo.intervals.Betting(-1.0, 3.0))
    for learner, round_ in np.ndindex(2, 3):
        runs = [(run + 1.0) / 4.0 for run in values[learner, :, round_].tolist() if not math.isnan(run)]
        expected = [4.0 * end - 1.0 for end in ends_by_a_loop(runs, 0.9)]
        np.testing.assert_allclose([found.low[learner, round_], found.high[learner, round_]], expected, atol=1e-7)


def test_equal_runs_at_a_limit_have_an_end_in_closed_form():
    """n runs of 0: the mean m is excluded if the mean over the stakes c of (1 + c m / (1 - m))^n reaches 40."""
    high = float(mean_over_runs(np.zeros((1, 50)), interval=jo.intervals.Betting(0.0, 1.0)).high[0])
    assert np.mean([(1 + c * high / (1 - high)) ** 50 for c in STAKES]) == pytest.approx(40.0, rel=1e-5)


def test_a_half_width_needs_the_number_of_equal_runs_that_bets_of_everything_need():
    """n equal runs in the middle, of values in [-1, 3], exclude what is more than h away if (1 - h / 2)^n <= 1 / 20."""
    interval = jo.intervals.Betting(-1.0, [0.0, 3.0])
    for half_width in (0.01, 0.3, 1.9):
        n = interval.fewest_runs(half_width, 0.9)
        assert (1 - half_width / 2) ** n <= 1 / 20 < (1 - half_width / 2) ** (n - 1)
    assert interval.fewest_runs(2.0, 0.9) == interval.fewest_runs(2.5, 0.9) == 1


def test_the_error_rate_holds_for_all_numbers_of_runs():
    """Losses of 1 with probability 0.05, looked at after 20, 40, ..., 640 runs. At most 5 % of 400 studies exclude
    the mean; 33 or more would come once in 200 with exactly 5 %. Intervals that trust the sample err in far more."""
    runs = (np.random.default_rng(1).random((400, 640)) < 0.05) - 0.05
    kinds = (jo.intervals.Betting(-0.05, 0.95), jo.intervals.Student(), jo.intervals.Anytime())
    missed = {kind: np.zeros(400, bool) for kind in kinds}
    for n in 20 * 2 ** np.arange(6):
        for kind in kinds:
            p = kind.p_values(runs[:, :n], mean_over_runs(runs[:, :n]))
            missed[kind] |= p < 0.05
    betting, student, anytime = (int(missed[kind].sum()) for kind in kinds)
    assert betting <= 32
    assert student > 100
    assert anytime > 100


def test_differences_and_sums_have_their_limits():
    interval = jo.intervals.Betting(-1.0, 3.0)
    assert interval.of_difference() == jo.intervals.Betting(-4.0, 4.0)
    assert interval.after(10) == jo.intervals.Betting(-10.0, 30.0)
    assert interval_from_json(json.loads(json.dumps(interval.to_json()))) == interval
    values = np.stack([np.zeros(30), np.full(30, 0.5), np.full(30, 0.5)])
    p = pairwise_p_values(values, interval=jo.intervals.Betting(0.0, 1.0))
    assert p[0, 1] == pytest.approx(3 * 2 / np.mean([(1 + c / 2) ** 30 for c in STAKES]))
    assert p[1, 2] == 1.0


def test_limits_of_a_paired_difference_grow_with_the_rounds():
    loss = np.random.default_rng(2).random((2, 25, 3)).cumsum(axis=2)
    result = jo.Result(("a", "b"), np.arange(25), np.array([1, 2, 3]), {"cumulative_loss": loss, "queries": loss})
    gap = result.paired_difference("b", "a", "cumulative_loss", 0.9, jo.intervals.Betting(0.0, 1.0))
    for g, t in enumerate(result.rounds):
        runs = (loss[1, :, g] - loss[0, :, g] + t) / (2 * t)
        np.testing.assert_allclose(
            [gap.low[g], gap.high[g]], 2 * t * np.array(ends_by_a_loop(runs, 0.9)) - t, atol=1e-6
        )


def test_values_outside_the_limits_raise():
    with pytest.raises(ValueError, match=r"interval: .*got Betting over 0.0 to 1.0, 1.5"):
        mean_over_runs(np.array([[0.5, 1.5]]), interval=jo.intervals.Betting(0.0, 1.0))
    rounded = mean_over_runs(np.array([[1.000001, 1.0]]), interval=jo.intervals.Betting(0.0, 1.0))
    assert rounded.high[0] == 1.0


def test_a_mean_of_0_is_impossible_after_a_run_above_the_limit_0():
    values = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.1], [np.nan] * 3])
    p = jo.intervals.Betting(0.0, 1.0).p_values(values, mean_over_runs(values))
    np.testing.assert_array_equal(p, [1.0, 0.0, np.nan])
    for kind, run in ((jo.intervals.Betting(1.0, 2.0), 1.5), (jo.intervals.Betting(-2.0, -1.0), -1.5)):
        assert kind.p_values(np.array([[run]]), mean_over_runs(np.array([[run]]))) == [0.0]
