"""Results across games: closed forms, the numbers of rliable, Demsar's example, coverage, and wrong versions."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from scipy import stats

import jaxonline as jo
from jaxonline.results import AcrossGames, CriticalDifferences, Standings
from jaxonline.results.statistics.across_games import interquartile_mean
from jaxonline.results.statistics.rank_tests import rank_groups


def hashed_losses():
    """Exponential losses of 3 learners, 12 runs and 4 games from a formula, so that other programs have them too."""
    learner, run, game = np.ogrid[:3, :12, :4]
    uniform = np.modf(1e4 * np.abs(np.sin(1.0 + 48 * learner + 4 * run + game)))[0]
    return (1.0 + game) * (1.0 + 0.3 * learner) * -np.log(uniform)


@pytest.fixture(scope="module")
def hashed():
    losses, unit = hashed_losses(), {f"game {k}": 1.0 + k for k in range(4)}
    return AcrossGames(("a", "b", "c"), {game: losses[:, :, k] for k, game in enumerate(unit)}, reference=unit)


# rliable 1.2.0 (arch 7.2.0, numpy 2.4.6) with scores = -loss / (1 + game) and gamma = -1: values of learners a, b, c,
# and 95 % intervals from 50,000 resamples (10,000 for pairs, 20,000 for profiles); with the signs of losses
RLIABLE = {
    "interquartile mean": ((0.768605, 0.7711, 1.361242), (0.497, 0.514, 0.941), (1.090, 1.084, 1.863)),
    "median": ((1.03744, 1.036715, 1.533213), (0.723, 0.713, 1.217), (1.351, 1.276, 2.057)),
    "mean": ((1.058472, 0.974331, 1.712185), (0.798, 0.755, 1.307), (1.336, 1.204, 2.132)),
    "optimality gap": ((0.443907, 0.343518, 0.952387), (0.252, 0.199, 0.610), (0.656, 0.503, 1.314)),
}
RLIABLE_PAIRS = {"ab": (0.498264, 0.387, 0.611), "ac": (0.626736, 0.517, 0.734), "bc": (0.644097, 0.528, 0.753)}
RLIABLE_PROFILES = (  # at 0.25, 0.5, 1 and 2
    ((0.25, 0.416667, 0.604167, 0.833333), (0.146, 0.292, 0.479, 0.729), (0.375, 0.542, 0.729, 0.917)),
    ((0.208333, 0.395833, 0.645833, 0.854167), (0.104, 0.271, 0.521, 0.750), (0.333, 0.521, 0.771, 0.938)),
    ((0.125, 0.270833, 0.375, 0.666667), (0.042, 0.146, 0.250, 0.542), (0.229, 0.396, 0.521, 0.792)),
)


def assert_close_ends(estimate, low, high):
    """The ends of two bootstrap intervals differ by errors of 2,000 resamples (0.06 standard errors), and by the
    learners' common resamples, which are independent in rliable."""
    error = 0.3 * estimate.standard_error
    assert np.all(np.abs(estimate.low - low) < error)
    assert np.all(np.abs(estimate.high - high) < error)


@pytest.mark.parametrize("name", RLIABLE)
def test_aggregates_equal_those_of_rliable(hashed, name):
    value, low, high = RLIABLE[name]
    np.testing.assert_allclose(hashed.aggregates[name].mean, value, atol=1e-6)
    assert_close_ends(hashed.aggregates[name], low, high)


@pytest.mark.parametrize("pair", RLIABLE_PAIRS)
def test_probabilities_of_improvement_equal_those_of_rliable(hashed, pair):
    value, low, high = RLIABLE_PAIRS[pair]
    estimate = hashed.probability_of_improvement(*pair)
    np.testing.assert_allclose(estimate.mean, value, atol=1e-6)
    assert_close_ends(estimate, low, high)


