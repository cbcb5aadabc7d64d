"""Paths that a user gives for files and folders, with checks before the work starts; the errors name the path.

This module imports neither jax nor NumPy, so that the command line starts fast.
"""

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from jaxonline.parameters.errors import ArgumentError, ArgumentOSError, ArgumentTypeError
from jaxonline.store.files import name_in_errors


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
    place = next(place for place in (path, *path.parents) if place.exists())
    is_written_file = is_file and place == path
    if place.is_dir() == is_written_file:
        return "it is a folder" if is_written_file else f"{place} is not a folder"
    if is_written_file:
        return "" if os.access(place, os.W_OK) else "no permission"
    tempfile.TemporaryFile(dir=place).close()
    return ""


@contextlib.contextmanager
def output_file(path: Path) -> Iterator[Path]:
    """Context manager: create the folder of `path`; the message of an OSError inside the context names the path."""
    with name_in_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        yield path


def write_text(path: Path, text: str) -> Path:
    """Write a text file and create its folders."""
    with output_file(path):
        path.write_text(text, encoding="utf-8")
    return path
