"""Reading of study files: keys, their lines, and errors with file, line and key."""

import dataclasses
import datetime
import functools
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jaxonline.parameters import check
from jaxonline.parameters.errors import did_you_mean, replace_controls
from jaxonline.study.files.key_lines import (
    MAX_KEY_PARTS,
    KeyPath,
    line_of_long_key,
    lines_of_json,
    lines_of_toml,
)
from jaxonline.study.files.templates import EXAMPLES, EXTRA_FILES, example_path

if sys.version_info >= (3, 14):
    import tomllib
else:
    import tomli as tomllib

MAX_FILE_BYTES = 5_000_000
MAX_MESSAGE_CHARACTERS = 600
SUFFIXES = (".toml", ".json")


class StudyFileError(ValueError):
    """An invalid study file; the message contains file, line and key."""

    def __str__(self) -> str:
        return replace_controls(super().__str__())


@dataclasses.dataclass(frozen=True)
class SourceFile:
    """A study file: its path, keys and content."""

    path: Path
    data: dict[str, Any]
    text: str = ""

    @functools.cached_property
    def lines(self) -> dict[KeyPath, int]:
        """The line numbers of the keys, by key path."""
        return (lines_of_json if self.path.suffix == ".json" else lines_of_toml)(self.text)

    @property
    def folder(self) -> Path:
        """The folder of the study file; paths of other files are relative to this folder."""
        return self.path.resolve().parent

    def error_at(self, at: KeyPath, words: str) -> StudyFileError:
        """Return a StudyFileError at a key, or at the closest key that exists."""
        known = next((at[:n] for n in range(len(at), 0, -1) if at[:n] in self.lines), None)
        place = str(self.path) if known is None else f"{self.path}:{self.lines[known]}"
        message = " ".join((f"{format_key(at)}: {words}" if at else words).split())
        if len(message) > MAX_MESSAGE_CHARACTERS:
            message = f"{message[: MAX_MESSAGE_CHARACTERS - 4]} ..."
        return StudyFileError(f"{place}: {message}")


def format_key(path: KeyPath) -> str:
    """Format a key path as in TOML.

    Example:
        >>> from jaxonline.study.files.reading import format_key
        >>> format_key(("learners", "two copies", "means", 1))
        'learners."two copies".means[1]'
    """
    words = ""
    for key in path:
        if isinstance(key, int):
            words += f"[{key}]"
        else:
            bare = key and key.replace("_", "").replace("-", "").isalnum() and key.isascii()
            words += f".{key}" if bare else f".{json.dumps(key, ensure_ascii=False)}"
    return words.removeprefix(".")


def read_source(path: str | os.PathLike[str]) -> SourceFile:
    """Read a TOML or JSON file, or a shipped file by its name; raises StudyFileError if it is missing or invalid."""
    path = _find_file(Path(check.path("path", path)))
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise StudyFileError(f"{path}: must be below {MAX_FILE_BYTES // 10**6} MB; put data into a file of its own")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise StudyFileError(f"{path}: cannot be read ({(error.strerror or str(error)).lower()})") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise StudyFileError(f"{path}:{line}: must be UTF-8") from None
    long_key = line_of_long_key(text) if path.suffix == ".toml" else None
    if long_key is not None:
        raise StudyFileError(f"{path}:{long_key}: a key must have at most {MAX_KEY_PARTS} parts")
    try:
        data = tomllib.loads(text) if path.suffix == ".toml" else _parse_json(text)
        date = next(_dates(data), None)
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(path, "TOML", error.msg, error.lineno) from None
    except json.JSONDecodeError as error:
        raise _syntax_error(path, "JSON", error.msg, error.lineno) from None
    except RecursionError:
        raise StudyFileError(f"{path}: is nested too deeply") from None
    except ValueError as error:
        raise StudyFileError(f"{path}: {error}") from None
    if not isinstance(data, dict):
        raise StudyFileError(f"{path}:1: must be a table of keys (got {check.quote(data)})")
    source = SourceFile(path, data, text)
    if date is not None:
        raise source.error_at(date[0], f"must not be a date or time (got {date[1]}); write it as a string")
    return source


def _find_file(path: Path) -> Path:
    """Return the path of a study file, given by its path or by the name of a shipped file."""
    if path.suffix in SUFFIXES:
        return path
    name = str(path)
    if path.is_file() or name not in EXAMPLES:
        words = "must end in .toml or .json, or be the name of a shipped study"
        raise StudyFileError(f"{path}: {words}{did_you_mean(name, EXAMPLES)}")
    if name in EXTRA_FILES:
        raise StudyFileError(f"{name}: needs other files; `jaxonline new {name}` writes all of them")
    return example_path(name)


def _syntax_error(path: Path, language: str, message: str, line: int) -> StudyFileError:
    return StudyFileError(f"{path}:{line}: not valid {language}: {message[:1].lower()}{message[1:]}")


def _dates(value: Any, at: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    """Yield dates and times with their keys; only TOML has them, and study files must not contain them."""
    if isinstance(value, datetime.date | datetime.time):
        yield at, value
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from _dates(item, (*at, key))


def _parse_json(text: str) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        repeated = sorted(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
        if repeated:
            raise ValueError(f"the key {repeated[0]!r} appears twice")
        return dict(pairs)

    def no_number(word: str) -> None:
        raise ValueError(f"{word} is not a JSON number")

    return json.loads(text, object_pairs_hook=once, parse_constant=no_number)
