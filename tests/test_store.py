"""Blocks in a store: what is damaged, foreign, locked or cannot be written is named, and nothing stale comes back."""

import errno
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest
import stores
import xarray
from fresh_python import ROOT
from test_result import made_up
from tiers import some

import jaxonline as jo
from jaxonline._util.files import write_whole
from jaxonline._util.places import Folder
from jaxonline.results.layout import Kept, Rows, StoreLayout
from jaxonline.results.store import Store
from jaxonline.simulation.fingerprint import describe, fingerprint

ABOUT = {"the source of update": "a" * 16, "n_rounds": "80", "key": "(0, 3)"}
A, B, BEST = (Rows("learner 0", "learner a", (0, 1), 2), Rows("learner 1", "learner b", (1, 3), 2),
              Rows("comparator", "comparator", None, 2))  # fmt: skip
LAYOUT = StoreLayout.new(
    ["a", "b[0]", "β/b"], 5, [40, 80], {"cumulative_loss": (), "pulls": (3,), "a/b, mean": ()}, [A, B, BEST], False
)
HORIZON = 80
GAME = jo.Game(jo.environments.DataStream(np.eye(3), np.ones(3)), jo.FullInformation())
LEARNER = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5)


def made(seed: int = 0, rows: Rows = A) -> Kept:
    """A block of random numbers."""
    rng = np.random.default_rng(seed)
    members = 1 if rows.learners is None else rows.learners[1] - rows.learners[0]
    loss = rng.random((members, 2, 2))
    if rows.learners is None:
        return Kept(HORIZON, {"comparator_loss": loss[0]})
    firsts = {name: rng.integers(0, 9, (members, 2), np.int32) for name in ("first_nonfinite", "first_overflow")}
    pulls = rng.random((members, 2, 2, 3))
    return Kept(HORIZON, {"cumulative_loss": loss, "pulls": pulls, "a/b, mean": -loss} | firsts)


BLOCKS = [made(seed) for seed in range(3)]


def opened(folder, layout=LAYOUT, **changes) -> Store:
    return Store(Folder(folder), ABOUT | changes, 30.0, layout, {"n_runs": 5, "n_rounds": 80})


def same(first: Kept | None, second: Kept) -> None:
    assert first is not None
    assert first.rounds == second.rounds
    assert set(first.arrays) == set(second.arrays)
    for name, array in first.arrays.items():
        np.testing.assert_array_equal(array, second.arrays[name], strict=True)


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    """Three finished blocks of the first job."""
    folder = tmp_path_factory.mktemp("three") / "kept"
    with opened(folder) as store:
        for block, kept in enumerate(BLOCKS):
            store.blocks.write(A, block, kept)
    return folder


@pytest.fixture
def folder(three, tmp_path):
    """A copy of them."""
    return Path(shutil.copytree(three, tmp_path / "kept"))


def record(folder, block=1) -> Path:
    return folder / "blocks" / "finished" / "learner 0" / f"c.{block}.0"


def test_blocks_come_back(folder):
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
    assert data.comparator_loss.sel(run=1, round=80) == made(6, BEST).arrays["comparator_loss"][1, 1]
    assert np.isnan(data.cumulative_loss.sel(learner="b[0]").values[2:]).all()
    assert (data.first_nonfinite.sel(learner="b[0]").values[2:] == -1).all()