def test_profiles_equal_those_of_rliable(hashed):
    pointwise = hashed.profiles([0.25, 0.5, 1.0, 2.0], simultaneous=False).shares
    value, low, high = np.moveaxis(np.array(RLIABLE_PROFILES), 1, 0)
    np.testing.assert_allclose(pointwise.mean, value, atol=1e-6)
    step = 1 / 48  # a share is a multiple of 1 / 48
    assert np.abs(pointwise.low - low).max() < 1.1 * step
    assert np.abs(pointwise.high - high).max() < 1.1 * step
    band = hashed.profiles([0.25, 0.5, 1.0, 2.0]).shares
    assert ((band.low < pointwise.low) & (band.high > pointwise.high)).all()


# ---------------------------------------------------------------------------------------------------------------------
# Closed forms


def test_each_game_is_divided_by_the_mean_of_the_reference():
    losses = {"small": np.array([[1.0, 3.0], [4.0, 4.0]]), "large": np.array([[300.0, 500.0], [500.0, 500.0]])}
    across = AcrossGames(("a", "b"), losses, reference="b")
    np.testing.assert_allclose(across.aggregates["mean"].mean, [(0.5 + 0.8) / 2, 1.0])
    np.testing.assert_allclose(across.aggregates["optimality gap"].mean, [0.0, 0.0])
    np.testing.assert_array_equal(across.aggregates["mean"].high[1], 1.0)  # the reference itself has no error
    limits = AcrossGames(("a", "b"), losses, reference="b", best={"small": 1.0, "large": 300.0})
    np.testing.assert_allclose(limits.aggregates["mean"].mean, [(1 / 3 + 0.5) / 2, 1.0])


def test_games_have_the_same_weight_whatever_their_numbers_of_runs():
    """An interquartile mean of a game with 2 runs and of one with 40 equals that of 40 runs of each."""
    rng = np.random.default_rng(0)
    two, many = np.array([[1.0, 2.0]]), rng.uniform(1.0, 2.0, (1, 40))
    unit = {"two": 1.0, "many": 1.0}
    unequal = AcrossGames(("a",), {"two": two, "many": many}, unit).aggregates
    equal = AcrossGames(("a",), {"two": np.repeat(two, 20, axis=1), "many": many}, unit).aggregates
    for name, estimate in unequal.items():
        np.testing.assert_allclose(estimate.mean, equal[name].mean, rtol=1e-12)
    pooled = np.concatenate([np.repeat(two, 20), many[0]])
    np.testing.assert_allclose(unequal["interquartile mean"].mean, stats.trim_mean(pooled, 0.25))


def test_failed_runs_are_infinite_losses():
    """A quarter of failed runs does not change the interquartile mean from that of very large losses."""
    losses = np.arange(1.0, 9.0)[None]
    losses[0, -2:] = np.nan
    aggregates = AcrossGames(("a",), {"game": losses}, {"game": 1.0}).aggregates
    assert aggregates["interquartile mean"].mean.item() == 4.5
    assert aggregates["mean"].mean.item() == np.inf
    both = np.array([[1.0, np.nan], [np.nan, np.nan]])
    across = AcrossGames(("a", "b"), {"game": both}, {"game": 1.0})
    assert across.probability_of_improvement("a", "b").mean.item() == 0.75  # two failed runs are equal
    assert "∞" in repr(across)
    assert across.profiles([5.0]).shares.mean.tolist() == [[0.5], [0.0]]


@pytest.mark.parametrize("paired", [True, False])
def test_probability_of_improvement_counts_pairs(paired):
    rng = np.random.default_rng(1)
    losses = rng.integers(0, 4, size=(2, 9)).astype(float)
    across = AcrossGames(("a", "b"), {"game": losses}, {"game": 1.0})
    pairs = [(x, y) for i, x in enumerate(losses[0]) for j, y in enumerate(losses[1]) if i == j or not paired]
    expected = np.mean([(x < y) + (x == y) / 2 for x, y in pairs])
    found, other = (across.probability_of_improvement(*names, paired=paired) for names in ("ab", "ba"))
    np.testing.assert_allclose([found.mean, other.mean], [expected, 1 - expected])


