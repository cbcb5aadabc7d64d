"""Atomic writes of files, and a lock for one process. Error messages name the path."""

import contextlib
import errno
import os
import struct
import time
import uuid
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from jaxonline.parameters.errors import DamagedStoreWarning

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

TEMPORARY_SUFFIX = ".unfinished"
LOCK = "lock"
ABANDONED_SECONDS = 3600.0  # after which a temporary file counts as left by a killed process
# errors of damaged archives; RuntimeError: it seems encrypted, or its compression is unknown
DAMAGED_ARCHIVE_ERRORS = (ValueError, KeyError, EOFError, RuntimeError, struct.error, zipfile.BadZipFile, zlib.error)


# ---------------------------------------------------------------------------------------------------------------------
# Writing


def write_atomically(path: Path, content: bytes) -> None:
    """Write a temporary file, sync it to the disk, and rename it: the file at `path` is complete or unchanged.

    Folders are created. Raises an OSError that names the path.
    """
    beside = path.with_name(f".{path.name}.{uuid.uuid4().hex}{TEMPORARY_SUFFIX}")
    with name_in_errors(path):
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


def remove_abandoned(folder: Path, seconds: float = ABANDONED_SECONDS) -> None:
    """Remove temporary files that killed processes left in a folder, at least `seconds` ago."""
    for left in folder.rglob(f".*.{'[0-9a-f]' * 32}{TEMPORARY_SUFFIX}"):
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