def test_a_longer_study_keeps_what_there_is(folder):
    """More runs and rounds: the last block, of which a run was not seen, is whole."""
    longer = StoreLayout.new(LAYOUT.learners, 8, [60, 120, 160], LAYOUT.measures, LAYOUT.rows, False)
    with opened(folder, longer) as store:
        assert (store.layout.rounds, store.layout.runs) == ((40, 80, 120, 160), 8)
        for block, kept in enumerate(BLOCKS):
            same(store.blocks.read(A, block), kept)
        arrays = BLOCKS[1].arrays
        arrays = {name: np.concatenate([of, of + 1], 2) if of.ndim > 2 else of for name, of in arrays.items()}
        store.blocks.write(A, 1, Kept(160, arrays))
        same(store.blocks.read(A, 1), Kept(160, arrays))
    with warnings.catch_warnings(action="error"), xarray.open_zarr(folder) as data:
        loss = data.cumulative_loss.sel(learner="a").values
    assert loss.shape == (8, 4)
    np.testing.assert_array_equal(loss[4:6, :2], BLOCKS[2].arrays["cumulative_loss"][0])
    np.testing.assert_array_equal(loss[2:4], arrays["cumulative_loss"][0])
    assert np.isnan(loss[6:]).all()
    assert np.isnan(loss[4:, 2:]).all()
    for _ in range(2):  # the same again, and what is shorter in runs
        with opened(folder, longer) as store:
            same(store.blocks.read(A, 1), Kept(160, arrays))
        longer = longer._replace(runs=3)
    for rounds, message in (
        ([40, 80], "n_rounds .was 160, is 80"),
        ([80, 160], r"recorded rounds .was \[60, 120, 160"),
    ):
        with pytest.raises(ValueError, match=message):
            opened(folder, StoreLayout.new(LAYOUT.learners, 5, rounds, LAYOUT.measures, LAYOUT.rows, False)).__enter__()


def test_another_process_reads_and_writes_blocks_beside_the_one_that_has_the_store(folder):
    with opened(folder) as store, Store(Folder(folder), ABOUT, 30.0, LAYOUT, alone=False) as other:
        other.blocks.write(B, 1, made(3, B))
        same(store.blocks.read(B, 1), made(3, B))
        store.blocks.write(B, 1, made(3, B))
        same(other.blocks.read(B, 1), made(3, B))
    with pytest.raises(ValueError, match="holds another study"):
        Store(Folder(folder), ABOUT | {"key": "(0, 4)"}, 30.0, LAYOUT, alone=False).__enter__()
    with pytest.raises(ValueError, match="holds no study yet"):
        Store(Folder(folder / "new"), ABOUT, 30.0, LAYOUT, alone=False).__enter__()


# ---------------------------------------------------------------------------------------------------------------------
# Damage


def cut(share):
    return lambda path: path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])


def flip(share):
    def damage(path):
        content = bytearray(path.read_bytes())
        content[int(share * (len(content) - 1))] ^= 4
        path.write_bytes(bytes(content))

    return damage


def replace(content):
    return lambda path: path.write_bytes(content)


def as_folder(path):
    path.unlink()
    (path / "inside").mkdir(parents=True)


def another_block(path):
    shutil.copy(path.with_name(path.name.replace(".1.", ".2.")), path)


def another_array(path):
    shutil.copy(path.parents[0] / "c.0.2.0" if path.name == "c.0.1.0" else record(path.parents[3], 0), path)


def plain_arrays(path):
    with path.open("wb") as file:
        np.savez(file, **BLOCKS[0].arrays)


DAMAGE = {f"truncated at {share}": cut(share) for share in (0.0, 0.01, 0.1, 0.3, 0.5, 0.9, 0.999)}
DAMAGE |= {f"a bit at {share}": flip(share) for share in np.linspace(0, 1, 41).round(3).tolist()}
DAMAGE |= {
    "text": replace(b"My thesis\n"), "JSON": replace(b"[1, 2]\n"), "JSON of another kind": replace(b'{"study": 1}\n'),
    "zeros": replace(bytes(4096)), "more": lambda path: path.write_bytes(path.read_bytes() + b"x"),
    "plain arrays": plain_arrays, "another block": another_block, "the first block": another_array,
    "a folder": as_folder,
}  # fmt: skip


SHORT = (
    "truncated at 0.0", "truncated at 0.999", "a bit at 0.0", "a bit at 0.5", "a bit at 1.0", "zeros", "more",
    "plain arrays", "another block", "the first block", "a folder",
)  # fmt: skip


