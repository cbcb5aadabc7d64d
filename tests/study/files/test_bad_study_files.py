"""Errors of study files: one line with file, line number and key."""

import copy
import json
import random
import sys
import tomllib

import pytest
from study_files import BANDITS, COPIES, DATA, filled, toml
from tiers import some
from typer.testing import CliRunner

from jaxonline.cli import app
from jaxonline.study import StudyFileError, load_study_file
from jaxonline.study.files.key_lines import lines_of_json, lines_of_toml
from jaxonline.study.files.reading import _parse_json, format_key


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a file of data and a module."""
    monkeypatch.chdir(tmp_path)
    with filled(tmp_path):
        yield tmp_path


# ---------------------------------------------------------------------------------------------------------------------
# Lines of keys


def test_keys_have_their_lines_in_toml_and_json():
    for table in (BANDITS, COPIES, DATA):
        text, lines = toml(table)
        assert tomllib.loads(text) == table
        assert lines.items() <= lines_of_toml(text).items()
        text = json.dumps(table, indent=1)
        for path, line in lines_of_json(text).items():
            assert (json.dumps(path[-1]) if isinstance(path[-1], str) else "") in text.splitlines()[line - 1]
    text = '# [a]\n"x.y" = """\n[b]\n"""\nz.w = 1 # c = 2\n[[t]]\nu = 1\n[[t]]\nu = [1,\n\'#\', 2]\n'
    expected = {("x.y",): 2, ("z",): 5, ("z", "w"): 5, ("t", 0, "u"): 7, ("t", 1, "u"): 9, ("t", 1, "u", 2): 10}
    assert expected.items() <= lines_of_toml(text).items()
    assert format_key(("t", 1, "u", "a b")) == 't[1].u."a b"'


WRONG = [
    (("rounds",), -3, "rounds ... got -3"),
    (("rounds",), 3.5, "rounds ... got 3.5"),
    (("runs",), True, "runs ... got True"),
    (("seed",), -1, "seed ... got -1"),
    (("spacing",), "lin", "spacing ... got 'lin' ... did you mean 'linear'"),
    (("record_at",), [10, 50], "record_at[1] ... got 50"),
    (("rnds",), 3, "rnds ... did you mean 'rounds'"),
    (("game", "loss"), "ArmLos", "game.loss ... got 'ArmLos' ... did you mean 'ArmLoss'"),
    (("game", "loss"), "L2Ball", "game.loss ... got 'L2Ball'"),
    (("game", "feedbck"), "Bandit", "game.feedbck ... did you mean 'feedback'"),
    (("game", "environment", "means"), [0.2, 1.5], "game.environment.means[1]"),
    (("game", "environment", "means"), [0.2, "x"], "game.environment.means[1] ... got 'x'"),
    (("game", "environment", "means"), [], "game.environment.means ... got none"),
    (("game", "environment", "mens"), [0.2], "game.environment.mens ... did you mean 'means'"),
    (("game", "environment"), {"type": "BernoulliArms"}, "game.environment ... means"),
    (("learners",), {}, "learners ... got none"),
    (("learners", "UCB1"), "UCB11", "learners.UCB1 ... got 'UCB11' ... did you mean 'UCB1'"),
    (("learners", "UCB1"), 5, "learners.UCB1 ... got 5"),
    (("learners", "greedy", "epsilon"), [], "learners.greedy.epsilon ... got none"),
    (("learners", "greedy", "epsilon"), [0.1, 0.1], "learners.greedy.epsilon[1]"),
    (("learners", "greedy", "epsilon"), [0.1, -1], "learners.greedy.epsilon ... got -1"),
    (("learners", "greedy", "epsilon"), [*range(600)], "learners.greedy.epsilon"),
    (("learners", "EXP3", "n_arms"), -1, "learners.EXP3.n_arms ... got -1"),
    (("bounds", "UCB"), {"type": "ucb1"}, "bounds.UCB"),
    (("bounds", "UCB1", "gaps"), [0.0, 0.5], "bounds.UCB1.gaps: must be for the 3 arms of the game (got 2 arms)"),
    (("tune",), 0.5, "learners.UCB1"),
    (("measures",), ["Swiches"], "measures[0]"),
    (("learners", "greedy", "epsilon"), 10**400, "learners.greedy.epsilon ... got an integer"),
    (("runs",), 10**400, "runs ... got an integer"),
    (("block_size",), 10**9, "block_size ... at most 1,048,576"),
    (("learners", "greedy", "epsilon"), [0.1] * 600, "learners.greedy.epsilon ... 500 learners ... got 600"),
    (("game", "environment", "means"), [0.2, 10**400], "game.environment.means[1] ... got an integer"),
]  # fmt: skip


@pytest.mark.parametrize(("at", "value", "words"), WRONG, ids=lambda each: str(each)[:40])
def test_an_error_names_file_line_and_key(folder, at, value, words):
    table = copy.deepcopy(BANDITS)
    inner = table
    for key in at[:-1]:
        inner = inner[key]
    inner[at[-1]] = value
    if at == ("tune",):
        words = "learners.UCB1.step_size ... exploration"
    text, lines = toml(table)
    (folder / "study.toml").write_text(text)
    with pytest.raises(StudyFileError) as error:
        load_study_file(folder / "study.toml")
    if at != ("tune",):
        place = next(lines[at[:n]] for n in range(len(at), 0, -1) if at[:n] in lines)
        assert str(error.value).startswith(f"{folder / 'study.toml'}:{place}: ")
    assert all(part in str(error.value) for part in words.split(" ... "))
    assert "\n" not in str(error.value)


def test_a_bound_for_another_number_of_arms_is_an_error(folder):
    for n_arms in (3, 5):
        table = BANDITS | {"bounds": {"EXP3": {"type": "exp3", "n_arms": n_arms}}}
        (folder / "study.toml").write_text(toml(table)[0])
        if n_arms == 3:
            load_study_file(folder / "study.toml")
    with pytest.raises(StudyFileError, match=r"bounds.EXP3.n_arms: must be for the 3 arms of the game .got 5 arms"):
        load_study_file(folder / "study.toml")


@pytest.mark.parametrize(
    "value", ["1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", "[1, 1979-05-27]", "{ a = 07:32:00 }"]
)
def test_a_date_is_an_error_at_its_line(folder, value):
    """In the table of a user's learner, which accepts any value."""
    text = toml(DATA)[0].replace('"step_size" = [0.1, 0.2]', f'"step_size" = {value}')
    (folder / "study.toml").write_text(text)
    line = next(i for i, each in enumerate(text.splitlines(), start=1) if value in each)
    with pytest.raises(StudyFileError) as error:
        load_study_file(folder / "study.toml")
    assert str(error.value).startswith(f"{folder / 'study.toml'}:{line}: learners.mine.step_size")
    assert "date" in str(error.value)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.toml", "rounds = 5\nrounds = 6\n", "a.toml:2: not valid TOML"),
        ("a.toml", "rounds = 5\n[game\n", "a.toml:2: not valid TOML"),
        ("a.toml", "y = 1\nx = 3 4\n", "a.toml:2: not valid TOML"),
        ("a.json", '{\n"rounds": 5,\n', "a.json:3: not valid JSON"),
        ("a.json", '{"a": 1, "a": 2}', "'a' appears twice"),
        ("a.json", '{"a": NaN}', "NaN"),
        ("a.toml", f"rounds = 5\n{'.'.join('a' * 60)} = 1\n", "a.toml:2: a key must have at most 50 parts"),
        ("a.toml", "# it's\n[ " + " . ".join(60 * ['"a b"']) + " ]\n", "a.toml:2: a key must have at most 50 parts"),
        ("a.json", "[1]", "must be a table of keys (got [1]"),
        ("a.json", "[" * 100_000, "nested too deeply"),
        ("a.toml", "", "rounds is missing"),
        ("a.yaml", "", ".toml or .json"),
        ("a.toml", None, "no such file"),
        ("a.toml", b"\n\xff", "a.toml:2: must be UTF-8"),
    ],
)
def test_an_invalid_file_is_an_error_with_its_line(tmp_path, name, text, words):
    if text is not None:
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(StudyFileError, match=r"a\.\w+") as error:
        load_study_file(tmp_path / name)
    assert words in str(error.value)


