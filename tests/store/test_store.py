"""Blocks in a store come back as they were written; what is locked or cannot be written is named."""

import errno
import os
import re
import resource
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import stores
import xarray
from fresh_python import ROOT
from opened_store import ABOUT, BEST, BLOCKS, HORIZON, LAYOUT, OUTPUTS, A, B, made, opened, same, with_blocks
from rights import ordinary_rights

import jaxonline as jo
from jaxonline.store.atomic_files import write_atomically
from jaxonline.store.blocks import Store
from jaxonline.store.filesystem import Folder
from jaxonline.store.layout import FinishedBlock, StoreLayout

GAME = jo.Game(jo.environments.DataStream(np.eye(3), np.ones(3)), jo.FullInformation())
LEARNER = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5)


@pytest.fixture
def folder(tmp_path):
    return with_blocks(tmp_path / "kept")


def test_written_blocks_are_read_again(folder):
    with opened(folder) as store:
        assert store.blocks.finished(A) == {0, 1, 2}
        assert store.blocks.finished(B) == store.blocks.finished(BEST) == set()
        same(store.blocks.read(A, 1), BLOCKS[1])
        assert store.blocks.read(B, 1) is None
        for rows in (B, BEST):
            store.blocks.write(rows, 2, made(7, rows))
            same(store.blocks.read(rows, 2), made(7, rows))
    assert {path.name for path in (folder / "blocks").iterdir()} == {"zarr.json", "lock", "finished", "states"}


def test_plain_xarray_reads_labelled_numbers(folder):
    """NaN and -1 where nothing was played; the run that a block has beyond the last one asked for is not seen."""
    with opened(folder) as store:
        store.blocks.write(B, 0, made(5, B))
        store.blocks.write(BEST, 0, made(6, BEST))
    with warnings.catch_warnings(action="error"), xarray.open_zarr(folder) as data:
        data = data.load()
    assert dict(data.sizes) == {"learner": 3, "run": 5, "round": 2, "pulls, axis 0": 3}
    assert data.learner.values.tolist() == ["a", "b[0]", "β/b"]
    assert (data.run.values.tolist(), data["round"].values.tolist()) == ([0, 1, 2, 3, 4], [40, 80])
    assert data.cumulative_loss.dims == ("learner", "run", "round")
    assert data.comparator_loss.dims == ("run", "round"), "learners share it"
    assert (data.attrs["n_runs"], data.attrs["jaxonline"]["about"]) == (5, ABOUT)
    loss = np.concatenate([kept.arrays["cumulative_loss"] for kept in BLOCKS], axis=1)[0, :5]
    np.testing.assert_array_equal(data.cumulative_loss.sel(learner="a"), loss)
    at = {"learner": "β/b", "run": 1, "round": 80}
    assert data.pulls.sel(at)[2] == made(5, B).arrays["pulls"][1, 1, 1, 2]
    assert data["a%2Fb, mean"].sel(at) == made(5, B).arrays["a/b, mean"][1, 1, 1]
    assert data.comparator_loss.sel(run=1, round=80) == made(6, BEST).arrays["comparator_loss"][0, 1, 1]
    assert np.isnan(data.cumulative_loss.sel(learner="b[0]").values[2:]).all()
    assert (data.first_nonfinite.sel(learner="b[0]").values[2:] == -1).all()


def test_a_longer_study_keeps_finished_blocks(folder):
    """More runs and rounds: the last block, of which a run was not seen, is whole."""
    longer = StoreLayout.new(LAYOUT.learners, 8, [60, 120, 160], LAYOUT.measures, LAYOUT.rows)
    with opened(folder, longer) as store:
        assert (store.layout.rounds, store.layout.runs) == ((40, 80, 120, 160), 8)
        for block, kept in enumerate(BLOCKS):
            same(store.blocks.read(A, block), kept)
        arrays = BLOCKS[1].arrays
        arrays = {name: np.concatenate([of, of + 1], 2) if of.ndim > 2 else of for name, of in arrays.items()}
        store.blocks.write(A, 1, FinishedBlock(160, arrays))
        same(store.blocks.read(A, 1), FinishedBlock(160, arrays))
    with warnings.catch_warnings(action="error"), xarray.open_zarr(folder) as data:
        loss = data.cumulative_loss.sel(learner="a").values
    assert loss.shape == (8, 4)
    np.testing.assert_array_equal(loss[4:6, :2], BLOCKS[2].arrays["cumulative_loss"][0])
    np.testing.assert_array_equal(loss[2:4], arrays["cumulative_loss"][0])
    assert np.isnan(loss[6:]).all()
    assert np.isnan(loss[4:, 2:]).all()
    for _ in range(2):  # the same again, and what is shorter in runs
        with opened(folder, longer) as store:
            same(store.blocks.read(A, 1), FinishedBlock(160, arrays))
        longer = longer._replace(runs=3)
    for rounds, message in (
        ([40, 80], "n_rounds .was 160, is 80"),
        ([80, 160], r"recorded rounds .was \[60, 120, 160"),
    ):
        with pytest.raises(ValueError, match=message):
            opened(folder, StoreLayout.new(LAYOUT.learners, 5, rounds, LAYOUT.measures, LAYOUT.rows)).__enter__()


