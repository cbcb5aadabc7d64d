"""The store of a study: other programs read it at any time, and a longer study extends it."""

import re
import warnings

import jax
import numpy as np
import pytest
import stores
import xarray
from fresh_python import run_python
from hindsight_study import ASKED as ASKED_RUNS
from hindsight_study import RUNS as HINDSIGHT_RUNS
from hindsight_study import study as hindsight_study
from small_study import assert_same_bits, study
from stopping import SWEEP, Stop, stop_after
from tiers import some

import jaxonline as jo
from jaxonline.environments.adversaries import ChasingNoise
from jaxonline.parameters.errors import DamagedStoreWarning, SkewedRunsWarning, UnfinishedStudyWarning
from jaxonline.simulation import runner
from jaxonline.simulation.blocks import default_mesh
from jaxonline.simulation.segments import BlockPrograms
from jaxonline.store.blocks import Store
from jaxonline.store.filesystem import Folder


@pytest.fixture(scope="module")
def reference():
    return study(SWEEP, n_runs=7)


@pytest.fixture
def played(monkeypatch, one_core):
    """The segments (rounds before, blocks) that are played."""
    seen, waves, programs_of = [], [], runner._programs

    def watched(*arguments):
        programs = programs_of(*arguments)

        def remembered(key, wave):
            waves.append(wave.tolist())
            return programs.keys_of_runs(key, wave)

        def counted(matchup, keys, t, until, carry):
            seen.append((int(t), waves[-1]))
            return programs.advance(matchup, keys, t, until, carry)

        return BlockPrograms(remembered, programs.begin, counted)

    monkeypatch.setattr(runner, "_programs", watched)
    return seen


@pytest.fixture
def interrupted(tmp_path, one_core):
    """Of four blocks, all of the comparator, all of the first learner, and two of the sweep."""
    with pytest.raises(Stop):
        study(SWEEP, n_runs=7, checkpoint=tmp_path / "kept", progress=stop_after(16 + 16 + 9))
    return tmp_path / "kept"


# ---------------------------------------------------------------------------------------------------------------------
# Readers


def test_xarray_opens_the_store_of_a_study(reference, tmp_path):
    """Labels, numbers, and in the attributes what was played, with which versions, on what, and whose it is."""
    study(SWEEP, n_runs=7, checkpoint=tmp_path)
    with warnings.catch_warnings(action="error"), xarray.open_zarr(tmp_path) as data:
        data = data.load()
    assert dict(data.sizes) == {"learner": 3, "run": 7, "round": 4}
    assert data.learner.values.tolist() == ["one", "two[0]", "two[1]"]
    np.testing.assert_array_equal(data.cumulative_loss, reference.cumulative_loss)
    regret = (data.cumulative_loss - data.comparator_loss).transpose("learner", "run", "round")
    np.testing.assert_array_equal(regret, reference.regret)
    assert (data.attrs["key"], data.attrs["block_size"], data.attrs["device_kind"]) == ([0, 3], 2, "cpu")
    assert data.attrs["versions"]["jax"] == jax.__version__
    assert "step_size=InverseSqrt(eta=0.3)" in data.attrs["learners"]["two[1]"]
    assert data.attrs["comparator"] == "L2Ball(radius=1.0)"
    assert len(data.attrs["jaxonline"]["study"]) == 16


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
    with warnings.catch_warnings(action="error"), xarray.open_zarr(interrupted) as data:
        np.testing.assert_array_equal(data.cumulative_loss, found.cumulative_loss)
        assert (data.first_nonfinite.values[1:, 4:] == -1).all()
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
    path = tmp_path / "queries" / "c.1.2.0"
    path.write_bytes(path.read_bytes()[::-1])
    before = stores.tree(tmp_path)
    with (
        pytest.warns(DamagedStoreWarning, match="block 2 of 'learner two' is damaged"),
        pytest.warns(UnfinishedStudyWarning, match="2 of 'two.0.', 2 of 'two.1.'"),
    ):
        found = jo.load_result(tmp_path)
    assert stores.tree(tmp_path) == before
    assert np.isnan(found.queries[1:, 4:6]).all()
    with pytest.warns(DamagedStoreWarning, match="block 2 of 'learner two' is damaged.* computed again"):
        assert_same_bits(study(SWEEP, n_runs=7, checkpoint=tmp_path), reference)


