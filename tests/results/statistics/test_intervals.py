"""The kinds of intervals in all methods, bands around curves, letters, and corrections for many pairs."""

import dataclasses
import itertools

import numpy as np
import pytest
from scipy import stats
from tiers import some

import jaxonline as jo
from jaxonline.parameters.errors import SkewedRunsWarning
from jaxonline.results.report.tables import format_measurement
from jaxonline.results.statistics import joint_p_values, mean_over_runs, pairwise_p_values, simultaneous
from jaxonline.results.statistics.intervals import skewness
from jaxonline.results.statistics.means import N_RESAMPLES
from jaxonline.results.statistics.ranking import compact_letters


def result(loss: np.ndarray, **meta) -> jo.Result:
    """Of losses [L, R, G]."""
    names, rounds = tuple("abcdefghijkl"[: len(loss)]), np.arange(1, loss.shape[2] + 1)
    measures = {"cumulative_loss": loss, "queries": 0 * loss}
    return jo.Result(names, np.arange(loss.shape[1]), rounds, measures, meta=meta)


Q = "cumulative_loss"
EVERY = (
    jo.intervals.SkewCorrected(), jo.intervals.Student(), jo.intervals.Betting(-9.0, 9.0), jo.intervals.Anytime(300),
)  # fmt: skip


WITHOUT_BETTING = [interval for interval in EVERY if not isinstance(interval, jo.intervals.Betting)]


@pytest.mark.parametrize("interval", some(EVERY, *WITHOUT_BETTING))
def test_all_methods_take_an_interval(interval, tmp_path):
    """They agree at the horizon, bands enclose it, and a result saves it and has it by default."""
    one = result(np.cumsum(np.random.default_rng(0).normal(size=(2, 40, 3)), axis=2))
    mean, band = one.mean(Q, interval=interval), one.bands(Q, interval=interval)
    low, high = mean.low[0, -1], mean.high[0, -1]
    assert (interval == EVERY[0]) == (high == one.mean(Q).high[0, -1])
    frame = one.to_pandas(Q, interval=interval)
    last = frame[(frame.learner == "a") & (frame["round"] == 3)]
    row = next(row for row in one.ranking(Q, interval=interval).rows if row["learner"] == "a")
    table = dataclasses.replace(one, comparator_loss=0 * one.cumulative_loss).table(interval=interval)[0]
    assert (last.low.item(), row["low"], table["low"]) == (low, low, low)
    assert (last.high.item(), row["high"], table["high"]) == (high, high, high)
    half = format_measurement(mean.mean[0, -1], low, high)
    for words in (one.to_markdown(Q, interval=interval), one.to_latex(Q, interval=interval)):
        assert half in words.replace(r"$\pm$", "±").replace("$-$", "-")
    assert band.low[0, -1] <= low
    assert band.high[0, -1] >= high
    drawn = one.plot(quantity=Q, interval=interval).collections[0].get_paths()[0].vertices
    assert np.isclose(drawn[:, 1], band.high[0, -1]).any()
    own = dataclasses.replace(one, interval=interval)
    np.testing.assert_array_equal(own.mean(Q).high, mean.high)
    later = dataclasses.replace(one, runs=one.runs + 40)
    loaded = jo.load_result(own.save(tmp_path / "saved.npz"))
    assert own.select("a").interval == own.merge_runs(later).interval == loaded.interval == interval


@pytest.mark.parametrize("interval", EVERY)
def test_a_p_value_is_the_level_at_which_the_interval_excludes_0(interval):
    """Means from none to many errors from 0; a little below 1 - p the interval excludes 0, and a little above not."""
    values = np.random.default_rng(1).normal(size=(6, 40)) + np.linspace(0.0, 1.2, 6)[:, None]
    p = interval.p_values(values, mean_over_runs(values, interval=interval))
    assert (np.diff(p) < 0.7).all()
    checked = 0
    for one, own in zip(values[:, None], p, strict=True):
        for factor, excluded in ((1.15, True), (0.85, False)):
            if 1e-2 < own * factor < 1:
                of = mean_over_runs(one, 1 - own * factor, interval=interval)
                assert bool(of.low[0] > 0 or of.high[0] < 0) == excluded
                checked += 1
    assert checked >= 2