def test_a_second_process_reads_and_writes_blocks(folder):
    with opened(folder) as store, Store(Folder(folder), ABOUT, 30.0, LAYOUT, exclusive=False) as other:
        other.blocks.write(B, 1, made(3, B))
        same(store.blocks.read(B, 1), made(3, B))
        store.blocks.write(B, 1, made(3, B))
        same(other.blocks.read(B, 1), made(3, B))
    with pytest.raises(ValueError, match="another study"):
        Store(Folder(folder), ABOUT | {"key": "(0, 4)"}, 30.0, LAYOUT, exclusive=False).__enter__()
    with pytest.raises(ValueError, match="no study yet"):
        Store(Folder(folder / "new"), ABOUT, 30.0, LAYOUT, exclusive=False).__enter__()


# ---------------------------------------------------------------------------------------------------------------------
# Two processes, and no place


def test_a_locked_folder_raises_an_error(folder):
    with opened(folder) as store:
        with pytest.raises(BlockingIOError, match=r"another process") as error:
            opened(folder).__enter__()
        assert error.value.filename == str(folder)
        store.blocks.write(B, 1, made(1, B))
    with opened(folder) as store:
        same(store.blocks.read(B, 1), made(1, B))


HOLDER = """
import sys, time
from pathlib import Path
from jaxonline.store.filesystem import Folder
from jaxonline.store.blocks import Store
from jaxonline.store.fingerprint import describe_inputs, fingerprint
with Store(Folder(Path(sys.argv[1])), {"n_rounds": "80"}, 1.0):
    Path(sys.argv[1], "blocks", "unfinished").mkdir(exist_ok=True)
    Path(sys.argv[1], "blocks", "unfinished", "1").write_bytes(b"half a block")
    print("in", flush=True)
    time.sleep(100)
"""


@pytest.mark.long
def test_a_process_that_is_killed_leaves_no_lock(tmp_path):
    folder = tmp_path / "kept"
    command = [sys.executable, "-c", HOLDER, str(folder)]
    holder = subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": str(ROOT)})
    store = Store(Folder(folder), {"n_rounds": "80"}, 1.0)
    try:
        assert holder.stdout.readline() == b"in\n"
        with pytest.raises(BlockingIOError, match=re.escape(str(folder))):
            store.__enter__()
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        holder.stdout.close()
    with store:
        assert set(stores.tree(folder)) == {"zarr.json", "blocks/lock"}, "what was unfinished is gone"


def test_temporary_names_are_unique(tmp_path, monkeypatch):
    """Two that write one file at the same time do not write into each other."""
    seen, replace = [], os.replace
    monkeypatch.setattr(os, "replace", lambda beside, path: seen.append(beside) or replace(beside, path))
    for _ in range(2):
        write_atomically(tmp_path / "a", b"content")
    assert len(set(seen)) == 2


def test_a_file_is_synced_before_it_is_renamed(tmp_path, monkeypatch):
    """The file, then its name: the order of fsync and rename."""
    seen, fsync, replace = [], os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: seen.append(os.fstat(handle).st_mode & 0o170000) or fsync(handle))
    monkeypatch.setattr(os, "replace", lambda *paths: seen.append("rename") or replace(*paths))
    write_atomically(tmp_path / "a", b"content")
    assert seen == [0o100000, "rename", 0o040000]


