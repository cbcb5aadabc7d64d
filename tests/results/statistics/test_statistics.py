"""Every interval: means over runs and their differences cover; exponents of growth are exact for power laws."""

import numpy as np
import pytest
from scipy import stats

from jaxonline.results.statistics import difference_of_means, growth, mean_over_runs

ROUNDS = np.array([10, 30, 100, 300])


def test_least_squares_of_the_logarithms():
    rng = np.random.default_rng(0)
    values = rng.uniform(1.0, 2.0, (20, 4)) * ROUNDS**0.7
    expected = np.polyfit(np.log(ROUNDS), np.log(values.mean(axis=0)), 1)[0]
    found = growth(ROUNDS, values)
    assert found.exponent == pytest.approx(expected, rel=1e-12)
    assert found.low < found.exponent < found.high


def test_the_interval_covers_as_often_as_it_says():
    """400 intervals of level 95 %; fewer than 92 % or more than 98 % cover by chance less than 1 time in 100. Errors of
    a run are correlated over the rounds, as those of cumulative losses are; independent ones would be another law."""
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(400):
        steps = 1.0 + rng.normal(size=(50, ROUNDS[-1]))
        low, high = growth(ROUNDS, np.cumsum(steps, axis=1)[:, ROUNDS - 1])[1:]
        covered += low <= 1.0 <= high
    assert 0.92 * 400 <= covered <= 0.98 * 400


def test_without_a_power_law_there_is_no_exponent():
    values = np.ones((5, 4)) * ROUNDS
    values[:, 1] *= -1
    assert np.isnan(growth(ROUNDS, values)).all()
    assert np.isnan(growth(ROUNDS, values[:1])).all()


def test_runs_with_a_nan_are_left_out():
    values = np.array([1.0, 2.0, 7.0])[:, None] * np.sqrt(ROUNDS)
    values[2, 1] = np.nan
    assert growth(ROUNDS, values) == growth(ROUNDS, values[:2])


@pytest.mark.parametrize(
    ("rounds", "values", "message"),
    [
        ([10], np.ones((3, 1)), "rounds: must be at least two"),
        ([0, 10], np.ones((3, 2)), "rounds: must be at least two numbers above 0"),
        ([1, 10], np.ones((3, 3)), r"values: .*got \(3, 3\)"),
    ],
)
def test_bad_input(rounds, values, message):
    with pytest.raises(ValueError, match=message):
        growth(rounds, values)


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_means_over_runs_of_any_shape(level):
    """Student's interval, entry by entry; runs with a NaN are left out; one run has no interval, none no mean."""
    rng = np.random.default_rng(2)
    values = rng.normal(size=(2, 9, 3, 4))
    values[1, 0, 2] = np.nan
    found = mean_over_runs(values, level)
    assert found.mean.shape == (2, 3, 4)
    whole = stats.ttest_1samp(values[0], 0.0).confidence_interval(level)
    np.testing.assert_allclose((found.low[0], found.high[0]), (whole.low, whole.high), rtol=1e-12)
    part = stats.ttest_1samp(values[1, 1:, 2], 0.0).confidence_interval(level)
    np.testing.assert_allclose((found.low[1, 2], found.high[1, 2]), (part.low, part.high), rtol=1e-12)
    assert found.n_runs[1, 2].tolist() == [8] * 4
    np.testing.assert_allclose(found.standard_error[0], stats.sem(values[0]), rtol=1e-12)
    one = mean_over_runs(np.array([[3.0, np.nan], [np.nan, np.nan]]))
    np.testing.assert_array_equal(one.mean, [3.0, np.nan])
    assert np.isnan(one.low).all()


def test_intervals_that_hold_together_are_wider():
    """Bonferroni: each of ten has the error rate of one, divided by ten."""
    values = np.random.default_rng(3).normal(size=(1, 12))
    expected = stats.t.interval(1 - 0.05 / 10, 11, values.mean(), stats.sem(values[0]))
    found = mean_over_runs(values, together=10)
    np.testing.assert_allclose((found.low[0], found.high[0]), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="together: must be at least 1"):
        mean_over_runs(values, together=0)
    with pytest.raises(ValueError, match="level: must be above 0 and below 1"):
        mean_over_runs(values, 1.0)


def test_a_difference_of_independent_means_covers_as_often_as_it_says():
    """400 Welch intervals of level 95 %, of samples with other sizes and variances: between 92 and 98 % cover."""
    rng, covered = np.random.default_rng(4), 0
    for _ in range(400):
        found = difference_of_means(rng.normal(1.0, 3.0, 8), rng.normal(0.0, 1.0, 20))
        covered += found.low <= 1.0 <= found.high
    assert 0.92 * 400 <= covered <= 0.98 * 400
    assert found.low < found.mean < found.high