@pytest.mark.parametrize("interval", EVERY[1:])
def test_bands_of_other_intervals_are_corrected_for_the_number_of_rounds(interval):
    """By Bonferroni: each of 4 rounds has a quarter of the error rate. Student's bands are those of `simultaneous`."""
    loss = np.cumsum(np.random.default_rng(22).normal(size=(2, 60, 4)).clip(-9, 9), axis=2)
    band, alone = result(loss).bands(Q, 0.9, interval), result(loss).mean(Q, 0.975, interval)
    expected = simultaneous(loss, 0.9) if interval == jo.intervals.Student() else alone
    np.testing.assert_allclose((band.low, band.high), (expected.low, expected.high), rtol=1e-12)


@pytest.mark.parametrize(("n", "level", "shortest_at"), [(40, 0.95, 1000), (700, 0.9, 200), (15, 0.999, 30)])
def test_the_anytime_interval_is_that_of_the_theorem(n, level, shortest_at):
    """Theorem 2.2 of Waudby-Smith et al., two-sided: sd sqrt(2 (n r + 1) / (n^2 r) log(sqrt(n r + 1) / alpha)), with
    r = (log(1 - 2 log alpha) - 2 log alpha) / shortest_at. The p-value is the alpha of the interval that ends at 0."""
    alpha, interval = 1 - level, jo.intervals.Anytime(shortest_at)
    values = np.random.default_rng(3).exponential(size=(1, n))
    estimate = mean_over_runs(values, level, interval=interval)
    r = (np.log(1 - 2 * np.log(alpha)) - 2 * np.log(alpha)) / shortest_at
    half = values.std(ddof=1) * np.sqrt(2 * (n * r + 1) / (n**2 * r) * np.log(np.sqrt(n * r + 1) / alpha))
    np.testing.assert_allclose([estimate.low[0], estimate.high[0]], values.mean() + half * np.array([-1, 1]))
    shifted = values - values.mean() + half
    p = interval.p_values(shifted, mean_over_runs(shifted, interval=interval))
    np.testing.assert_allclose(p, alpha, rtol=1e-9)


def test_limits_of_a_round():
    found = result(np.array([[[0.0, 1.0], [1.0, 2.0], [1.0, 1.0]]]))
    of = found.mean("cumulative_loss", interval=jo.intervals.Betting(0.0, 1.0))
    assert (of.high <= [[1.0, 2.0]]).all()
    assert (of.high > [[0.9, 1.9]]).all()
    with pytest.raises(ValueError, match=r"interval: .*got Betting over .* to \[0.5, 1.0\], 1"):
        found.mean("cumulative_loss", interval=jo.intervals.Betting(0.0, 0.5))
    with pytest.raises(ValueError, match=r"low: .*got 1.0 and 0.0"):
        jo.intervals.Betting(1.0, 0.0)


def test_an_unknown_interval_is_an_error():
    one = result(np.random.default_rng(0).normal(size=(2, 9, 3)))
    for method in (one.mean, one.bands, one.ranking, one.to_latex, one.to_pandas, one.plot):
        with pytest.raises(TypeError, match=r"interval: must be one of jo.intervals"):
            method(quantity=Q, interval="student")


def test_skewed_runs_are_warned_of():
    rng = np.random.default_rng(5)
    np.testing.assert_allclose(skewness(x := rng.gamma(2.0, size=(3, 50))), stats.skew(x, axis=1))
    assert skewness(np.ones((1, 9))) == [0]
    loss = np.stack([rng.normal(size=(60, 1)), rng.lognormal(sigma=2.0, size=(60, 1))])
    least = np.ceil(60 * (stats.skew(loss[1])[0] / 60**0.5 / 0.3) ** 2)
    with pytest.warns(SkewedRunsWarning, match=f"cumulative loss of b is skewed over the runs.* least {least:,.0f} "):
        result(loss).mean("cumulative_loss")
    result(loss).mean("cumulative_loss", interval=jo.intervals.Anytime())
    result(loss[:1]).mean("cumulative_loss")


