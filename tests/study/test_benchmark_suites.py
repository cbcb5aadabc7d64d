"""Parts of studies; benchmarks: ranks, letters corrected for all games, gaps, interruptions; and the two suites."""

import itertools
import re
import warnings

import numpy as np
import pytest
import stores
from made_results import NASTY, Tags

import jaxonline as jo
from benchmarks.suites import ETAS, NoisyRegression, TextbookBandits, real_set
from jaxonline.results import Standings
from jaxonline.results.statistics import joint_p_values, pairwise_p_values
from jaxonline.study import Context
from jaxonline.study.benchmarking import match_learners


def test_parts_report_fractions_and_have_own_checkpoints(tmp_path):
    seen = []
    with Context(checkpoint=tmp_path, progress=lambda *at: seen.append(at)).parts(2) as part:
        first = part("noise 0.1, long")
        first.progress(1, 4, "inside")
        with part("second").parts(2) as inner:
            inner("a")
            deep = inner("b")
    assert seen == [
        (0.25, 2, "noise 0.1, long: inside"), (1, 2, "noise 0.1, long"), (1.5, 2, "second: a"), (2.0, 2, "second: b"),
        (2, 2, "second"),
    ]  # fmt: skip
    assert (first.checkpoint, deep.checkpoint) == (tmp_path / "noise-0.1,-long", tmp_path / "second" / "b")
    assert Context().parts(1).__enter__()("a").checkpoint is None
    with Context(checkpoint=jo.Checkpoint(tmp_path, "1", 5.0)).parts(1) as part:
        assert part("a").checkpoint == jo.Checkpoint(tmp_path / "a", "1", 5.0)


def test_parts_have_distinct_folders_directly_in_the_checkpoint(tmp_path):
    names = ["a b", "a-b", "a%2Db", "a  b", "x/../../escaped", "..", ".", "a/b", "/a", ".a", "a\\b", "C:a", "é", "a[1]"]
    with Context(checkpoint=tmp_path).parts(len(names)) as part:
        folders = [part(name).checkpoint for name in names]
    assert {folder.resolve().parent for folder in folders} == {tmp_path}
    assert len(set(folders)) == len(names)
    assert [folder.name for folder in folders[:3]] == ["a-b", "a%2Db", "a%252Db"]
    assert not any(set(folder.name) & set('\\/:*?"<>|') for folder in folders)


def made(shifts, noise=1.0, runs=30, seed=0, names=None, failed=()):
    """Make a result whose learners have these means, with common noise and noise of each learner."""
    rng = np.random.default_rng(seed)
    shifts = np.asarray(shifts, float)
    loss = shifts[:, None, None] + 5.0 * rng.normal(size=(1, runs, 1)) + noise * rng.normal(size=(len(shifts), runs, 1))
    first = np.zeros((len(shifts), runs), int)
    for learner, run in failed:
        first[learner, run] = 1
        loss[learner, run] = np.nan
    names = names or tuple("abcdefgh"[: len(shifts)])
    measures = {"cumulative_loss": loss, "queries": np.ones_like(loss)}
    return jo.Result(names, np.arange(runs), np.array([7]), measures, first_nonfinite=first)


@pytest.mark.parametrize("level", [0.95, 0.6])
def test_learners_differ_by_paired_tests_corrected_for_all_games_together(level):
    """Three games: clear, close, and one with differences that are significant only alone."""
    shifts, student = ([3.0, 2.0, 1.0], [1.0, 1.1, 1.2], [1.6, 1.0, 1.1]), jo.intervals.Student()
    games = {str(i): made(each, seed=i) for i, each in enumerate(shifts)}
    table = Standings(games, level=level, interval=student)
    losses = [result.cumulative_loss[:, :, -1] for result in games.values()]
    found, alone = 0, 0
    for game, p, own in zip(games, joint_p_values(losses, [student] * 3), losses, strict=True):
        letters = {row["learner"]: set(row["letters"]) for row in table.rows if row["game"] == game}
        for i, j in itertools.combinations(range(3), 2):
            first, second = "abc"[i], "abc"[j]
            assert table.differ(game, first, second) == (p[i, j] < 1 - level) == (not letters[first] & letters[second])
            found, alone = found + (p[i, j] < 1 - level), alone + (pairwise_p_values(own, student)[i, j] < 1 - level)
    assert 0 < found < alone + (level == 0.6)