@pytest.mark.parametrize("name", some(DAMAGE, *SHORT))
def test_a_damaged_block_is_named_set_aside_and_computed_again(folder, name):
    """A chunk, or the record of a block."""
    chunk, own = folder / "cumulative_loss" / "c.0.1.0", record(folder)
    for path, first, second in ((chunk, "", ".2"), (own, ".3", ".4")):
        DAMAGE[name](path)
        with opened(folder) as store:
            aside = path.with_name(f"{path.name}{first}.damaged")
            with pytest.warns(RuntimeWarning, match=rf"block 1 of 'learner a' is damaged.*{aside.name}"):
                assert store.blocks.read(A, 1) is None
            assert not path.exists()
            assert aside.exists()
            with warnings.catch_warnings(action="error"):
                assert store.blocks.read(A, 1) is None
                store.blocks.write(A, 1, BLOCKS[1])
                for each, kept in enumerate(BLOCKS):
                    same(store.blocks.read(A, each), kept)
            DAMAGE[name](path)
            with pytest.warns(RuntimeWarning, match=rf"{path.name}{second}.damaged"):
                assert store.blocks.read(A, 1) is None
            store.blocks.write(A, 1, BLOCKS[1])


def test_a_chunk_that_is_gone(folder):
    (folder / "pulls" / "c.0.1.0.0").unlink()
    with opened(folder) as store, pytest.warns(RuntimeWarning, match=r"block 1 of 'learner a' is damaged"):
        assert store.blocks.read(A, 1) is None


@pytest.mark.parametrize("damage", [cut(0.0), flip(0.2), Path.unlink])
@pytest.mark.parametrize("path", ["learner/c.0", "run/c.0", "round/c.0", "pulls/zarr.json"])
def test_labels_and_documents_are_mended(folder, path, damage):
    before = stores.tree(folder)
    damage(folder / path)
    with opened(folder) as store:
        same(store.blocks.read(A, 1), BLOCKS[1])
    assert stores.tree(folder) == before


GARBAGE = {
    "nothing": b"", "text": b"not JSON", "a list": b"[]", "something else": b'{"about": 3}', "bytes": b"\xff\xfe\x00",
    "changed by hand": json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {
        "jaxonline": {"format": "jaxonline study 1", "study": "0" * 16, "about": ABOUT}}}).encode(),
    "without its layout": json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {"jaxonline": {
        "format": "jaxonline study 1", "study": fingerprint(ABOUT), "about": ABOUT, "layout": {}}}}).encode(),
    "not ours": json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {"jaxonline": 3}}).encode(),
}  # fmt: skip


@pytest.mark.parametrize("name", GARBAGE)
def test_garbage_in_the_description_is_set_aside_and_the_blocks_say_what_they_are(folder, name):
    (folder / "zarr.json").write_bytes(GARBAGE[name])
    with pytest.warns(RuntimeWarning, match=r"zarr.json is damaged.*zarr.json.damaged"), opened(folder) as store:
        same(store.blocks.read(A, 2), BLOCKS[2])
    assert (folder / "zarr.json.damaged").read_bytes() == GARBAGE[name]
    with warnings.catch_warnings(action="error"), opened(folder):
        pass
    (folder / "zarr.json").write_bytes(GARBAGE[name])
    with (
        pytest.warns(RuntimeWarning, match=r"zarr.json.2.damaged"),
        pytest.raises(ValueError, match="block of another study"),
        opened(folder, key="(0, 4)"),
    ):
        pass


def test_a_damaged_state_is_named_and_the_one_before_counts(tmp_path):
    """A state that was being written when the process was killed is none, without a word."""
    with opened(tmp_path) as store:
        for rounds in (16, 32):
            store.keep_state(A, 1, rounds, {"carry 0": np.full(3, float(rounds))})
        assert (store.states(A), store.states(B)) == ({1}, set())
        assert store.state(A, 1)[0] == 32
        (only,) = stores.in_progress(tmp_path)
        slots = [only.with_name(f"learner 0, block 1, {slot}") for slot in "ab"]
        shutil.copytree(only, next(slot for slot in slots if slot != only))
        store.keep_state(A, 2, 48, {"carry 0": np.full(3, 48.0)})
        flip(0.5)(slots[0] / "bytes" / "c.0")
        with pytest.warns(RuntimeWarning, match="block 1 of 'learner a', in progress, is damaged"):
            assert store.state(A, 1)[0] == 32
        assert stores.in_progress(tmp_path)[0] == slots[1]
        (slots[1] / "zarr.json").unlink()
        with warnings.catch_warnings(action="error"):
            assert store.state(A, 1) is None
            store.forget_state(A, 1)
            store.forget_state(A, 2)
        assert stores.in_progress(tmp_path) == []


