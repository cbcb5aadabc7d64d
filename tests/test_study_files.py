"""Study files are read, checked and made into games and learners; what is wrong is said in a line, with its place."""

import copy
import json
import random
import re
import sys
import tomllib

import jax
import numpy as np
import pytest
from fresh_python import ROOT
from typer.testing import CliRunner

import jaxonline as jo
from jaxonline.cli import app
from jaxonline.study import StudyFileError, load_study_file
from jaxonline.study.files import keys
from jaxonline.study.files.catalogue import catalogue
from jaxonline.study.files.positions import lines_of_json, lines_of_toml
from jaxonline.study.files.reading import in_words

BANDITS = {
    "title": "Arms", "rounds": 40, "runs": 4, "seed": 3, "record_at": [10, 20], "comparator": "BestArm",
    "measures": ["Switches", {"type": "OfInfo", "field": "loss"}],
    "game": {
        "environment": {"type": "BernoulliArms", "means": [0.2, 0.5, 0.8]}, "feedback": "Bandit", "loss": "ArmLoss",
        "regret": "PseudoRegret",
    },
    "learners": {
        "UCB1": "UCB1", "MOSS": {"type": "MOSS"}, "EXP3": {"type": "EXP3.over_horizon", "n_arms": 3},
        "greedy": {"type": "EpsilonGreedy", "epsilon": [0.05, 0.1], "power": 0},
    },
    "bounds": {"UCB1": {"type": "ucb1", "gaps": [0.0, 0.3, 0.6]}},
}  # fmt: skip
COPIES = {
    "rounds": 30, "precision": {"half_width": 0.1, "relative": True, "most_runs": 64, "least_runs": 8},
    "comparator": {"type": "L2Ball", "radius": 1.5}, "tune": {"best_of": [0.1, 0.3], "runs": "pilot"},
    "game": {
        "environment": {"type": "LinearModel", "weights": [0.6, -0.3], "noise_std": 0.1},
        "feedback": {"type": "NoisyCopies", "noise": {"type": "gaussian", "covariance": [[0.1, 0], [0, 0.2]]}},
    },
    "learners": {
        "two copies": {"type": "GradientLearner", "estimator": "TwoCopies", "radius": 1.5},
        "clean": {
            "type": "GradientLearner", "estimator": {"type": "FullGradient", "loss": "Squared"}, "radius": 1.5,
            "feedback": "FullInformation",
        },
    },
}  # fmt: skip
DATA = {
    "rounds": 12, "runs": 2,
    "game": {"environment": {"type": "data", "file": "own.csv", "target": "y"}, "feedback": "FullInformation"},
    "learners": {
        "mine": {"type": "mine:Mine", "step_size": [0.1, 0.2]},
        "adam": {"type": "GradientLearner", "estimator": ["FullGradient", {"type": "FullGradient", "loss": "Absolute"}],
                 "step_size": {"type": "InverseSqrt", "eta": [0.1, 0.2]}, "optimizer": {"type": "adam", "b1": 0.8}},
    },
}  # fmt: skip
OWN = '''
import jax.numpy as jnp
import jaxonline as jo
import helper

@jo.struct
class Mine:
    """Mine."""
    step_size: float

    def init(self, key, specs):
        return jnp.zeros(specs.instance.shape, specs.instance.dtype)

    def predict(self, key, w, x):
        return w @ x * helper.ONE

    def update(self, key, w, oracle):
        return w + self.step_size * (oracle.y - w @ oracle.x) * oracle.x, ()

law = jo.noise.gaussian(0.5)
'''


def toml(table, at=(), lines=None):
    """TOML with a key in each line, and in which line each stands: tables last, as headers."""
    lines = {} if lines is None else lines
    text: list[str] = []

    def write(table, at):
        tables = {key: each for key, each in table.items() if isinstance(each, dict) and len(at) < 2}
        for key, each in table.items():
            if key not in tables:
                text.append(f"{json.dumps(key)} = {inline(each)}")
                lines[(*at, key)] = len(text)
        for key, each in tables.items():
            text.append(f"[{'.'.join(json.dumps(part) for part in (*at, key))}]")
            lines[(*at, key)] = len(text)
            write(each, (*at, key))

    write(table, at)
    return "\n".join(text) + "\n", lines


