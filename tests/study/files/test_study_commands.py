"""`jaxonline run`, `show`, `report`, `diff`: one small study played, refused, shown and compared."""

import copy
import dataclasses
import html
import json
import shlex
import shutil

import numpy as np
import pytest
from command_calls import ARMS, call, write
from study_files import toml
from study_folders import configure

import jaxonline as jo
from jaxonline.results import Result
from jaxonline.study.files import folder as folders
from jaxonline.study.files.differences import compare_results, find_differences
from jaxonline.study.files.progress_line import ProgressLine, ShownPrecision
from jaxonline.study.files.reporting import bound_curve, build_report

pytestmark = pytest.mark.fast_compile  # what is compared is compiled in this module


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """A folder with the study and two of its results, that of another seed in `other`."""
    folder = tmp_path_factory.mktemp("study")
    file = write(folder / "arms.toml", ARMS | {"bounds": {"greedy": {"type": "minimax", "n_arms": 3}}})
    done = call("run", file, "--out", folder / "out")
    assert done.exit_code == 0, done.output
    other = call("run", file, "--out", folder / "other", "--seed", 4)
    assert other.exit_code == 0, other.output
    return folder, done


def test_run_prints_and_writes_everything(played):
    folder, done = played
    out = folder / "out"
    assert {each.name for each in out.iterdir()} == {
        "arms.toml".replace("arms", "study"), "configuration.json", "checkpoint", "table.csv", "numbers.json",
        "figure.png", "figure-switches.png", "result.npz", "report.html",
    }  # fmt: skip
    assert "greedy[epsilon=0.05]" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "\x1b" not in done.stdout
    assert "100 %" in done.stderr
    assert "rounds/s" in done.stderr
    about = json.loads((out / "configuration.json").read_text())
    assert about["study"]["learners"]["best"] == {"type": "EpsilonGreedy", "epsilon": 0.2, "power": 0.0}
    assert about["versions"]["jaxonline"] == jo.__version__
    assert (out / "study.toml").read_text() == (folder / "arms.toml").read_text()
    rows = (out / "table.csv").read_text().splitlines()
    assert rows[0].startswith("learner,queries_per_round,regret,low,high")
    assert len(rows) == 4


def test_run_gives_the_numbers_of_simulate(played):
    """The study that one would write in Python, bit for bit."""
    folder, _ = played
    game = jo.Game(jo.environments.BernoulliArms([0.2, 0.5, 0.8]), jo.Bandit(), jo.losses.ArmLoss(), pseudo=True)
    greedy = jo.learners.EpsilonGreedy
    learners = {"greedy": jo.sweep({f"epsilon={e:g}": greedy(e) for e in (0.05, 0.1)}), "best": greedy(0.2)}
    options = {"record_at": [10, 20], "comparator": jo.BestArm(), "measures": [jo.Switches()]}
    expected = jo.simulate(game, learners, n_runs=8, n_rounds=40, key=3, **options)
    found = Result.load(folder / "out" / "result.npz")
    assert found.learners == expected.learners
    np.testing.assert_array_equal(found.regret, expected.regret)
    np.testing.assert_array_equal(found.measures["switches"], expected.measures["switches"])


def test_a_second_run_computes_nothing(played, monkeypatch):
    folder, _ = played
    before = (folder / "out" / "numbers.json").read_text()
    monkeypatch.setattr("jaxonline.simulation.runner._play_wave", None)
    assert call("run", folder / "arms.toml", "--out", folder / "out").exit_code == 0
    assert (folder / "out" / "numbers.json").read_text() == before


def test_a_folder_of_another_study_is_an_error_with_the_differences(played):
    folder, _ = played
    changed = copy.deepcopy(ARMS)
    changed["game"]["environment"]["means"][1] = 0.6
    changed["learners"]["new"] = {"type": "UCB1"}
    done = call("run", write(folder / "changed.toml", changed), "--out", folder / "out")
    assert done.exit_code == 2
    assert "--out: must be the folder of this study or a new one" in done.stderr
    assert "game.environment.means (was [0.2, 0.5, 0.8], is [0.2, 0.6, 0.8])" in done.stderr
    assert "learners.new (was absent, is UCB1)" in done.stderr
    assert len(done.stderr.splitlines()) == 2
    assert (folder / "out" / "study.toml").read_text() == (folder / "arms.toml").read_text()


def test_show_prints_a_finished_study(played):
    folder, done = played
    (folder / "out" / "figure.png").unlink()
    shown = call("show", folder / "out")
    assert shown.exit_code == 0, shown.output
    table = done.stdout.partition(" written;")[0].splitlines()[:5]
    assert "\n".join(table) in shown.stdout
    assert (folder / "out" / "figure.png").stat().st_size > 10_000