@pytest.mark.parametrize("n", [9, 2200])  # of 2,200 runs, not all resamples are drawn at a time
def test_bands_of_skewed_curves_by_a_loop(n):
    """The extreme deviations of the same resamples, one after the other; a run with a NaN is left out."""
    runs = np.cumsum(np.random.default_rng(1).lognormal(sigma=2.0, size=(n, 3)), axis=1)
    rng, mean, low, high = np.random.default_rng(0), runs.mean(axis=0), [], []
    for places in rng.integers(n, size=(N_RESAMPLES, n)):
        again = runs[places]
        deviations = (again.mean(axis=0) - mean) / (again.std(axis=0, ddof=1) / n**0.5)
        low, high = [*low, deviations.min()], [*high, deviations.max()]
    band, error = simultaneous(np.insert(runs, 4, np.nan, axis=0)[None], 0.9), runs.std(axis=0, ddof=1) / n**0.5
    np.testing.assert_allclose(band.low[0], mean - np.sort(high)[int(0.95 * N_RESAMPLES) - 1] * error, rtol=1e-9)
    np.testing.assert_allclose(band.high[0], mean - np.sort(low)[int(0.05 * N_RESAMPLES) - 1] * error, rtol=1e-9)


def test_bands_of_100_symmetric_runs_by_a_loop(monkeypatch):
    """The largest entries of the same normal vectors with the correlations of the rounds, each over a chi variable."""
    half = np.cumsum(np.random.default_rng(7).normal(size=(50, 3)), axis=1)
    runs = 5.0 + np.concatenate([half, -half]) * [1.0, 0.0, 2.0]  # the second round does not vary
    rng, pair = np.random.default_rng(0), runs[:, [0, 2]]
    variances, vectors = np.linalg.eigh(np.corrcoef(pair.T))
    normals, largest = rng.normal(size=(10 * N_RESAMPLES, 2)), []
    for normal, square in zip(normals, rng.chisquare(99, 10 * N_RESAMPLES), strict=True):
        largest.append(abs(sum(normal[k] * variances[k] ** 0.5 * vectors[:, k] for k in (0, 1))).max() / square**0.5)
    monkeypatch.setattr("jaxonline.results.statistics.means.CHUNK_ENTRIES", 90)  # chunks of 30 runs
    half_widths = np.quantile(largest, 0.9) * 99**0.5 * stats.sem(runs)
    band = simultaneous(runs[None], 0.9)
    np.testing.assert_allclose([band.low[0], band.high[0]], [5.0 - half_widths, 5.0 + half_widths], rtol=1e-9)
    for n, ones, symmetric in ((100, 21, True), (100, 19, False), (99, 45, False)):  # skewness / 10: 0.142, 0.158
        band = simultaneous((np.arange(n) < ones).astype(float)[None, :, None])
        assert (abs(band.high + band.low - 2 * band.mean).item() < 1e-9) == symmetric


def test_bands_warn_of_rounds_with_few_rare_values():
    loss = np.zeros((2, 50, 2))
    loss[0, :2, 1], loss[1, :25] = 1.0, 1.0
    with pytest.warns(SkewedRunsWarning, match=r"cumulative loss of a is so skewed .* at least 2\d\d runs"):
        result(loss).bands(Q)
    result(loss).select("b").bands(Q)


def test_bands_of_independent_rounds_are_sidaks_and_of_equal_ones_students():
    """With many runs: the largest of 10 independent normal numbers."""
    rng = np.random.default_rng(8)
    independent = simultaneous(rng.normal(size=(1, 20_000, 10)))
    factor = (independent.high - independent.mean) / independent.standard_error
    np.testing.assert_allclose(factor, stats.norm.ppf(0.5 + 0.95**0.1 / 2), rtol=0.02)
    equal = simultaneous(rng.normal(size=(1, 20_000, 1)) * np.arange(1.0, 6.0))
    np.testing.assert_allclose((equal.high - equal.mean) / equal.standard_error, 1.96, rtol=0.02)