def inline(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {inline(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(inline, value))}]"
    return json.dumps(value)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a file of data and a module."""
    rows = np.random.default_rng(0).normal(size=(6, 3)).round(3)
    (tmp_path / "own.csv").write_text("a,b,y\n" + "\n".join(",".join(map(str, row)) for row in rows) + "\n")
    (tmp_path / "mine.py").write_text(OWN)
    (tmp_path / "helper.py").write_text("ONE = 1.0\n")
    monkeypatch.chdir(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in {"mine", "helper"} - before:
        sys.modules.pop(name, None)


def load(folder, table, name="study.toml", **overrides):
    path = folder / name
    path.write_text(toml(table)[0] if name.endswith(".toml") else json.dumps(table, indent=1))
    return load_study_file(path, **overrides)


# ---------------------------------------------------------------------------------------------------------------------
# Good files


@pytest.mark.parametrize("name", ["study.toml", "study.json"])
def test_a_file_is_the_game_that_one_would_write(folder, name):
    study = load(folder, BANDITS, name)
    game, learners = study.comparison.game, study.comparison.learners
    assert isinstance(game.environment, jo.environments.BernoulliArms)
    np.testing.assert_allclose(game.environment.means, [0.2, 0.5, 0.8])
    assert isinstance(game.regret, jo.game.PseudoRegret)
    assert isinstance(study.comparison.comparator, jo.BestArm)
    assert [type(each).__name__ for each in study.options["measures"]] == ["Switches", "OfInfo"]
    assert study.families == {
        "UCB1": ("UCB1",), "MOSS": ("MOSS",), "EXP3": ("EXP3",),
        "greedy": ("greedy[epsilon=0.05]", "greedy[epsilon=0.1]"),
    }  # fmt: skip
    assert learners["greedy"].labels == ("epsilon=0.05", "epsilon=0.1")
    assert learners["MOSS"].n_rounds == 40.0  # the study's
    assert learners["EXP3"].combiner.eta == jo.learners.EXP3.over_horizon(3, 40).combiner.eta
    assert study.resolved["learners"]["UCB1"] == {"type": "UCB1", "exploration": 2.0}
    assert study.resolved["learners"]["MOSS"] == {"type": "MOSS", "n_rounds": 40}
    assert (study.seed, study.title, study.options["n_runs"]) == (3, "Arms", 4)
    assert load(folder, BANDITS, name, runs=7, seed=0).options["n_runs"] == 7


def test_both_formats_say_the_same(folder):
    for table in (BANDITS, COPIES, DATA):
        assert load(folder, table).resolved == load(folder, table, "study.json").resolved


def test_steps_that_are_chosen_and_a_feedback_of_its_own(folder):
    study = load(folder, COPIES)
    assert study.comparison.tune.etas == {"0.1": 0.1, "0.3": 0.3}
    made = study.comparison.learners["clean"](jo.InverseSqrt(0.25))
    assert isinstance(made.feedback, jo.FullInformation)
    assert made.learner.step_size.eta == 0.25
    assert study.options["precision"] == jo.Precision(0.1, relative=True, least_runs=8)
    assert study.options["n_runs"] == 64
    assert study.resolved["learners"]["clean"]["feedback"] == {"type": "FullInformation"}
    one = load(folder, COPIES | {"tune": {"two copies": 0.5, "clean": 0.25}})
    assert one.comparison.tune == {"two copies": 0.5, "clean": 0.25}


def test_own_data_own_learner_grids_of_more_than_numbers(folder):
    study = load(folder, DATA)
    with jax.numpy_dtype_promotion("standard"):  # optax's adam does not run under strict promotion
        study.check()
    stream = study.comparison.game.environment
    assert stream.X.shape == (6, 2)
    assert stream.order == "shuffled"
    names = [name for family in study.families.values() for name in family]
    assert names == [
        "mine[step_size=0.1]", "mine[step_size=0.2]",
        "adam[estimator=FullGradient][eta=0.1]", "adam[estimator=FullGradient][eta=0.2]",
        "adam[estimator=FullGradient(loss=Absolute)][eta=0.1]", "adam[estimator=FullGradient(loss=Absolute)][eta=0.2]",
    ]  # fmt: skip
    assert len(study.comparison.learners) == 3  # programs
    assert study.comparison.learners["mine"].learners[1].step_size == 0.2
    law = copy.deepcopy(DATA)
    law["game"]["feedback"] = {"type": "NoisyCopies", "noise": "mine:law"}
    assert load(folder, law).comparison.game.feedback.noise.covariance == 0.5


@pytest.mark.parametrize(
    ("beside", "X", "y"),
    [
        ({"drop": ["b"]}, [[1.0], [3.0], [5.0]], [1.0, 2.0, 6.0]),
        ({"centre": True}, [[-2.0, 0.0], [0.0, 0.0], [2.0, 0.0]], [1.0, 2.0, 6.0]),
        ({"positive": 6}, [[1.0, 2.0], [3.0, 2.0], [5.0, 2.0]], [-1.0, -1.0, 1.0]),
        ({"target": "a", "drop": ["b"]}, [[1.0], [2.0], [6.0]], [1.0, 3.0, 5.0]),
    ],
)
def test_data_are_made_ready(folder, beside, X, y):
    (folder / "own.csv").write_text("a,b,y\n1,2,1\n3,2,2\n5,2,6\n")
    table = copy.deepcopy(DATA)
    table["game"]["environment"] |= {"order": "file", **beside}
    stream = load(folder, table).comparison.game.environment
    np.testing.assert_array_equal(stream.X, np.float32(X))
    np.testing.assert_array_equal(stream.y, np.float32(y))


def test_scaled_data_have_rows_and_targets_of_at_most_one(folder):
    table = copy.deepcopy(DATA)
    table["game"]["environment"] |= {"centre": True, "scale": True, "order": "file"}
    stream = load(folder, table).comparison.game.environment
    X, y = np.asarray(stream.X, float), np.asarray(stream.y, float)
    assert np.linalg.norm(X, axis=1).max() == pytest.approx(1.0)
    assert X.std(axis=0) == pytest.approx(np.full(2, X[:, 0].std()), rel=1e-5)
    assert (y.mean(), np.abs(y).max()) == (pytest.approx(0.0, abs=1e-6), pytest.approx(1.0))


def test_classes_of_words_from_csv_npz_parquet_and_openml(folder, monkeypatch):
    import pandas as pd
    import sklearn.datasets

    frame = pd.DataFrame(
        {"a": [1.0, 2.0, 4.0], "b": [True, False, True], "c": ["x", "y", "z"], "kind": ["no", "yes", "no"]}
    )
    table = copy.deepcopy(DATA)

    def found(**data):
        table["game"]["environment"] = {"type": "data", "order": "file", "positive": "yes", **data}
        with pytest.warns(UserWarning, match="words instead of numbers in column 'c'"):
            stream = load(folder, table).comparison.game.environment
        assert stream.y.tolist() == [-1.0, 1.0, -1.0]
        return stream.X[:, 0].tolist()

    frame.to_csv(folder / "own.csv", index=False)
    table["game"]["environment"]["drop"] = ["b"]
    assert found(file="own.csv", drop=["b"]) == [1.0, 2.0, 4.0]
    monkeypatch.setattr(pd, "read_parquet", lambda path: frame)
    (folder / "own.parquet").write_bytes(b"")
    assert found(file="own.parquet") == [1.0, 2.0, 4.0]
    bunch = sklearn.utils.Bunch(frame=frame, target_names=["kind"])
    asked = []
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda **options: asked.append(options) or bunch)
    assert found(openml="credit-g", version=1) == [1.0, 2.0, 4.0]
    assert (asked[0]["name"], asked[0]["version"]) == ("credit-g", 1)
    np.savez(folder / "own.npz", X=np.ones((3, 1)), y=np.array([2.0, 7.0, 2.0]))
    table["game"]["environment"] = {"type": "data", "file": "own.npz", "positive": 7}
    assert load(folder, table).comparison.game.environment.y.tolist() == [-1.0, 1.0, -1.0]


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
    assert in_words(("t", 1, "u", "a b")) == 't[1].u."a b"'


WRONG = [
    (("rounds",), -3, "rounds must be at least 1 and at most 1,000,000,000, got -3"),
    (("rounds",), 3.5, "rounds must be an integer at least 1 and at most 1,000,000,000, got 3.5"),
    (("runs",), True, "runs must be an integer at least 1 and at most 1,000,000,000, got True"),
    (("seed",), -1, "seed must be at least 0 and below 4,294,967,296, got -1"),
    (("spacing",), "lin", "spacing must be one of 'linear', 'log', got 'lin': did you mean 'linear'?"),
    (("record_at",), [10, 50], "record_at[1] must be a round from 1 to 40, got 50"),
    (("rnds",), 3, "rnds is no key here: a study file has title, rounds,"),
    (("game", "loss"), "ArmLos", "game.loss must be a loss, got 'ArmLos': did you mean 'ArmLoss'?"),
    (("game", "loss"), "L2Ball", "game.loss must be a loss, got 'L2Ball', which is a comparator"),
    (("game", "feedbck"), "Bandit", "game.feedbck is no key here: game has environment, feedback, loss, regret: did"),
    (("game", "environment", "means"), [0.2, 1.5], "game.environment.means must be at least 0 and at most 1, got"),
    (("game", "environment", "means"), [0.2, "x"], "game.environment.means[1] must be a number, got 'x'"),
    (("game", "environment", "means"), [], "game.environment.means must hold at least one number, got none"),
    (("game", "environment", "mens"), [0.2], "game.environment.mens is no parameter of BernoulliArms, which has means"),
    (("game", "environment"), {"type": "BernoulliArms"}, "game.environment needs means (a list of numbers) for Bern"),
    (("learners",), {}, "learners must hold at least one learner, got none"),
    (("learners", "UCB1"), "UCB2", "learners.UCB1 must be a learner, got 'UCB2': did you mean 'UCB1'?"),
    (("learners", "UCB1"), 5, "learners.UCB1 must be a learner, by its name or as a table with a type, got 5"),
    (("learners", "greedy", "epsilon"), [], "learners.greedy.epsilon must hold at least one value, got none"),
    (("learners", "greedy", "epsilon"), [0.1, 0.1], "learners.greedy.epsilon[1] is there twice: 0.1"),
    (("learners", "greedy", "epsilon"), [0.1, -1], "learners.greedy.epsilon must be at least 0, got -1"),
    (("learners", "greedy", "epsilon"), [*range(600)], "learners.greedy.epsilon stands for too many learners: greedy"),
    (("learners", "EXP3", "n_arms"), -1, "learners.EXP3.n_arms must be at least 2, got -1"),
    (("bounds", "UCB"), {"type": "ucb1"}, "bounds.UCB is no learner of this study ('UCB1', 'MOSS', 'EXP3', 'greedy')"),
    (("tune",), 0.5, "learners.UCB1 (UCB1)"),
    (("measures",), ["Swiches"], "measures[0] must be a measure"),
]  # fmt: skip


@pytest.mark.parametrize(("at", "value", "words"), WRONG, ids=lambda each: str(each)[:40])
def test_what_is_wrong_is_said_where_it_is(folder, at, value, words):
    table = copy.deepcopy(BANDITS)
    inner = table
    for key in at[:-1]:
        inner = inner[key]
    inner[at[-1]] = value
    if at == ("tune",):
        words = "learners.UCB1.step_size is no parameter of UCB1"
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
    ("name", "text", "words"),
    [
        ("a.toml", "rounds = 5\nrounds = 6\n", "a.toml:2: this is no TOML: cannot overwrite a value"),
        ("a.toml", "rounds = 5\n[game\n", "a.toml:2: this is no TOML"),
        ("a.toml", "y = 1\nx = {\n", "a.toml:2: this is no TOML"),
        ("a.json", '{\n"rounds": 5,\n', "a.json:3: this is no JSON"),
        ("a.json", '{"a": 1, "a": 2}', "the key 'a' is there twice"),
        ("a.json", '{"a": NaN}', "NaN is no number of JSON"),
        ("a.json", "[1]", "must be a table of keys, got [1]"),
        ("a.json", "[" * 100_000, "nested too deeply"),
        ("a.toml", "", "rounds is missing"),
        ("a.yaml", "", "the ending of a study file must be .toml or .json"),
        ("a.toml", None, "the study file cannot be read: no such file"),
        ("a.toml", b"\n\xff", "a.toml:2: a study file must be UTF-8"),
    ],
)
def test_what_is_no_study_file(tmp_path, name, text, words):
    if text is not None:
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(StudyFileError, match=r"a\.\w+") as error:
        load_study_file(tmp_path / name)
    assert words in str(error.value)


# ---------------------------------------------------------------------------------------------------------------------
# Code of the user's, and only that


def own(folder, name, **keys):
    return load(folder, DATA | {"learners": {"mine": {"type": name, **keys}}})


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nowhere:Mine", "names the module nowhere, which must be in the folder of the study file"),
        ("os:system", "names the module os, which must be in the folder of the study file"),
        ("..mine:Mine", "must be written MODULE:NAME"),
        ("mine:Mine()", "must be written MODULE:NAME"),
        ("mine:__import__('os')", "must be written MODULE:NAME"),
        ("mine:Mien", "names Mien, which is not in"),
        ("mine:law", "has no init"),
        ("wrong:Mine", "which cannot be imported: NameError: name 'nonsense' is not defined"),
        ("leaves:Mine", "which cannot be imported: SystemExit"),
        ("numpy:Mine", "which is also installed: give numpy.py another name"),
        ("link:Mine", "which must be in the folder of the study file"),
    ],
)
def test_code_comes_from_the_folder_of_the_study_file_only(folder, tmp_path_factory, name, words):
    (folder / "wrong.py").write_text("nonsense\n")
    (folder / "leaves.py").write_text("raise SystemExit\n")
    (folder / "numpy.py").write_text(OWN)
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "link.py"
    elsewhere.write_text(OWN)
    (folder / "link.py").symlink_to(elsewhere)
    with pytest.raises(StudyFileError) as error:
        own(folder, name, **({} if name == "mine:law" else {"step_size": 0.1}))
    assert words in str(error.value)


def test_a_module_that_was_edited_is_imported_again(folder):
    first = own(folder, "mine:Mine", step_size=0.1).comparison.learners["mine"]
    assert type(own(folder, "mine:Mine", step_size=0.1).comparison.learners["mine"]) is type(first)
    (folder / "mine.py").write_text(OWN.replace("step_size", "rate"))
    with pytest.raises(StudyFileError, match=r"mine\.step_size is no parameter of mine:Mine, which has rate"):
        own(folder, "mine:Mine", step_size=0.1)
    assert own(folder, "mine:Mine", rate=0.2).comparison.learners["mine"].rate == 0.2


def test_a_learner_that_cannot_play_is_found_before_anything_is_played(folder):
    table = copy.deepcopy(BANDITS)
    table["learners"] = {"fine": "UCB1", "wrong": "Perceptron"}
    del table["bounds"], table["measures"]
    with pytest.raises(StudyFileError, match=r"study\.toml:\d+: learners\.wrong cannot be played"):
        load(folder, table).check()
    table = copy.deepcopy(BANDITS)
    with pytest.raises(StudyFileError, match=r"measures\[1\] cannot be played"):
        load(folder, table).check()


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


def test_three_hundred_bad_files(folder):
    """Exit code 2, one or two lines, no traceback; the file is named, and in most cases the line."""
    rng = random.Random(15)
    seen: dict[str, int] = {}
    with_line = 0
    for number in range(300):
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
    assert min(seen.values()) >= 10
    assert with_line > 240
    assert not (folder / "out").exists()


# ---------------------------------------------------------------------------------------------------------------------
# The page


PAGE = (ROOT / "docs" / "study-files.md").read_text(encoding="utf-8")


def test_the_page_has_every_key_and_its_files_are_good(folder):
    section = PAGE.split("## Every key")[1].split("\n## ")[0]
    for table in (keys.STUDY, keys.GAME, keys.PRECISION, keys.TUNE):
        assert [key for key in table if not re.search(rf"\b{key}\b", section)] == []
    data = PAGE.split("## Own data")[1].split("\n## ")[0]
    found = {each.name for each in catalogue()["data"].parameters}
    assert found - {each for each in found if re.search(rf"\b{each}\b", data)} == {"version"}
    first, second = re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)
    (folder / "first.toml").write_text(first)
    study = load_study_file(folder / "first.toml")
    study.check()
    assert study.families["greedy"][0] == "greedy[epsilon=0.05]"
    rows = "".join(f"{i},{i * i},{i % 3},{7 * i % 5}\n" for i in range(6))
    (folder / "prices.csv").write_text("id,area,rooms,price\n" + rows)
    environment = tomllib.loads(second)["game"]["environment"]
    table = DATA | {"game": {"environment": environment, "feedback": "FullInformation"}}
    assert load(folder, table).comparison.game.environment.X.shape == (6, 2)


def test_the_error_of_the_page_is_the_error(folder):
    first = re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)[0]
    (folder / "study.toml").write_text(first.replace("[0.05, 0.1, 0.2]", "-1"))
    with pytest.raises(StudyFileError) as error:
        load_study_file("study.toml")
    assert f"    Error: {error.value}\n" in PAGE
