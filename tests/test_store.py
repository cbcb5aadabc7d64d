"""Blocks on disk: what is damaged, foreign, locked or cannot be written is named, and nothing stale comes back."""

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

import jax.numpy as jnp
import numpy as np
import pytest
from fresh_python import ROOT

import jaxonline as jo
from jaxonline._util.files import write_whole
from jaxonline.simulation.store import Store, packed, unpacked

ABOUT = {"the source of update": "a" * 16, "n_rounds": "80", "key": "(0, 3)"}
ARRAYS = {"loss": np.arange(12.0).reshape(3, 4), "first": np.array([0, 5, 2], np.int32), "none": np.empty((0, 2))}


def opened(folder, **changes) -> Store:
    return Store(folder, ABOUT | changes, every=30.0)


def blocks(folder) -> list[Path]:
    return sorted(folder.glob("*.block"))


def same(first, second) -> None:
    assert list(first) == list(second)
    for name, array in first.items():
        np.testing.assert_array_equal(array, second[name], strict=True)


@pytest.fixture
def folder(tmp_path):
    """Three finished blocks."""
    with opened(tmp_path / "kept") as store:
        for block in range(3):
            store.write("learner a", block, ARRAYS)
    return tmp_path / "kept"


def test_blocks_come_back(folder):
    with opened(folder) as store:
        same(store.read("learner a", 1), ARRAYS)
        assert store.read("learner a", 3) is None
        assert store.read("learner b", 1) is None
        store.remove("learner a", 1)
        store.remove("learner a", 1)
        assert store.read("learner a", 1) is None
    assert {path.name for path in folder.iterdir()} == {"study.json", "lock", *(path.name for path in blocks(folder))}


def test_arrays_of_any_dtype():
    arrays = {str(dtype): jnp.ones((2, 3), dtype) for dtype in (jnp.bfloat16, jnp.float8_e4m3fn, bool, jnp.uint32)}
    arrays = {name: np.asarray(array) for name, array in arrays.items()} | {"scalar": np.asarray(jnp.bfloat16(1.5))}
    header = {"format": "jaxonline block 1", "study": "s", "name": "n", "block": 0}
    same(unpacked(packed(header, arrays))[1], arrays)


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
    shutil.copy(next(other for other in path.parent.glob("*.block") if other != path), path)


def plain_arrays(path):
    with path.open("wb") as file:
        np.savez(file, **ARRAYS)