def test_ranks_handle_ties_failures_and_gaps():
    equal = made([2.0, 1.0, 2.0, 9.0], noise=0.0)
    failed = made([1.0, 0.0, 2.0, 3.0], failed=[(1, run) for run in range(30)] + [(0, 4)])
    short = made([2.0, 1.0], names=("d", "b"))
    table = Standings({"equal": equal, "failed": failed, "short": short}, {("short", "a"): "it has other moves"})
    assert table.learners == ("a", "b", "c", "d")
    # b failed in every run of the second game and is last there
    wanted = [[2.5, 1, np.nan], [1, 4, 1], [2.5, 2, np.nan], [4, 3, 2]]
    np.testing.assert_array_equal(table.ranks, wanted)
    np.testing.assert_allclose(table.mean_rank, [1.75, 2.0, 2.25, 3.0])
    text = " ".join(repr(table).split())
    assert "a does not play short: it has other moves." in text
    assert "b in failed: 30 of 30 runs" in text
    with pytest.raises(ValueError, match=r"learners: .*got 'a'"):
        table.differ("short", "a", "b")


def test_formats_have_every_cell_and_escape_names():
    result = made([3.0, 2.0, 1.0])
    table, levels = Standings({"first": result, "second": result}), [0.99, 0.95, 0.9]
    frame = table.to_pandas()
    assert len(frame) == 6
    first = frame[(frame.game == "first") & (frame.learner == "c")].iloc[0]
    assert (first["rank"], first.letters, first["mean"]) == (1.0, "a", result.cumulative_loss[2].mean())
    rows = [Standings({"a": result}, level=level).to_pandas().iloc[0] for level in levels]
    ends = [*(row.low for row in rows), rows[0]["mean"], *(row.high for row in reversed(rows))]
    assert ends == sorted(set(ends))
    assert "| c | " in table.to_markdown()
    assert table.to_latex().count(r"\\") == 4
    assert table.table.csv().splitlines()[0].startswith("learner,mean_rank,first,")
    nasty = Standings(dict.fromkeys(NASTY, made(np.arange(float(len(NASTY))), names=NASTY)))
    Tags(nasty.table.html())
    assert "<script>alert" not in nasty.table.html()
    assert "\x1b" not in repr(nasty)


def arms(*means):
    game = jo.Game(jo.environments.BernoulliArms(list(means)), jo.Bandit(), loss=jo.losses.ArmLoss())
    return jo.Task(game, jo.BestArm())


SIZES = {"n_runs": 8, "n_rounds": 40}
BANDITS = {"easy": arms(0.1, 0.9), "hard": arms(0.4, 0.5)}
LEARNERS = {"UCB1": jo.learners.UCB1(), "wide": lambda task: jo.learners.UCB1(task.n_rounds / 4)}  # one program


@pytest.fixture(scope="module")
def played():
    return jo.benchmark(BANDITS, LEARNERS, **SIZES, key=3)


def same(first, second):
    for game in first.games:
        for name, numbers in first.results[game].measures.items():
            np.testing.assert_array_equal(numbers, second.results[game].measures[name])
        np.testing.assert_array_equal(first.results[game].regret, second.results[game].regret)


def test_each_game_equals_a_simulation_with_the_same_key(played):
    alone = {"UCB1": LEARNERS["UCB1"], "wide": jo.learners.UCB1(10.0)}
    for name, task in BANDITS.items():
        wanted = jo.simulate(task.game, alone, comparator=task.comparator, key=3, **SIZES)
        np.testing.assert_array_equal(played.results[name].regret, wanted.regret)
    assert played.games == ("easy", "hard")
    limits = jo.intervals.Betting(-1.0, 1.0)
    betting = jo.benchmark(BANDITS, LEARNERS, **SIZES, key=3, interval=limits).estimates["easy"]
    expected = Standings(played.results, interval=limits).estimates["easy"]
    np.testing.assert_array_equal((betting.low, betting.high), (expected.low, expected.high))
    assert jo.cite(played).keys == ("jaxonline", "auer2002finite")


def test_an_interrupted_benchmark_resumes(played, tmp_path):
    class Killed(BaseException):
        pass

    def stop(done, total, what):
        if what.startswith("hard"):
            raise Killed

    with pytest.raises(Killed):
        jo.benchmark(BANDITS, LEARNERS, **SIZES, key=3, checkpoint=tmp_path, progress=stop)
    finished = {path: path.stat().st_mtime_ns for path in stores.finished(tmp_path / "easy")}
    assert len(finished) == 3  # two learners and the comparator
    for checkpoint in (str(tmp_path), jo.Checkpoint(tmp_path)):
        same(jo.benchmark(BANDITS, LEARNERS, **SIZES, key=3, checkpoint=checkpoint), played)
    assert finished == {path: path.stat().st_mtime_ns for path in finished}, "the first game is not computed again"
    with pytest.raises(ValueError, match=r"checkpoint|study"):
        jo.benchmark(BANDITS, LEARNERS, **SIZES, key=4, checkpoint=tmp_path)


REGRESSION = jo.Game(jo.environments.DataStream(np.eye(3), np.ones(3)), jo.FullInformation())
DESCENT = jo.GradientLearner(jo.estimators.FullGradient(), 0.1)
MIXED = {"easy": BANDITS["easy"], "regression": REGRESSION}


