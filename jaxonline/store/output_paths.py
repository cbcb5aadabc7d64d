"""Checks, before the work starts, that output files and folders can be written; the errors name the path."""

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from jaxonline.parameters.errors import ArgumentError, ArgumentOSError
from jaxonline.store.filesystem import local_path


def check_folder(name: str, path: str | Path) -> Path:
    """Check that an existing or new folder can be written; raises OSError if not, and ValueError for a URL."""
    with (
        _name_option(name, path, "a folder"),
        _temporary_folder(Path(path)) as folder,
        tempfile.TemporaryFile(dir=folder),
    ):
        return folder


def check_file(name: str, path: str | Path) -> Path:
    """Check that a file can be written, without changing it; raises OSError if not, and ValueError for a URL."""
    with _name_option(name, path, "a file"):
        path = Path(path)
        if path.exists():
            if path.is_dir():
                raise IsADirectoryError(0, "it is a folder")
            if not os.access(path, os.W_OK):
                raise PermissionError(0, "no permission")
            return path
        with _temporary_folder(path.parent):
            path.open("xb").close()
            path.unlink()
        return path


def check_distinct(files: Mapping[str, Path], folders: Mapping[str, Path] = {}) -> None:
    """Check that no output file equals another output or contains one; raises ValueError."""
    resolved = {name: path.resolve() for name, path in (*files.items(), *folders.items())}
    for name in files:
        for other, path in resolved.items():
            if other != name and resolved[name] in (path, *path.parents):
                raise ArgumentError(name, f"must be a file of its own (got '{files[name]}', in the way of {other})")


def run_all_steps(*steps: Callable[[], object]) -> None:
    """Run all steps, even if one fails; then raise one OSError with the messages of all OSErrors and ValueErrors."""
    errors: list[Exception] = []
    for step in steps:
        try:
            step()
        except (OSError, ValueError) as error:
            errors.append(error)
    if errors:
        raise OSError("; ".join(map(str, errors))) from errors[0]


@contextlib.contextmanager
def output_file(path: Path) -> Iterator[Path]:
    """Context manager: create the folder of `path`; the message of an OSError inside the context names the path."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield path
    except OSError as error:
        raise OSError(f"{path}: cannot be written ({error.strerror or error})") from error


def write_text(path: Path, text: str) -> Path:
    """Write a text file and create its folders."""
    with output_file(path):
        path.write_text(text, encoding="utf-8")
    return path


@contextlib.contextmanager
def _name_option(name: str, path: str | Path, kind: str) -> Iterator[None]:
    try:
        if not os.fspath(path):
            raise FileNotFoundError(0, "it is empty")
        local_path(path, name)
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ArgumentOSError(name, f"must be {kind} that can be written (got '{path}'); {reason}") from error


@contextlib.contextmanager
def _temporary_folder(folder: Path) -> Iterator[Path]:
    """Context manager: create a folder and its parents; at the end, remove those of the new folders that are empty."""
    places = (folder, *folder.parents)
    missing = [place for place in places if not place.exists()]
    if not places[len(missing)].is_dir():
        raise NotADirectoryError(0, f"{places[len(missing)]} is not a folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
    finally:
        for place in missing:
            with contextlib.suppress(OSError):
                place.rmdir()