@pytest.mark.long
def test_show_prints_an_unfinished_study(played, tmp_path):
    """The checkpoint is then the result of the finished runs."""
    folder, _ = played
    out = tmp_path / "out"
    shutil.copytree(folder / "out", out)
    result = Result.load(out / "result.npz")
    (out / "result.npz").unlink()
    shutil.rmtree(out / "checkpoint")
    configure(out, {"finished": False})
    assert "no run is finished yet (8 runs of 40 rounds, 3 learners)" in " ".join(call("show", out).stdout.split())
    result.select(runs=slice(5)).save(out / "some.npz").rename(out / "checkpoint")
    shown = call("show", out)
    assert shown.exit_code == 0, shown.output
    assert "5 runs of 40 rounds" in shown.stdout
    assert "Not finished: 5 runs so far, of 8 runs of 40 rounds" in shown.stdout


def test_show_of_a_damaged_checkpoint_is_an_error(played, tmp_path):
    """It is not a study without finished runs."""
    folder, _ = played
    out = tmp_path / "out"
    shutil.copytree(folder / "out", out)
    (out / "result.npz").unlink()
    configure(out, {"finished": False})
    root = out / "checkpoint" / "study.json"
    text = root.read_text()
    for damaged in (text.replace('"n_runs": 8', '"n_runs": 9'), text[:-9], ""):
        root.write_text(damaged)
        done = call("show", out)
        assert (done.exit_code, "study.json: is damaged" in done.stderr) == (2, True), done.output


def test_report_writes_the_page_and_the_tables(played):
    """The page says what was played and how to do it again; LaTeX has a row for each learner."""
    folder, _ = played
    done = call("report", folder / "out")
    assert done.exit_code == 0, done.output
    page, tables = ((folder / "out" / name).read_text() for name in ("report.html", "tables.tex"))
    file, out = (shlex.quote(str(folder / name)) for name in ("arms.toml", "out"))
    command = f"jaxonline run {file} --out {out} --runs 8 --rounds 40 --seed 3"
    assert command in html.unescape(page)
    assert "[game]" in page or "&quot;game&quot;" in page
    learners = Result.load(folder / "out" / "result.npz").learners
    assert tables.count(r"\\") == 1 + len(learners)


def test_the_page_has_commands_that_repeat_the_study(played, tmp_path, monkeypatch):
    """They hold from here, whatever the names are, and seed 0 is a seed; the file is the one that was played."""
    folder, _ = played
    out, file = tmp_path / "out dir", tmp_path / "my arms.toml"
    shutil.copytree(folder / "out", out)
    shutil.copy(folder / "arms.toml", file)
    about = json.loads((out / "configuration.json").read_text())
    (out / "study.json").write_text("of an earlier run")
    (out / "study.toml").write_text("title = 'Münzen'", encoding="utf-8")
    configure(out, {"file": str(file), "study": about["study"] | {"seed": 0}})
    monkeypatch.setattr("locale.getpreferredencoding", lambda *_: "ascii")
    for here, place, expected in (
        (tmp_path, "out dir", "'my arms.toml' --out 'out dir'"),
        (tmp_path / "out dir", ".", f"'{file}' --out ."),
    ):
        monkeypatch.chdir(here)
        page = folders.folder_report(folders.read_folder(place)).page
        lines = page["configuration"].splitlines()
        assert lines[0] == "title = 'Münzen'"
        assert f"# jaxonline run {expected} --runs 8 --rounds 40 --seed 0" in lines
    file.unlink()
    page = folders.folder_report(folders.read_folder(".")).page
    assert "jaxonline run study.toml --out . --runs 8 --rounds 40 --seed 0" in page["configuration"]


def test_a_failed_run_leaves_a_finished_study_unchanged(played, tmp_path):
    folder, _ = played
    out = tmp_path / "out"
    shutil.copytree(folder / "out", out)
    before = {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}
    file = write(tmp_path / "arms.toml", ARMS | {"title": "Other"})
    refused = call("run", file, "--out", out, "--rounds", 20)
    assert (refused.exit_code, "another study" in refused.stderr) == (2, True)
    assert {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()} == before
    shown = call("show", out)
    assert "bound" in shown.stdout
    assert "Not finished" not in shown.stdout


