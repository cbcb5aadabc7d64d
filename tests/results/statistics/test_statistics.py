"""Means over runs, differences, exponents of growth, and distribution-free intervals of quantiles."""

import numpy as np
import pytest
from made_up import made_up
from scipy import stats

from jaxonline.results.statistics import difference_of_means, growth, mean_over_runs
from jaxonline.results.statistics.intervals import Student
from jaxonline.results.statistics.means import quantile_over_runs

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


STUDIES, RUNS, P, LEVEL = 4000, 120, 0.9, 0.95


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
    estimate = quantile_over_runs(np.random.default_rng(0).normal(size=(1, n)), p, 0.95)
    assert estimate.low[0] <= estimate.value[0] <= estimate.high[0]
    assert n == estimate.n_runs[0]


def test_the_documented_number_of_runs_gives_a_finite_upper_end():
    assert [np.isinf(quantile_over_runs(np.zeros((1, n)), 0.95, 0.95).high[0]) for n in (71, 72)] == [True, False]


@pytest.mark.parametrize("name", ["lognormal", "ties", "Cauchy"])
def test_coverage(name):
    """4,000 studies of 120 runs: the share that covers is at least 0.95 - 4.4 standard errors (a false alarm has
    probability 1e-5), and for continuous distributions it equals P(l <= B < u). Ranks that are two closer to the
    middle cover 0.85, which is caught: a defect of 0.015 is detected with probability 0.5 or more."""
    rng = np.random.default_rng(3)
    draws, truth = {
        "lognormal": (rng.lognormal(sigma=2.0, size=(STUDIES, RUNS)), stats.lognorm(2.0).ppf(P)),
        "ties": (rng.poisson(3.0, size=(STUDIES, RUNS)).astype(float), stats.poisson(3.0).ppf(P)),
        "Cauchy": (rng.standard_cauchy(size=(STUDIES, RUNS)), stats.cauchy.ppf(P)),
    }[name]
    estimate = quantile_over_runs(draws, P, LEVEL)
    covered = np.mean((estimate.low <= truth) & (truth <= estimate.high))
    error = np.sqrt(LEVEL * (1 - LEVEL) / STUDIES)
    assert covered > LEVEL - 4.4 * error
    if name != "ties":
        low, high = ranks(RUNS, P, LEVEL)
        exact = stats.binom(RUNS, P).cdf(high - 1) - stats.binom(RUNS, P).cdf(low - 1)
        assert abs(covered - exact) < 4.4 * error
        ordered = np.sort(draws, axis=1)
        wrong = np.mean((ordered[:, low + 1] <= truth) & (truth <= ordered[:, high - 3]))
        assert wrong < LEVEL - 4.4 * error


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


@pytest.mark.filterwarnings("ignore::jaxonline.parameters.errors.SkewedRunsWarning")
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