def test_an_improvement_in_all_runs_is_not_certain():
    """No run of 40 shows the other order, which has a probability of at most log(40) / 40 = 0.092 (level 97.5 %)."""
    losses = {str(game): np.array([np.arange(20.0), 30.0 + np.arange(20.0)]) for game in range(2)}
    across = AcrossGames(("a", "b"), losses, reference="b")
    assert across.probability_of_improvement("a", "b", paired=True).low == pytest.approx(1 - np.log(40) / 40)
    assert across.probability_of_improvement("b", "a").high == pytest.approx(np.log(40) / 20)


def test_the_interquartile_mean_is_the_integral_of_the_quantiles():
    rng = np.random.default_rng(2)
    values, counts = rng.normal(size=(5, 13)), rng.integers(0, 4, size=(5, 13))
    for row, count, found in zip(values, counts, interquartile_mean(values, counts.astype(float)), strict=True):
        fine = np.sort(np.repeat(row, 4 * count))  # the number of values is a multiple of 4
        np.testing.assert_allclose(found, stats.trim_mean(fine, 0.25))


# ---------------------------------------------------------------------------------------------------------------------
# Ranks

# Demsar (2006), Table 6: 1000 AUC of C4.5, C4.5 with m, with cf, with both, on 14 data sets. The paper's mean ranks
# follow from its rounded numbers if the tie of the last two in the 13th set is broken, so this number is 975.1 here.
AUC = np.array([
    [763, 768, 771, 798], [599, 591, 590, 569], [954, 971, 968, 967], [628, 661, 654, 657], [882, 888, 886, 898],
    [936, 931, 916, 931], [661, 668, 609, 685], [583, 583, 563, 625], [775, 838, 866, 875], [1000, 1000, 1000, 1000],
    [940, 962, 965, 962], [619, 666, 614, 669], [972, 981, 975.1, 975], [957, 978, 946, 970],
])  # fmt: skip
NAMES = ("C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf")


def test_ranks_of_demsar():
    ranks = stats.rankdata(-AUC, axis=1).T
    narrow, wide = (CriticalDifferences(NAMES, ranks, level=level) for level in (0.95, 0.9))
    np.testing.assert_allclose(narrow.mean_ranks, [3.143, 2.000, 2.893, 1.964], atol=5e-4)
    assert narrow.test.statistic == pytest.approx(9.28, abs=0.01)
    assert narrow.test.p_value == pytest.approx(stats.f.sf(3.69, 3, 39), rel=0.01)
    assert (narrow.test.difference, wide.test.difference) == pytest.approx((1.25, 1.12), abs=0.005)
    assert not narrow.differ("C4.5", "C4.5+m+cf")
    pairs = {(a, b) for a in NAMES for b in NAMES if a < b and wide.differ(a, b)}
    assert pairs == {("C4.5", "C4.5+m"), ("C4.5", "C4.5+m+cf")}
    assert rank_groups(np.sort(wide.mean_ranks), wide.test.difference) == [(0, 2), (2, 3)]
    assert [row["letters"] for row in wide.table.rows] == ["a", "a", "ab", "b"]


def test_no_learners_differ_if_friedmans_test_finds_no_difference():
    ranks = np.array([[1, 2], [2, 1], [1.5, 1.5]])
    test = CriticalDifferences(("a", "b", "c"), ranks)
    assert test.test.p_value > 0.05
    assert not test.differ("a", "c")
    assert "No difference" in repr(test)


def test_sizes_of_the_nemenyi_test_with_and_without_the_root_of_two():
    """Demsar's Table 5: q for 10 learners is 3.164; without division by the root of 2 it would be 4.474."""
    test = CriticalDifferences(tuple("abcdefghij"), np.tile(np.arange(1.0, 11.0)[:, None], 6))
    assert test.test.difference == pytest.approx(3.164 * np.sqrt(10 * 11 / 36), rel=1e-3)