DAMAGE = {f"truncated at {share}": cut(share) for share in (0.0, 0.01, 0.1, 0.3, 0.5, 0.9, 0.999)}
DAMAGE |= {f"a bit at {share}": flip(share) for share in np.linspace(0, 1, 41).round(3).tolist()}
DAMAGE |= {
    "text": replace(b"My thesis\n"), "JSON": replace(b"[1, 2]\n"), "JSON of another kind": replace(b'{"study": 1}\n'),
    "zeros": replace(bytes(4096)), "more": lambda path: path.write_bytes(path.read_bytes() + b"x"),
    "plain arrays": plain_arrays, "another block": another_block, "a folder": as_folder,
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_block_is_named_set_aside_and_computed_again(folder, name):
    with opened(folder) as store:
        path = store._path("learner a", 1)
        DAMAGE[name](path)
    with opened(folder) as store:
        with pytest.warns(RuntimeWarning, match=rf"block 1 of 'learner a' is damaged.*{path.name}.damaged"):
            assert store.read("learner a", 1) is None
        assert not path.exists()
        assert path.with_name(f"{path.name}.damaged").exists()
        with warnings.catch_warnings(action="error"):
            assert store.read("learner a", 1) is None
            store.write("learner a", 1, ARRAYS)
            for block in range(3):
                same(store.read("learner a", block), ARRAYS)
        DAMAGE[name](path)
        with pytest.warns(RuntimeWarning, match=rf"{path.name}.2.damaged"):
            assert store.read("learner a", 1) is None


GARBAGE = {
    "nothing": b"", "text": b"not JSON", "a list": b"[]", "something else": b'{"about": 3}', "bytes": b"\xff\xfe\x00",
    "changed by hand": json.dumps({"fingerprint": "0" * 16, "about": ABOUT}).encode(),
}  # fmt: skip


@pytest.mark.parametrize("name", GARBAGE)
def test_garbage_in_the_description_is_set_aside_and_the_blocks_say_what_they_are(folder, name):
    (folder / "study.json").write_bytes(GARBAGE[name])
    with pytest.warns(RuntimeWarning, match=r"study.json is damaged.*study.json.damaged"), opened(folder) as store:
        same(store.read("learner a", 2), ARRAYS)
    assert (folder / "study.json.damaged").read_bytes() == GARBAGE[name]
    with warnings.catch_warnings(action="error"), opened(folder):
        pass
    (folder / "study.json").write_bytes(GARBAGE[name])
    with (
        pytest.warns(RuntimeWarning, match=r"study.json.2.damaged"),
        pytest.raises(ValueError, match="block of another study"),
        opened(folder, key="(0, 4)"),
    ):
        pass


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
    before = {path: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(ValueError, match=message) as error, opened(folder, **changes):
        pass
    assert str(error.value).startswith(f"checkpoint {folder}")
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_without_the_description_nothing_stale_comes_back(folder):
    """Each block knows its study."""
    (folder / "study.json").unlink()
    with pytest.raises(ValueError, match=f"holds a block of another study: {blocks(folder)[0].name}"):
        opened(folder, key="(0, 4)").__enter__()
    assert len(blocks(folder)) == 3
    with opened(folder) as store:
        same(store.read("learner a", 0), ARRAYS)


def test_a_block_that_comes_from_another_folder(folder, tmp_path):
    with opened(tmp_path / "other", key="(0, 4)") as store:
        store.write("learner a", 1, ARRAYS)
        shutil.copy(blocks(folder)[1], store._path("learner a", 1))
        with pytest.raises(ValueError, match="block of another study"):
            store.read("learner a", 1)


# ---------------------------------------------------------------------------------------------------------------------
# Two processes, and no place


def test_the_second_in_a_folder_is_told_at_once(folder):
    with opened(folder) as store:
        with pytest.raises(BlockingIOError, match=r"another process is working on this checkpoint") as error:
            opened(folder).__enter__()
        assert error.value.filename == str(folder)
        store.write("learner a", 7, ARRAYS)
    with opened(folder) as store:
        same(store.read("learner a", 7), ARRAYS)


HOLDER = """
import sys, time
from pathlib import Path
from jaxonline.simulation.store import Store
with Store(Path(sys.argv[1]), {"n_rounds": "80"}, 1.0):
    Path(sys.argv[1], ".half.unfinished").write_bytes(b"half a block")
    print("in", flush=True)
    time.sleep(100)
"""


@pytest.mark.long
def test_a_process_that_is_killed_leaves_no_lock(tmp_path):
    folder = tmp_path / "kept"
    command = [sys.executable, "-c", HOLDER, str(folder)]
    holder = subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": str(ROOT)})
    try:
        assert holder.stdout.readline() == b"in\n"
        with pytest.raises(BlockingIOError, match=re.escape(str(folder))):
            Store(folder, {"n_rounds": "80"}, 1.0).__enter__()
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        holder.stdout.close()
    with Store(folder, {"n_rounds": "80"}, 1.0):
        assert {path.name for path in folder.iterdir()} == {"study.json", "lock"}, "what was unfinished is gone"


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


@pytest.fixture
def read_only():
    """A folder in which nothing can be made; the superuser becomes nobody for it."""
    place = Path(tempfile.mkdtemp())
    (place / "kept").mkdir()
    with opened(place / "kept"):
        pass
    for path, mode in ((place, 0o755), (place / "kept" / "lock", 0o666), (place / "kept", 0o555)):
        path.chmod(mode)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    yield place / "kept"
    os.seteuid(user)
    (place / "kept").chmod(0o755)
    shutil.rmtree(place)


def test_a_folder_that_is_read_only_is_found_before_any_work(read_only, monkeypatch):
    game = jo.Game(jo.environments.DataStream(np.eye(3), np.ones(3)), jo.FullInformation())
    learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5)
    monkeypatch.setattr("jaxonline.simulation.monte_carlo.play_job", None)
    for folder in (read_only / "new", read_only.parent / "beside"):
        with pytest.raises(PermissionError, match=re.escape(str(folder))):
            jo.simulate(game, learner, n_runs=1, n_rounds=1, checkpoint=folder)
    with pytest.raises(PermissionError, match=re.escape(str(read_only))), opened(read_only):
        pass


def test_a_folder_that_is_a_file(tmp_path):
    (tmp_path / "kept").write_text("")
    for folder in (tmp_path / "kept", tmp_path / "kept" / "inside"):
        with pytest.raises(OSError, match=re.escape(str(folder))), opened(folder):
            pass


def test_a_full_disk_is_an_error_that_names_the_file(folder):
    """Here: files may not be longer than 2,000 bytes. What was there before is still there, and nothing else."""
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with opened(folder) as store:
        path = store._path("learner a", 0)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, hard))
        try:
            with pytest.raises(OSError, match=re.escape(str(path))) as error:
                store.write("learner a", 0, {"large": np.zeros(10_000)})
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert error.value.errno == errno.EFBIG
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
        same(store.read("learner a", 0), ARRAYS)


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
