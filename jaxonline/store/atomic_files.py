"""Atomic file writes: a file is complete or absent, even if the process is killed. Error messages name the file."""

import contextlib
import os
import shutil
import struct
import uuid
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

TEMPORARY_SUFFIX = ".unfinished"
NEW, OLD = "new", "old"  # stores in a temporary folder: one to move to its path, one that was moved away
# errors of damaged archives; RuntimeError: it seems encrypted, or its compression is unknown
DAMAGED_ARCHIVE_ERRORS = (ValueError, KeyError, EOFError, RuntimeError, struct.error, zipfile.BadZipFile, zlib.error)


def temporary_path(path: Path) -> Path:
    """Return an unused path in the same folder as `path`."""
    return path.with_name(f".{path.name}.{uuid.uuid4().hex}{TEMPORARY_SUFFIX}")


def remove_abandoned(folder: Path, name: str = "*") -> None:
    """Remove the temporary files and folders of killed processes, beside the files of a folder that match `name`.

    A process that runs keeps its temporary files locked (`lock_temporary`). A folder stays if it holds the only copy of
    a store that was moved away. Nothing is removed on Windows and on disks without locks.
    """
    for left in folder.glob(f".{name}.{'[0-9a-f]' * 32}{TEMPORARY_SUFFIX}"):
        with contextlib.suppress(OSError), lock_temporary(left) as is_locked:
            if not is_locked:
                continue
            if not left.is_dir():
                left.unlink()
            elif not (left / OLD).exists() or _final_path(left).exists():
                shutil.rmtree(left)


def _final_path(temporary: Path) -> Path:
    """Return the path for which `temporary_path` made a temporary path."""
    return temporary.with_name(temporary.name.removeprefix(".").removesuffix(TEMPORARY_SUFFIX).rpartition(".")[0])


@contextlib.contextmanager
def lock_temporary(path: Path) -> Iterator[bool]:
    """Context manager: lock a temporary file or folder; False if another process has locked it, or nothing can lock."""
    if fcntl is None:
        yield False
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_locked = True
        except OSError:
            is_locked = False
        yield is_locked
    finally:
        os.close(handle)


def write_atomically(path: Path, content: bytes) -> None:
    """Write a temporary file, sync it to the disk, and rename it; after an OSError the old file is unchanged."""
    beside = temporary_path(path)
    with name_in_errors(path):
        try:
            file = open(beside, "xb")  # noqa: SIM115
            with lock_temporary(beside):
                with file:
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