def test_other_files_are_not_replaced(played, tmp_path, monkeypatch):
    """In a folder that is no study's, nothing; in one whose study file is there, this file by no copy of another."""
    folder, _ = played
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "other.toml", ARMS)
    for names in (
        ["table.csv"],
        ["study.toml", "numbers.json", "report.html", "tables.tex"],
        ["checkpoint", "figure-a.png"],
    ):
        out = tmp_path / names[0].partition(".")[0]
        out.mkdir()
        for name in names:
            (out / name).write_text("mine")
        done = call("run", "other.toml", "--out", out.name)
        assert done.exit_code == 2
        assert f"--out: must be a new folder or that of a study (got '{out.name}', with files that would" in done.stderr
        assert all(name in done.stderr for name in names)
        assert {path.name: path.read_text() for path in out.iterdir()} == dict.fromkeys(names, "mine")
    shutil.copytree(folder / "out", "played")
    configure(tmp_path / "played", {"file": str(tmp_path / "played" / "study.toml")})
    text = (tmp_path / "played" / "study.toml").read_text()
    done = call("run", "other.toml", "--out", "played")
    assert (done.exit_code, "study.toml" in done.stderr) == (2, True)
    assert (tmp_path / "played" / "study.toml").read_text() == text


def test_a_study_may_run_in_the_folder_of_its_file(played, tmp_path, monkeypatch):
    """Its file is then no copy, and stays to the byte; a report of an earlier place is of no concern."""
    folder, _ = played
    monkeypatch.setattr("jaxonline.study.study.simulate", lambda *_, **__: Result.load(folder / "out" / "result.npz"))
    text = toml(ARMS)[0].replace("\n", "\r\n").encode()
    (tmp_path / "kept").write_bytes(text)
    (tmp_path / "study.toml").symlink_to(tmp_path / "kept")
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert call("run", "study.toml", "--out", ".").exit_code == 0
        assert (tmp_path / "study.toml").read_bytes() == text
        assert "jaxonline run study.toml --out . --runs 8" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(("options", "words"), [
    (("--workers", "0"), "--workers: must be at least 1 (got 0"),
    (("--workers", "1", "--cluster", "tcp://a:1"), "--cluster"),
])  # fmt: skip
def test_invalid_clusters_are_errors(options, words, tmp_path):
    done = call("run", write(tmp_path / "arms.toml", ARMS), "--out", tmp_path / "out", *options)
    assert done.exit_code == 2
    assert words in done.stderr


def test_show_names_learners_without_finished_runs(played, tmp_path):
    """NaN where a learner has not played a run: such learners are left out, and the others have their own runs."""
    folder, _ = played
    out = tmp_path / "out"
    out.mkdir()
    shutil.copy(folder / "out" / "configuration.json", out)
    configure(out, {"finished": False})
    result = Result.load(folder / "out" / "result.npz")
    first, second, third = result.learners
    measures = {name: np.array(values) for name, values in result.measures.items()}
    for values in measures.values():
        values[1, 3:] = np.nan
        values[2] = np.nan
    best = np.array(result.comparator_loss)
    best[:, 5:] = np.nan  # which is computed last
    unfinished = dataclasses.replace(result, measures=measures, comparator_loss=best)
    unfinished.save(out / "some.npz").rename(out / "checkpoint")
    shown = call("show", out)
    assert "loss" in shown.stdout
    assert "regret" not in shown.stdout
    dataclasses.replace(result, measures=measures).save(out / "some.npz").rename(out / "checkpoint")
    shown = call("show", out)
    assert "regret" in shown.stdout
    assert shown.exit_code == 0, shown.output
    text = " ".join(shown.stdout.split())
    assert (
        f"Not finished: 3 to 8 runs of each learner so far, of 8 runs of 40 rounds, 3 learners; not started: {third}"
        in text
    )
    assert first in text
    assert second in text
    assert (out / "figure.png").exists()


def test_diff_compares_two_seeds_and_equal_runs(played, tmp_path):
    folder, _ = played
    done = call("diff", folder / "out", folder / "other")
    assert done.exit_code == 0, done.output
    assert "seed" in done.stdout
    assert "independent runs" in done.stdout
    same = call("diff", folder / "out", folder / "out")
    assert "The configurations are equal." in same.stdout
    assert "paired over 8 runs" in same.stdout
    assert call("diff", folder / "out", tmp_path).exit_code == 2


