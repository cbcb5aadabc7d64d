"""Blocks in a store come back as they were written; what is locked or cannot be written is named."""

import errno
import os
import re
import resource
from pathlib import Path

import numpy as np
import pytest
import stores
from opened_store import BEST, BLOCKS, LAYOUT, OUTPUTS, A, B, made, opened, same, with_blocks
from rights import ordinary_rights

import jaxonline as jo
from jaxonline.store.checkpoints import Store
from jaxonline.store.files import remove_abandoned, write_atomically

GAME = jo.Game(jo.environments.DataStream(np.eye(3), np.ones(3)), jo.FullInformation())
LEARNER = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5)


@pytest.fixture
def folder(tmp_path):
    return with_blocks(tmp_path / "kept")


def test_written_blocks_are_read_again(folder):
    with opened(folder) as store:
        assert store.finished(A) == {0, 1, 2}
        assert store.finished(B) == store.finished(BEST) == set()
        same(store.read_block(A, 1), BLOCKS[1])
        assert store.read_block(B, 1) is None
        for job in (B, BEST):
            store.write_block(job, 2, made(7, job))
            same(store.read_block(job, 2), made(7, job))
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    blocks = {"blocks/learner 1/2.npz", "blocks/comparator/2.npz", *(f"blocks/learner 0/{i}.npz" for i in range(3))}
    assert names == {"study.json", "lock", *blocks}


def test_arrays_have_nan_where_nothing_is_finished(folder):
    """The run that a block has beyond the last one asked for is left out."""
    with opened(folder) as store:
        store.write_block(B, 0, made(5, B))
        store.write_block(BEST, 0, made(6, BEST))
    arrays, finished = Store.read_only(folder).load_arrays()
    assert set(arrays) == {*OUTPUTS, "comparator_loss"}
    loss = np.concatenate([block["cumulative_loss"] for block in BLOCKS], axis=1)[:, :5]
    np.testing.assert_array_equal(arrays["cumulative_loss"][:1], loss)
    np.testing.assert_array_equal(arrays["pulls"][1:, :2], made(5, B)["pulls"])
    assert (arrays["pulls"].shape, arrays["first_overflow"].shape) == ((3, 5, 2, 3), (3, 5))
    assert np.isnan(arrays["cumulative_loss"][1:, 2:]).all()
    assert (arrays["first_nonfinite"][1:, 2:] == -1).all()
    assert finished["cumulative_loss"].sum(axis=1).tolist() == [5, 2, 2]
    assert (arrays["comparator_loss"].shape, finished["comparator_loss"].tolist()) == (
        (1, 5, 2), [[True, True, False, False, False]],
    )  # fmt: skip


def test_a_study_with_more_runs_keeps_finished_blocks(folder):
    """The last block, of which a run was not seen, is whole."""
    for runs in (8, 3):
        with opened(folder, LAYOUT._replace(runs=runs)) as store:
            assert store.layout.runs == 8
            for block, numbers in enumerate(BLOCKS):
                same(store.read_block(A, block), numbers)
    arrays, finished = Store.read_only(folder).load_arrays()
    assert arrays["cumulative_loss"].shape == (3, 6, 2), "until the last finished run"
    np.testing.assert_array_equal(arrays["cumulative_loss"][0, 4:6], BLOCKS[2]["cumulative_loss"][0])
    assert finished["pulls"][0].tolist() == [True] * 6
    assert Store.read_only(folder).meta["n_runs"] == 5


def test_a_locked_folder_raises_an_error(folder):
    with opened(folder) as store:
        with pytest.raises(BlockingIOError, match=r"another process") as error:
            opened(folder).__enter__()
        assert error.value.filename == str(folder)
        store.write_block(B, 1, made(1, B))
    with opened(folder) as store:
        same(store.read_block(B, 1), made(1, B))