@pytest.mark.long
def test_equal_learners_differ_in_at_most_five_per_cent_of_suites():
    """8 learners, 9 games, 1,000 suites: more than 73 false alarms have a probability below 0.001 at 5 %.

    The wrong critical difference, with the quantile of one pair of learners, makes many more."""
    rng, wrong, uncorrected = np.random.default_rng(3), 0, 0
    for _ in range(1000):
        ranks = rng.permuted(np.tile(np.arange(1.0, 9.0)[:, None], 9), axis=0)
        test = CriticalDifferences(tuple("abcdefgh"), ranks)
        wrong += np.ptp(test.mean_ranks) > test._threshold
        uncorrected += np.ptp(test.mean_ranks) > 1.96 * np.sqrt(8 * 9 / 54)
    assert stats.binom.sf(73, 1000, 0.05) < 0.001
    assert wrong <= 73
    assert uncorrected > 300


# ---------------------------------------------------------------------------------------------------------------------
# Coverage


@pytest.mark.long
def test_intervals_cover_and_those_that_ignore_the_error_of_the_reference_do_not():
    """200 studies of 4 games with 20 runs: at a coverage of 93 %, fewer than 173 have a probability below 0.001."""
    expected = 0.8  # the ratio of the means

    def losses(rng):
        return {str(k): 10.0**k * np.stack([0.2 * rng.gamma(8.0, size=20), rng.gamma(2.0, size=20)]) for k in range(4)}

    assert stats.binom.cdf(172, 200, 0.93) < 0.001
    right = wrong = band = 0
    shape = stats.gamma(8.0, scale=expected / 8.0)  # of the normalised losses of "a"
    at = np.linspace(0.1, 2.0, 30)
    for seed in range(200):
        games = losses(np.random.default_rng(seed))
        across = AcrossGames(("a", "b"), games, reference="b")
        fixed = AcrossGames(("a", "b"), games, reference={game: array[1].mean() for game, array in games.items()})
        right += across.aggregates["mean"].low[0] <= expected <= across.aggregates["mean"].high[0]
        wrong += fixed.aggregates["mean"].low[0] <= expected <= fixed.aggregates["mean"].high[0]
        shares = across.profiles(at).shares
        band += ((shares.low[0] <= shape.cdf(at)) & (shape.cdf(at) <= shares.high[0])).all()
    assert right >= 173
    assert band >= 173
    assert wrong < 150


@pytest.mark.long
def test_resamples_keep_the_runs_of_learners_together():
    """Two learners with nearly the same losses in each run: the ratio of their means has a small error.

    The wrong version, which shuffles the runs of one learner, has an error that is 10 times as large."""
    rng = np.random.default_rng(4)
    noise = rng.gamma(2.0, size=40)
    games = {"game": np.stack([noise + 0.05 * rng.gamma(2.0, size=40), noise])}
    apart = {"game": np.stack([games["game"][0], rng.permutation(noise)])}
    errors = [AcrossGames(("a", "b"), x, "b").aggregates["mean"].standard_error[0] for x in (games, apart)]
    assert errors[1] > 10 * errors[0]


# ---------------------------------------------------------------------------------------------------------------------
# Tables, figures and errors


def make_standings(*, gap=False):
    rng = np.random.default_rng(5)

    def result(names):
        loss = (1.0 + np.arange(len(names)))[:, None, None] * rng.gamma(4.0, size=(1, 20, 1))
        return jo.Result(names, np.arange(20), np.array([7]), {"cumulative_loss": loss, "queries": 0 * loss})

    games = {"first": result(("a", "b<i>", "c$")), "second": result(("c$", "a", "b<i>"))}
    return Standings(games | ({"third": result(("a", "b<i>"))} if gap else {}))


