"""What is wrong with a study file is said in a line, with its place: file, line, key."""

import copy
import json
import random
import tomllib

import pytest
from study_files import BANDITS, COPIES, DATA, filled, toml
from tiers import some
from typer.testing import CliRunner

from jaxonline.cli import app
from jaxonline.study import StudyFileError, load_study_file
from jaxonline.study.files.key_lines import lines_of_json, lines_of_toml
from jaxonline.study.files.reading import format_key


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a file of data and a module."""
    monkeypatch.chdir(tmp_path)
    with filled(tmp_path):
        yield tmp_path


# ---------------------------------------------------------------------------------------------------------------------
# Where something stands


def test_lines_of_toml_and_json():
    for table in (BANDITS, COPIES, DATA):
        text, lines = toml(table)
        assert tomllib.loads(text) == table
        found = lines_of_toml(text)
        assert lines.items() <= found.items()
        text = json.dumps(table, indent=1)
        for path, line in lines_of_json(text).items():
            assert (json.dumps(path[-1]) if isinstance(path[-1], str) else "") in text.splitlines()[line - 1]
    text = '# [a]\n"x.y" = """\n[b]\n"""\nz.w = 1 # c = 2\n[[t]]\nu = 1\n[[t]]\nu = [1,\n\'#\', 2]\n'
    found = lines_of_toml(text)
    expected = {("x.y",): 2, ("z",): 5, ("z", "w"): 5, ("t", 0, "u"): 7, ("t", 1, "u"): 9, ("t", 1, "u", 2): 10}
    assert expected.items() <= found.items()
    assert format_key(("t", 1, "u", "a b")) == 't[1].u."a b"'


WRONG = [
    (("rounds",), -3, "rounds: must be at least 1 and at most 1,000,000,000 (got -3"),
    (("rounds",), 3.5, "rounds: must be an integer at least 1 and at most 1,000,000,000 (got 3.5"),
    (("runs",), True, "runs: must be an integer at least 1 and at most 1,000,000,000 (got True"),
    (("seed",), -1, "seed: must be at least 0 and below 4,294,967,296 (got -1"),
    (("spacing",), "lin", "spacing: must be one of 'linear', 'log' (got 'lin'); did you mean 'linear'?"),
    (("record_at",), [10, 50], "record_at[1]: must be a round from 1 to 40 (got 50"),
    (("rnds",), 3, "rnds: unknown key; did you mean 'rounds'? (a study file has title, rounds,"),
    (("game", "loss"), "ArmLos", "game.loss: must be a loss (got 'ArmLos'); did you mean 'ArmLoss'?"),
    (("game", "loss"), "L2Ball", "game.loss: must be a loss (got 'L2Ball'), which is a comparator"),
    (("game", "feedbck"), "Bandit", "game.feedbck: unknown key; did you mean 'feedback'? (game has environment, "),
    (("game", "environment", "means"), [0.2, 1.5], "game.environment.means[1]: must be at least 0 and at most 1"),
    (("game", "environment", "means"), [0.2, "x"], "game.environment.means[1]: must be a number (got 'x'"),
    (("game", "environment", "means"), [], "game.environment.means: must hold at least one number (got none"),
    (("game", "environment", "mens"), [0.2], "game.environment.mens: unknown key; did you mean 'means'? (Berno"),
    (("game", "environment"), {"type": "BernoulliArms"}, "game.environment: needs means (a list of numbers) for Bern"),
    (("learners",), {}, "learners: must hold at least one learner (got none"),
    (("learners", "UCB1"), "UCB2", "learners.UCB1: must be a learner (got 'UCB2'); did you mean 'UCB1'?"),
    (("learners", "UCB1"), 5, "learners.UCB1: must be a learner, by its name or as a table with a type (got 5"),
    (("learners", "greedy", "epsilon"), [], "learners.greedy.epsilon: must hold at least one value (got none"),
    (("learners", "greedy", "epsilon"), [0.1, 0.1], "learners.greedy.epsilon[1]: must occur once (got 0.1"),
    (("learners", "greedy", "epsilon"), [0.1, -1], "learners.greedy.epsilon: must be at least 0 (got -1"),
    (("learners", "greedy", "epsilon"), [*range(600)], "learners.greedy.epsilon: must stand for at most"),
    (("learners", "EXP3", "n_arms"), -1, "learners.EXP3.n_arms: must be at least 2 (got -1"),
    (("bounds", "UCB"), {"type": "ucb1"}, "bounds.UCB: "),
    (("tune",), 0.5, "learners.UCB1 (UCB1)"),
    (("measures",), ["Swiches"], "measures[0]: must be a measure"),
    (("learners", "greedy", "epsilon"), 10**400, "learners.greedy.epsilon: must be finite (got an integer that is too"),
    (("runs",), 10**400, "runs: must be finite (got an integer that is too large"),
    (("game", "environment", "means"), [0.2, 10**400], "game.environment.means[1]: must be finite (got an integer"),
]  # fmt: skip


@pytest.mark.parametrize(("at", "value", "words"), WRONG, ids=lambda each: str(each)[:40])
def test_what_is_wrong_is_said_where_it_is(folder, at, value, words):
    table = copy.deepcopy(BANDITS)
    inner = table
    for key in at[:-1]:
        inner = inner[key]
    inner[at[-1]] = value
    if at == ("tune",):
        words = "learners.UCB1.step_size: unknown key (UCB1 has exploration)"
    text, lines = toml(table)
    (folder / "study.toml").write_text(text)
    with pytest.raises(StudyFileError) as error:
        load_study_file(folder / "study.toml")
    if at != ("tune",):
        place = next(lines[at[:n]] for n in range(len(at), 0, -1) if at[:n] in lines)
        assert str(error.value).startswith(f"{folder / 'study.toml'}:{place}: ")
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "value", ["1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", "[1, 1979-05-27]", "{ a = 07:32:00 }"]
)
def test_a_date_is_refused_where_it_is(folder, value):
    """Also where anything goes: in the table of a learner of one's own."""
    text = toml(DATA)[0].replace('"step_size" = [0.1, 0.2]', f'"step_size" = {value}')
    (folder / "study.toml").write_text(text)
    line = next(i for i, each in enumerate(text.splitlines(), start=1) if value in each)
    with pytest.raises(StudyFileError) as error:
        load_study_file(folder / "study.toml")
    assert str(error.value).startswith(f"{folder / 'study.toml'}:{line}: learners.mine.step_size")
    assert "must be no date or time" in str(error.value)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.toml", "rounds = 5\nrounds = 6\n", "a.toml:2: not valid TOML; cannot overwrite a value"),
        ("a.toml", "rounds = 5\n[game\n", "a.toml:2: not valid TOML"),
        ("a.toml", "y = 1\nx = 3 4\n", "a.toml:2: not valid TOML"),
        ("a.json", '{\n"rounds": 5,\n', "a.json:3: not valid JSON"),
        ("a.json", '{"a": 1, "a": 2}', "the key 'a' occurs twice"),
        ("a.json", '{"a": NaN}', "NaN is not a number of JSON"),
        ("a.json", "[1]", "must be a table of keys (got [1]"),
        ("a.json", "[" * 100_000, "nested too deeply"),
        ("a.toml", "", "rounds is missing"),
        ("a.yaml", "", ".toml or .json"),
        ("a.toml", None, "cannot be read (no such file"),
        ("a.toml", b"\n\xff", "a.toml:2: "),
    ],
)
def test_what_is_no_study_file(tmp_path, name, text, words):
    if text is not None:
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(StudyFileError, match=r"a\.\w+") as error:
        load_study_file(tmp_path / name)
    assert words in str(error.value)


