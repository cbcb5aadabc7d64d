"""Means over runs, differences, exponents of growth, intervals of quantiles, and the numbers on docs/intervals.md."""

import few_runs
import numpy as np
import pytest
from made_up import made_up
from package_examples import run_examples_of
from scipy import optimize, stats

from benchmarks.intervals import curves, games, laws, means, page, rankings, stopping
from jaxonline.parameters.errors import SkewedRunsWarning
from jaxonline.results import Result, statistics
from jaxonline.results.statistics import difference_of_means, growth, mean_over_runs
from jaxonline.results.statistics.intervals import Student, skewness
from jaxonline.results.statistics.means import is_skewed, quantile_over_runs

ROUNDS = np.array([10, 30, 100, 300])
LAW = "spikes 10%"
SILENT = pytest.mark.filterwarnings("ignore::jaxonline.parameters.errors.SkewedRunsWarning")


@SILENT
@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_a_growth_exponent_is_a_least_squares_slope_with_its_interval(level, monkeypatch):
    """The interval is that of the mean over runs of the slopes of values / mean; the mean of these slopes is 0."""
    values = np.random.default_rng(0).lognormal(sigma=1.2, size=(20, 4)).cumsum(axis=1) * ROUNDS**0.7
    mean, logs = values.mean(axis=0), np.log(ROUNDS)
    monkeypatch.setattr("jaxonline.results.statistics.means.CHUNK_ENTRIES", 28)  # chunks of 7 runs
    found = growth(ROUNDS, values, level)
    assert found.exponent == pytest.approx(np.polyfit(logs, np.log(mean), 1)[0], rel=1e-12)
    slopes = np.array([np.polyfit(logs, own / mean, 1)[0] for own in values])
    expected = np.array(few_runs.interval(slopes, level))
    np.testing.assert_allclose(np.array(found[1:]) - found.exponent, expected, rtol=1e-9)
    assert np.ptp(np.abs(expected)) > 0.01 * expected[1], "skewed"


@SILENT
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_a_difference_of_means_has_welchs_interval_corrected_for_skewness(level):
    """The mean of n runs has the third cumulant (third moment of a run) / n^2; those of two samples are subtracted."""
    rng = np.random.default_rng(4)
    first, second = rng.lognormal(sigma=1.5, size=8), 9.0 - rng.exponential(3.0, size=20)
    welch = stats.ttest_ind(first, second, equal_var=False)
    quantile, plain = stats.t.ppf(0.5 + level / 2, welch.df), welch.confidence_interval(level)
    mean, error = first.mean() - second.mean(), (plain.high - plain.low) / 2 / quantile
    thirds = [stats.skew(own) * own.std(ddof=1) ** 3 / len(own) ** 2 for own in (first, second)]
    skew = (thirds[0] - thirds[1]) / error**3
    upper, lower = (
        optimize.brentq(lambda t, end=end: few_runs.hall(t, skew, 1) - end, -1e3, 1e3) for end in (quantile, -quantile)
    )
    expected = mean, mean - max(upper, quantile) * error, mean - min(lower, -quantile) * error
    assert expected[2] > plain.high + 0.1 * error
    found = difference_of_means(np.append(first, np.nan), second, level)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    mirrored = difference_of_means(second, first, level)
    np.testing.assert_allclose([mirrored.mean, mirrored.high, mirrored.low], -np.array(expected), rtol=1e-9)


def test_differences_of_few_skewed_or_equal_runs():
    normal, skewed = np.random.default_rng(1).normal(size=(2, 40))
    assert np.isnan(difference_of_means(normal[:5], normal)[1:]).all()
    assert np.isfinite(difference_of_means(normal[:6], normal)).all()
    assert np.isnan(difference_of_means(normal, np.full(9, np.nan))).all()
    assert difference_of_means(np.full(9, 3.0), np.full(7, 1.0)) == (2.0, 2.0, 2.0)
    with pytest.warns(SkewedRunsWarning, match="difference of means is skewed"):
        difference_of_means(np.exp(3.0 * skewed), normal)


