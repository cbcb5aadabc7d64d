"""`jaxonline list`, `new`, help, and commands that are refused: what is said at once, without playing."""

import json

import pytest
from command_calls import ARMS, call, write
from study_folders import configure
from typer.testing import CliRunner

from jaxonline.cli import app
from jaxonline.study.files.templates import EXAMPLES


def test_list_names_everything_in_80_columns():
    text = call("list").stdout
    assert max(map(len, text.splitlines())) <= 80
    for name in ("GradientLearner", "NoisyCopies", "student_t", "L2Ball", "exp3_ix", "InverseSqrt", "adam", "data"):
        assert f"  {name}: " in text
    assert all(f"  {name}: " in text for name in EXAMPLES)
    one = " ".join(call("list", "epsilongreedy").stdout.split())
    assert "epsilon, a number at least 0: " in one
    assert "power, a number at least 0; by default 0: " in one
    assert 'In a study file: { type = "EpsilonGreedy", epsilon = ... }' in one
    assert "BestSegments" in call("list", "comparators").stdout
    assert "half_width, a number above 0" in call("list", "study").stdout
    wrong = call("list", "UCB11")
    assert (wrong.exit_code, wrong.stderr.splitlines()[0]) == (
        2,
        "Error: name: no learner, game or other object has this name (got 'UCB11'); did you mean 'UCB1'?",
    )
    part = call("list", "greedy")
    assert part.exit_code == 2
    assert "did you mean one of EpsilonGreedy, EpsilonGreedy.decreasing" in part.stderr
    assert call("list", "gredy").exit_code == 2


def test_new_writes_a_study_file_and_the_files_it_needs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert call("new").exit_code == 0
    assert (tmp_path / "quickstart.toml").read_text().startswith("#:schema study.schema.json\n")
    done = call("new", "own-data", "--out", "deep/mine.toml")
    assert sorted(each.name for each in (tmp_path / "deep").iterdir()) == [
        "mine.toml", "my_data.csv", "my_learner.py", "study.schema.json",
    ]  # fmt: skip
    assert "jaxonline run deep/mine.toml" in " ".join(done.stdout.split())
    for arguments, words in {
        ("own-data", "--out", "deep/mine.toml"): "deep/mine.toml: exists",
        ("bandit",): "name: must be one of quickstart, noisy-kernels, few-attributes",
        ("bandits", "--out", "a.json"): "--out: must end in .toml (got 'a.json'",
    }.items():
        refused = call("new", *arguments)
        assert refused.exit_code == 2
        assert words in refused.stderr
        assert len(refused.stderr.splitlines()) == 2
    assert all(name in call(command, "--help").stdout for command in ("new", "run") for name in EXAMPLES)


def test_the_help_has_examples_and_the_shell_completes():
    for command in ("run", "show", "diff", "list", "new"):
        text = call(command, "--help").stdout
        assert "Examples: jaxonline" in text
    words = {"COMP_WORDS": "jaxonline list EXP3I", "COMP_CWORD": "2", "_JAXONLINE_COMPLETE": "complete_bash"}
    done = CliRunner().invoke(app, [], env=words, prog_name="jaxonline")
    assert "EXP3IX" in done.stdout.split()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run"], "FILE"), (["run", "nowhere.toml"], "nowhere.toml: cannot be read (no such file"),
        (["run", "arms.toml", "--out", "taken"], "--out: must be a folder that can be written (got 'taken'"),
        (["run", "arms.toml", "--out", ""], "--out: must be a folder that can be written (got ''); it is empty"),
        (["run", "arms.toml", "--runs", "0"], "--runs: must be at least 1 and at most 1,000,000,000 (got 0"),
        (["run", "arms.toml", "--runs", "many"], "--runs"), (["run", "arms.toml", "more"], "more"),
        (["run", "arms.toml", "--seed", "-1"], "--seed: must be at least 0 and below 4,294,967,296 (got -1"),
        (["run", "arms.toml", "--rounds", "5"], "arms.toml:5: record_at[0]: must be a round from 1 to 5 (got 10"),
        (["show"], "FOLDER"), (["show", "taken"], "'taken'"), (["diff", "taken"], "FOLDER"),
        (["rnu", "arms.toml"], "(got 'rnu'); did you mean 'run'?"),
        (["run", "bandit"], "or be the name of a shipped study; did you mean 'bandits'?"),
        (["run", "own-data"], "`jaxonline new own-data` writes all of them"),
        (["bandit"], "command: unknown name (got 'bandit'); did you mean 'run bandits'?"),
        (["quikstart"], "did you mean 'quickstart'?"), (["--nonsense"], "--nonsense"),
        (["quickstart", "more"], "more"), (["quickstart", "--rusn", "5"], "--rusn"),
        (["quickstart", "--runs", "0"], "--runs: must be at least 1"), (["quickstart", "--runs"], "--runs"),
        (["quickstart", "--seed", "4294967296"], "--seed: must be at least 0 and below 4,294,967,296 (got 4,29"),
        (["quickstart", "--out", "taken"], "--out: must be a folder that can be written (got 'taken'"),
        (["quickstart", "--out", "taken/deep"], "--out: must be a folder that can be written (got 'taken/deep'"),
        (["quickstart", "--out", "/proc/nowhere"], "--out: must be a folder that can be written"),
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


def test_a_path_that_exists_is_a_file_and_not_the_name_of_a_shipped_study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bandits").write_text("")
    assert "bandits: must end in .toml or .json" in call("run", "bandits").stderr
    assert "bandits.toml: cannot be read (no such file" in call("run", "bandits.toml").stderr


def test_a_damaged_folder_is_reported(tmp_path):
    (tmp_path / "configuration.json").write_text("{")
    for command in (("show", tmp_path), ("diff", tmp_path, tmp_path)):
        done = call(*command)
        assert (done.exit_code, len(done.stderr.splitlines())) == (2, 2)
        assert "is damaged" in done.stderr
    assert "folder: must be a study folder" in call("show", tmp_path / "nowhere").stderr
    whole = {"study": {"runs": 4, "rounds": 9, "learners": {"a": {}}}, "file": "study.toml"}
    (tmp_path / "configuration.json").unlink()
    configure(tmp_path, whole)
    assert "no run is finished yet (4 runs of 9 rounds" in " ".join(call("show", tmp_path).stdout.split())
    for key in ('"study"', '"runs"', '"rounds"', '"learners"', '"file"'):
        changed = json.dumps(whole).replace(key, key.replace('"', '"~', 1))
        (tmp_path / "configuration.json").unlink()
        configure(tmp_path, json.loads(changed))
        done = call("show", tmp_path)
        assert (done.exit_code, "configuration.json: is damaged" in done.stderr) == (2, True), key
