"""Saving and loading results: what is at the path, and what is left when saving is killed."""

import errno
import os
import re
import resource

import numpy as np
import pytest
from fresh_python import run_python
from made_up import made_up

from jaxonline.results import Result


def thesis(path):
    path.mkdir()
    (path / "thesis.tex").write_text("chapter 1")


def damaged(path):
    content = made_up().save(path).read_bytes()
    path.write_bytes(content[:-1])


def link_to(make):
    def linked(path):
        make(path.with_name("elsewhere.npz"))
        path.symlink_to(path.with_name("elsewhere.npz"))

    return linked


def arrays_of_numpy(path):
    with path.open("wb") as file:
        np.savez(file, runs=np.arange(3))


FOREIGN = {
    "a folder": thesis, "an empty folder": lambda path: path.mkdir(), "a file": lambda path: path.write_text("results"),
    "an empty file": lambda path: path.touch(), "arrays of somebody else": arrays_of_numpy, "a damaged result": damaged,
    "a link to a folder": link_to(thesis), "a link to nowhere": lambda path: path.symlink_to("nowhere"),
}  # fmt: skip


def everything(folder) -> dict:
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.mark.parametrize("name", FOREIGN)
def test_only_a_result_is_replaced(tmp_path, name):
    path = tmp_path / "study.npz"
    FOREIGN[name](path)
    before = everything(tmp_path)
    with pytest.raises(FileExistsError, match=f"{re.escape(str(path))}: exists"):
        made_up().save(path)
    assert everything(tmp_path) == before
    with pytest.raises((ValueError, FileNotFoundError), match=re.escape(str(tmp_path))):
        Result.load(path)


@pytest.mark.parametrize("name", ["..", "", "/", "r.csv", "r.JSON", "study", ".npz"])
def test_other_names_than_npz_are_rejected(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"^path: must end in \.npz .*to_pandas.*to_xarray"):
        made_up().save(name)
    assert everything(tmp_path) == {}


def test_saving_through_a_link_keeps_the_link(tmp_path):
    link_to(made_up().save)(tmp_path / "study.npz")
    made_up().select("α").save(tmp_path / "study.npz")
    assert (tmp_path / "study.npz").is_symlink()
    assert Result.load(tmp_path / "elsewhere.npz").learners == ("α",)


def test_numpy_reads_a_saved_result(tmp_path):
    result = made_up()
    with np.load(result.save(tmp_path / "study.npz")) as arrays:
        np.testing.assert_array_equal(arrays["measure cumulative_loss"], result.cumulative_loss)
        assert arrays["comparator_loss"].shape == (1, *result.regret.shape[1:]), "learners share it"


def test_a_result_that_cannot_be_written_names_its_path(tmp_path):
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "study.npz"
    with pytest.raises(OSError, match=re.escape(str(path))):
        made_up().save(path)


def test_a_full_disk_names_the_path_and_leaves_what_was_there(tmp_path):
    """Here: files may not be longer than 100 bytes."""
    path = made_up().save(tmp_path / "study.npz")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(OSError, match=re.escape(str(path))) as error:
            made_up().select("α").save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (error.value.errno, error.value.filename) == (errno.EFBIG, str(path))
    assert Result.load(path).learners == made_up().learners
    assert os.listdir(tmp_path) == ["study.npz"]


KILLED = """
import os
import numpy as np
from jaxonline.results import Result

def result(name):
    loss = np.ones((1, 2, 1))
    return Result((name,), np.arange(2), np.array([1]), {"cumulative_loss": loss, "queries": loss})

def kill_at(step):
    left = [step]
    def counted(function):
        def call(*arguments, **options):
            left[0] -= 1
            if left[0] < 0:
                os._exit(9)
            return function(*arguments, **options)
        return call
    for name in ("replace", "open", "fsync", "close"):
        setattr(os, name, counted(getattr(os, name)))

result("old").save("study.npz")
for step in range(1000):
    child = os.fork()
    if not child:
        kill_at(step)
        result("new").save("study.npz")
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(step, code, Result.load("study.npz").learners[0])
    if code == 0:
        break
    result("old").save("study.npz")
"""


@pytest.mark.long
def test_a_killed_save_leaves_the_old_or_the_new_result(tmp_path):
    """A process that ends, without a word, before each rename, wait for the disk, and other step of saving."""
    lines = [line.split() for line in run_python(KILLED, tmp_path).splitlines()]
    found = [what for _, _, what in lines]
    assert found == sorted(found, key=["old", "new"].index)
    assert lines[-1][1:] == ["0", "new"]
    assert {code for _, code, _ in lines[:-1]} == {"9"}
    assert (found.count("old"), found.count("new") > 2) == (2, True)


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
    made = {"cumulative_loss": np.zeros((3, 2, 1))}
    with pytest.raises(ValueError, match=message):
        Result(tuple(learners), np.arange(2), np.array([1]), made | dict.fromkeys(measures, made["cumulative_loss"]))


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
