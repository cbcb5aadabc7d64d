"""Errors of study files: one line with file, line number and key."""

import copy
import random
import re
import tomllib

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
    ("bounds.UCB1.gaps", [-0.5], "-0.5"),
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
    ({"two copies": 0.5}, ".*clean"), ({"best_of": []}, ""), ({"best_of": [-1.0]}, ".*-1"), (-1.0, ""),
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
    ],
)  # fmt: skip
def test_an_invalid_file_is_an_error_with_its_line(folder, text, words):
    assert words in error_of(folder, text)


def test_the_name_of_a_file_is_checked(folder):
    (folder / "bandits").write_text("")
    (folder / "a.json").write_text("{}")
    for name, words in {"nowhere.toml": "no such file", "bandits": "toml", "a.json": "toml"}.items():
        with pytest.raises(StudyFileError, match=words):
            load_study_file(name)


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


def get(table, at):
    for key in at:
        table = table[key]
    return table


def put(table, at, value):
    inner = get(table, at[:-1])
    if value is None:
        del inner[at[-1]]
    else:
        inner[at[-1]] = value


def misspelt(word, rng):
    at = rng.randrange(len(word))
    return word[:at] + rng.choice("qzx") * 2 + word[at + 1 :]


NEEDED = (
    "rounds", "game", "learners", "environment", "feedback", "type", "means", "estimator", "half_width", "best_of",
    "noise", "weights", "n_arms",
)  # fmt: skip
SIZES = ("rounds", "runs", "n_arms", "most_runs", "radius", "noise_std")


def a_bad_file(rng):
    """The kind of an error, and the text of a study file with this error."""
    table = copy.deepcopy(rng.choice([BANDITS, COPIES, DATA]))
    paths = list(leaves(table))
    kind = rng.choice(["key", "type", "size", "name", "missing", "cut", "nested"])
    if kind == "key":
        at = rng.choice([path for path in paths if isinstance(path[-1], str) and path[:-1] not in (("learners",),)])
        put(table, (*at[:-1], misspelt(at[-1], rng)), get(table, at))
    elif kind == "type":
        put(table, rng.choice(paths), {"nonsense": rng.choice([1, "x", [], True])})
    elif kind == "size":
        sizes = [path for path in paths if path[-1] in SIZES and not isinstance(get(table, path), str)]
        put(table, rng.choice(sizes), rng.choice([-1, -(10**30), "many", [], 1e400]))
    elif kind == "name":
        names = [path for path in paths if isinstance(get(table, path), str)]
        at = rng.choice([path for path in names if path[-1] not in ("title", "target", "field")])
        put(table, at, misspelt(get(table, at), rng))
    elif kind == "missing":
        needed = [path for path in paths if path[-1] in NEEDED and path[:1] + path[-1:] != ("learners", "feedback")]
        put(table, rng.choice(needed), None)
    elif kind == "nested":
        at = rng.choice(paths)
        value = get(table, at)
        for _ in range(300):
            value = [value]
        put(table, at, value)
    text = toml(table)[0].replace("Infinity", "inf")
    if kind == "cut":
        text = text[: rng.randrange(1, len(text) - 40)].rstrip() + rng.choice(['"', "[", "= 1 2"])
    return kind, text


@pytest.mark.parametrize("files", some([60, 200], 60))
def test_generated_bad_files_end_in_short_errors(folder, files):
    """Exit code 2, at most 8 lines with the file and mostly the line, no traceback, no output folder."""
    rng = random.Random(15)
    seen: dict[str, int] = {}
    with_line = 0
    for number in range(files):
        kind, text = a_bad_file(rng)
        path = folder / f"bad{number}.toml"
        path.write_text(text)
        done = CliRunner().invoke(app, ["run", str(path), "--out", str(folder / "out")])
        assert done.exit_code == 2, (kind, text, done.output, done.exception)
        lines = done.stderr.strip().splitlines()
        assert 1 <= len(lines) <= 8, (kind, done.stderr)
        assert lines[0].startswith(f"Error: {path}"), (kind, done.stderr)
        assert "Traceback" not in done.output
        assert len(lines[0]) < 700, lines[0]
        with_line += lines[0].startswith(f"Error: {path}:")
        seen[kind] = seen.get(kind, 0) + 1
    assert min(seen.values()) >= files / 30
    assert with_line > 0.8 * files
    assert not (folder / "out").exists()