# ---------------------------------------------------------------------------------------------------------------------
# Another study


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"key": "(0, 4)"}, r"holds another study: key \(was \(0, 3\), is \(0, 4\)\)$"),
        ({"the source of update": "b" * 16}, r"holds another study: the source of update$"),
        ({"the global SCALE of law": "b" * 16}, r"holds another study: the global SCALE of law \(new\)$"),
        ({str(i): "b" * 16 for i in range(7)}, r"0 \(new\); .* \.\.\.$"),
    ],
)
def test_what_is_another_about_it_is_told(folder, changes, message):
    before = stores.tree(folder)
    with pytest.raises(ValueError, match=message) as error, opened(folder, **changes):
        pass
    assert str(error.value).startswith(f"checkpoint {folder}")
    assert stores.tree(folder) == before


def test_another_block_size_is_told_with_the_remedy(folder):
    with opened(folder / "part", block_size="512"):
        pass
    with pytest.raises(ValueError, match=r"block_size \(was 512, is 100\): give block_size=512 to go on"):
        opened(folder / "part", block_size="100").__enter__()


def test_without_the_description_nothing_stale_comes_back(folder):
    """Each block knows its study."""
    (folder / "zarr.json").unlink()
    with pytest.raises(ValueError, match=r"holds a block of another study: .*learner 0/c.0.0"):
        opened(folder, key="(0, 4)").__enter__()
    assert len(stores.finished(folder)) == 3
    with opened(folder) as store:
        same(store.blocks.read(A, 0), BLOCKS[0])


def test_a_block_that_comes_from_another_folder(folder, tmp_path):
    with opened(tmp_path / "other", key="(0, 4)") as store:
        shutil.copy(record(folder), record(tmp_path / "other"))
        with pytest.raises(ValueError, match="block of another study"):
            store.blocks.read(A, 1)


