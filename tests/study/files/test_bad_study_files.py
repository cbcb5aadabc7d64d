"""Errors of study files: one line with file, line number and key."""

import copy
import functools
import operator
import random
import re
import tomllib
from collections import Counter

import pytest
from study_files import BANDITS, COPIES, DATA, filled, toml
from tiers import some
from typer.testing import CliRunner

from jaxonline.cli import app
from jaxonline.study import Context, StudyFileError, load_study_file
from jaxonline.study.files.source import format_key, lines_of


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a file of data and a module."""
    monkeypatch.chdir(tmp_path)
    with filled(tmp_path):
        yield tmp_path


def error_of(folder, text):
    (folder / "study.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(StudyFileError) as error:
        load_study_file(folder / "study.toml")
    assert "\n" not in str(error.value)
    return str(error.value)


def test_keys_have_their_lines():
    for table in (BANDITS, COPIES, DATA):
        text, lines = toml(table)
        assert tomllib.loads(text) == table
        assert lines.items() <= lines_of(text).items()
    text = '# [a]\n"x.y" = [\n  [1, 2],\n]\nz.w = 1 # c = 2\n[t."a b"]  # d\nu = {v = 1}\n'
    assert lines_of(text) == {
        ("x.y",): 2, ("z",): 5, ("z", "w"): 5, ("t",): 6, ("t", "a b"): 6, ("t", "a b", "u"): 7,
    }  # fmt: skip
    assert format_key(("t", 1, "u", "a b")) == 't[1].u."a b"'


WRONG = [  # a key, its value, and what the message contains besides the key
    ("rounds", -3, "-3"), ("seed", -1, "-1"), ("spacing", "lin", "got lin"), ("rnds", 3, "did you mean 'rounds'"),
    ("block_size", 10**10, "1,000,000,000"), ("runs", 10**400, ""),
    ("game.loss", "ArmLos", "did you mean 'ArmLoss'"), ("game.loss", "BestArm", ""), ("game.feedback", "UCB1", ""),
    ("game.feedbck", "Bandit", "did you mean 'feedback'"), ("game.environment.means", [0.2, 1.5], "1.5"),
    ("game.environment.means", [0.2, "x"], ""), ("game.environment.means", [], ""),
    ("game.environment.mens", [0.2], "did you mean 'means'"), ("game.environment", {"type": "BernoulliArms"}, "means"),
    ("learners", {}, ""), ("learners.UCB1", "UCB11", "did you mean 'UCB1'"), ("learners.UCB1", 5, "got 5"),
    ("learners.greedy.epsilon", [], "got 0"), ("learners.greedy.epsilon", [0.1, 0.1], "twice"),
    ("learners.greedy.epsilon", [0.1, -1], "got -1"), ("learners.greedy.epsilon", [*range(600)], "600"),
    ("learners.greedy.epsilon", 10**400, ""), ("learners.EXP3.n_arms", -1, "got -1"), ("bounds.UCB", "ucb1", "'UCB1'"),
    ("title", "a " * 500_000, "at most 500"), ("learners", {"n" * 9999: "UCB1"}, "at most 200 letters (got 9,999)"),
    ("learners.UCB1", f"{'m' * 5000}:UCB1", "too long"), ("bounds.UCB1.gaps", [-0.5], "-0.5"),
    ("bounds.UCB1.gaps", [0.0, 0.5], "3 arms"), ("tune", 0.5, "step_size"), ("measures", ["Swiches"], "'Switches'"),
    ("precision", {"half_width": 0.1}, "beside runs"), ("until", {"margin": 1.0}, "beside runs"),
]  # fmt: skip


@pytest.mark.parametrize(("key", "value", "words"), WRONG, ids=lambda part: str(part)[:40])
def test_an_error_names_file_line_and_key(folder, key, value, words):
    table, at = copy.deepcopy(BANDITS), tuple(key.split("."))
    inner = table
    for part in at[:-1]:
        inner = inner[part]
    inner[at[-1]] = value
    text, lines = toml(table)
    message = error_of(folder, text)
    if key == "tune":  # the first learner has no step_size
        at = ("learners", "UCB1")
    place = next(lines[at[:n]] for n in range(len(at), 0, -1) if at[:n] in lines)
    assert message.startswith(f"{folder / 'study.toml'}:{place}: {'.'.join(at)}")
    assert words in message


TUNED = [
    ({"two copies": 0.5}, ".*clean"), ({"best_of": []}, ""), ({"best_of": [-1.0]}, ".*-1"),
    ({"best_of": [0.1], "runs": "third"}, ""), ({"two copies": 1, "clean": 1, "x": 1}, ""),
]  # fmt: skip


@pytest.mark.parametrize(("tune", "words"), TUNED)
def test_wrong_steps_are_errors(folder, tune, words):
    assert re.search(rf"study.toml:\d+: tune: {words}", error_of(folder, toml(COPIES | {"tune": tune})[0]))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rounds = 5\nrounds = 6\n", ":2: "), ("rounds = 5\n[game\n", ":2: "), ("y = 1\nx = 3 4\n", ":2: "),
        ("", "rounds: "), ("a = " + "[" * 100_000, "nested"), (b"\n\xff", ":2: must be UTF-8"),
        ("\na = " + "[" * 30 + "]" * 30, ":2: a: must be nested"), ("a = " + "9" * 5000, "4,300 digits"),
        ("# \u2028\nrounds = 5\nx = 1\n", ":3: x: is unknown"), ('\n"\\U00000041" = 1\n', ":2: A: is unknown"),
        ("x = '''\n\"\\q\" = 1\n'''\n", ":1: x: is unknown"),
    ],
)  # fmt: skip
def test_an_invalid_file_is_an_error_with_its_line(folder, text, words):
    assert words in error_of(folder, text)


def test_an_unsuitable_study_is_an_error_before_the_run(folder):
    """Of the learner, the comparator, the recorded rounds and the number of runs, with file, line and key."""
    for change, key in (
        ({"learners": {"fine": "UCB1", "wrong": "Perceptron"}}, "learners.wrong"),
        ({"comparator": {"type": "L2Ball", "radius": 1.0}}, "comparator"), ({"record_at": [10, 50]}, "record_at"),
        ({"runs": None, "until": {"margin": 1.0, "most_runs": -1}}, "until"), ({"measures": ["Switches"]}, "")
    ):  # fmt: skip
        table = {name: value for name, value in (BANDITS | {"measures": [], "bounds": {}} | change).items() if value}
        text, lines = toml(table)
        (folder / "study.toml").write_text(text)
        study = load_study_file("study.toml")
        if key:
            with pytest.raises(StudyFileError, match=rf"study.toml:{lines[tuple(key.split('.'))]}: {key}: "):
                study.run(Context())


def leaves(table, at=()):
    """Yield the paths of all values in a table."""
    for key, value in table.items() if isinstance(table, dict) else enumerate(table):
        yield (*at, key)
        if isinstance(value, dict | list):
            yield from leaves(value, (*at, key))


def a_bad_file(rng):
    """The kind of an error, and the text of a study file with this error."""
    table = copy.deepcopy(rng.choice([BANDITS, COPIES, DATA]))
    kind = rng.choice(["key", "type", "cut", "nested"])
    at = rng.choice([path for path in leaves(table) if kind != "key" or (isinstance(path[-1], str) and len(path) == 1)])
    inner = functools.reduce(operator.getitem, at[:-1], table)
    if kind == "key":
        inner[f"{at[-1]}qq"] = inner.pop(at[-1])
    elif kind == "type":
        inner[at[-1]] = {"nonsense": rng.choice([1, "x", [], True])}
    elif kind == "nested":
        for _ in range(300):
            inner[at[-1]] = [inner[at[-1]]]
    text = toml(table)[0]
    return kind, text if kind != "cut" else text[: rng.randrange(1, len(text) - 40)].rstrip() + rng.choice('"[')


@pytest.mark.parametrize("files", some([40, 200], 40))
def test_generated_bad_files_end_in_short_errors(folder, files):
    """Exit code 2, at most 8 lines with the file and mostly the line, no traceback, no output folder."""
    rng, kinds, with_line = random.Random(15), Counter(), 0
    for number in range(files):
        kind, text = a_bad_file(rng)
        path = folder / f"bad{number}.toml"
        path.write_text(text)
        done = CliRunner().invoke(app, ["run", str(path), "--out", str(folder / "out")])
        assert done.exit_code == 2, (kind, text, done.output, done.exception)
        lines = done.stderr.strip().splitlines()
        assert lines[0].startswith(f"Error: {path}"), (kind, done.stderr)
        assert len(lines) <= 8, (kind, done.stderr)
        assert len(lines[0]) < 700, lines[0]
        with_line += lines[0].startswith(f"Error: {path}:")
        kinds[kind] += 1
    print(f"study files: {files} with errors, {with_line} messages with the line, {dict(kinds)}")
    assert min(kinds.values()) >= files / 10
    assert with_line > 0.7 * files
    assert not (folder / "out").exists()
