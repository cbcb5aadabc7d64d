"""Where a store is: a folder, or anything that fsspec reaches by a URL. Files have keys, "a/b/c", below it.

A folder is not written through fsspec or zarr's `LocalStore`: neither waits until a file is on the disk, and zarr's
files were not whole or absent before zarr-python's pull request 3412.
"""

import contextlib
import errno
import os
import re
import shutil
import uuid
import warnings
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.request import url2pathname

from jaxonline.parameters.warning_classes import UnlockedStoreWarning
from jaxonline.store.atomic_files import name_in_errors, set_aside, sync

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

SYNC_THREADS = 8  # files that are written to the disk at the same time


def is_url(where: Any) -> bool:
    """Whether something names a place by a URL, as `s3://bucket/study`."""
    return isinstance(where, str) and "://" in where


def storage_at(where: str | os.PathLike[str]) -> "Folder | Bucket":
    """The place with a path or a URL.

    Raises:
        ValueError: a URL that needs a package that is not there, or whose kind nobody knows; a path that was a URL.
    """
    path = local_path(where)
    return Bucket(str(where)) if path is None else Folder(path)


def local_path(where: str | os.PathLike[str]) -> Path | None:
    """The path of a folder, which may be said by a URL (`file:///home/me/a%20study`); None for any other URL.

    Raises:
        ValueError: a path that was a URL: `pathlib` makes one slash of two.
    """
    if is_url(where):
        url = str(where)
        return Path(url2pathname(url.removeprefix("file://"))) if url.startswith("file://") else None
    path = Path(where)
    if found := re.match("([A-Za-z][A-Za-z0-9.+-]+):/", path.as_posix()):
        raise ValueError(
            f"path: a URL must be given as a string ('{found[1]}://...'), and not as a path (got {str(path)!r})"
        )
    return path


class Folder:
    """A folder on a disk. Files are whole or absent, whenever the process is killed; errors name the folder.

    Args:
        path: made when something is written; where it is does not change with the working directory.
        scratch: a folder on the same disk for files that are being written; one inside by default.
    """

    def __init__(self, path: Path, scratch: Path | None = None):
        self.name, self._path, self._told = str(path), path.absolute(), path
        self._blocks = self._path / "blocks"
        self._scratch = scratch or self._blocks / "unfinished"

    @property
    def address(self) -> str:
        """The path, for processes that work in other folders."""
        return str(self._path)

    def read(self, key: str) -> bytes | None:
        """The content of a file, nothing where a folder is in its place, None where there is none."""
        try:
            return (self._path / key).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except IsADirectoryError:
            return b""

    def write(self, files: Mapping[str, bytes], durable: bool = True) -> None:
        """Write files, each beside its place, and move them there when the disk has them all; then the disk has them.

        Args:
            files: contents by key.
            durable: whether to wait for the disk; where not, the process may be killed, but the machine may not fail.

        Raises:
            OSError: one cannot be written (a full disk, a folder that is read-only); of those moved before, each is
                whole, and the others are as they were.
        """
        beside = {self._scratch / uuid.uuid4().hex: self._path / key for key in files}
        with name_in_errors(self._told):
            try:
                self._scratch.mkdir(parents=True, exist_ok=True)
                for path, content in zip(beside, files.values(), strict=True):
                    with open(path, "xb") as file:
                        file.write(content)
                _sync(beside if durable else ())
                folders: set[Path] = set()
                for path, place in beside.items():
                    folders |= self._made(place.parent)
                    os.replace(path, place)
                _sync(folders if durable else ())
            finally:
                for path in beside:
                    path.unlink(missing_ok=True)

    def remove(self, key: str) -> None:
        """A file, or a folder with all that is in it."""
        path = self._path / key
        with name_in_errors(self._told):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def names(self, key: str = "") -> list[str]:
        """What is in a folder; nothing where there is none."""
        try:
            return sorted(os.listdir(self._path / key))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def set_aside(self, key: str) -> str | None:
        """Move a damaged file out of the way; returns its new name, None where there was nothing."""
        path = self._path / key
        return set_aside(path).name if os.path.lexists(path) else None

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """One process at a time works here: the system lets the next one in when this one ends, however it ends.

        Raises:
            BlockingIOError: another process is working here.
            OSError: nothing can be written here.
        """
        with name_in_errors(self._told):
            self._blocks.mkdir(parents=True, exist_ok=True)
            file = (self._blocks / "lock").open("ab")
        with file:
            self._flock(file)
            with name_in_errors(self._told):
                if self._scratch.exists():
                    shutil.rmtree(self._scratch)  # of a process that died
                self._scratch.mkdir()  # now, and not after an hour of work, it is found that nothing can be written
            try:
                yield
            finally:
                with contextlib.suppress(OSError):
                    self._scratch.rmdir()

    def _flock(self, file: Any) -> None:
        try:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                message = "another process is working on this checkpoint; wait for it, or give another folder"
                raise BlockingIOError(errno.EAGAIN, message, self.name) from None
            warnings.warn(
                f"checkpoint {self.name} cannot be locked ({error.strerror}): see to it that one process works on it",
                UnlockedStoreWarning, stacklevel=2,
            )  # fmt: skip

    def _made(self, folder: Path) -> set[Path]:
        """A folder, made where it is missing, and those in which that is something new."""
        new = {folder}
        while not folder.exists():
            folder = folder.parent
            new.add(folder)
        max(new, key=lambda each: len(each.parts)).mkdir(parents=True, exist_ok=True)
        return new