def games_of_equal_rare_and_constant_values():
    """Integers [R, 6] that are mostly equal, with a factor, for 200 games; every third game starts at 0.1."""
    rng = np.random.default_rng(23)
    for game in range(200):
        n, share, factor = int(rng.integers(2, 60)), rng.choice([0.0, 0.02, 0.1, 0.5]), rng.choice([0.7, 163.3, 1e6])
        counts = np.cumsum(rng.random((n, 6)) < share, axis=1)
        counts[:, 0] = counts[0, 0]  # the first round is constant
        yield counts, (game % 3 == 0) * 0.1 + factor * counts


def exact_ratios(counts):
    """Deviations of resamples from integers, whose sums have no rounding errors: 0 if and only if all are equal."""
    n, places = len(counts), np.random.default_rng(0).integers(len(counts), size=(N_RESAMPLES, len(counts)))
    again, total = counts[places], counts.sum(axis=0)
    squares = n * (again**2).sum(axis=1) - again.sum(axis=1) ** 2  # n^2 times the variance
    deviations = again.sum(axis=1) - total
    return np.where(squares > 0, deviations * np.sqrt(n - 1) / np.sqrt(np.maximum(squares, 1)), 0.0)


@pytest.mark.long
def test_bands_of_resamples_without_variation_are_exact_and_no_end_is_far_from_the_runs():
    """The ends of bands in 200 games with equal, rare and constant values. A band exceeds the range of the runs by at
    most this range, and an interval of a mean by at most 1.5 times this range. If a rounding error counts as a
    variance, bands are wrong in 39 of these games."""
    for counts, runs in games_of_equal_rare_and_constant_values():
        band, mean, error = simultaneous(runs[None], 0.9), runs.mean(axis=0), stats.sem(runs)
        ratios, reach, least, most = exact_ratios(counts), np.ptp(runs, axis=0), runs.min(axis=0), runs.max(axis=0)
        low, high = np.sort(ratios.min(axis=1))[99], np.sort(ratios.max(axis=1))[1899]
        low, high = np.maximum(mean - high * error, least - reach), np.minimum(mean - low * error, most + reach)
        rounding = 1e-9 * np.abs(runs).max()
        np.testing.assert_allclose([band.low[0], band.high[0]], [low, high], rtol=1e-9, atol=rounding)
        for estimate, factor in ((band, 1.0), (mean_over_runs(runs[None]), 1.5)):  # the second is NaN below 6 runs
            assert not (estimate.low[0] < least - factor * reach - rounding).any()
            assert not (estimate.high[0] > most + factor * reach + rounding).any()


def test_constant_rounds_and_failed_runs_have_no_width():
    values = np.random.default_rng(9).normal(size=(2, 20, 3))
    values[:, :, 0] = 1.0
    values[1, :19] = np.nan
    band = simultaneous(values)
    assert band.low[0, 0] == band.high[0, 0] == 1.0
    assert np.isnan(band.low[1]).all()


def test_letters_are_shared_exactly_by_those_that_are_alike():
    rng = np.random.default_rng(10)
    for _ in range(200):
        n = int(rng.integers(1, 7))
        alike = np.triu(rng.random((n, n)) < 0.6, 1)
        alike = alike | alike.T | np.eye(n, dtype=bool)
        letters = compact_letters(alike)
        for i, j in itertools.product(range(n), repeat=2):
            assert bool(set(letters[i]) & set(letters[j])) == alike[i, j]
        shared = {"".join(sorted(set(letters[i]) & set(letters[j]))) for i, j in itertools.product(range(n), repeat=2)}
        assert set("".join(letters)) <= shared, "without any letter, others would share none"


def test_letters_after_z_are_numbers():
    assert compact_letters(np.eye(28, dtype=bool))[24:] == ("y", "z", "(27)", "(28)")


def test_holms_correction_by_hand():
    """For the six pairs of a game and the three pairs of another one together; a run with a NaN is left out."""
    rng, student = np.random.default_rng(11), jo.intervals.Student()
    games = [rng.normal(size=(n, 25)) + 0.2 * np.arange(n)[:, None] ** 2 for n in (4, 3)]
    games[0][2, 7] = np.nan
    raw = {}
    for game, values in enumerate(games):
        for i, j in itertools.combinations(range(len(values)), 2):
            raw[game, i, j] = stats.ttest_rel(values[i], values[j], nan_policy="omit").pvalue
    expected, largest = {}, 0.0
    for step, (pair, p) in enumerate(sorted(raw.items(), key=lambda item: item[1])):
        largest = max(largest, min(1.0, (9 - step) * p))
        expected[pair] = largest
    found = joint_p_values(games, [student, student])
    for (game, i, j), p in expected.items():
        assert found[game][i, j] == found[game][j, i] == pytest.approx(p, rel=1e-9)
    np.testing.assert_array_equal(pairwise_p_values(games[1], student), joint_p_values(games[1:], [student])[0])