FOREIGN = {
    "a saved result": (lambda path: made_up().save(path), "is a result that was saved"),
    "a zarr store": (
        lambda path: xarray.Dataset({"a": ("b", [1.0])}).to_zarr(path, consolidated=False),
        "a zarr store of something else",
    ),
    "numbers": (lambda path: Store(Folder(path), ABOUT, 1.0).__enter__().__exit__(), "its format, 'jaxonline numbers"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_store_is_refused_and_left_alone(tmp_path, name):
    make, message = FOREIGN[name]
    make(tmp_path / "there")
    before = stores.tree(tmp_path)
    with pytest.raises(ValueError, match=message):
        opened(tmp_path / "there").__enter__()
    assert stores.tree(tmp_path) == before
    assert (tmp_path / "there" / "blocks").exists() == (name == "numbers")


# ---------------------------------------------------------------------------------------------------------------------
# Two processes, and no place


def test_the_second_in_a_folder_is_told_at_once(folder):
    with opened(folder) as store:
        with pytest.raises(BlockingIOError, match=r"another process is working on this checkpoint") as error:
            opened(folder).__enter__()
        assert error.value.filename == str(folder)
        store.blocks.write(B, 1, made(1, B))
    with opened(folder) as store:
        same(store.blocks.read(B, 1), made(1, B))


HOLDER = """
import sys, time
from pathlib import Path
from jaxonline._util.places import Folder
from jaxonline.results.store import Store
from jaxonline.simulation.fingerprint import describe, fingerprint
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


def test_a_name_that_nobody_else_uses(tmp_path, monkeypatch):
    """Two that write one file at the same time do not write into each other."""
    seen, replace = [], os.replace
    monkeypatch.setattr(os, "replace", lambda beside, path: seen.append(beside) or replace(beside, path))
    for _ in range(2):
        write_whole(tmp_path / "a", b"content")
    assert len(set(seen)) == 2


def test_on_the_disk_before_it_is_there(tmp_path, monkeypatch):
    """The file, then its name: the order of fsync and rename."""
    seen, fsync, replace = [], os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: seen.append(os.fstat(handle).st_mode & 0o170000) or fsync(handle))
    monkeypatch.setattr(os, "replace", lambda *paths: seen.append("rename") or replace(*paths))
    write_whole(tmp_path / "a", b"content")
    assert seen == [0o100000, "rename", 0o040000]


def test_several_files_are_on_the_disk_before_any_is_there(tmp_path, monkeypatch):
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
def read_only():
    """A folder in which nothing can be made; the superuser becomes nobody for it."""
    place = Path(tempfile.mkdtemp())
    (place / "kept").mkdir()
    with opened(place / "kept"):
        pass
    describe({"nobody": "may not read all of Python's library, so what is imported when it is used is imported now"})
    for path, mode in ((place, 0o755), (place / "kept" / "blocks" / "lock", 0o666), (place / "kept", 0o555)):
        path.chmod(mode)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    yield place / "kept"
    os.seteuid(user)
    (place / "kept").chmod(0o755)
    shutil.rmtree(place)


def test_a_folder_that_is_read_only_is_found_before_any_work(read_only, monkeypatch):
    monkeypatch.setattr("jaxonline.simulation.monte_carlo.play_job", None)
    for folder in (read_only / "new", read_only.parent / "beside"):
        with pytest.raises(PermissionError, match=re.escape(str(folder))):
            jo.simulate(GAME, LEARNER, n_runs=1, n_rounds=1, checkpoint=folder)
    with pytest.raises(PermissionError, match=re.escape(str(read_only))), opened(read_only):
        pass


def test_a_folder_that_is_a_file(tmp_path):
    (tmp_path / "kept").write_text("")
    for folder in (tmp_path / "kept", tmp_path / "kept" / "inside"):
        with pytest.raises(OSError, match=re.escape(str(folder))), opened(folder):
            pass


def test_a_full_disk_is_an_error_that_names_the_folder(folder):
    """Here: files may not be longer than 2,000 bytes. What was there before is still there, and nothing else."""
    wide = StoreLayout.new(LAYOUT.learners, 5, [40, 80], LAYOUT.measures | {"large": (999,)}, LAYOUT.rows, False)
    large = Kept(HORIZON, BLOCKS[0].arrays | {"large": np.zeros((1, 2, 2, 999))})
    with opened(folder / "wide", wide) as store:
        before = stores.tree(folder)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, hard))
        try:
            with pytest.raises(OSError, match=re.escape(str(folder / "wide"))) as error:
                store.blocks.write(A, 0, large)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert (error.value.errno, error.value.filename) == (errno.EFBIG, str(folder / "wide"))
        assert stores.tree(folder) == before
        store.blocks.write(A, 0, large)
        same(store.blocks.read(A, 0), large)


# ---------------------------------------------------------------------------------------------------------------------
# The argument


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((3,), TypeError, "checkpoint must be a folder or a Checkpoint, got 3"),
        ((True,), TypeError, "checkpoint must be a folder or a Checkpoint, got True"),
        (("",), ValueError, "checkpoint must name a folder, got ''"),
        (("kept", 1), TypeError, "version must be a text, got 1"),
        (("kept", ""), ValueError, "version must not be empty"),
        (("kept", "1", -1.0), ValueError, "every must be at least 0, got -1"),
        (("kept", "1", "often"), TypeError, "every must be a number, got 'often'"),
        (("kept", "1", 1.0, 1), TypeError, "keep_states must be True or False, got 1"),
    ],
)
def test_bad_checkpoints(arguments, error, message):
    with pytest.raises(error, match=message):
        jo.Checkpoint(*arguments)


def test_parts_of_a_checkpoint():
    part = jo.Checkpoint("kept", "1", 5.0) / "noise-0.1"
    assert (part.folder, part.version, part.every) == (Path("kept/noise-0.1"), "1", 5.0)
    assert jo.Checkpoint.of("kept") == jo.Checkpoint.of(Path("kept")) == jo.Checkpoint("kept")
    assert jo.Checkpoint.of(part) is part
    assert (jo.Checkpoint("s3://bucket/kept/", "1") / "a").folder == "s3://bucket/kept/a"


def test_a_url_that_nothing_reaches():
    with pytest.raises(ValueError, match=r"nowhere://kept .*(cannot be reached|needs a package)"):
        jo.simulate(GAME, LEARNER, n_runs=1, n_rounds=1, checkpoint="nowhere://kept")