class Bucket:
    """What fsspec reaches by a URL: `s3://...`, `memory://...`. A file is whole or absent; nothing is locked.

    How to get there (an endpoint, credentials) is said as fsspec has it: in its configuration, or in the environment.
    """

    def __init__(self, url: str):
        self.name = url
        try:
            import fsspec

            self._files, root = fsspec.url_to_fs(url)
        except ImportError as error:
            raise ValueError(
                f"{url}: needs a package that is not installed ({error}); pip install 'jaxonline[remote]'"
            ) from None
        except ValueError as error:
            raise ValueError(f"{url}: cannot be reached ({error})") from None
        self._root, self.address = root.rstrip("/"), url

    def read(self, key: str) -> bytes | None:
        """The content of a file, None where there is none."""
        try:
            return self._do("cat_file", self._at(key))
        except FileNotFoundError:
            return None

    def write(self, files: Mapping[str, bytes], durable: bool = True) -> None:
        """Write files, several at once.

        Raises:
            OSError: one cannot be written.
        """
        self._do("pipe", {self._at(key): content for key, content in files.items()})

    def remove(self, key: str) -> None:
        """A file, or all that is below it."""
        self._do("invalidate_cache")
        with contextlib.suppress(FileNotFoundError):
            self._do("rm", self._at(key), recursive=True)

    def copy(self, keys: Mapping[str, str]) -> None:
        """Copy files, from a key to another one, several at once.

        Raises:
            OSError: one cannot be copied.
        """
        self._do("copy", [self._at(key) for key in keys], [self._at(key) for key in keys.values()])

    def names(self, key: str = "") -> list[str]:
        """What is below a key; nothing where there is none."""
        self._do("invalidate_cache")
        try:
            found = self._do("ls", self._at(key), detail=False)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(path.rstrip("/").rpartition("/")[2] for path in found)

    def set_aside(self, key: str) -> str | None:
        """Move a damaged file out of the way; returns its new name, None where there was nothing."""
        content = self.read(key)
        if content is None:
            return None
        folder, _, name = key.rpartition("/")
        taken, number = self.names(folder), 1
        while (free := f"{name}{'' if number == 1 else f'.{number}'}.damaged") in taken:
            number += 1
        self.write({f"{folder}/{free}".lstrip("/"): content})
        self.remove(key)
        return free

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Nothing is locked: what two processes write at the same time is the same, and whole."""
        yield

    def _at(self, key: str) -> str:
        return f"{self._root}/{key}".rstrip("/")

    def _do(self, what: str, *arguments: Any, **options: Any) -> Any:
        """A call of fsspec; whatever goes wrong is an OSError that names the URL."""
        try:
            return getattr(self._files, what)(*arguments, **options)
        except OSError as error:
            raise type(error)(error.errno or errno.EIO, error.strerror or str(error), self.name) from error
        except Exception as error:  # of the package that reaches it
            raise OSError(errno.EIO, f"{type(error).__name__}: {error}", self.name) from error


def _sync(paths: Iterable[Path]) -> None:
    """Wait until the disk has all of them, which takes as long as for a few."""
    paths = list(paths)
    if len(paths) == 1:
        sync(paths[0])
    elif paths:
        with ThreadPoolExecutor(min(SYNC_THREADS, len(paths))) as pool:
            list(pool.map(sync, paths))