def test_the_report_names_steps_that_bounds_do_not_cover(played):
    """For falling steps (infinity), or for steps that are neither: a dash, a sentence, and no line."""
    rounds = np.array([10, 20])
    falling = bound_curve(jo.bounds.exponentiated_gradient(3, 1.0, 20), jo.InverseSqrt(0.3), rounds)
    assert np.isposinf(falling).all()
    promised = jo.bounds.gradient_descent(1.0, 4.0, 20)
    assert np.isnan(bound_curve(promised, jo.learners.InverseTime(0.3), rounds)).all()
    np.testing.assert_array_equal(bound_curve(promised, None, rounds), [np.nan, promised.value])
    result = Result.load(played[0] / "out" / "result.npz")
    first, second, third = result.learners
    bounds = {
        first: (jo.bounds.exponentiated_gradient(3, 1.0, 20), jo.InverseSqrt(0.3)), second: (promised, object()),
        third: (promised, jo.learners.Constant(0.1)),
    }  # fmt: skip
    found = build_report(result, "", bounds)
    assert [row["bound"] is None for row in found.tables["table"].rows] == [True, True, False]
    heads, _, *rows = [line.split("|") for line in found.tables["table"].markdown().splitlines()]
    at = next(i for i, head in enumerate(heads) if "bound" in head)
    last = promised.at_rounds(result.rounds, step_size=0.1)[-1]
    assert [row[at].strip() for row in rows] == ["-", "-", f"{last:,.0f}"]
    assert found.sentences[-1] == f"The bounds do not cover the steps of {first}, {second}."
    nothing = build_report(result, "", {first: bounds[first]})
    assert "bound" not in nothing.tables["table"].markdown()


def test_differences_are_paired_if_runs_are_equal():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(1, 40, 1))

    def result(loss, runs=None):
        values = {"cumulative_loss": loss, "queries": 0 * loss}
        return Result(("a",), np.arange(loss.shape[1]) if runs is None else runs, np.array([5]), values)

    small = 0.01 * rng.normal(size=(1, 40, 1))
    first, second = result(base), result((base + 0.1 + small)[:, 10:], np.arange(10, 40))
    study = {"game": {}, "seed": 0, "rounds": 5}
    paired = compare_results(first, second, (study, study), ("x", "y"))[0].rows[0]
    assert paired["differs"] == "yes"
    difference = (0.1 + small)[0, 10:, 0]
    assert paired["difference"] == pytest.approx(difference.mean())
    from scipy import stats

    low, high = stats.t.interval(0.95, 29, difference.mean(), stats.sem(difference))
    assert (paired["low"], paired["high"]) == (pytest.approx(low), pytest.approx(high))
    apart = compare_results(first, second, (study, {**study, "seed": 1}), ("x", "y"))[0].rows[0]
    test = stats.ttest_ind(second.cumulative_loss[0, :, 0], first.cumulative_loss[0, :, 0], equal_var=False)
    interval = test.confidence_interval(0.95)
    assert (apart["low"], apart["high"]) == (pytest.approx(interval.low), pytest.approx(interval.high))
    assert apart["differs"] == ""
    other = Result(("b",), first.runs, first.rounds, first.measures)
    with pytest.raises(ValueError, match="a learner in common"):
        compare_results(first, other, (study, study), ("x", "y"))
    assert find_differences({"a": [1]}, {"a": [1], "b": None}) == {}
    nothing = result(np.full((1, 3, 1), np.nan))
    assert np.isnan(compare_results(first, nothing, (study, {}), ("x", "y"))[0].rows[0]["difference"])


def test_progress_is_one_line(capsys):
    watch = ProgressLine(rounds=100, runs=10, every=0.0)
    assert watch.line(2.0, 1, 4, "EXP3") == " 25 %  125 rounds/s  0:06 left  EXP3"
    with ProgressLine(rounds=100, every=0.0) as watch:
        watch(1, 4, "EXP3")
        watch.show_width(8, "3 %", "2 %")
        assert watch.line(2.0, 1, 4, "EXP3") == " 25 %  100 rounds/s  0:06 left  +-3 %, wanted 2 %  EXP3"
        watch(2, 4, "EXP3\x1b]0;owned\x07")
    said = capsys.readouterr().err.splitlines()
    assert "rounds/s" not in said[0]
    assert said[1] == "8 runs: half-width 3 %, wanted 2 %"
    assert said[2].endswith("wanted 2 %  EXP3�]0;owned�")


def test_a_shown_precision_equals_the_plain_one():
    told = []
    precision = jo.Precision(0.5, relative=True, quantity="cumulative_loss", least_runs=2)
    watched = ShownPrecision.of(precision, lambda *each: told.append(each))
    loss = np.random.default_rng(0).normal(5.0, 1.0, size=(1, 50, 1))
    result = Result(("a",), np.arange(50), np.array([3]), {"cumulative_loss": loss, "queries": 0 * loss})
    assert watched.excess(result) == precision.excess(result)
    assert told == [(50, f"{50 * precision.excess(result):.3g} %", "50 %")]