def test_too_many_separate_learners_are_an_error_at_the_first_one_too_many(folder):
    (folder / "study.toml").write_text(toml(BANDITS | {"learners": {f"l{i}": "UCB1" for i in range(501)}})[0])
    with pytest.raises(StudyFileError, match=r"learners.l500: .* 500 learners \(got 1 of l500 and 500 of"):
        load_study_file(folder / "study.toml")


def test_a_long_list_of_steps_is_an_error_before_its_values_are_compared(folder):
    (folder / "study.toml").write_text(toml(COPIES | {"tune": {"best_of": [0.1] * 600}})[0])
    with pytest.raises(StudyFileError, match=r"tune.best_of: must have at most 500 values \(got 600\)"):
        load_study_file(folder / "study.toml")


def test_keys_of_json_are_compared_in_linear_time():
    text, calls = json.dumps({f"k{i}": i for i in range(300)}), []
    sys.setprofile(lambda frame, event, _: calls.append(event))
    try:
        _parse_json(text)
    finally:
        sys.setprofile(None)
    assert len(calls) < 10 * 300


def test_a_wrong_value_is_an_error_even_if_an_option_replaces_it(folder):
    (folder / "study.toml").write_text(toml(BANDITS | {"rounds": "two thousand"})[0])
    done = CliRunner().invoke(app, ["run", "study.toml", "--rounds", "20"])
    assert done.exit_code == 2
    assert "rounds" in done.stderr
    assert "'two thousand'" in done.stderr


# ---------------------------------------------------------------------------------------------------------------------
# Three hundred bad files


def leaves(table, at=()):
    """Yield the paths of all values in a table."""
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
    """A study file with one error, as a table or a text, and the kind of error."""
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
def test_generated_bad_files_end_in_one_line_errors(folder, files):
    """Exit code 2, one or two lines with the file and mostly the line, no traceback."""
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
        lines = done.stderr.strip().splitlines()
        assert 1 <= len(lines) <= 2, (kind, done.stderr)
        assert lines[0].startswith(f"Error: {path}"), (kind, done.stderr)
        assert "Traceback" not in done.output
        assert len(lines[0]) < 700, lines[0]
        with_line += lines[0].startswith(f"Error: {path}:")
        seen[kind] = seen.get(kind, 0) + 1
    assert min(seen.values()) >= files / 30
    assert with_line > 0.8 * files
    assert not (folder / "out").exists()