def test_a_wrong_value_is_found_also_where_the_command_line_replaces_it(folder):
    (folder / "study.toml").write_text(toml(BANDITS | {"rounds": "two thousand"})[0])
    done = CliRunner().invoke(app, ["run", "study.toml", "--rounds", "20"])
    assert done.exit_code == 2
    assert "rounds: must be an integer at least 1 and at most 1,000,000,000 (got 'two thousand'" in done.stderr


# ---------------------------------------------------------------------------------------------------------------------
# Three hundred bad files


def leaves(table, at=()):
    """Paths to everything in a table."""
    for key, value in table.items() if isinstance(table, dict) else enumerate(table):
        yield (*at, key)
        if isinstance(value, dict | list):
            yield from leaves(value, (*at, key))


def put(table, at, value):
    inner = table
    for key in at[:-1]:
        inner = inner[key]
    if value is None:
        del inner[at[-1]]
    else:
        inner[at[-1]] = value


def get(table, at):
    for key in at:
        table = table[key]
    return table


def misspelt(word, rng):
    at = rng.randrange(len(word))
    return word[:at] + rng.choice("qzx") * 2 + word[at + 1 :]


NEEDED = (
    "rounds", "game", "learners", "environment", "feedback", "type", "means", "estimator", "half_width", "best_of",
    "noise", "weights", "n_arms",
)  # fmt: skip