def test_all_files_are_synced_before_any_is_renamed(tmp_path, monkeypatch):
    """All files, then their names, then their folders; and what was half written goes when one cannot be written."""
    seen, fsync, replace = [], os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: seen.append(os.fstat(handle).st_mode & 0o170000) or fsync(handle))
    monkeypatch.setattr(os, "replace", lambda *paths: seen.append("rename") or replace(*paths))
    Folder(tmp_path).write({"a/b": b"1", "a/c": b"2", "d/e/f": b"3"})
    assert seen[:6] == [0o100000] * 3 + ["rename"] * 3
    assert set(seen[6:]) == {0o040000}
    assert len(seen) == 10, "the folders a, d/e and, as new ones are in them, d and the first"
    assert stores.tree(tmp_path) == {"a/b": b"1", "a/c": b"2", "d/e/f": b"3"}


@pytest.fixture
def read_only(tmp_path):
    """A store in a folder; in both, nothing can be made or changed. Its lock can still be taken."""
    place = tmp_path / "place"
    with_blocks(place / "kept")
    folders = [place, *(path for path in place.rglob("*") if path.is_dir())]
    for path in place.rglob("*"):
        if path.is_file() and path.name != "lock":
            path.chmod(0o444)
    for path in folders:
        path.chmod(0o555)
    with ordinary_rights():
        for path in folders:
            with pytest.raises(PermissionError):
                (path / "new").touch()
        yield place / "kept"
    for path in folders:
        path.chmod(0o755)


def test_a_read_only_folder_raises_an_error_before_any_work(read_only, monkeypatch):
    monkeypatch.setattr("jaxonline.simulation.execution.play_job", None)
    for folder in (read_only / "new", read_only.parent / "beside"):
        with pytest.raises(PermissionError, match=re.escape(str(folder))):
            jo.simulate(GAME, LEARNER, n_runs=1, n_rounds=1, checkpoint=folder)
    with pytest.raises(PermissionError, match=re.escape(str(read_only))), opened(read_only):
        pass


def test_a_file_in_place_of_the_folder_raises_an_error(tmp_path):
    (tmp_path / "kept").write_text("")
    for folder in (tmp_path / "kept", tmp_path / "kept" / "inside"):
        with pytest.raises(OSError, match=re.escape(str(folder))), opened(folder):
            pass


def test_a_full_disk_is_an_error_that_names_the_folder(folder):
    """Here: files may not be longer than 2,000 bytes. What was there before is still there, and nothing else."""
    rows = A._replace(outputs=(*OUTPUTS, "large"))
    wide = StoreLayout.new(LAYOUT.learners, 5, [40, 80], LAYOUT.measures | {"large": (999,)}, [rows])
    large = FinishedBlock(HORIZON, BLOCKS[0].arrays | {"large": np.zeros((1, 2, 2, 999))})
    with opened(folder / "wide", wide) as store:
        before = stores.tree(folder)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, hard))
        try:
            with pytest.raises(OSError, match=re.escape(str(folder / "wide"))) as error:
                store.blocks.write(rows, 0, large)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert (error.value.errno, error.value.filename) == (errno.EFBIG, str(folder / "wide"))
        assert stores.tree(folder) == before
        store.blocks.write(rows, 0, large)
        same(store.blocks.read(rows, 0), large)


# ---------------------------------------------------------------------------------------------------------------------
# The argument


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((3,), TypeError, "folder: .*got 3"),
        ((True,), TypeError, "folder: .*got True"),
        (("",), ValueError, "folder: .*got ''"),
        (("kept", 1), TypeError, "version: .*got 1"),
        (("kept", ""), ValueError, "version: must not be empty"),
        (("kept", "1", -1.0), ValueError, "every: .*got -1"),
        (("kept", "1", "often"), TypeError, "every: .*got 'often'"),
        (("kept", "1", 1.0, 1), TypeError, "keep_states: .*got 1"),
    ],
)
def test_invalid_checkpoints_raise_errors(arguments, error, message):
    with pytest.raises(error, match=message):
        jo.Checkpoint(*arguments)


def test_a_part_of_a_checkpoint_is_a_folder_inside():
    part = jo.Checkpoint("kept", "1", 5.0) / "noise-0.1"
    assert (part.folder, part.version, part.every) == (Path("kept/noise-0.1"), "1", 5.0)
    assert jo.Checkpoint.of("kept") == jo.Checkpoint.of(Path("kept")) == jo.Checkpoint("kept")
    assert jo.Checkpoint.of(part) is part