def test_runs_are_called_skewed_above_the_limit_of_the_interval_but_seldom_by_chance():
    """2,000 samples of 10 to 200 normal runs: fewer than 1 % are above 7.4 / runs, which is 3 sqrt(6 / n) / sqrt(n)."""
    assert is_skewed([0.31, 0.29, 0.36, 0.75], [1000, 1000, 20, 10], "mean").tolist() == [True, False, False, True]
    assert is_skewed([0.51, 0.49], 1000, "band").tolist() == [True, False]
    rng = np.random.default_rng(6)
    for n in (10, 30, 200):
        ratios = np.abs(skewness(rng.normal(size=(2000, n)))) / np.sqrt(n)
        assert is_skewed(ratios, n, "mean").mean() < 0.01


def test_growth_of_a_result_begins_at_an_eighth_of_the_horizon():
    loss = np.random.default_rng(5).gamma(9.0, size=(2, 30, 4)).cumsum(axis=2)
    measures = {"cumulative_loss": loss, "queries": loss}
    result = Result(("a", "b"), np.arange(30), np.array([9, 10, 40, 80]), measures)
    for first_round, late in ((None, slice(1, None)), (9, slice(None)), (11, slice(2, None))):
        found = result.growth(first_round, "cumulative_loss", 0.9)
        assert found == {name: growth(result.rounds[late], loss[i, :, late], 0.9) for i, name in enumerate("ab")}


def test_without_a_power_law_there_is_no_exponent():
    values = np.ones((5, 4)) * ROUNDS
    values[:, 1] *= -1
    assert np.isnan(growth(ROUNDS, values)).all()
    assert np.isnan(growth(ROUNDS, values[:1])).all()


def test_runs_with_a_nan_are_left_out():
    values = np.arange(1.0, 8.0)[:, None] * np.sqrt(ROUNDS) + np.random.default_rng(1).normal(size=(7, 4))
    values[6, 1] = np.nan
    assert growth(ROUNDS, values) == growth(ROUNDS, values[:6])
    with pytest.raises(ValueError, match=r"values: .*got \(7, 4\)"):
        growth(ROUNDS[:2], values)
    with pytest.raises(ValueError, match="rounds: must be at least two numbers above 0"):
        growth([0, 10], values[:, :2])


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_means_over_runs_of_any_shape(level):
    """Student's interval, entry by entry; runs with a NaN are left out; one run has no interval, none no mean."""
    rng = np.random.default_rng(2)
    values = rng.normal(size=(2, 9, 3, 4))
    values[1, 0, 2] = np.nan
    found = mean_over_runs(values, level, interval=Student())
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
    found = mean_over_runs(values, together=10, interval=Student())
    np.testing.assert_allclose((found.low[0], found.high[0]), expected, rtol=1e-12)


def ranks(n, p, level):
    """The ranks (from 1) of the ends of the interval: 0 and n + 1 if an end is infinite."""
    estimate = quantile_over_runs(np.arange(1.0, n + 1)[None], p, level)
    low, high = float(estimate.low[0]), float(estimate.high[0])
    return (0 if np.isinf(low) else int(low)), (n + 1 if np.isinf(high) else int(high))


@pytest.mark.parametrize("n", [1, 5, 40, 71, 72, 500])
@pytest.mark.parametrize("p", [0.05, 0.5, 0.95])
def test_ranks_are_the_best_with_their_error_rates(n, p):
    """P(B < l) and P(B >= u) are at most alpha/2, and those of the next ranks inside are not (scipy.stats)."""
    law = stats.binom(n, p)
    for level in (0.8, 0.95, 0.999):
        low, high = ranks(n, p, level)
        assert law.cdf(low - 1) <= (1 - level) / 2 < law.cdf(low)
        assert law.sf(high - 1) <= (1 - level) / 2 < law.sf(high - 2)
    assert quantile_over_runs(np.arange(1.0, 101.0)[None], 0.07, 0.95).value[0] == 7.0
    estimate = quantile_over_runs(np.random.default_rng(0).normal(size=(1, n)), p, 0.95)
    assert estimate.low[0] <= estimate.value[0] <= estimate.high[0]
    assert n == estimate.n_runs[0]