def test_save_does_not_overwrite_a_study(reference, interrupted):
    before = stores.tree(interrupted)
    with pytest.raises(FileExistsError, match=re.escape(str(interrupted))):
        reference.save(interrupted)
    assert stores.tree(interrupted) == before


def test_damaged_saved_result_raises(reference, tmp_path):
    path = reference.save(tmp_path / "saved")
    chunk = max(path.glob("cumulative_loss/c*"))
    chunk.write_bytes(chunk.read_bytes()[:-1])
    with pytest.raises(ValueError, match=f"{re.escape(str(path))}: is damaged; 'cumulative_loss'"):
        jo.load_result(path)


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
    with xarray.open_zarr(tmp_path / "new") as data:
        assert not data.attrs["precision"]["reached"], "told from the start"


@pytest.mark.long
def test_writing_a_folder_needs_no_optional_package(tmp_path):
    code = """
import sys
import numpy as np, jaxonline as jo
game = jo.Game(jo.environments.DataStream(np.eye(3), np.ones(3)), jo.FullInformation())
learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5)
jo.simulate(game, learner, n_runs=2, n_rounds=6)
assert not {"zarr", "xarray", "fsspec", "google_crc32c"} & set(sys.modules)
for name in ("zarr", "xarray", "fsspec", "google_crc32c"):
    sys.modules[name] = None
jo.simulate(game, learner, n_runs=2, n_rounds=6, checkpoint="kept")
print(jo.load_result("kept").cumulative_loss[0, 0, -1])
"""
    assert float(run_python(code, tmp_path)) >= 0
    with warnings.catch_warnings(action="error"), xarray.open_zarr(tmp_path / "kept") as data:
        assert np.isfinite(data.cumulative_loss).all()


@pytest.mark.parametrize("writers", some([1, 3], 3))
def test_several_processes_write_into_one_store(reference, tmp_path, monkeypatch, writers):
    """Each has the store open, and plays its blocks of each job, one of them twice: the same files."""
    seen = []

    def split(job, reporter, store, hold):
        for turn in range(writers):
            about, layout = store._about, store.layout
            with Store(Folder(tmp_path / "kept"), about, 30.0, layout, exclusive=False) as own:
                some = [*job.plan.blocks[turn::writers], 0]
                seen.extend(block for block, _ in runner.play_blocks(job, some, reporter, own))
        return runner.play_job(job, reporter, store, hold)

    with monkeypatch.context() as patch:
        patch.setattr("jaxonline.simulation.execution.play_job", split)
        found = study(SWEEP, n_runs=7, checkpoint=tmp_path / "kept")
    assert len(seen) == 3 * (4 + writers)
    assert_same_bits(found, reference)
    study(SWEEP, n_runs=7, checkpoint=tmp_path / "whole")
    assert stores.tree(tmp_path / "kept") == stores.tree(tmp_path / "whole")


# ---------------------------------------------------------------------------------------------------------------------
# Longer


@pytest.mark.parametrize("states", [True, False])
def test_extended_study_equals_one_study(reference, tmp_path, played, states):
    """The block in which a run was not seen is not played again. With states, no round is played twice; the first
    rounds stay as they were recorded."""
    checkpoint = jo.Checkpoint(tmp_path / "kept", keep_states=states)
    study(SWEEP, n_runs=3, n_rounds=40, record_at=2, checkpoint=checkpoint)
    assert bool(stores.in_progress(tmp_path / "kept")) == states
    played.clear()
    first = study(SWEEP, n_runs=4, n_rounds=40, record_at=2, checkpoint=checkpoint)
    assert_same_bits(first, reference, slice(4), [0, 1])
    assert played == []
    assert_same_bits(study(SWEEP, n_runs=7, checkpoint=checkpoint), reference)
    assert min(t for t, wave in played if wave == [1]) == (40 if states else 0)
    assert sorted({wave[0] for t, wave in played if t == 0}) == ([2, 3] if states else [0, 1, 2, 3])
    played.clear()
    with warnings.catch_warnings(action="error"):
        assert_same_bits(jo.load_result(tmp_path / "kept"), reference)
        assert_same_bits(study(SWEEP, n_runs=7, checkpoint=checkpoint), reference)
    assert played == []
    with warnings.catch_warnings(action="error"), xarray.open_zarr(tmp_path / "kept") as data:
        np.testing.assert_array_equal(data.cumulative_loss, reference.cumulative_loss)
    for shorter in ({"n_rounds": 40, "record_at": 2}, {"record_at": 2}):
        with pytest.raises(ValueError, match=r"another study: (n_rounds|recorded rounds) \(was"):
            study(SWEEP, n_runs=7, checkpoint=checkpoint, **shorter)


