"""Study files are read and made into games and learners; own data, own learners; names; the page on them."""

import copy
import re

import numpy as np
import pytest
from fresh_python import ROOT
from study_files import BANDITS, COPIES, DATA, OWN, filled, load

import jaxonline as jo
from jaxonline.simulation.sweeps import as_team
from jaxonline.study import Context, StudyFileError, load_study_file
from jaxonline.study.files.catalogue import catalogue
from jaxonline.study.files.study_file import StudyKeys, bound_curve


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a file of data and a module."""
    monkeypatch.chdir(tmp_path)
    with filled(tmp_path):
        yield tmp_path


def test_a_file_gives_the_same_game_as_python(folder):
    study = load(folder, BANDITS)
    assert isinstance(study.game.environment, jo.environments.BernoulliArms)
    np.testing.assert_allclose(study.game.environment.means, [0.2, 0.5, 0.8])
    assert study.game.pseudo
    assert isinstance(study.options["comparator"], jo.BestArm)
    assert [type(measure).__name__ for measure in study.options["measures"]] == ["Switches", "OfInfo"]
    assert study.families == {
        "UCB1": ("UCB1",), "MOSS": ("MOSS",), "EXP3": ("EXP3",),
        "greedy": ("greedy[epsilon=0.05]", "greedy[epsilon=0.1]"),
    }  # fmt: skip
    assert study.learners["greedy"].labels == ("epsilon=0.05", "epsilon=0.1")
    assert study.learners["MOSS"].n_rounds == 40.0  # the study's
    assert study.learners["EXP3"].combiner.eta == jo.learners.EXP3.over_horizon(3, 40).combiner.eta
    assert (study.keys.seed, study.keys.title, study.options["n_runs"]) == (3, "Arms", 4)
    assert load(folder, BANDITS, runs=7).options["n_runs"] == 7
    with pytest.raises(ValueError, match=r"^runs: .*got 0"):
        load(folder, BANDITS, runs=0)


def test_rules_feedback_and_steps(folder):
    study = load(folder, COPIES)
    assert (study.etas, study.options["n_runs"]) == ([0.1, 0.3], 64)
    assert study.options["stop"] == jo.Precision(0.1, relative=True, rarest_event=0.375)
    assert isinstance(study.learners["clean"].feedback, jo.FullInformation)
    np.testing.assert_allclose(study.game.feedback.noise.covariance, [[0.1, 0], [0, 0.2]])
    fixed = load(folder, COPIES | {"tune": {"two copies": 0.5, "clean": 0.25}})
    assert [fixed.members[name].step_size.eta for name in ("two copies", "clean")] == [0.5, 0.25]
    assert load(folder, COPIES | {"tune": 0.5}).members["clean"].step_size.eta == 0.5
    without_runs = {name: value for name, value in BANDITS.items() if name != "runs"}
    until = load(folder, without_runs | {"until": {"margin": 0.5, "most_runs": 64}})
    assert (until.options["stop"], until.options["n_runs"]) == (jo.UntilDecided(0.5), 64)
    assert "stop" not in load(folder, without_runs | {"until": {"margin": 0.5}}, runs=7).options


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::jaxonline.parameters.errors.SettingsWarning")
def test_steps_are_chosen_by_tune(folder):
    """In runs of the next seed over a quarter of the rounds; the reported runs are those of `simulate`."""
    table = {name: value for name, value in COPIES.items() if name != "precision"} | {"runs": 6, "record_at": [30]}
    study = load(folder, table, rounds=64, seed=5)
    seen = []
    report = study.run(Context(progress=lambda done, total, what: seen.append(what)))
    learner = study.members["two copies"]
    sizes = {"n_runs": 6, "n_rounds": 16, "key": 5, "runs_key": 6, "rungs": 1}
    search = jo.tune(study.game, learner, {"step_size.eta": [0.1, 0.3]}, **sizes)
    alone = jo.simulate(study.game, {"two copies": search.learner}, n_runs=6, n_rounds=64, key=5, record_at=[30])
    result = report.results["result"]
    np.testing.assert_array_equal(result.select("two copies").cumulative_loss, alone.cumulative_loss)
    assert any(what.startswith("steps of clean") for what in seen)
    assert any(f"two copies: {search.choice['step_size.eta']:g}" in sentence for sentence in report.sentences)


def test_user_data_user_learners_and_grids_are_read(folder):
    study = load(folder, DATA)
    assert study.game.environment.X.shape == (6, 2)
    assert study.game.environment.order == "shuffled"
    assert list(study.members) == [
        "mine[step_size=0.1]", "mine[step_size=0.2]",
        "adam[estimator=FullGradient][eta=0.1]", "adam[estimator=FullGradient][eta=0.2]",
        "adam[estimator=FullGradient(loss=Absolute)][eta=0.1]", "adam[estimator=FullGradient(loss=Absolute)][eta=0.2]",
    ]  # fmt: skip
    assert len(study.learners) == 3  # programs
    assert study.learners["mine"].learners[1].step_size == 0.2
    law = copy.deepcopy(DATA)
    law["game"]["feedback"] = {"type": "NoisyCopies", "noise": "mine:law"}
    assert load(folder, law).game.feedback.noise.covariance == 0.5
    own = {"type": "CustomNoise", "draw": "mine:draw", "covariance": "mine:covariance"}
    law["game"]["feedback"]["noise"] = own
    (folder / "mine.py").write_text(f"{OWN}\ndef draw(key, t, x):\n    return 0.0 * x\ncovariance = draw\n")
    assert load(folder, law).game.feedback.noise.draw.__name__ == "draw"


@pytest.mark.parametrize(
    ("beside", "X", "y"),
    [
        ({"drop": ["b"]}, [[1.0], [3.0], [5.0]], [1.0, 2.0, 6.0]),
        ({"centre": True}, [[-2.0, 0.0], [0.0, 0.0], [2.0, 0.0]], [1.0, 2.0, 6.0]),
        ({"positive": 6}, [[1.0, 2.0], [3.0, 2.0], [5.0, 2.0]], [-1.0, -1.0, 1.0]),
        ({"target": "a", "drop": ["b"]}, [[1.0], [2.0], [6.0]], [1.0, 3.0, 5.0]),
        ({"one_hot": ["b"]}, [[1.0, 1.0], [3.0, 1.0], [5.0, 1.0]], [1.0, 2.0, 6.0]),
        ({"drop": ["b"], "one_hot": "auto"}, [[1.0], [3.0], [5.0]], [1.0, 2.0, 6.0]),
    ],
)
def test_data_are_selected_centred_and_scaled(folder, beside, X, y):
    (folder / "own.csv").write_text("a,b,y\n1,2,1\n3,2,2\n5,2,6\n")
    table = copy.deepcopy(DATA)
    table["game"]["environment"] |= {"order": "file", **beside}
    stream = load(folder, table).game.environment
    np.testing.assert_array_equal(stream.X, np.float32(X))
    np.testing.assert_array_equal(stream.y, np.float32(y))


def test_scaled_data_have_rows_and_targets_of_at_most_one(folder):
    np.savez(folder / "own.npz", X=np.random.default_rng(0).normal(size=(6, 2)), y=np.arange(6.0))
    for file in ("own.csv", "own.npz"):
        table = copy.deepcopy(DATA)
        table["game"]["environment"] = {"type": "data", "file": file, "centre": True, "scale": True, "order": "file"}
        stream = load(folder, table).game.environment
        X, y = np.asarray(stream.X, float), np.asarray(stream.y, float)
        assert np.linalg.norm(X, axis=1).max() == pytest.approx(1.0)
        assert X.std(axis=0) == pytest.approx(np.full(2, X[:, 0].std()), rel=1e-5)
        assert (y.mean(), np.abs(y).max()) == (pytest.approx(0.0, abs=1e-6), pytest.approx(1.0))


@pytest.mark.parametrize("factor", [1e200, 1e-200])
def test_data_are_scaled_without_overflow(folder, factor):
    X, y = np.random.default_rng(0).normal(size=(6, 2)), np.arange(6.0)
    np.savez(folder / "own.npz", X=X, y=y)
    np.savez(folder / "scaled.npz", X=factor * X, y=factor * y)
    streams = []
    for file in ("own.npz", "scaled.npz"):
        table = copy.deepcopy(DATA)
        table["game"]["environment"] = {"type": "data", "file": file, "centre": True, "scale": True, "order": "file"}
        streams.append(load(folder, table).game.environment)
    np.testing.assert_allclose(streams[1].X, streams[0].X, rtol=1e-5)
    np.testing.assert_allclose(streams[1].y, streams[0].y, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("beside", "key"),
    [
        ({"set": "diabetes", "target": "no"}, "target"), ({"set": "diabete"}, "set"),
        ({"set": "diabetes", "file": "own.csv"}, "file"), ({}, "file"), ({"file": "nowhere.csv"}, "file"),
        ({"file": "own.csv", "target": "z"}, "target"), ({"file": "own.csv", "order": "random"}, "order"),
    ],
)  # fmt: skip
def test_wrong_data_are_errors(folder, beside, key):
    table = copy.deepcopy(DATA)
    table["game"]["environment"] = {"type": "data", **beside}
    with pytest.raises(StudyFileError, match=rf"study.toml:\d+: game.environment[.\w]*{key}[.\w]*: |environment: "):
        load(folder, table)


def own(folder, name, **keys):
    return load(folder, DATA | {"learners": {"mine": {"type": name, **keys}}})


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nowhere:Mine", "folder of the study file"), ("os:system", "folder of the study file"),
        ("..mine:Mine", "MODULE:NAME"), ("mine:Mine()", "MODULE:NAME"), ("mine:__import__('os')", "MODULE:NAME"),
        ("mine:Mien", "did you mean 'Mine'"), ("wrong:Mine", "NameError"), ("leaves:Mine", "SystemExit"),
        ("numpy:Mine", "another name"), ("json:Mine", "another name"), ("link:Mine", "folder of the study file"),
    ],
)  # fmt: skip
def test_code_is_imported_only_from_the_folder_of_the_file(folder, tmp_path_factory, name, words):
    (folder / "wrong.py").write_text("nonsense\n")
    (folder / "leaves.py").write_text("raise SystemExit\n")
    for installed in ("numpy", "json"):
        (folder / f"{installed}.py").write_text(OWN)
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "link.py"
    elsewhere.write_text(OWN)
    (folder / "link.py").symlink_to(elsewhere)
    with pytest.raises(StudyFileError, match=r"learners.mine: ") as error:
        own(folder, name, step_size=0.1)
    assert words in str(error.value)


def test_an_edited_module_is_imported_again(folder):
    first = own(folder, "mine:Mine", step_size=0.1).members["mine"]
    assert type(own(folder, "mine:Mine", step_size=0.1).members["mine"]) is type(first)
    (folder / "mine.py").write_text(OWN.replace("step_size", "rate"))
    with pytest.raises(StudyFileError, match=r"mine\.step_size: unknown key"):
        own(folder, "mine:Mine", step_size=0.1)
    assert own(folder, "mine:Mine", rate=0.2).members["mine"].rate == 0.2


def test_bounds_are_known_only_for_the_steps_of_their_theorems():
    rounds = np.array([10, 20])
    falling = bound_curve(jo.bounds.exponentiated_gradient(3, 1.0, 20), jo.InverseSqrt(0.3), rounds)
    assert np.isposinf(falling).all()
    promised = jo.bounds.gradient_descent(1.0, 4.0, 20)
    assert np.isnan(bound_curve(promised, jo.learners.InverseTime(0.3), rounds)).all()
    np.testing.assert_array_equal(bound_curve(promised, None, rounds), [np.nan, promised.value])
    constant = bound_curve(promised, jo.learners.Constant(0.1), rounds)
    np.testing.assert_allclose(constant, promised.at_rounds(rounds, step_size=0.1))


def test_a_study_file_has_arms_with_rewards(folder):
    table = copy.deepcopy(BANDITS)
    arms = {"type": "BernoulliArms", "means": [0.9, 0.6, 0.35]}
    table["game"]["environment"] = {"type": "Rewards", "environment": arms}
    study = load(folder, table)
    assert study.game.rewards
    arms["means"] = [0.9, 1.6, 0.1]
    with pytest.raises(StudyFileError, match=r"game\.environment\.environment\.means: .*at most 1"):
        load(folder, table)


PAGE = (ROOT / "docs" / "study-files.md").read_text(encoding="utf-8")


def test_the_page_documents_every_key_and_its_files_are_valid(folder):
    assert [key for key in StudyKeys.model_fields if not re.search(rf"\b{key}\b", PAGE)] == []
    data = PAGE.split("## How do I use my own data?")[1].split("\n## ")[0]
    assert [key for key in catalogue()["data"].parameters if not re.search(rf"\b{key}\b", data)] == []
    first, _ = re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)
    (folder / "first.toml").write_text(first)
    study = load_study_file("first.toml")
    for name, learner in study.learners.items():
        as_team(study.game, name, learner)
    (folder / "study.toml").write_text(first.replace("[0.05, 0.1, 0.2]", "-1"))
    with pytest.raises(StudyFileError) as error:
        load_study_file("study.toml")
    assert f"```text\nError: {error.value}\n```" in PAGE
