"""Rankings from few or skewed runs: error rates, warnings, and the events that the runs may have missed."""

import warnings

import few_runs
import numpy as np
import pytest

import jaxonline as jo
from benchmarks.intervals import rankings
from benchmarks.papers.comparison import ComparisonResult
from benchmarks.papers.studies.figures import missing_events_sentence
from jaxonline.parameters.errors import SkewedRunsWarning
from jaxonline.results import Standings
from jaxonline.results.statistics import mean_over_runs, pairwise_p_values
from jaxonline.results.statistics.ranking import closest_decision, missing_events

Q = "cumulative_loss"
SKEW_CORRECTED = jo.intervals.SkewCorrected()


def result(loss: np.ndarray) -> jo.Result:
    """Of losses [L, R]."""
    values = np.asarray(loss, float)[:, :, None]
    names = tuple("abcdefghij"[: len(values)])
    measures = {Q: values, "queries": 0 * values}
    return jo.Result(names, np.arange(values.shape[1]), np.array([4]), measures, comparator_loss=0 * values)


def ranked(loss: np.ndarray, **options) -> "jo.results.Ranking":
    """The ranking, without its warnings."""
    with warnings.catch_warnings(action="ignore", category=SkewedRunsWarning):
        return result(loss).ranking(Q, **options)


@pytest.mark.parametrize("n", [4, 12, 60])
def test_the_interval_and_its_p_value_are_those_of_the_reference(n):
    rng = np.random.default_rng(n)
    runs = np.stack([rng.normal(0.7, 1.0, n), rng.lognormal(sigma=1.0, size=n) - 0.5, 3.0 - rng.exponential(size=n)])
    estimate = mean_over_runs(runs, 0.999, interval=SKEW_CORRECTED)
    p_values = SKEW_CORRECTED.p_values(runs, estimate)
    for i, own in enumerate(runs):
        assert p_values[i] == pytest.approx(few_runs.p_value(own), rel=1e-9)
        assert (estimate.low[i], estimate.high[i]) == pytest.approx(
            few_runs.interval(own, 0.999), rel=1e-9, nan_ok=True
        )


def test_equal_runs_decide_nothing_below_a_number_of_runs():
    """A sample without variance has the p-value of signs; NaN are left out, and equal learners never differ."""
    for n, decided in ((5, False), (6, True)):
        loss = np.zeros((2, n + 1))
        loss[1] = 1.0
        loss[1, 0] = np.nan
        p_value = pairwise_p_values(loss)[0, 1]
        assert p_value == 2.0 ** (1 - n)
        assert (p_value < 0.05) == decided
    assert pairwise_p_values(np.ones((2, 30)))[0, 1] == 1.0


@pytest.mark.long
@pytest.mark.parametrize("n_learners", [2, 7])
@pytest.mark.parametrize(("distribution", "uncorrected"), [("lognormal", 10.0), ("spikes 10%", 6.0)])
def test_at_most_six_per_cent_are_wrong_without_a_warning(distribution, uncorrected, n_learners):
    """Of 400 studies of 30 runs with a right share of 6 %, more than 40 are wrong once in 2,000. With t-tests,
    7 to 17 % are wrong."""
    (row,) = rankings.errors_of_rankings([distribution], [n_learners], [30], studies=400)
    assert row["silent"] <= 10.0
    assert row["student"] > max(uncorrected, row["wrong"])


def test_an_event_above_the_cost_reverses_the_closest_decision_and_one_below_does_not():
    """Three runs of twenty have the event, so its share is 3 / n."""
    rng = np.random.default_rng(3)
    loss = np.array([[1.0], [1.6], [4.0]]) + 0.1 * rng.normal(size=(3, 20))
    ranking = ranked(loss)
    missing = ranking.missing
    assert missing.probability == 3 / 20
    assert (1 - missing.probability) ** 20 < 0.05
    assert missing.pair == ("a", "b")
    for factor, reversed_order in ((1.001, True), (0.999, False)):
        changed = loss.copy()
        changed[0, :3] += factor * missing.cost
        assert (changed[0].mean() > changed[1].mean()) == reversed_order
    assert missing.sentence in " ".join(str(ranking).split())
    assert "15 %" in missing.sentence
    assert f"{missing.cost:.3g}" in missing.sentence


