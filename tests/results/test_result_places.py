"""Saving and loading results: what is at the path, and what is left when saving is killed."""

import errno
import os
import re
import resource

import numpy as np
import pytest
import xarray
from fresh_python import run_python
from made_up import made_up

from jaxonline.results import Result
from jaxonline.store.atomic_files import lock_temporary, remove_abandoned, temporary_path


def thesis(path):
    path.mkdir()
    (path / "thesis.tex").write_text("chapter 1")


def foreign_zarr(path):
    dataset = xarray.Dataset({"loss": ("run", np.arange(3.0))}, attrs={"title": "another study"})
    dataset.to_zarr(path, consolidated=False)


def store_with_a_note(path):
    made_up().save(path)
    (path / "note.txt").write_text("mine")


def link_to(make):
    def linked(path):
        make(path.with_name("elsewhere"))
        path.symlink_to(path.with_name("elsewhere"))

    return linked


FOREIGN = {
    "a folder": thesis, "an empty folder": lambda path: path.mkdir(), "a file": lambda path: path.write_text("results"),
    "an empty file": lambda path: path.touch(), "a zarr store of somebody else": foreign_zarr,
    "a store in which something else was put": store_with_a_note, "a link to a folder": link_to(thesis),
    "a link to nowhere": lambda path: path.symlink_to("nowhere"), "a link to another zarr": link_to(foreign_zarr),
}  # fmt: skip


def everything(folder) -> dict:
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.mark.parametrize("name", FOREIGN)
def test_only_a_result_is_replaced(tmp_path, name):
    path = tmp_path / "study"
    FOREIGN[name](path)
    before = everything(tmp_path)
    with pytest.raises(FileExistsError, match=f"{re.escape(str(path))}: exists"):
        made_up().save(path)
    assert everything(tmp_path) == before
    if name != "a store in which something else was put":
        with pytest.raises((ValueError, FileNotFoundError), match=re.escape(str(path))):
            Result.load(path)


@pytest.mark.parametrize("path", ["..", ".", "", "/", "inner/.."])
def test_a_path_without_a_name(tmp_path, monkeypatch, path):
    thesis(tmp_path / "inner")
    monkeypatch.chdir(tmp_path / "inner")
    before = everything(tmp_path)
    with pytest.raises(ValueError, match=re.escape("path: must end in the name of a store")):
        made_up().save(path)
    assert everything(tmp_path) == before


@pytest.mark.parametrize("name", ["r.csv", "r.JSON", "r.parquet"])
def test_the_name_of_a_file_is_rejected(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=f"^path: must name a folder .*got '{name}'.*to_pandas"):
        made_up().save(name)
    assert everything(tmp_path) == {}


def test_a_name_with_a_dot_is_a_folder(tmp_path):
    for name in ("study.v1.2", "study.zarr", ".csv"):
        assert Result.load(made_up().save(tmp_path / name)).learners == made_up().learners


def test_siblings_are_left_alone(tmp_path):
    """Whatever they are called."""
    for name in ("study.unfinished", ".study.unfinished", "study.old"):
        thesis(tmp_path / name)
    before = everything(tmp_path)
    for _ in range(2):
        made_up().save(tmp_path / "study")
    assert {path: content for path, content in everything(tmp_path).items() if path in before} == before
    assert sorted(os.listdir(tmp_path)) == [".study.unfinished", "study", "study.old", "study.unfinished"]


def test_saving_removes_what_a_killed_process_left(tmp_path):
    """But neither the files of a process that runs nor the only copy of a store."""
    killed, running, other, moved = (temporary_path(tmp_path / name) for name in ("study", "study", "other", "gone"))
    for path in (killed / "new", running, other, moved / "old"):
        path.mkdir(parents=True)
    with lock_temporary(running) as is_locked:
        assert is_locked
        made_up().save(tmp_path / "study")
    assert [path.exists() for path in (killed, running, other)] == [False, True, True]
    remove_abandoned(tmp_path)
    assert [path.exists() for path in (running, other, moved)] == [False, False, True]


def test_saving_through_a_link_keeps_the_link(tmp_path):
    link_to(made_up().save)(tmp_path / "study")
    made_up().select("α").save(tmp_path / "study")
    assert (tmp_path / "study").is_symlink()
    assert Result.load(tmp_path / "elsewhere").learners == ("α",)


