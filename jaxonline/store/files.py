"""The writer of all files of the package, the reader of files of a folder, checks of paths, and a lock for one process.

Error messages name the path. This module imports neither jax nor NumPy, so that the command line starts fast.
"""

import contextlib
import errno
import os
import re
import tempfile
import time
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path

from jaxonline.parameters.errors import ArgumentError, ArgumentOSError, ArgumentTypeError, DamagedStoreWarning

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

TEMPORARY_SUFFIX = ".unfinished"
LOCK = "lock"
ABANDONED_SECONDS = 3600.0  # after which a temporary file counts as left by a killed process


class DamagedStoreError(ValueError):
    """A file that jaxonline wrote is damaged, or something else is in its place."""


# ---------------------------------------------------------------------------------------------------------------------
# Reading and writing


def is_no_file(path: Path) -> bool:
    """Return whether a path exists that is not a file, but a folder, a device or a FIFO, or a link to one of them."""
    return path.exists() and not path.is_file()


def check_inside(folder: Path, path: Path) -> Path:
    """Return a path; DamagedStoreError if a symbolic link leads from the folder to a place outside."""
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
        raise DamagedStoreError(f"{path}: must not be a link to a place outside of {folder}")
    return path


def read_file(path: Path, folder: Path | None = None) -> bytes:
    """Return the content of a file.

    Raises:
        DamagedStoreError: the path is a folder, device or FIFO, or with `folder` a link to a place outside of `folder`.
        OSError: the file cannot be read.
    """
    if folder is not None:
        check_inside(folder, path)
    if is_no_file(path):
        raise DamagedStoreError(f"{path}: must be a file (got a folder, a device or a FIFO)")
    return path.read_bytes()


def write_atomically(path: Path, content: bytes | str) -> Path:
    """Write a temporary file, sync it to the disk, and rename it: the file at `path` is complete or unchanged.

    If `path` is a symbolic link, the file replaces the link, and the target of the link does not change. Folders are
    created. Raises an OSError that names the path, also if it is a folder, a device or a FIFO.
    """
    content = content.encode() if isinstance(content, str) else content
    beside = path.with_name(f".{path.name[:50]}.{uuid.uuid4().hex}{TEMPORARY_SUFFIX}")
    with name_in_errors(path):
        if is_no_file(path) or path.parent == Path("/dev"):
            raise OSError(errno.EEXIST, "must be a file (got a folder, a device or a FIFO)")
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(beside, "xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, path)
        finally:
            beside.unlink(missing_ok=True)
        _sync_folder(path.parent)
    return path


def remove_abandoned(folder: Path, seconds: float = ABANDONED_SECONDS, deep: bool = False) -> None:
    """Remove temporary files that killed processes left in a folder (`deep`: and below) at least `seconds` ago."""
    for left in (folder.rglob if deep else folder.glob)(f".*.{'[0-9a-f]' * 32}{TEMPORARY_SUFFIX}"):
        with contextlib.suppress(OSError):
            if left.stat().st_mtime <= time.time() - seconds:
                left.unlink()


def set_aside(path: Path) -> Path:
    """Rename a damaged file; return its new name."""
    place = path.with_name(f"{path.name}.damaged")
    with name_in_errors(path):
        os.replace(path, place)
    return place


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Context manager: create and lock a folder; BlockingIOError if another process has locked it."""
    with name_in_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / LOCK).is_symlink() or is_no_file(folder / LOCK):
            (folder / LOCK).unlink()
        file = open(folder / LOCK, "ab")  # noqa: SIM115
    with file:
        try:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                message = "another process uses this checkpoint; wait for it, or give another folder"
                raise BlockingIOError(errno.EAGAIN, message, str(folder)) from None
            warnings.warn(
                f"checkpoint {folder} cannot be locked ({error.strerror}); let only one process use it",
                DamagedStoreWarning, stacklevel=3,
            )  # fmt: skip
        yield


@contextlib.contextmanager
def name_in_errors(path: Path) -> Iterator[None]:
    """Context manager: the message of an OSError inside the context names this path."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def _sync_folder(folder: Path) -> None:
    """Wait until the entries of a folder are on the disk (not on Windows)."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


# ---------------------------------------------------------------------------------------------------------------------
# Paths that a user gives for files and folders, with checks before the work starts


def local_path(path: str | os.PathLike[str], argument: str = "path") -> Path:
    """Return a path as a `Path`; ValueError, with the name of the argument, for a URL such as `s3://bucket/study`."""
    if not isinstance(path, str | os.PathLike):
        raise ArgumentTypeError(argument, f"must be a path (got an object of class {type(path).__name__})")
    if re.match("[A-Za-z][A-Za-z0-9.+-]+:/", Path(path).as_posix()):
        raise ArgumentError(argument, f"must be a path on this computer, not a URL (got {str(path)!r})")
    return Path(path)


def check_folder(name: str, path: str | os.PathLike[str]) -> Path:
    """Check that an existing or new folder can be written; raises OSError if not, and ValueError for a URL."""
    return _check_output(name, path, is_file=False)


def check_file(name: str, path: str | os.PathLike[str]) -> Path:
    """Check that an existing or new file can be written; raises OSError if not, and ValueError for a URL."""
    return _check_output(name, path, is_file=True)


def _check_output(name: str, given: str | os.PathLike[str], is_file: bool) -> Path:
    path = local_path(given, name)
    try:
        problem = "it is empty" if not os.fspath(given) else _problem_of(path.absolute(), is_file)
    except OSError as error:
        problem = error.strerror
    if problem:
        kind = "file" if is_file else "folder"
        raise ArgumentOSError(name, f"must be a {kind} that can be written (got '{given}'); {problem}")
    return path


def _problem_of(path: Path, is_file: bool) -> str:
    """Return why a path cannot be written, or ""; raises OSError if a file cannot be made in its folder."""
    if is_file and is_no_file(path):
        return "it is a folder" if path.is_dir() else "it is a device or a FIFO"
    if is_file and path.exists() and not os.access(path, os.W_OK):
        return "no permission"
    places = path.parents if is_file else (path, *path.parents)
    place = next(place for place in places if place.exists())
    if not place.is_dir():
        return f"{place} is not a folder"
    tempfile.TemporaryFile(dir=place).close()
    return ""