def test_a_learner_that_does_not_fit_raises_an_error_or_leaves_a_gap():
    learners = {"UCB1": LEARNERS["UCB1"], "sgd": jo.sweep({0.1: DESCENT})}
    with pytest.raises((TypeError, ValueError), match=r"'sgd' .*'easy'.*gaps=True"):
        jo.benchmark(MIXED, learners, **SIZES)
    matches, gaps = match_learners(MIXED, learners, 40, gaps=True)
    assert {game: list(those) for game, (_, those) in matches.items()} == {"easy": ["UCB1"], "regression": ["sgd"]}
    assert set(gaps) == {("easy", "sgd[0.1]"), ("regression", "UCB1")}
    assert "FullInformation" in gaps["regression", "UCB1"]


@pytest.mark.parametrize(
    ("games", "learners", "options", "words"),
    [
        ({}, LEARNERS, {}, "games: .*got none"), (BANDITS, {}, {}, "learners: .*got none"),
        ({"a": 3}, LEARNERS, {}, r"games\['a'\]: .*got 3"), ({"..": REGRESSION}, LEARNERS, {}, "games: .*got '..'"),
        ({"a b": REGRESSION, "a-b": REGRESSION}, LEARNERS, {}, "games.*got 'a-b'"),
        (BANDITS, {"three": 3}, {}, "learners: 'three' .*'easy'.*got 3"),
        ({"r": REGRESSION}, LEARNERS, {"gaps": True}, "games: .*got none for 'r'"),
        (BANDITS, {**LEARNERS, "sgd": DESCENT}, {"gaps": True}, "learners: .*got 'sgd'"),
    ],
)  # fmt: skip
def test_invalid_arguments_raise_errors_with_their_names(games, learners, options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        jo.benchmark(games, learners, **SIZES, **options)


def test_invalid_standings_raise_errors():
    with pytest.raises(ValueError, match=r"results: .*got none"):
        Standings({})
    with pytest.raises(ValueError, match=r"quantity: .*got 'pulls'"):
        Standings({"a": made([1.0, 2.0])}, quantity="pulls")


def test_textbook_bandits_have_one_best_arm_and_the_printed_numbers_of_arms():
    games, learners, _ = TextbookBandits().entries()
    means = [np.sort(task.game.environment.means) for task in games.values()]
    assert [len(each) for each in means] == [2, 2, 2, 10, 10, 10, 10, 10, 10]
    assert all(each[0] < each[1] for each in means)
    assert len(learners) == 8


def test_unavailable_sets_are_left_out_unless_they_are_requested(monkeypatch):
    def unreachable(name, *rest):
        if name in ("diabetes", "breast cancer"):
            return real_set(name)
        raise OSError(f"{name} cannot be fetched (from far away)")

    monkeypatch.setattr("benchmarks.suites.real_set", unreachable)
    games, _, sentences = NoisyRegression(runs=4, rounds=20).entries()
    assert (list(games), len(sentences)) == (["diabetes", "breast cancer"], 1 + 6)
    X = np.asarray(games["breast cancer"].game.environment.X)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1).max(), 1.0, rtol=1e-6)
    with pytest.raises(OSError, match=r"sets: Airfoil"):
        NoisyRegression(sets=["diabetes", "Airfoil"]).entries()


@pytest.mark.long
def test_each_learner_has_the_step_of_tune_in_each_set(tmp_path):
    """The steps are in the sentences of the report, unless eta is given."""
    name, sizes = "two noisy copies", {"n_runs": 8, "n_rounds": 200, "key": 2}
    options = {"runs": 8, "rounds": 200, "sets": ["diabetes"], "only": [name]}
    suite = NoisyRegression(**options)
    report, task = suite.run(Context(seed=2, checkpoint=tmp_path)), suite.entries().games["diabetes"]
    make = lambda eta: jo.GradientLearner(jo.estimators.TwoCopies(), jo.InverseSqrt(eta), 1.5)  # noqa: E731
    with warnings.catch_warnings(action="ignore"):
        tuned = jo.tune(task.game, make, {"eta": ETAS}, **sizes)
    (line,) = [sentence for sentence in report.sentences if sentence.startswith(f"{name}: ")]
    assert re.search(rf"[:;] {tuned.choice['eta']:g}(, the (smallest|largest))? in diabetes[;.]", line)
    alone = jo.simulate(task.game, {name: tuned.learner}, comparator=task.comparator, **sizes)
    np.testing.assert_array_equal(alone.regret, report.results["diabetes"].regret)
    assert {path.name for path in tmp_path.iterdir()} == {"diabetes", "steps-of-two-noisy-copies-in-diabetes"}
    assert not [line for line in NoisyRegression(**options, eta=0.5).run(Context(seed=2)).sentences if "eta" in line]
