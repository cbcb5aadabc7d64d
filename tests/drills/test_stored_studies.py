"""The store of a study is read at any time, and a study with more runs extends it."""

import json
import re
import warnings

import jax
import numpy as np
import pytest
from command_calls import ARMS, call, write
from small_study import assert_same_bits, study
from stopping import SWEEP, Stop, stop_after

import jaxonline as jo
from jaxonline.parameters.errors import UnfinishedStudyWarning
from jaxonline.store.archives import open_document


@pytest.fixture(scope="module")
def reference():
    return study(SWEEP, n_runs=7)


@pytest.fixture
def interrupted(tmp_path, one_core):
    """Of four blocks, all of the comparator, all of the first learner, and two of the sweep."""
    with pytest.raises(Stop):
        study(SWEEP, n_runs=7, checkpoint=tmp_path / "kept", progress=stop_after(16 + 16 + 9))
    return tmp_path / "kept"


def test_description_says_what_was_played(reference, tmp_path):
    study(SWEEP, n_runs=7, checkpoint=tmp_path)
    document = open_document((tmp_path / "study.json").read_bytes())
    meta = document["meta"]
    assert document["layout"]["learners"] == ["one", "two[0]", "two[1]"]
    assert (meta["key"], meta["block_size"], meta["device_kind"], meta["n_runs"]) == ([0, 3], 2, "cpu", 7)
    assert meta["versions"]["jax"] == jax.__version__
    assert "step_size=InverseSqrt(eta=0.3)" in meta["learners"]["two[1]"]
    assert document["about"]["the version of jax"] == meta["versions"]["jax"]


def test_load_returns_finished_runs_of_an_unfinished_study(reference, interrupted):
    missing = r"is unfinished: of 7 runs, 3 of 'two\[0\]', 3 of 'two\[1\]'"
    with pytest.warns(UnfinishedStudyWarning, match=missing):
        found = jo.load_result(interrupted)
    assert found.meta["missing"] == {"two[0]": 3, "two[1]": 3}
    assert (found.learners, found.runs.tolist()) == (reference.learners, list(range(7)))
    np.testing.assert_array_equal(found.regret[0], reference.regret[0])
    np.testing.assert_array_equal(found.regret[:, :4], reference.regret[:, :4])
    assert np.isnan(found.cumulative_loss[1:, 4:]).all()
    assert found.mean().n_runs[:, -1].tolist() == [7, 4, 4]
    np.testing.assert_array_equal(found.mean().mean[0], reference.mean().mean[0])
    assert (found.first_nonfinite[1:, 4:] == -1).all()
    assert_same_bits(study(SWEEP, n_runs=7, checkpoint=interrupted), reference)
    with warnings.catch_warnings(action="error"):
        found = jo.load_result(interrupted)
    assert_same_bits(found, reference)
    assert {name: found.meta[name] for name in reference.meta if name != "devices"} == {
        name: of for name, of in reference.meta.items() if name != "devices"
    }


def test_load_raises_without_finished_runs(tmp_path):
    with pytest.raises(Stop):
        study(n_runs=4, checkpoint=tmp_path, progress=stop_after(9))
    with pytest.raises(ValueError, match=f"{re.escape(str(tmp_path))}: is the store of a study"):
        jo.load_result(tmp_path)


@pytest.mark.long
def test_loaded_result_keeps_the_interval_of_its_precision(tmp_path):
    wanted = jo.Precision(0.5, relative=True, quantity="cumulative_loss", rarest_event=0.75)
    found = study(n_runs=1000, stop=wanted, checkpoint=tmp_path)
    with warnings.catch_warnings(action="error"):
        loaded = jo.load_result(tmp_path)
    assert loaded.meta["precision"] == found.meta["precision"]
    assert (loaded.runs.tolist(), len(found.runs) < 100) == (found.runs.tolist(), True)
    np.testing.assert_array_equal(loaded.mean("cumulative_loss").low, found.mean("cumulative_loss").low)
    study(n_runs=len(found.runs), checkpoint=tmp_path)
    assert "precision" not in jo.load_result(tmp_path).meta, "the number of runs was given"
    with pytest.raises(Stop):
        study(n_runs=1000, stop=wanted, checkpoint=tmp_path / "new", progress=stop_after(1))
    meta = open_document((tmp_path / "new" / "study.json").read_bytes())["meta"]
    assert not meta["precision"]["reached"], "told from the start"


def test_study_with_more_runs_equals_one_study(reference, tmp_path, one_core):
    def played(n_runs):
        seen = []
        options = {"checkpoint": tmp_path, "progress": lambda done, total, what: seen.append(what)}
        assert_same_bits(study(SWEEP, n_runs=n_runs, **options), reference, slice(n_runs))
        return {what.partition("block ")[2] for what in seen}

    assert played(3) == {"1 of 2", "2 of 2"}
    assert played(4) == set()
    assert played(7) == {"3 of 4", "4 of 4"}
    with warnings.catch_warnings(action="error"):
        assert_same_bits(jo.load_result(tmp_path), reference)
        assert played(7) == set()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::jaxonline.parameters.errors.SkewedRunsWarning")
def test_precision_in_a_study_file_decides_the_runs(tmp_path):
    table = ARMS | {"precision": {"half_width": 0.3, "relative": True, "most_runs": 4000, "rarest_event": 0.046875}}
    del table["runs"]
    done = call("run", write(tmp_path / "arms.toml", table), "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    rows = json.loads((tmp_path / "out" / "numbers.json").read_text())["learners"]
    for each in rows.values():
        assert each["high"][-1] - each["mean"][-1] <= 0.3 * each["mean"][-1]