def test_equal_learners_seldom_differ():
    """10 equal learners, 300 studies of 20 runs: some pair differs in 5 % at most; more than 9 % would come by chance
    once in 500. The mutant without correction finds one in most studies."""
    rng, wrong, uncorrected = np.random.default_rng(12), 0, 0
    for _ in range(300):
        values = rng.normal(size=(10, 20)) + rng.normal(size=20)
        wrong += (pairwise_p_values(values) < 0.05).any()
        extremes = np.argsort(values.mean(axis=1))[[0, -1]]
        uncorrected += stats.ttest_rel(*values[extremes]).pvalue < 0.05
    assert wrong <= 0.09 * 300
    assert uncorrected > 0.4 * 300


def test_a_study_stops_when_the_interval_is_narrow(tmp_path):
    def play(**options):
        game = jo.Game(jo.environments.BernoulliArms([0.2, 0.8]), jo.Bandit(), loss=jo.losses.ArmLoss())
        sizes = {"n_runs": 4096, "n_rounds": 8, "block_size": 16, "key": 3, "record_at": 1}
        return jo.simulate(game, jo.learners.UCB1(), **sizes, **options)

    wanted = jo.Precision(0.15, relative=True, quantity=Q, rarest_event=0.09375, low=0.0, high=1.0)
    found = play(stop=wanted, checkpoint=tmp_path / "kept")
    of, n = found.mean(Q), len(found.runs)
    assert found.interval == jo.load_result(tmp_path / "kept").interval == jo.intervals.Betting(0.0, 1.0, Q)
    assert found.meta["precision"]["reached"]
    assert found.meta["precision"]["runs"] == n < 2048
    assert (of.high - of.mean <= 0.15 * of.mean).all()
    longer_side = max(of.high[0, -1] - of.mean[0, -1], of.mean[0, -1] - of.low[0, -1])
    np.testing.assert_allclose(wanted.excess(found, found.interval), longer_side / (0.15 * of.mean[0, -1]), rtol=1e-12)
    longer = mean_over_runs(found.values(Q), interval=jo.intervals.Betting(0.0, 8.0))
    np.testing.assert_array_equal(of.high, longer.high)
    np.testing.assert_array_equal(found.runs, np.arange(n))
    np.testing.assert_array_equal(found.cumulative_loss, play(runs=list(range(n))).cumulative_loss)
    before = found.select(runs=slice(0, n - 64))
    assert len(before.runs) < 32 or wanted.excess(before, found.interval) > 1


@pytest.mark.parametrize(("ones", "n_runs"), [(0, 100), (3, 50), (50, 50)])
def test_the_binomial_interval_equals_that_of_scipy(ones, n_runs):
    values = (np.arange(n_runs) < ones).astype(float)[None]
    estimate = mean_over_runs(values, interval=jo.intervals.ClopperPearson())
    exact = stats.binomtest(ones, n_runs).proportion_ci(0.95, "exact")
    np.testing.assert_allclose([estimate.low[0], estimate.high[0]], [exact.low, exact.high], atol=1e-12)


def test_the_binomial_interval_needs_zeros_and_ones():
    kind = jo.intervals.ClopperPearson()
    values = np.array([[0.0, 0.0], [0.0, 1.0], [np.nan, np.nan]])
    np.testing.assert_array_equal(kind.p_values(values, mean_over_runs(values)), [1.0, 0.0, np.nan])
    assert kind.of_difference() == jo.intervals.Betting(-1.0, 1.0)
    with pytest.raises(ValueError, match=r"interval.*0\.5"):
        mean_over_runs(np.array([[0.0, 0.5]]), interval=jo.intervals.ClopperPearson())