def test_extended_study_keeps_its_recorded_rounds(reference, tmp_path):
    checkpoint = jo.Checkpoint(tmp_path, keep_states=True)
    study(SWEEP, n_runs=7, n_rounds=60, record_at=[20], checkpoint=checkpoint)
    for _ in range(2):
        found = study(SWEEP, n_runs=7, record_at=4, checkpoint=checkpoint)
        assert found.rounds.tolist() == [20, 60, 80], "and not 40"
        assert_same_bits(found, reference, record_at=[0, 2, 3])


@pytest.mark.parametrize("at", some([1, 3, 10, 25], 3))
def test_interrupted_extension_resumes(reference, tmp_path, at):
    """Whatever was reached, in the middle of a block as well."""
    checkpoint = jo.Checkpoint(tmp_path, every=0.0, keep_states=True)
    study(SWEEP, n_runs=5, n_rounds=40, record_at=2, checkpoint=checkpoint)
    with pytest.raises(Stop):
        study(SWEEP, n_runs=7, checkpoint=checkpoint, progress=stop_after(8 + at))
    with warnings.catch_warnings(action="ignore"):
        found = jo.load_result(tmp_path)
    assert found.rounds.tolist() == [20, 40, 60, 80]
    np.testing.assert_array_equal(found.cumulative_loss[:, :5, :2], reference.cumulative_loss[:, :5, :2])
    assert_same_bits(study(SWEEP, n_runs=7, checkpoint=checkpoint), reference)


@pytest.mark.long
def test_extension_on_several_devices(reference, tmp_path):
    checkpoint = jo.Checkpoint(tmp_path, keep_states=True)
    study(SWEEP, n_runs=3, n_rounds=40, record_at=2, checkpoint=checkpoint)
    options = {"mesh": default_mesh(jax.devices()[:3]), "checkpoint": checkpoint}
    assert_same_bits(study(SWEEP, n_runs=7, **options), reference)


@pytest.mark.long
def test_extension_with_a_hindsight_comparator(tmp_path):
    """Its losses are solved anew at all rounds; each run is a block of its own."""

    def play(**options):
        ASKED_RUNS.clear()  # a global that the comparator reads
        found = hindsight_study(**options)
        return found, len(ASKED_RUNS)

    play(n_rounds=12, record_at=[5], n_runs=6, checkpoint=tmp_path)
    found, asked = play(record_at=[5, 12], checkpoint=tmp_path)
    again, asked_again = play(record_at=[5, 12], checkpoint=tmp_path)
    whole, _ = play(record_at=[5, 12])
    assert (asked, asked_again) == (HINDSIGHT_RUNS, 0)
    for each in (found, again, jo.load_result(tmp_path)):
        np.testing.assert_array_equal(each.regret, whole.regret)


@pytest.mark.long
@pytest.mark.parametrize("states", [True, False])
def test_extension_with_adaptive_comparator(tmp_path, states):
    """Against noise that an adversary chooses: every array of a store."""
    game = jo.Game(jo.environments.OppositeLabels([0.6, -0.8, 0.3]), jo.AdversarialCopies(ChasingNoise(0.2)))
    options = {"n_runs": 6, "block_size": 4, "comparator": jo.L2Ball(1.0), "measures": [jo.OfInfo("gradient_norm")]}
    folder = jo.Checkpoint(tmp_path, keep_states=states)
    whole = jo.simulate(game, SWEEP, n_rounds=30, record_at=[10, 20], **options)
    jo.simulate(game, SWEEP, n_rounds=20, record_at=[10], checkpoint=folder, **options)
    found = jo.simulate(game, SWEEP, n_rounds=30, record_at=[10, 20], checkpoint=folder, **options)
    for each in (found, jo.load_result(tmp_path)):
        assert list(each.measures) == list(whole.measures)
        for measure, array in whole.measures.items():
            np.testing.assert_array_equal(each.measures[measure], array, measure)
        np.testing.assert_array_equal(each.regret, whole.regret)
