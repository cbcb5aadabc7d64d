"""The commands of study files: one small study is run, continued, refused and shown; names are listed."""

import copy
import html
import json
import shlex

import numpy as np
import pytest
from command_calls import ARMS, call, write
from study_files import toml

import jaxonline as jo
from jaxonline.results import Result
from jaxonline.study.files.commands import RESULT
from jaxonline.study.files.templates import EXAMPLES

pytestmark = pytest.mark.fast_compile  # what is compared is compiled in this module


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """A folder with the study and its result in `out`."""
    folder = tmp_path_factory.mktemp("study")
    file = write(folder / "arms.toml", ARMS | {"bounds": {"greedy": {"type": "minimax", "n_arms": 3}}})
    done = call("run", file, "--out", folder / "out")
    assert done.exit_code == 0, done.output
    return folder, done


def test_run_prints_and_writes_everything(played):
    folder, done = played
    out = folder / "out"
    names = ["checkpoint", "figure-switches.png", "figure.png", "measures.csv", "numbers.json", "report.html", RESULT]
    assert sorted(path.name for path in out.iterdir()) == sorted([*names, "study.toml", "table.csv"])
    assert "greedy[epsilon=0.05]" in done.stdout
    assert (out / "study.toml").read_text() == (folder / "arms.toml").read_text()
    rows = (out / "table.csv").read_text().splitlines()
    assert len(rows) == 4
    numbers = json.loads((out / "numbers.json").read_text())["learners"]
    assert len(numbers["greedy[epsilon=0.05]"]["bound"]) == 3
    assert numbers["best"]["bound"] is None
    page = (out / "report.html").read_text()
    command = shlex.join(["jaxonline", "run", str(folder / "arms.toml"), "--out", str(out)])
    assert html.escape(command) in page


def test_run_gives_the_numbers_of_simulate(played):
    """The study that one would write in Python, bit for bit."""
    folder, _ = played
    game = jo.Game(jo.environments.BernoulliArms([0.2, 0.5, 0.8]), jo.Bandit(), jo.losses.ArmLoss(), pseudo=True)
    greedy = jo.learners.EpsilonGreedy
    learners = {"greedy": jo.sweep({f"epsilon={e:g}": greedy(e) for e in (0.05, 0.1)}), "best": greedy(0.2)}
    options = {"record_at": [10, 20], "comparator": jo.BestArm(), "measures": [jo.Switches()]}
    expected = jo.simulate(game, learners, n_runs=8, n_rounds=40, key=3, **options)
    found = Result.load(folder / "out" / RESULT)
    assert found.learners == expected.learners
    np.testing.assert_array_equal(found.regret, expected.regret)
    np.testing.assert_array_equal(found.measures["switches"], expected.measures["switches"])


def test_a_second_run_computes_nothing(played, monkeypatch):
    folder, _ = played
    before = (folder / "out" / "numbers.json").read_text()
    monkeypatch.setattr("jaxonline.simulation.jobs._play_wave", None)
    assert call("run", folder / "arms.toml", "--out", folder / "out").exit_code == 0
    assert (folder / "out" / "numbers.json").read_text() == before


def test_a_folder_of_another_study_is_refused(played):
    """The error says what differs, and the folder does not change."""
    folder, _ = played
    changed, before = copy.deepcopy(ARMS), {path: path.read_bytes() for path in (folder / "out").glob("*.*")}
    changed["game"]["environment"]["means"][1] = 0.6
    for file, words in ((changed, "game"), (ARMS | {"rounds": 20}, ""), (ARMS | {"seed": 4}, "key")):
        done = call("run", write(folder / "changed.toml", file), "--out", folder / "out")
        assert (done.exit_code, str(folder / "out") in done.stderr, words in done.stderr) == (2, True, True)
        assert len(done.stderr.splitlines()) <= 8
    assert {path: path.read_bytes() for path in (folder / "out").glob("*.*")} == before