def test_results_exclude_failed_runs_and_have_all_rounds():
    result = made_up(failed=((0, 2), (0, 5), (1, 5)))
    estimate = result.quantile_interval(0.5, "cumulative_loss", 0.9)
    assert estimate.n_runs[:, 0].tolist() == [10, 11]
    for learner, out in ((0, (2, 5)), (1, (5,))):
        runs = np.sort(np.delete(result.cumulative_loss[learner], out, axis=0), axis=0)
        low, high = ranks(len(runs), 0.5, 0.9)
        for field, rank in zip(estimate[:3], (-(-len(runs) // 2), low, high), strict=True):
            np.testing.assert_array_equal(field[learner], runs[rank - 1])
    nothing = quantile_over_runs(np.full((1, 4), np.nan), 0.5, 0.9)
    assert np.isnan([nothing.value, nothing.low, nothing.high]).all()


@SILENT
def test_differences_and_slopes_of_skewed_runs_cover():
    """400 studies of 20 lognormal(1.5) and 20 normal runs with equal means, and of sums of such steps with slope 1.
    Hall's correction covers in about 89 and 94 %: fewer than 84 and 89 % come once in 10^3. Welch's interval covers in
    77 %."""
    rng, mean, rounds = np.random.default_rng(5), np.exp(1.5**2 / 2), np.array([8, 16, 32, 64])
    covers, welch, slopes = 0, 0, 0
    for _ in range(400):
        first, second = rng.lognormal(sigma=1.5, size=20), mean + 0.5 * rng.normal(size=20)
        found = difference_of_means(first, second)
        covers += found.low <= 0 <= found.high
        plain = stats.ttest_ind(first, second, equal_var=False).confidence_interval(0.95)
        welch += plain.low <= 0 <= plain.high
        assert found.low <= plain.low + 1e-9
        assert found.high >= plain.high - 1e-9
        exponent = growth(rounds, np.cumsum(rng.lognormal(sigma=1.5, size=(20, 64)), axis=1)[:, rounds - 1])
        slopes += exponent.low <= 1 <= exponent.high
    assert covers >= 336
    assert slopes >= 356
    assert welch < 336


def test_the_examples_and_the_sections_of_the_page():
    number, failures = run_examples_of(statistics)
    assert number > 30
    assert failures == ""
    text = page.PAGE.read_text()
    assert text.startswith(page.INTRODUCTION)
    assert list(page.sections_of(text)) == [section.TITLE for section in page.SECTIONS.values()]


def check_lines(*tables) -> None:
    lines = page.PAGE.read_text().splitlines()
    for table in tables:
        for line in table.markdown().splitlines():
            assert line in lines


@pytest.mark.long
def test_the_numbers_on_the_page_are_what_is_simulated():
    """Some lines of the page, simulated again."""
    for rows in (
        means.errors_of_means([LAW]), means.warned_intervals(means.two_studies, 0.0, 2, [LAW]),
        rankings.errors_of_rankings([LAW]), rankings.errors_of_rankings([LAW], shared=True),
        curves.errors_of_bands(["exponential"]),
    ):  # fmt: skip
        check_lines(laws.errors_by_runs(rows))
    check_lines(means.coverage_of_quantiles(), means.kinds_of_intervals(), means.effect_of_the_limit())
    check_lines(stopping.stopped_studies([(LAW, 0.03)]), stopping.error_rates([(LAW, 0.03)]))
    check_lines(rankings.power_of_rankings([20]), games.coverage_across_games(["exponential"], [10]))