def test_standings_use_the_games_that_all_learners_play():
    standings = make_standings(gap=True)
    across, ranks = standings.across_games("a"), standings.critical_differences()
    assert across.games == ("first", "second")
    assert across.quantity == "cumulative loss"
    np.testing.assert_allclose(across.aggregates["mean"].mean, [1.0, (2 + 3 / 2) / 2, (3 + 1 / 2) / 2])
    np.testing.assert_array_equal(ranks.ranks, standings.ranks[:, :2])
    assert "divided by the mean of a" in across.table.caption
    fewest = min(len(standings.results[game].runs) for game in across.games)
    assert across.missing.probability == pytest.approx(3 / fewest)
    assert across.missing.sentence in across.table.caption
    assert across.missing.sentence in across.improvements().caption
    assert len(across.improvements().rows) == 3
    assert [row["second"] for row in across.improvements("b<i>").rows] == ["b<i>", "b<i>"]


@pytest.mark.long
@pytest.mark.parametrize("style", ["screen", "paper"])
def test_figures_have_all_names_inside(style, tmp_path):
    standings = make_standings()
    figures = (
        standings.across_games("a").plot_profiles(tmp_path / "profiles.png", style=style),
        standings.critical_differences().plot(tmp_path / "ranks.png", style=style),
    )
    for figure in figures:
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        texts = [*figure.axes[0].texts, *(text for legend in figure.legends for text in legend.texts)]
        words = [text.get_text().replace("\\", "") for text in texts]
        assert {"a", "b<i>", "c$"} <= set(words)
        boxes = [text.get_window_extent(canvas.get_renderer()) for text in texts]
        assert all(figure.bbox.containsx(box.x0) and figure.bbox.containsx(box.x1) for box in boxes)
        assert all(figure.bbox.containsy(box.y0) and figure.bbox.containsy(box.y1) for box in boxes)
    assert (tmp_path / "profiles.png").stat().st_size > 5000


@pytest.mark.long
def test_the_page_has_the_results_across_games():
    page = make_standings().html(reference="a")
    assert "Across 2 games" in page
    assert "Figure: profiles" in page
    assert "Across 2 games" not in make_standings().html()


LOSSES = {"game": np.array([[1.0, 2.0], [-3.0, 2.0]])}


@pytest.mark.parametrize(
    ("losses", "options", "words"),
    [
        ({}, {"reference": "a"}, "losses: must have at least one entry"),
        ({"game": np.ones((2, 1))}, {"reference": "a"}, r"losses\['game'\]: must have 2 learners and at least two"),
        (LOSSES, {"reference": "c"}, "reference: .*got 'c'"),
        (LOSSES, {"reference": "b"}, "reference: must be above `best`.*'game'"),
        (LOSSES, {"reference": {}}, "reference: must have a number for each game"),
        (LOSSES, {"reference": None}, "reference: must be the name of a learner or a dictionary"),
        (LOSSES, {"reference": {"game": -1.0}}, "reference: must be above `best`"),
        (LOSSES, {"reference": {"game": np.inf}}, r"reference\['game'\]: .*got inf"),
        (LOSSES, {"reference": "a", "best": 3}, "best: .*got 3"),
        (LOSSES, {"reference": "a", "level": 1.0}, "level: .*got 1"),
        ({"game": np.array([[1.0, np.nan], [1.0, 2.0]])}, {"reference": "a"}, "reference: must have no failed run"),
    ],
)  # fmt: skip
def test_invalid_arguments_raise_errors(losses, options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        AcrossGames(("a", "b"), losses, **options)


def test_other_invalid_arguments_raise_errors(hashed):
    with pytest.raises(ValueError, match=r"ranks: must have at least two learners and two games"):
        CriticalDifferences(("a", "b"), [[1.0], [2.0]])
    with pytest.raises(ValueError, match=r"learners: .*got 'd'"):
        hashed.probability_of_improvement("a", "d")
    with pytest.raises(ValueError, match=r"against: .*got 'd'"):
        hashed.improvements("d")
    one, other = (make_standings().results["first"].select(name) for name in ("a", "b<i>"))
    with pytest.raises(ValueError, match=r"results: must have a game that every learner plays"):
        Standings({"one": one, "other": other}).across_games("a")
