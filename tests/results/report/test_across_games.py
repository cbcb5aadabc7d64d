"""Results across games: closed forms, the numbers of rliable, coverage, and wrong versions."""

import numpy as np
import pytest
from scipy import stats

import jaxonline as jo
from jaxonline.results import AcrossGames, Standings


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
# and 95 % intervals from 50,000 resamples (10,000 for pairs); with the signs of losses
RLIABLE = {
    "interquartile mean": ((0.768605, 0.7711, 1.361242), (0.497, 0.514, 0.941), (1.090, 1.084, 1.863)),
    "median": ((1.03744, 1.036715, 1.533213), (0.723, 0.713, 1.217), (1.351, 1.276, 2.057)),
    "mean": ((1.058472, 0.974331, 1.712185), (0.798, 0.755, 1.307), (1.336, 1.204, 2.132)),
    "optimality gap": ((0.443907, 0.343518, 0.952387), (0.252, 0.199, 0.610), (0.656, 0.503, 1.314)),
}
RLIABLE_PAIRS = {"ab": (0.498264, 0.387, 0.611), "ac": (0.626736, 0.517, 0.734), "bc": (0.644097, 0.528, 0.753)}


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


def test_each_game_is_divided_by_the_mean_of_the_reference():
    losses = {"small": np.array([[1.0, 3.0], [4.0, 4.0]]), "large": np.array([[300.0, 500.0], [500.0, 500.0]])}
    across = AcrossGames(("a", "b"), losses, reference="b")
    np.testing.assert_allclose(across.aggregates["mean"].mean, [(0.5 + 0.8) / 2, 1.0])
    np.testing.assert_allclose(across.aggregates["optimality gap"].mean, [0.0, 0.0])
    assert np.isnan(across.aggregates["mean"].high).all()  # the error of the reference's mean is unknown
    fixed = AcrossGames(("a", "b"), losses, reference={"small": 4.0, "large": 500.0})
    np.testing.assert_array_equal(fixed.aggregates["mean"].mean, across.aggregates["mean"].mean)
    assert fixed.aggregates["mean"].low[0] < fixed.aggregates["mean"].high[0]
    limits = AcrossGames(("a", "b"), losses, reference="b", best={"small": 1.0, "large": 300.0})
    np.testing.assert_allclose(limits.aggregates["mean"].mean, [(1 / 3 + 0.5) / 2, 1.0])


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


def test_aggregates_equal_a_loop_over_the_same_resamples():
    """A resample has the same runs of a game for both learners; games differ in their numbers of runs."""
    data, rng = np.random.default_rng(3), np.random.default_rng(0)
    losses = {"a": data.gamma(2.0, size=(2, 4)), "b": 10.0 * data.gamma(3.0, size=(2, 6))}
    best, reference = {"a": 0.5, "b": -2.0}, {"a": 2.5, "b": 30.0}
    across = AcrossGames(("x", "y"), losses, reference, best, level=0.8)
    scaled = [(losses[game] - best[game]) / (reference[game] - best[game]) for game in "ab"]
    rows, wins = [], []
    for chosen in zip(*(rng.integers(n, size=(2000, n)) for n in (4, 6)), strict=True):
        runs = [each[:, places] for each, places in zip(scaled, chosen, strict=True)]
        pooled = np.sort(np.concatenate([np.repeat(runs[0], 6, axis=1), np.repeat(runs[1], 4, axis=1)], axis=1))
        averages = np.stack([each.mean(axis=1) for each in runs])
        gap = np.maximum(pooled - 1, 0).mean(axis=1)
        iqm = pooled[:, 12:36].mean(axis=1)  # the middle half of 48
        rows.append([iqm, np.median(averages, axis=0), averages.mean(axis=0), gap])
        wins.append(np.mean([(each[0] < each[1]).mean() for each in runs]))
    names = "interquartile mean", "median", "mean", "optimality gap"
    expected = {name: np.array(rows)[:, k] for k, name in enumerate(names)}
    found = across.aggregates | {"wins": across.probability_of_improvement("x", "y", paired=True)}
    for name, resamples in (expected | {"wins": np.array(wins)}).items():
        ends = np.sort(resamples, axis=0)[[199, 1799]]
        np.testing.assert_allclose([found[name].low, found[name].high], ends, rtol=1e-9, err_msg=name)
        np.testing.assert_allclose(found[name].standard_error, resamples.std(axis=0, ddof=1), rtol=1e-9)


@pytest.mark.long
def test_intervals_cover_and_those_that_ignore_the_error_of_the_reference_do_not():
    """200 studies of 4 games with 20 runs: at a coverage of 93 %, fewer than 173 have a probability below 0.001."""
    assert stats.binom.cdf(172, 200, 0.93) < 0.001
    right = wrong = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        games = {str(k): 10.0**k * np.stack([0.2 * rng.gamma(8.0, size=20), rng.gamma(2.0, size=20)]) for k in range(4)}
        for estimated in (False, True):
            unit = {game: array[1].mean() if estimated else 2.0 * 10.0 ** int(game) for game, array in games.items()}
            mean = AcrossGames(("a", "b"), games, unit).aggregates["mean"]
            covers = mean.low[0] <= 0.8 <= mean.high[0]
            right, wrong = right + (covers and not estimated), wrong + (covers and estimated)
    assert right >= 173
    assert wrong < 150


def make_standings(*, gap=False):
    rng = np.random.default_rng(5)

    def result(names):
        loss = (1.0 + np.arange(len(names)))[:, None, None] * rng.gamma(4.0, size=(1, 20, 1))
        return jo.Result(names, np.arange(20), np.array([7]), {"cumulative_loss": loss, "queries": 0 * loss})

    games = {"first": result(("a", "b<i>", "c$")), "second": result(("c$", "a", "b<i>"))}
    return Standings(games | ({"third": result(("a", "b<i>"))} if gap else {}))


def test_standings_use_the_games_that_all_learners_play():
    standings = make_standings(gap=True)
    across = standings.across_games("a")
    assert across.games == ("first", "second")
    assert across.quantity == "cumulative loss"
    np.testing.assert_allclose(across.aggregates["mean"].mean, [1.0, (2 + 3 / 2) / 2, (3 + 1 / 2) / 2])
    assert len(across.improvements().rows) == 3
    assert [row["second"] for row in across.improvements("b<i>").rows] == ["b<i>", "b<i>"]


LOSSES = {"game": np.array([[1.0, 2.0], [-3.0, 2.0]])}


@pytest.mark.parametrize(
    ("losses", "options", "words"),
    [
        ({"game": np.ones((2, 1))}, {"reference": "a"}, r"losses\['game'\]: must have 2 learners and at least two"),
        (LOSSES, {"reference": "b"}, "reference: must be above `best`.*'game'"),
        (LOSSES, {"reference": {}}, "reference: must have a number for each game"),
        (LOSSES, {"reference": {"game": -1.0}}, "reference: must be above `best`"),
        ({"game": np.array([[1.0, np.nan], [1.0, 2.0]])}, {"reference": "a"}, "reference: must have no failed run"),
    ],
)  # fmt: skip
def test_losses_that_cannot_be_divided_raise_errors(losses, options, words):
    with pytest.raises(ValueError, match=words):
        AcrossGames(("a", "b"), losses, **options)


def test_standings_without_a_common_game_raise_an_error():
    one, other = (make_standings().results["first"].select(name) for name in ("a", "b<i>"))
    with pytest.raises(ValueError, match=r"results: must have a game that every learner plays"):
        Standings({"one": one, "other": other}).across_games("a")