def test_the_closest_decision_has_the_smallest_cost_in_units_of_the_differences():
    """The pair a, c has the larger cost, but the smaller ratio, unless it is not decided."""
    differences = np.stack([np.full(20, -0.5), np.tile([-6.0, 1.0], 10), np.tile([8.0, 10.0], 10)])
    p_values = np.full((3, 3), 0.01)
    closest = missing_events("abc", differences, p_values, 0.95)
    assert (closest.pair, closest.cost) == (("a", "c"), pytest.approx(2.5 * 20 / 3))
    assert closest.ratio == pytest.approx(2.5 * 20 / 3 / 18.5**0.5)
    p_values[0, 2] = 0.05
    assert missing_events("abc", differences, p_values, 0.949).pair == ("a", "c")
    assert missing_events("abc", differences, p_values, 0.96).pair == ("c", "b")


def test_without_a_decision_there_is_only_a_probability():
    missing = ranked(np.random.default_rng(4).normal(size=(3, 300))).missing
    assert (missing.probability, missing.pair) == (0.01, ())
    assert np.isnan(missing.cost)
    assert ranked(np.ones((1, 60))).missing.probability == 0.05
    assert ranked(np.ones((2, 3))).missing.probability == 1.0


def test_runs_with_nan_are_not_counted():
    loss = np.random.default_rng(5).normal(size=(2, 40)) + np.array([[0.0], [9.0]])
    loss[0, :10] = np.nan
    missing = ranked(loss).missing
    assert missing.probability == 0.1
    assert missing.cost == pytest.approx(10 * np.nanmean(loss[1] - loss[0]))


def test_skewed_differences_cause_a_warning_although_each_learner_is_not_skewed():
    """A learner loses 9 more in 4 of 50 runs, beside much normal noise that both learners share."""
    rng = np.random.default_rng(6)
    shared, event = 30.0 * rng.normal(size=50), 9.0 * (np.arange(50) < 4)
    loss = np.stack([shared + event + 0.3 * rng.normal(size=50), shared])
    with warnings.catch_warnings(action="error"):
        result(loss).mean(Q)
    with pytest.warns(SkewedRunsWarning, match="difference of the cumulative loss of . and . is skewed"):
        result(loss).ranking(Q)
    with pytest.warns(SkewedRunsWarning, match="difference of the cumulative loss of a and b is skewed"):
        result(loss).paired_difference("a", "b", Q)


def test_bounded_tests_hold_for_any_number_of_runs():
    """So they say nothing of missing events, and do not warn; the result's own interval is used."""
    loss = np.zeros((2, 40))
    loss[1] = 3.0
    bounded = jo.intervals.Betting(0.0, 1.0)  # in each of four rounds
    ranking = result(loss).ranking(Q, interval=bounded)
    assert ranking.differ("a", "b")
    assert ranking.holds_for_any_runs
    assert ranking.missing.sentence not in repr(ranking)
    kept = jo.Result(**{**vars(result(loss)), "interval": bounded})
    np.testing.assert_array_equal(kept.ranking(Q).p_values, ranking.p_values)
    standings = Standings({"one": result(loss), "two": result(loss)}, quantity=Q, interval=bounded)
    assert standings.missing.sentence not in standings.caption
    assert standings.p_values["two"][0, 1] == pytest.approx(2 * ranking.p_values[0, 1])
    assert standings.estimates["one"].high[0] == mean_over_runs(loss, interval=bounded.after(4)).high[0]
    with pytest.raises(TypeError, match=r"interval: must be one of jo.intervals"):
        Standings({"one": result(loss)}, interval=0.95)


def test_standings_and_comparisons_name_the_closest_decision_of_all_games():
    rng = np.random.default_rng(7)
    clear = result(np.array([[0.0], [50.0]]) + rng.normal(size=(2, 20)))
    close = result(np.array([[1.5], [0.0]]) + rng.normal(size=(2, 20)))
    standings = Standings({"clear": clear, "close": close})
    own = ranked(close.regret[:, :, -1]).missing
    assert standings.missing.cost == own.cost
    assert standings.missing.pair == own.pair == ("b", "a")
    assert standings.missing.place == "close"
    assert standings.missing.sentence in standings.caption
    compared = {name: ComparisonResult(each, {}, {}, {}, 0.1) for name, each in standings.results.items()}
    assert compared["close"].missing == own
    assert missing_events_sentence(compared) == standings.missing.sentence
    assert closest_decision({"none": ranked(np.ones((2, 30))).missing}).place == ""
