"""The folder of a store."""

from pathlib import Path

import pytest

import jaxonline as jo
from jaxonline.store.filesystem import Folder, folder_at


@pytest.fixture
def place(tmp_path):
    return folder_at(tmp_path / "kept")


def test_files_are_written_read_listed_and_removed(place):
    assert (place.read("a"), place.names(), place.names("a/b"), place.set_aside("a")) == (None, [], [], None)
    place.write({"a": b"1", "b/c": b"22", "b/d/e": b""})
    assert (place.read("a"), place.read("b/c"), place.read("b/d/e"), place.read("b/x")) == (b"1", b"22", b"", None)
    assert place.names("b") == ["c", "d"]
    assert [name for name in place.names() if name != "blocks"] == ["a", "b"]
    place.write({"a": b"3"})
    assert place.read("a") == b"3"
    place.remove("b/c")
    place.remove("b/c")
    assert place.names("b") == ["d"]
    place.remove("b")
    place.remove("b")
    assert place.read("b/d/e") is None


def test_a_damaged_file_is_renamed(place):
    for name in ("x.damaged", "x.2.damaged", "x.3.damaged"):
        place.write({"a/x": name.encode()})
        assert place.set_aside("a/x") == name
        assert (place.read("a/x"), place.read(f"a/{name}")) == (None, name.encode())


@pytest.mark.parametrize("kind", [str, Path])
@pytest.mark.parametrize("url", ["s3://bucket/kept", "file:///kept", "memory://kept"])
def test_a_url_raises_an_error_that_names_the_argument(url, kind):
    """`pathlib` makes one slash of two, and there would be a folder `s3:`."""
    where = kind(url)
    with pytest.raises(ValueError, match=f"folder: .*got '{where}'"):
        jo.Checkpoint(where)
    with pytest.raises(ValueError, match=f"checkpoint: .*got '{where}'"):
        jo.Checkpoint.of(where)
    for use in (folder_at, jo.load_result):
        with pytest.raises(ValueError, match=f"path: .*got '{where}'"):
            use(where)


def test_a_folder_does_not_depend_on_the_working_directory(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    place = folder_at("kept")
    place.write({"a": b"1"})
    monkeypatch.chdir(tmp_path / "elsewhere")
    place.write({"b": b"2"})
    assert (place.read("a"), place.names(), place.name) == (b"1", ["a", "b", "blocks"], "kept")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_closing_a_folder_removes_what_a_killed_worker_left(tmp_path):
    with Folder(tmp_path).lock():
        left = tmp_path / "blocks" / "unfinished" / "0123"
        left.write_bytes(b"half of a file")
    assert not left.parent.exists()