def test_a_result_that_cannot_be_written_names_its_path(tmp_path):
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "study"
    with pytest.raises(OSError, match=re.escape(str(path))):
        made_up().save(path)


def test_a_full_disk_names_the_path_and_leaves_what_was_there(tmp_path):
    """Here: files may not be longer than 100 bytes."""
    path = made_up().save(tmp_path / "study")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(OSError, match=re.escape(str(path))) as error:
            made_up().select("α").save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (error.value.errno, error.value.filename) == (errno.EFBIG, str(path))
    assert Result.load(path).learners == made_up().learners
    assert os.listdir(tmp_path) == ["study"]


KILLED = """
import os, shutil
from pathlib import Path
import numpy as np
from jaxonline.results import Result, saving

def result(name):
    loss = np.ones((1, 2, 1))
    return Result((name,), np.arange(2), np.array([1]), {"cumulative_loss": loss, "queries": loss})

STEPS = [(saving, name) for name in ("_files", "_move")] + [(shutil, "rmtree")]
STEPS += [(os, name) for name in ("replace", "rename", "fsync")]

def kill_at(step):
    left = [step]
    def counted(function):
        def call(*arguments, **options):
            left[0] -= 1
            if left[0] < 0:
                os._exit(9)
            return function(*arguments, **options)
        return call
    for owner, name in STEPS:
        setattr(owner, name, counted(getattr(owner, name)))

result("warm").save("warm")
result("old").save("study")
for step in range(1000):
    child = os.fork()
    if not child:
        kill_at(step)
        result("new").save("study")
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        found = Result.load("study").learners[0]
    except FileNotFoundError as error:
        kept = str(error).rpartition(" ")[2]
        assert Result.load(kept).learners == ("old",), error
        assert Result.load(str(Path(kept).with_name("new"))).learners == ("new",)
        found = "aside"
    print(step, code, found)
    if code == 0:
        break
    for _ in range(1 + (found == "aside")):
        result("old").save("study")
    assert set(os.listdir()) == {"warm", "study"}, "saving removes what the killed process left, except an only copy"
"""


@pytest.mark.long
def test_a_killed_save_leaves_the_old_or_the_new_result(tmp_path):
    """A process that ends, without a word, before each rename, wait for the disk, removal and other step of saving."""
    lines = [line.split() for line in run_python(KILLED, tmp_path).splitlines()]
    found = [what for _, _, what in lines]
    assert found == sorted(found, key=["old", "aside", "new"].index)
    assert (found.count("aside"), lines[-1][1:]) == (1, ["0", "new"])
    assert {code for _, code, _ in lines[:-1]} == {"9"}
    assert found.count("old") > 20, "each file is moved to its place when the disk has it"
    assert found.count("new") == 3


@pytest.mark.parametrize(
    ("learners", "measures", "message"),
    [
        (("α", "β", "α"), (), "learners: .*got 'α' more than once"),
        *(
            ("αβγ", (name,), f"measures: .*got '{name}'")
            for name in ("learner", "run", "round", "first_overflow", "comparator_loss")
        ),
    ],
)
def test_reserved_and_repeated_names_are_rejected(learners, measures, message):
    """In a store two of one name would be in one place."""
    made = {"cumulative_loss": np.zeros((3, 2, 1))}
    with pytest.raises(ValueError, match=message):
        Result(tuple(learners), np.arange(2), np.array([1]), made | dict.fromkeys(measures, made["cumulative_loss"]))


def test_changed_name_of_a_learner_raises(tmp_path):
    path = made_up().save(tmp_path / "study")
    first = (path / "zarr.json").read_text()
    (path / "zarr.json").write_text(first.replace("b, c", "b, d"))
    with pytest.raises(ValueError, match=r"zarr\.json: is damaged"):
        Result.load(path)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Result(("α",), np.array([3, 1, 3]), np.array([1]), {"cumulative_loss": np.zeros((1, 3, 1))}),
        lambda: made_up().select(runs=[0, 1, 0]),
        lambda: made_up().select("α", runs=np.array([5, 5])),
    ],
)
def test_a_run_does_not_count_twice(make):
    """It would narrow the intervals."""
    with pytest.raises(ValueError, match=r"runs: must be distinct .* more than once"):
        make()
