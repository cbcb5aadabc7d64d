"""Storage of a study: a local folder. A file has a key relative to the folder, such as "a/b/c"."""

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

from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError, DamagedStoreWarning
from jaxonline.store.atomic_files import name_in_errors, set_aside, sync

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

SYNC_THREADS = 8


def folder_at(path: str | os.PathLike[str]) -> "Folder":
    """Return the folder of a path; ValueError for a URL, also for a `Path` made of one."""
    return Folder(local_path(path))


def local_path(path: str | os.PathLike[str], argument: str = "path") -> Path:
    """Return a path as a `Path`; ValueError, with the name of the argument, for a URL such as `s3://bucket/study`."""
    if not isinstance(path, str | os.PathLike):  # `parameters.check` would import jax in each command
        raise ArgumentTypeError(argument, f"must be a path (got an object of class {type(path).__name__})")
    if re.match("[A-Za-z][A-Za-z0-9.+-]+:/", Path(path).as_posix()):
        raise ArgumentError(argument, f"must be a path on this computer, not a URL (got {str(path)!r})")
    return Path(path)


class Folder:
    """A folder on a disk. A file is complete or absent, even if the process is killed; errors name the folder."""

    def __init__(self, path: Path, scratch: Path | None = None):
        self.name, self._path, self._given_path = str(path), path.absolute(), path
        self._blocks = self._path / "blocks"
        self._scratch = scratch or self._blocks / "unfinished"

    @property
    def address(self) -> str:
        """The absolute path of the folder, which is valid in other processes too."""
        return str(self._path)

    def read(self, key: str) -> bytes | None:
        """Return the content of a file; b"" if the key names a folder, None if the file is absent."""
        try:
            return (self._path / key).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except IsADirectoryError:
            return b""

    def write(self, files: Mapping[str, bytes], durable: bool = True) -> None:
        """Write files to temporary names, wait for the disk (if `durable`), and rename them.

        If `durable` is False, the files survive a killed process, but not a power failure. After an OSError, each file
        is either completely written or unchanged.
        """
        beside = {self._scratch / uuid.uuid4().hex: self._path / key for key in files}
        with name_in_errors(self._given_path):
            try:
                self._scratch.mkdir(parents=True, exist_ok=True)
                for path, content in zip(beside, files.values(), strict=True):
                    with open(path, "xb") as file:
                        file.write(content)
                _sync(beside if durable else ())
                folders: set[Path] = set()
                for path, place in beside.items():
                    folders |= self._create(place.parent)
                    os.replace(path, place)
                _sync(folders if durable else ())
            finally:
                for path in beside:
                    path.unlink(missing_ok=True)

    def remove(self, key: str) -> None:
        """Remove a file, or a folder with all its files."""
        path = self._path / key
        with name_in_errors(self._given_path):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def names(self, key: str = "") -> list[str]:
        """List the names in a folder; the list is empty if the folder is absent."""
        try:
            return sorted(os.listdir(self._path / key))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def set_aside(self, key: str) -> str | None:
        """Rename a damaged file; return its new name, or None if the file is absent."""
        path = self._path / key
        return set_aside(path).name if os.path.lexists(path) else None

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Context manager: lock the folder; BlockingIOError if it is locked already, OSError if it is not writable."""
        with name_in_errors(self._given_path):
            self._blocks.mkdir(parents=True, exist_ok=True)
            file = (self._blocks / "lock").open("ab")
        with file:
            self._flock(file)
            with name_in_errors(self._given_path):
                if self._scratch.exists():
                    shutil.rmtree(self._scratch)  # left by a killed process
                self._scratch.mkdir()  # fails now, rather than after an hour of work, if nothing can be written
            try:
                yield
                shutil.rmtree(self._scratch, ignore_errors=True)  # a killed worker of a cluster leaves files
            finally:
                with contextlib.suppress(OSError):
                    self._scratch.rmdir()

    def _flock(self, file: Any) -> None:
        try:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                message = "another process uses this checkpoint; wait for it, or give another folder"
                raise BlockingIOError(errno.EAGAIN, message, self.name) from None
            warnings.warn(
                f"checkpoint {self.name} cannot be locked ({error.strerror}); let only one process use it",
                DamagedStoreWarning, stacklevel=2,
            )  # fmt: skip

    def _create(self, folder: Path) -> set[Path]:
        """Create a folder and its parents; return the folders that have new entries."""
        new = {folder}
        while not folder.exists():
            folder = folder.parent
            new.add(folder)
        max(new, key=lambda path: len(path.parts)).mkdir(parents=True, exist_ok=True)
        return new


def _sync(paths: Iterable[Path]) -> None:
    paths = list(paths)
    if len(paths) == 1:
        sync(paths[0])
    elif paths:
        with ThreadPoolExecutor(min(SYNC_THREADS, len(paths))) as pool:
            list(pool.map(sync, paths))
