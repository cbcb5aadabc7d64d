"""Files and folders that will be written: found to be unwritable before the work, and named when writing fails."""

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from jaxonline.parameters.errors import ArgumentError, ArgumentOSError
from jaxonline.store.filesystem import is_url


def check_folder(name: str, path: str | Path) -> Path:
    """Check that files can be written in a folder, which need not be there yet; nothing is left behind.

    Raises:
        ValueError: a URL.
        OSError: it cannot be made, or nothing can be written there.
    """
    with _said(name, path, "a folder"), _made(Path(path)) as folder, tempfile.TemporaryFile(dir=folder):
        return folder


def check_file(name: str, path: str | Path) -> Path:
    """Check that a file can be written, in a folder that need not be there yet; what is there stays as it is.

    Raises:
        ValueError: a URL.
        OSError: it cannot be written.
    """
    with _said(name, path, "a file"):
        path = Path(path)
        if path.exists():
            if path.is_dir():
                raise IsADirectoryError(0, "it is a folder")
            if not os.access(path, os.W_OK):
                raise PermissionError(0, "no permission")
            return path
        with _made(path.parent):
            path.open("xb").close()
            path.unlink()
        return path


def check_distinct(files: Mapping[str, Path], folders: Mapping[str, Path] = {}) -> None:
    """Check that no file is another one, or a folder that is needed.

    Raises:
        ValueError: one is in the way of another.
    """
    there = {name: path.resolve() for name, path in (*files.items(), *folders.items())}
    for name in files:
        for other, path in there.items():
            if other != name and there[name] in (path, *path.parents):
                raise ArgumentError(name, f"must be a file of its own (got '{files[name]}', in the way of {other})")


def run_all_steps(*steps: Callable[[], object]) -> None:
    """Take every step, also when one before it could not be taken.

    Raises:
        OSError: after the last step, what could not be written, or may not be replaced (ValueErrors of the steps).
    """
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
    """`with writing(path)`: its folder is made, and an error names the path."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield path
    except OSError as error:
        raise OSError(f"{path}: cannot be written ({error.strerror or error})") from error


def write_text(path: Path, text: str) -> Path:
    """Write a text, in folders made for it."""
    with output_file(path):
        path.write_text(text, encoding="utf-8")
    return path


@contextlib.contextmanager
def _said(name: str, path: str | Path, what: str) -> Iterator[None]:
    try:
        if not os.fspath(path):
            raise FileNotFoundError(0, "it is empty")
        if is_url(path):
            raise ArgumentError(name, f"must be {what} of this computer (got '{path}', a URL)")
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ArgumentOSError(name, f"must be {what} that can be written (got '{path}'); {reason}") from error


@contextlib.contextmanager
def _made(folder: Path) -> Iterator[Path]:
    """A folder, made for a moment where it is missing."""
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
