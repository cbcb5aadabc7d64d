"""Where stores are: a folder or what fsspec reaches, with the same keys."""

import errno
import re
from pathlib import Path

import pytest

from jaxonline.store.filesystem import Bucket, Folder, is_url, storage_at


@pytest.fixture(params=["folder", "url"])
def place(request, tmp_path):
    if request.param == "folder":
        return storage_at(tmp_path / "kept")
    return storage_at(f"memory://{tmp_path.as_posix()}/kept")


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


def test_a_location_is_a_folder_or_a_bucket(tmp_path):
    assert not is_url(tmp_path)
    assert not is_url("kept/part")
    assert is_url("s3://bucket/kept")
    assert isinstance(storage_at("memory://kept"), Bucket)
    assert isinstance(storage_at(f"file://{tmp_path}"), Folder)
    storage_at((tmp_path / "a study, 100 %").as_uri()).write({"a": b"1"})
    assert (tmp_path / "a study, 100 %" / "a").read_bytes() == b"1"


@pytest.mark.parametrize("url", ["s3://bucket/kept", "file:///kept", "memory://kept"])
def test_a_path_made_of_a_url_raises_an_error(url):
    """`pathlib` makes one slash of two, and there would be a folder `s3:`."""
    with pytest.raises(ValueError, match=f"path: .*got '{Path(url)}'"):
        storage_at(Path(url))


def test_a_folder_does_not_depend_on_the_working_directory(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    place = storage_at("kept")
    place.write({"a": b"1"})
    monkeypatch.chdir(tmp_path / "elsewhere")
    place.write({"b": b"2"})
    assert (place.read("a"), place.names(), place.name) == (b"1", ["a", "b", "blocks"], "kept")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_errors_at_a_url_name_it(monkeypatch):
    place = storage_at("memory://kept")

    def fail(*_, **__):
        raise error

    for error in (RuntimeError("the endpoint is gone"), PermissionError(errno.EACCES, "not yours")):
        monkeypatch.setattr(place._files, "pipe", fail)
        with pytest.raises(OSError, match=re.escape(str(error.args[-1]))) as told:
            place.write({"a": b"1"})
        assert told.value.filename == "memory://kept"
        assert isinstance(told.value, PermissionError) == isinstance(error, PermissionError)
    for url in ("nowhere://kept", "nowhere://"):
        with pytest.raises(ValueError, match=url):
            storage_at(url)


@pytest.mark.parametrize("n_failures", [3, 1000])
def test_a_url_that_fails_for_a_while_is_tried_again(monkeypatch, tmp_path, n_failures):
    """Not a wrong address or a full store: these raise at once."""
    monkeypatch.setattr("jaxonline.store.filesystem.MAX_RETRY_WAIT", 0.001)
    monkeypatch.setattr("jaxonline.store.filesystem.RETRY_SECONDS", 0.05)
    place, calls = storage_at(f"memory://{tmp_path.name}"), []
    write = place._files.pipe

    def fail(*arguments):
        calls.append(arguments)
        if len(calls) <= n_failures:
            raise error
        return write(*arguments)

    monkeypatch.setattr(place._files, "pipe", fail)
    error = TimeoutError(errno.ETIMEDOUT, "no answer")
    with pytest.raises(TimeoutError):
        place.write({"a": b"0"})
    assert len(calls) == 1, "the URL has never been reached"
    assert place.read("a") is None
    full, error = error, OSError(errno.ENOSPC, "full")
    with pytest.raises(OSError, match="full"):
        place.write({"a": b"1"})
    assert len(calls) == 2, "the store is full"
    error = full
    if n_failures > 3:
        with pytest.raises(ConnectionError, match=rf"^{place.name}: the store failed for 0\.05 s .*resumes"):
            place.write({"a": b"2"})
        n_failures = len(calls)
        assert n_failures > 5, "it was repeated"
    place.write({"a": b"3"})
    assert (place.read("a"), len(calls)) == (b"3", n_failures + 1)


def test_a_url_that_is_temporarily_unavailable_at_first_is_tried_again(monkeypatch, tmp_path):
    monkeypatch.setattr("jaxonline.store.filesystem.MAX_RETRY_WAIT", 0.001)
    monkeypatch.setattr("jaxonline.store.filesystem.RETRY_SECONDS", 0.05)
    place, failures = storage_at(f"memory://{tmp_path.name}"), [0, 0, 0]
    read = place._files.cat_file

    def fail(*arguments):
        if failures:
            raise BlockingIOError(errno.EAGAIN, f"Resource temporarily unavailable {failures.pop()}")
        return read(*arguments)

    monkeypatch.setattr(place._files, "cat_file", fail)
    assert place.read("a") is None
    assert not failures
    failures += [0] * 10_000
    with pytest.raises(ConnectionError, match=r"the store failed for 0\.05 s"):
        place.read("a")


def test_closing_a_folder_removes_what_a_killed_worker_left(tmp_path):
    with Folder(tmp_path).lock():
        left = tmp_path / "blocks" / "unfinished" / "0123"
        left.write_bytes(b"half of a file")
    assert not left.parent.exists()
