"""Atomic file writes: a file is complete or absent, even if the process is killed. Error messages name the file."""

import contextlib
import os
import struct
import uuid
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

TEMPORARY_SUFFIX = ".unfinished"
# errors of damaged archives; RuntimeError: it seems encrypted, or its compression is unknown
DAMAGED_ARCHIVE_ERRORS = (ValueError, KeyError, EOFError, RuntimeError, struct.error, zipfile.BadZipFile, zlib.error)


def temporary_path(path: Path) -> Path:
    """Return an unused path in the same folder as `path`."""
    return path.with_name(f".{path.name}.{uuid.uuid4().hex}{TEMPORARY_SUFFIX}")


def write_atomically(path: Path, content: bytes) -> None:
    """Write a temporary file, sync it to the disk, and rename it; after an OSError the old file is unchanged."""
    beside = temporary_path(path)
    with name_in_errors(path):
        try:
            with open(beside, "xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, path)
        finally:
            beside.unlink(missing_ok=True)
        sync(path.parent)


def sync(path: Path) -> None:
    """Wait until a file, or the entries of a folder (not on Windows), are on the disk."""
    if os.name == "posix" or path.is_file():
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def name_in_errors(path: Path) -> Iterator[None]:
    """Context manager: the message of an OSError inside the context names this path."""
    try:
        yield
    except OSError as error:
        if error.filename == str(path):
            raise
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def set_aside(path: Path) -> Path:
    """Rename a damaged file to an unused name; return the new name."""
    names = (path.with_name(f"{path.name}{number}.damaged") for number in ("", *(f".{i}" for i in range(2, 10_000))))
    place = next(name for name in names if not name.exists())
    with name_in_errors(path):
        os.rename(path, place)
    return place