def test_other_files_are_not_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "other.toml", ARMS)
    for name in ("table.csv", "study.toml", "numbers.json", "report.html"):
        out = tmp_path / name.partition(".")[0]
        out.mkdir()
        (out / name).write_text("mine")
        done = call("run", "other.toml", "--out", out.name)
        assert (done.exit_code, name in done.stderr, "--out: " in done.stderr) == (2, True, True)
        assert {path.name: path.read_text() for path in out.iterdir()} == {name: "mine"}


def test_a_study_may_run_in_the_folder_of_its_file(played, tmp_path, monkeypatch):
    """Its file is then no copy, and stays to the byte."""
    folder, _ = played
    monkeypatch.setattr("jaxonline.study.study.simulate", lambda *_, **__: Result.load(folder / "out" / RESULT))
    text = toml(ARMS)[0].replace("\n", "\r\n").encode()
    (tmp_path / "study.toml").write_bytes(text)
    monkeypatch.chdir(tmp_path)
    assert call("run", "study.toml", "--out", ".").exit_code == 0
    assert (tmp_path / "study.toml").read_bytes() == text


def test_show_prints_a_finished_study(played):
    folder, done = played
    (folder / "out" / "figure.png").unlink()
    shown = call("show", folder / "out")
    assert shown.exit_code == 0, shown.output
    assert done.stdout[: done.stdout.index("written")].splitlines()[:8] == shown.stdout.splitlines()[:8]
    assert "bound" in shown.stdout
    assert (folder / "out" / "figure.png").stat().st_size > 10_000


def test_list_names_everything():
    text = call("list").stdout
    for name in ("GradientLearner", "NoisyCopies", "student_t", "L2Ball", "exp3_ix", "InverseSqrt", "adam", "data"):
        assert f"  {name}: " in text
    assert all(name in text for name in EXAMPLES)
    assert "  power: number at least 0 (default: 0.0)\n" in call("list", "EpsilonGreedy").stdout
    assert "  rounds: number" in call("list", "study").stdout


def test_new_writes_a_study_file_and_the_files_it_needs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert call("new").exit_code == 0
    assert (tmp_path / "quickstart.toml").exists()
    assert call("new", "own-data", "--out", "deep/mine.toml").exit_code == 0
    assert sorted(path.name for path in (tmp_path / "deep").iterdir()) == ["mine.toml", "my_data.csv", "my_learner.py"]
    refused = call("new", "own-data", "--out", "deep/mine.toml")
    assert (refused.exit_code, "deep/mine.toml: exists" in refused.stderr) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run"], "FILE"), (["run", "nowhere.toml"], "nowhere.toml: "), (["run", "bandit"], "'bandits'"),
        (["run", "arms.toml", "--out", "taken"], "--out: "), (["run", "arms.toml", "--runs", "0"], "--runs: "),
        (["run", "arms.toml", "--rounds", "5"], "arms.toml:5: record_at: "), (["run", "own-data"], "new own-data"),
        (["run", "arms.toml", "more"], "more"), (["run", "arms.toml", "--seed", "-1"], "--seed: "),
        (["run", "arms.toml", "--workers", "1", "--cluster", "tcp://a:1"], "--cluster"), (["show", "taken"], "taken"),
        (["rnu", "arms.toml"], "'run'"), (["quikstart"], "'quickstart'"), (["--nonsense"], "--nonsense"),
        (["list", "UCB11"], "'UCB1'"), (["list", "learner"], "'learners'"), (["new", "bandit"], "'bandits'"),
        (["new", "bandits", "--out", "a.json"], "--out: must end in .toml"),
        (["quickstart", "--seed", "4294967296"], "--seed: "), (["quickstart", "--out", "taken/deep"], "--out: "),
    ],
)  # fmt: skip
def test_invalid_command_lines_exit_with_2(tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "arms.toml", ARMS)
    (tmp_path / "taken").write_text("")
    done = call(*arguments)
    assert done.exit_code == 2, done.output
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 2
