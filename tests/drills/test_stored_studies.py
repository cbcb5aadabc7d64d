"""The store of a study is read at any time, and a study with more runs extends it."""

import re
import warnings

import jax
import numpy as np
import pytest
import stores
from fresh_python import run_python
from small_study import assert_same_bits, study
from stopping import SWEEP, Stop, stop_after

import jaxonline as jo
from jaxonline.parameters.errors import DamagedStoreWarning, SkewedRunsWarning, UnfinishedStudyWarning
from jaxonline.simulation import jobs
from jaxonline.simulation.blocks import default_mesh
from jaxonline.simulation.segments import BlockPrograms
from jaxonline.store.checkpoints import open_document


@pytest.fixture(scope="module")
def reference():
    return study(SWEEP, n_runs=7)


@pytest.fixture
def played(monkeypatch, one_core):
    """The segments (rounds before, blocks) that are played."""
    seen, waves, programs_of = [], [], jobs._programs

    def watched(*arguments):
        programs = programs_of(*arguments)

        def remembered(key, wave):
            waves.append(wave.tolist())
            return programs.keys_of_runs(key, wave)

        def counted(matchup, keys, t, until, carry):
            seen.append((int(t), waves[-1]))
            return programs.advance(matchup, keys, t, until, carry)

        return BlockPrograms(remembered, programs.begin, counted)

    monkeypatch.setattr(jobs, "_programs", watched)
    return seen


@pytest.fixture
def interrupted(tmp_path, one_core):
    """Of four blocks, all of the comparator, all of the first learner, and two of the sweep."""
    with pytest.raises(Stop):
        study(SWEEP, n_runs=7, checkpoint=tmp_path / "kept", progress=stop_after(16 + 16 + 9))
    return tmp_path / "kept"


# ---------------------------------------------------------------------------------------------------------------------
# Readers


def test_description_says_what_was_played(reference, tmp_path):
    """With which versions, on what device, and what decides the numbers."""
    study(SWEEP, n_runs=7, checkpoint=tmp_path)
    document = open_document((tmp_path / "study.json").read_bytes())
    meta = document["meta"]
    assert document["layout"]["learners"] == ["one", "two[0]", "two[1]"]
    assert (meta["key"], meta["block_size"], meta["device_kind"], meta["n_runs"]) == ([0, 3], 2, "cpu", 7)
    assert meta["versions"]["jax"] == jax.__version__
    assert "step_size=InverseSqrt(eta=0.3)" in meta["learners"]["two[1]"]
    assert document["about"]["the version of jax"] == meta["versions"]["jax"]


@pytest.mark.long
def test_store_does_not_depend_on_devices(tmp_path):
    """Nor on the order of blocks: byte for byte."""
    for devices in (1, 2, 8):
        study(n_runs=20, checkpoint=tmp_path / str(devices), mesh=default_mesh(jax.devices()[:devices]))
    one, two, eight = (stores.tree(tmp_path / str(devices)) for devices in (1, 2, 8))
    assert one == two == eight


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


def test_load_ignores_a_damaged_block(reference, tmp_path):
    study(SWEEP, n_runs=7, checkpoint=tmp_path)
    path = tmp_path / "blocks" / "learner 1" / "2.npz"
    path.write_bytes(path.read_bytes()[::-1])
    before = stores.tree(tmp_path)
    with (
        pytest.warns(DamagedStoreWarning, match=r"learner 1/2\.npz: is damaged"),
        pytest.warns(UnfinishedStudyWarning, match="2 of 'two.0.', 2 of 'two.1.'"),
    ):
        found = jo.load_result(tmp_path)
    assert stores.tree(tmp_path) == before
    assert np.isnan(found.queries[1:, 4:6]).all()
    with pytest.warns(DamagedStoreWarning, match=r"learner 1/2\.npz: is damaged.* computed again"):
        assert_same_bits(study(SWEEP, n_runs=7, checkpoint=tmp_path), reference)


def test_loaded_result_keeps_the_interval_of_its_precision(tmp_path):
    """The interval of a study that was played until it was precise holds for all numbers of runs."""
    wanted = jo.Precision(0.5, relative=True, quantity="cumulative_loss", least_runs=4)
    with pytest.warns(SkewedRunsWarning):
        found = study(n_runs=1000, stop=wanted, checkpoint=tmp_path)
    with warnings.catch_warnings(action="error"):
        loaded = jo.load_result(tmp_path)
    assert loaded.meta["precision"] == found.meta["precision"]
    assert (loaded.runs.tolist(), len(found.runs) < 100) == (found.runs.tolist(), True)
    np.testing.assert_array_equal(loaded.mean("cumulative_loss").low, found.mean("cumulative_loss").low)
    plain = study(n_runs=len(found.runs), checkpoint=tmp_path)
    loaded = jo.load_result(tmp_path)
    assert "precision" not in loaded.meta, "the number of runs was given"
    np.testing.assert_array_equal(loaded.mean("cumulative_loss").low, plain.mean("cumulative_loss").low)
    with pytest.raises(Stop):
        study(n_runs=1000, stop=wanted, checkpoint=tmp_path / "new", progress=stop_after(1))
    meta = open_document((tmp_path / "new" / "study.json").read_bytes())["meta"]
    assert not meta["precision"]["reached"], "told from the start"


@pytest.mark.long
def test_files_need_no_optional_package(tmp_path):
    code = """
import sys
import numpy as np, jaxonline as jo
for name in ("zarr", "xarray", "distributed"):
    assert name not in sys.modules
    sys.modules[name] = None
game = jo.Game(jo.environments.DataStream(np.eye(3), np.ones(3)), jo.FullInformation())
learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5)
result = jo.simulate(game, learner, n_runs=2, n_rounds=6, checkpoint="kept")
for path in ("kept", result.save("result.npz")):
    assert (jo.load_result(path).cumulative_loss == result.cumulative_loss).all()
try:
    result.to_xarray()
except ModuleNotFoundError as error:
    print(error)
"""
    assert run_python(code, tmp_path).strip() == "xarray is not installed; pip install 'jaxonline[xarray]'"


def test_study_with_more_runs_equals_one_study(reference, tmp_path, played):
    """The block in which a run was not seen is not played again."""
    study(SWEEP, n_runs=3, checkpoint=tmp_path)
    played.clear()
    assert_same_bits(study(SWEEP, n_runs=4, checkpoint=tmp_path), reference, slice(4))
    assert played == []
    assert_same_bits(study(SWEEP, n_runs=7, checkpoint=tmp_path), reference)
    assert sorted({block for _, wave in played for block in wave}) == [2, 3]
    played.clear()
    with warnings.catch_warnings(action="error"):
        assert_same_bits(jo.load_result(tmp_path), reference)
        assert_same_bits(study(SWEEP, n_runs=7, checkpoint=tmp_path), reference)
    assert played == []
    for other, message in (
        ({"n_rounds": 40}, "n_rounds .was 80, is 40"),
        ({"record_at": 2}, "recorded rounds .was .20,"),
    ):
        with pytest.raises(ValueError, match=rf"another study: .*{message}"):
            study(SWEEP, n_runs=7, checkpoint=tmp_path, **other)
