"""Files that are whole or absent, whenever the process is killed, and errors that say which file it was."""

import contextlib
import os
import struct
import uuid
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

TEMPORARY_SUFFIX = ".unfinished"
# what a damaged archive raises; RuntimeError: it seems to be encrypted, or packed in a way that is not known
DAMAGED_ARCHIVE_ERRORS = (ValueError, KeyError, EOFError, RuntimeError, struct.error, zipfile.BadZipFile, zlib.error)


def temporary_path(path: Path) -> Path:
    """A name beside `path` that nobody has used."""
    return path.with_name(f".{path.name}.{uuid.uuid4().hex}{TEMPORARY_SUFFIX}")


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file beside its place and move it there when the disk has it.

    Raises:
        OSError: it cannot be written (a full disk, a folder that is read-only); what was there before is still there.
    """
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
    """Wait until the disk has a file, or what is in a folder (of which Windows does not know)."""
    if os.name == "posix" or path.is_file():
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def name_in_errors(path: Path) -> Iterator[None]:
    """The errors of the system name this path, whatever they were about."""
    try:
        yield
    except OSError as error:
        if error.filename == str(path):
            raise
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def set_aside(path: Path) -> Path:
    """Move a damaged file out of the way, under a name that is free; returns that name."""
    names = (path.with_name(f"{path.name}{number}.damaged") for number in ("", *(f".{i}" for i in range(2, 10_000))))
    place = next(name for name in names if not name.exists())
    with name_in_errors(path):
        os.rename(path, place)
    return place