def test_a_file_is_written_beside_synced_and_renamed(tmp_path, monkeypatch):
    """The file, then its name: the order of fsync and rename. Two writers do not write into one file beside."""
    seen, names, fsync, replace = [], [], os.fsync, os.replace

    def rename(beside, path):
        seen.append("rename")
        names.append(beside)
        replace(beside, path)

    monkeypatch.setattr(os, "fsync", lambda handle: seen.append(os.fstat(handle).st_mode & 0o170000) or fsync(handle))
    monkeypatch.setattr(os, "replace", rename)
    for _ in range(2):
        write_atomically(tmp_path / "new" / "a", b"content")
    assert seen == [0o100000, "rename", 0o040000] * 2
    assert names[0] != names[1]


def test_abandoned_files_are_removed_after_an_hour(tmp_path):
    names = [f".a.{i}{'0' * 31}.unfinished" for i in range(2)]
    for name in (*names, ".a.unfinished", "a"):
        (tmp_path / name).write_text("")
    os.utime(tmp_path / names[0], (0, 0))
    remove_abandoned(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {names[1], ".a.unfinished", "a"}


def test_a_read_only_folder_raises_an_error_before_any_work(tmp_path, monkeypatch):
    place = with_blocks(tmp_path / "place" / "kept").parent
    folders = [place, *(path for path in place.rglob("*") if path.is_dir())]
    monkeypatch.setattr("jaxonline.simulation.planning.play_job", None)
    for path in folders:
        path.chmod(0o555)
    with ordinary_rights():
        for folder in (place / "kept" / "new", place / "beside"):
            with pytest.raises(PermissionError, match=re.escape(str(folder))):
                jo.simulate(GAME, LEARNER, n_runs=1, n_rounds=1, checkpoint=folder)
        with pytest.raises(PermissionError, match=re.escape(str(place / "kept"))), opened(place / "kept"):
            pass
    for path in folders:
        path.chmod(0o755)


def test_a_file_in_place_of_the_folder_raises_an_error(tmp_path):
    (tmp_path / "kept").write_text("")
    for folder in (tmp_path / "kept", tmp_path / "kept" / "inside"):
        with pytest.raises(OSError, match=re.escape(str(folder))), opened(folder):
            pass


def test_a_full_disk_is_an_error_that_names_the_file(folder):
    """Here: files may not be longer than 2,000 bytes. What was there before is still there, and nothing else."""
    large = made(0, B) | {"pulls": np.zeros((2, 2, 2, 999))}
    path = folder / "blocks" / "learner 1" / "0.npz"
    with opened(folder) as store:
        before = stores.tree(folder)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, hard))
        try:
            with pytest.raises(OSError, match=re.escape(str(path))) as error:
                store.write_block(B, 0, large)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert (error.value.errno, error.value.filename) == (errno.EFBIG, str(path))
        assert stores.tree(folder) == before
        store.write_block(B, 0, large)
        same(store.read_block(B, 0), large)


def test_invalid_checkpoints_raise_errors():
    for arguments, message in ((("",), "folder: .*got ''"), (("kept", ""), "version: "), (("a", "1", -1.0), "every: ")):
        with pytest.raises(ValueError, match=message):
            jo.Checkpoint(*arguments)


@pytest.mark.parametrize("where", ["s3://bucket/kept", Path("s3://bucket/kept"), "file:///kept", "memory://kept"])
def test_a_url_raises_an_error_that_names_the_argument(where):
    """`pathlib` makes one slash of two, and there would be a folder `s3:`."""
    for name, call in (("folder", jo.Checkpoint), ("checkpoint", jo.Checkpoint.of), ("path", jo.load_result)):
        with pytest.raises(ValueError, match=f"{name}: .*got '{where}'"):
            call(where)


def test_arrays_are_computed_once_per_inputs(tmp_path):
    checkpoint, calls = jo.Checkpoint(tmp_path), []

    def compute():
        calls.append(1)
        return {"a/b": np.full(2, 3.0), "none": np.empty((0, 2))}

    first, second = (checkpoint.compute_once((1, np.arange(2)), compute) for _ in range(2))
    assert len(calls) == 1
    same(second, first)
    with pytest.raises(ValueError, match="another study: inputs"):
        checkpoint.compute_once((2, np.arange(2)), compute)
    with pytest.raises(ValueError, match="named arrays"):
        jo.load_result(tmp_path)