def a_bad_file(rng):
    """A study file with one thing wrong, as a table or as a text, and what that is."""
    table = copy.deepcopy(rng.choice([BANDITS, COPIES, DATA]))
    paths = list(leaves(table))
    kind = rng.choice(["key", "type", "size", "name", "missing", "file", "grid", "explode", "cut", "nested", "both"])
    if kind == "key":
        at = rng.choice([path for path in paths if isinstance(path[-1], str) and path[:-1] not in (("learners",),)])
        put(table, (*at[:-1], misspelt(at[-1], rng)), get(table, at))
    elif kind == "type":
        at = rng.choice(paths)
        put(table, at, {"nonsense": rng.choice([1, "x", [], True])})
    elif kind == "size":
        sizes = [path for path in paths if path[-1] in ("rounds", "runs", "n_arms", "most_runs", "radius", "noise_std")
                 and not isinstance(get(table, path), str)]  # fmt: skip
        put(table, rng.choice(sizes), rng.choice([-1, -(10**30), "many", [], 1e400]))
    elif kind == "name":
        names = [
            path for path in paths if isinstance(get(table, path), str) and path[-1] not in ("title", "target", "field")
        ]
        at = rng.choice(names)
        put(table, at, misspelt(get(table, at), rng))
    elif kind == "missing":
        needed = [path for path in paths if path[-1] in NEEDED and path[:1] + path[-1:] != ("learners", "feedback")]
        put(table, rng.choice(needed), None)
    elif kind == "file":
        table = copy.deepcopy(DATA)
        table["game"]["environment"] = {
            "type": "data",
            "file": rng.choice(["nowhere.csv", "mine.py", ".", "a/../b.npz"]),
        }
    elif kind in ("grid", "explode"):
        table = copy.deepcopy(BANDITS)
        table["learners"]["greedy"]["epsilon"] = [] if kind == "grid" else [i / 1000 for i in range(501)]
    elif kind == "both":
        table |= {"runs": 5, "precision": {"half_width": 0.1}}
    elif kind == "nested":
        at = rng.choice(paths)
        value = get(table, at)
        for _ in range(300):
            value = [value]
        put(table, at, value)
    if kind == "cut":
        text = rng.choice([toml(table)[0], json.dumps(table, indent=1)])
        return kind, text[: rng.randrange(1, max(2, len(text) - 40))].rstrip() + rng.choice(["", '"', "[", "= 1 2"])
    return kind, table


@pytest.mark.parametrize("files", some([90, 300], 90))
def test_generated_bad_files(folder, files):
    """Exit code 2, one or two lines, no traceback; the file is named, and in most cases the line."""
    rng = random.Random(15)
    seen: dict[str, int] = {}
    with_line = 0
    for number in range(files):
        kind, bad = a_bad_file(rng)
        suffix = ".json" if (bad if isinstance(bad, str) else rng.choice("{=")).startswith("{") else ".toml"
        path = folder / f"bad{number}{suffix}"
        text = bad if isinstance(bad, str) else toml(bad)[0] if suffix == ".toml" else json.dumps(bad, indent=1)
        path.write_text(text.replace("Infinity", "inf") if suffix == ".toml" else text)
        done = CliRunner().invoke(app, ["run", str(path), "--out", str(folder / "out")])
        assert done.exit_code == 2, (kind, text, done.output, done.exception)
        said = done.stderr.strip().splitlines()
        assert 1 <= len(said) <= 2, (kind, done.stderr)
        assert said[0].startswith(f"Error: {path}"), (kind, done.stderr)
        assert "Traceback" not in done.output
        assert len(said[0]) < 700, said[0]
        with_line += said[0].startswith(f"Error: {path}:")
        seen[kind] = seen.get(kind, 0) + 1
    assert min(seen.values()) >= files / 30
    assert with_line > 0.8 * files
    assert not (folder / "out").exists()
