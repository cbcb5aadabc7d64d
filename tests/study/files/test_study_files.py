"""Study files are read and made into games and learners; own data, own learners; the page on them."""

import copy
import re
import tomllib

import jax
import numpy as np
import pytest
from fresh_python import ROOT
from study_files import BANDITS, COPIES, DATA, OWN, filled, load

import jaxonline as jo
from jaxonline.study import Context, StudyFileError, load_study_file
from jaxonline.study.files import keys
from jaxonline.study.files.catalogue import catalogue


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a file of data and a module."""
    monkeypatch.chdir(tmp_path)
    with filled(tmp_path):
        yield tmp_path


# ---------------------------------------------------------------------------------------------------------------------
# Good files


@pytest.mark.parametrize("name", ["study.toml", "study.json"])
def test_a_file_gives_the_same_game_as_python(folder, name):
    study = load(folder, BANDITS, name)
    game, learners = study.comparison.game, study.comparison.learners
    assert isinstance(game.environment, jo.environments.BernoulliArms)
    np.testing.assert_allclose(game.environment.means, [0.2, 0.5, 0.8])
    assert game.pseudo
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
    assert study.resolved["learners"]["MOSS"] == {"type": "MOSS", "n_rounds": 40, "exploration": 1.0}
    assert (study.seed, study.title, study.options["n_runs"]) == (3, "Arms", 4)
    assert load(folder, BANDITS, name, runs=7, seed=0).options["n_runs"] == 7


def test_toml_and_json_give_the_same_study(folder):
    for table in (BANDITS, COPIES, DATA):
        assert load(folder, table).resolved == load(folder, table, "study.json").resolved


def test_steps_may_be_chosen_and_feedbacks_may_differ(folder):
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
    close = load(folder, COPIES | {"tune": {"best_of": [0.1234561, 0.1234562, 1]}})
    assert close.comparison.tune.etas == {"0.1234561": 0.1234561, "0.1234562": 0.1234562, "1": 1.0}


UNTIL = {"margin": 0.5, "quantity": "cumulative_loss", "most_runs": 64, "least_runs": 8}


def without_runs(**rule):
    return {name: value for name, value in BANDITS.items() if name != "runs"} | rule


def test_a_study_may_run_until_all_pairs_are_decided(folder):
    study = load(folder, without_runs(until=UNTIL))
    assert study.options["until"] == jo.UntilDecided(0.5, "cumulative_loss", least_runs=8)
    assert (study.options["n_runs"], study.options["precision"]) == (64, None)
    assert study.resolved["until"] == UNTIL | {"level": 0.95}
    assert load(folder, without_runs(until=UNTIL), runs=7).options["until"] is None
    assert load(folder, BANDITS, until={"margin": 1.0}).options["until"] == jo.UntilDecided(1.0)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (without_runs(), "runs.* or precision or until must be given"),
        (BANDITS | {"until": UNTIL}, "runs.* must be left out beside until"),
        (without_runs(until=UNTIL, precision={"half_width": 1.0}), "precision.* must be left out beside until"),
        (without_runs(until=UNTIL | {"interval": "betting"}), "interval"),
        (without_runs(until=UNTIL | {"margin": -1.0}), "margin"),
    ],
)
def test_wrong_stopping_rules_raise(folder, table, words):
    with pytest.raises(StudyFileError, match=words):
        load(folder, table)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::jaxonline.parameters.errors.PrecisionWarning")
def test_the_report_has_the_decisions(folder):
    report = load(folder, without_runs(until=UNTIL, measures=[])).run(Context())
    assert report.results["result"].decisions.runs <= 64
    assert len(report.tables["decisions"].rows) == 10  # pairs of five learners
    assert any("runs saved" in sentence for sentence in report.sentences)


def test_user_data_user_learners_and_grids_are_read(folder):
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
def test_data_are_centred_and_scaled(folder, beside, X, y):
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


def test_a_set_is_read_from_a_file_of_its_name(folder, monkeypatch):
    """Nothing below the folder is taken for the set, as results are called so, too; and its columns are those known."""
    monkeypatch.delenv("JAXONLINE_DATA", raising=False)
    asked = []
    published = np.ones((1030, 8)), np.ones(1030)
    monkeypatch.setattr("jaxonline.datasets.loading.fetch_openml", lambda *name: asked.append(name) or published)
    table = copy.deepcopy(DATA)
    table["game"]["environment"] = {"type": "data", "set": "Concrete"}
    (folder / "results" / "concrete").mkdir(parents=True)
    for name in ("results/concrete/table.csv", "concrete-notes.csv"):
        (folder / name).write_text("regret,low,high\n1,2,3\n4,5,6\n")
    assert load(folder, table).comparison.game.environment.X.shape == (1030, 8)
    assert len(asked) == 1
    np.savez(folder / "concrete.npz", X=2 * np.ones((3, 8)), y=np.ones(3))
    assert load(folder, table).comparison.game.environment.X.shape == (3, 8)
    assert len(asked) == 1
    np.savez(folder / "concrete.npz", X=np.ones((3, 2)), y=np.ones(3))
    with pytest.raises(StudyFileError, match=r"Concrete: must have the shape \(1030, 8\) or fewer rows .got \(3, 2\)"):
        load(folder, table)
    (folder / "airfoil_self_noise.dat").write_text("1 2 3 4 5 6\n" * 4)
    table["game"]["environment"]["set"] = "airfoil"
    assert load(folder, table).comparison.game.environment.X.shape == (4, 5)


@pytest.mark.parametrize(
    ("beside", "words"),
    [
        ({"set": "diabetes", "target": "no"}, "environment.target: must be left out beside set (got 'no'"),
        ({"set": "diabetes", "drop": ["no"]}, "environment.drop: must be left out beside set (got ['no']"),
        ({"set": "diabetes", "impute": "mean"}, "environment.impute: must be left out beside set (got 'mean'"),
        ({"set": "diabetes", "version": 1}, "environment.version: must be left out beside set (got 1"),
        ({"file": "own.csv", "version": 1}, "environment.version: must be left out beside file (got 1"),
        (
            {"set": "diabetes", "positive": 7777},
            "environment.positive: must be a value of some targets (got '7777'",
        ),
        (
            {"set": "diabetes", "positive": "ill"},
            "environment.positive: must be a value of some targets (got 'ill'",
        ),
        ({"set": "diabete"}, "environment.set: must be one of diabetes, AR(4), Airfoil"),
        ({"set": "own"}, "environment.set: must be one of diabetes, AR(4), Airfoil"),
    ],
)
def test_keys_that_do_not_belong_to_a_set_are_errors(folder, beside, words):
    table = copy.deepcopy(DATA)
    table["game"]["environment"] = {"type": "data", **beside}
    with pytest.raises(StudyFileError) as error:
        load(folder, table)
    assert words in str(error.value)


def test_positive_makes_classes_of_a_set(folder):
    table = copy.deepcopy(DATA)
    table["game"]["environment"] = {"type": "data", "set": "diabetes", "positive": 200, "drop": [], "order": "file"}
    y = load(folder, table).comparison.game.environment.y
    np.testing.assert_array_equal(y, np.where(jo.datasets.diabetes()[1] == 200, 1.0, -1.0))


def test_words_become_classes_in_csv_npz_parquet_and_openml(folder, monkeypatch):
    import pandas as pd
    import sklearn.datasets

    frame = pd.DataFrame(
        {"a": [1.0, 2.0, 4.0], "b": [True, False, True], "c": ["x", "y", "z"], "kind": ["no", "yes", "no"]}
    )
    table = copy.deepcopy(DATA)

    def found(**data):
        table["game"]["environment"] = {"type": "data", "order": "file", "positive": "yes", **data}
        with pytest.warns(UserWarning, match="column 'c'"):
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


@pytest.mark.long
def test_parquet_of_other_programs_is_read(folder):
    """By pyarrow, in float32 and integers; one without rows; and what is none."""
    import pandas as pd

    frame = pd.DataFrame({"a": np.float32([1.5, 2.0, 4.0]), "b": [3, 4, 6], "y": [1.0, -1.0, 0.5]})
    frame.to_parquet(folder / "own.parquet")
    table = copy.deepcopy(DATA)
    table["game"]["environment"] = {"type": "data", "file": "own.parquet", "order": "file"}
    stream = load(folder, table).comparison.game.environment
    assert stream.X.tolist() == [[1.5, 3.0], [2.0, 4.0], [4.0, 6.0]]
    assert stream.y.tolist() == [1.0, -1.0, 0.5]
    frame[:0].to_parquet(folder / "own.parquet")
    with pytest.raises(ValueError, match=r"own\.parquet: must have a row of numbers"):
        load(folder, table)
    (folder / "own.parquet").write_bytes(b"no parquet")
    with pytest.raises(ValueError, match=r"own\.parquet: cannot be read as Parquet"):
        load(folder, table)


# ---------------------------------------------------------------------------------------------------------------------
# Code of the user's, and only that


def own(folder, name, **keys):
    return load(folder, DATA | {"learners": {"mine": {"type": name, **keys}}})


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nowhere:Mine", "folder of the study file (got 'nowhere')"),
        ("os:system", "folder of the study file (got 'os')"),
        ("..mine:Mine", "must be written MODULE:NAME"),
        ("mine:Mine()", "must be written MODULE:NAME"),
        ("mine:__import__('os')", "must be written MODULE:NAME"),
        ("mine:Mien", "(got 'Mien')"),
        ("mine:law", "inherits from jo.Learner"),
        ("wrong:Mine", "NameError: name 'nonsense' is not defined"),
        ("leaves:Mine", "SystemExit"),
        ("numpy:Mine", "give numpy.py another name"),
        ("link:Mine", "folder of the study file (got 'link')"),
    ],
)
def test_code_is_imported_only_from_the_folder_of_the_file(folder, tmp_path_factory, name, words):
    (folder / "wrong.py").write_text("nonsense\n")
    (folder / "leaves.py").write_text("raise SystemExit\n")
    (folder / "numpy.py").write_text(OWN)
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "link.py"
    elsewhere.write_text(OWN)
    (folder / "link.py").symlink_to(elsewhere)
    with pytest.raises(StudyFileError) as error:
        own(folder, name, **({} if name == "mine:law" else {"step_size": 0.1}))
    assert words in str(error.value)


def test_an_edited_module_is_imported_again(folder):
    first = own(folder, "mine:Mine", step_size=0.1).comparison.learners["mine"]
    assert type(own(folder, "mine:Mine", step_size=0.1).comparison.learners["mine"]) is type(first)
    (folder / "mine.py").write_text(OWN.replace("step_size", "rate"))
    with pytest.raises(StudyFileError, match=r"mine\.step_size: unknown key \(mine:Mine has rate\)"):
        own(folder, "mine:Mine", step_size=0.1)
    assert own(folder, "mine:Mine", rate=0.2).comparison.learners["mine"].rate == 0.2


def test_an_incompatible_learner_is_an_error_before_the_run(folder):
    table = copy.deepcopy(BANDITS)
    table["learners"] = {"fine": "UCB1", "wrong": "Perceptron"}
    del table["bounds"], table["measures"]
    with pytest.raises(StudyFileError, match=r"study\.toml:\d+: learners\.wrong: .*cannot play"):
        load(folder, table).check()
    table = copy.deepcopy(BANDITS)
    with pytest.raises(StudyFileError, match=r"measures\[1\]: "):
        load(folder, table).check()


# ---------------------------------------------------------------------------------------------------------------------
# The page


PAGE = (ROOT / "docs" / "study-files.md").read_text(encoding="utf-8")


def test_the_page_documents_every_key_and_its_files_are_valid(folder):
    section = PAGE.split("## Which keys are there?")[1].split("\n## ")[0]
    for table in (keys.STUDY, keys.GAME, keys.PRECISION, keys.TUNE):
        assert [key for key in table if not re.search(rf"\b{key}\b", section)] == []
    data = PAGE.split("## How do I use my own data?")[1].split("\n## ")[0]
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


def test_the_page_shows_the_actual_error(folder):
    first = re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)[0]
    (folder / "study.toml").write_text(first.replace("[0.05, 0.1, 0.2]", "-1"))
    with pytest.raises(StudyFileError) as error:
        load_study_file("study.toml")
    assert f"    Error: {error.value}\n" in PAGE
