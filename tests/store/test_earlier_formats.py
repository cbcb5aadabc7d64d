"""Stores that an earlier version wrote are read, or rejected with what to do.

`data/stores_of_format_1.zip` holds a study and a saved result of the commit before the format "jaxonline study 2", and
`data/stores_of_format_2.zip` a study, a saved result and named arrays of the commit before "jaxonline study 3".
"""

import zipfile
from pathlib import Path

import numpy as np
import pytest
import stores

import jaxonline as jo
from jaxonline.parameters.errors import DamagedStoreWarning
from jaxonline.store.blocks import Store
from jaxonline.store.filesystem import Folder
from jaxonline.store.verification import find_damage


def extract(number: int, folder: Path) -> Path:
    with zipfile.ZipFile(Path(__file__).parent / "data" / f"stores_of_format_{number}.zip") as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture
def earlier(tmp_path):
    return extract(1, tmp_path)


def test_a_saved_result_is_read(earlier):
    with pytest.warns(DamagedStoreWarning, match=r"result/zarr.json: has no digest"):
        result = jo.load_result(earlier / "result")
    assert (result.learners, result.rounds.tolist(), result.runs.tolist()) == (("gradient",), [3, 6], [0, 1])
    np.testing.assert_array_equal(result.regret, np.full((1, 2, 2), 3.0))
    assert result.meta["versions"]["jaxonline"] == "0.1.0"


def test_a_study_is_rejected_and_left_as_it_is(earlier):
    before = stores.tree(earlier)
    game = jo.Game(jo.environments.DataStream(np.eye(3), np.ones(3)), jo.FullInformation())
    learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5)
    message = r"study.* jaxonline 0\.1\.0 in the format 'jaxonline study 1'"
    with pytest.raises(ValueError, match=message):
        jo.load_result(earlier / "study")
    with pytest.raises(ValueError, match=f"checkpoint .*{message}"):
        jo.simulate(
            game, {"gradient": learner}, n_runs=2, n_rounds=6, record_at=2, comparator=jo.L2Ball(2.0),
            checkpoint=jo.Checkpoint(earlier / "study", version="1"),
        )  # fmt: skip
    assert stores.tree(earlier) == before


@pytest.mark.parametrize("name", ["result", "study"])
def test_numbers_without_digests_are_read_with_a_warning(tmp_path, name):
    place = extract(2, tmp_path) / name
    with pytest.warns(DamagedStoreWarning, match=rf"{name}/zarr.json: has no digest"):
        result = jo.load_result(place)
    np.testing.assert_array_equal(result.regret, np.full((1, 2, 2), 3.0))
    assert ["earlier version wrote it" in line for line in find_damage(Folder(place))] == [True]


@pytest.mark.long
def test_a_study_without_digests_continues_and_gets_digests(tmp_path, recwarn):
    """Its states are read too: each block continues from the old horizon."""
    checkpoint = jo.Checkpoint(extract(2, tmp_path) / "study", version="1", keep_states=True)
    game = jo.Game(jo.environments.DataStream(np.eye(3), np.ones(3)), jo.FullInformation())
    learner = {"gradient": jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5)}
    options = {"n_runs": 2, "n_rounds": 9, "record_at": [3, 6, 9], "comparator": jo.L2Ball(2.0)}
    result = jo.simulate(game, learner, checkpoint=checkpoint, **options)
    np.testing.assert_array_equal(result.regret, jo.simulate(game, learner, **options).regret)
    assert find_damage(Folder(tmp_path / "study")) == []
    np.testing.assert_array_equal(jo.load_result(tmp_path / "study").regret, result.regret)
    assert not recwarn.list


def test_named_arrays_without_digests_are_read(tmp_path):
    about = {"the version of the study": "'1'", "inputs": "1"}
    with Store(Folder(extract(2, tmp_path) / "numbers"), about, 30.0) as store:
        arrays = store.read_numbers()
    assert arrays is not None
    np.testing.assert_array_equal(arrays["a"], np.arange(4.0), strict=True)
    np.testing.assert_array_equal(arrays["b"], np.eye(2), strict=True)
