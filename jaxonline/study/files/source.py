"""Reading of study files: keys, their lines, and errors with file, line and key."""

import contextlib
import dataclasses
import functools
import json
import re
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from jaxonline.parameters.errors import did_you_mean, to_one_line
from jaxonline.store.files import DamagedStoreError, read_file
from jaxonline.study.files.templates import EXAMPLES, EXTRA_FILES, example_path

if sys.version_info >= (3, 14):
    import tomllib
else:
    import tomli as tomllib

KeyPath = tuple[str | int, ...]
MAX_MESSAGE_CHARACTERS = 600
MAX_DEPTH = 20  # of tables and lists inside each other
_KEY = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_LINE = re.compile(rf"\s*(\[\[?)?\s*({_KEY}(?:\s*\.\s*{_KEY})*)\s*(=|\]\]?\s*(?:#|$))")


class StudyFileError(ValueError):
    """An invalid study file; the message contains file, line and key."""


@dataclasses.dataclass(frozen=True)
class SourceFile:
    """A study file: its path, keys and content."""

    path: Path
    data: dict[str, Any]
    text: str = ""

    @property
    def folder(self) -> Path:
        """The folder of the study file; paths of other files are relative to this folder."""
        return self.path.resolve().parent

    @functools.cached_property
    def lines(self) -> dict[KeyPath, int]:
        """The number of the line on which each key stands that is not inside an inline table."""
        return lines_of(self.text)

    def error(self, at: KeyPath, words: str) -> StudyFileError:
        """Return the error of a key; the place is the line of the key, or of the closest key around it."""
        known = next((at[:n] for n in range(len(at), 0, -1) if at[:n] in self.lines), None)
        place = f"{self.path}:{self.lines[known]}" if known else str(self.path)
        message = to_one_line(f"{format_key(at)}: {words}" if at else words)
        if len(message) > MAX_MESSAGE_CHARACTERS:
            message = f"{message[: MAX_MESSAGE_CHARACTERS - 4]} ..."
        return StudyFileError(f"{place}: {message}")

    @contextlib.contextmanager
    def errors_at(self, at: KeyPath, arguments: Collection[str] = ()) -> Iterator[None]:
        """Context manager: an error inside becomes the error of the key; an ArgumentError may name a key below it.

        Args:
            at: the key of the object that is made inside.
            arguments: the keys below it; an ArgumentError of one of them names this key.
        """
        try:
            yield
        except StudyFileError:
            raise
        except Exception as error:
            argument = re.sub(r"\W.*", "", getattr(error, "argument", ""))
            if argument in arguments:
                raise self.error((*at, argument), error.problem) from error  # type: ignore[attr-defined]
            known = isinstance(error, ValueError | TypeError | OSError) and str(error)
            raise self.error(at, str(error) if known else f"{type(error).__name__}: {error}") from error


def lines_of(text: str) -> dict[KeyPath, int]:
    r"""Return the line number, from 1, of every TOML key that is not inside an inline table, by its path.

    Example:
        >>> lines_of('rounds = 5\n[game]\n"a b".noise = {type = "gaussian"}\n')
        {('rounds',): 1, ('game',): 2, ('game', 'a b'): 3, ('game', 'a b', 'noise'): 3}
    """
    lines: dict[KeyPath, int] = {}
    header: KeyPath = ()
    for number, row in enumerate(text.split("\n"), 1):
        match = _LINE.match(row)
        if match is None or bool(match[1]) == (match[3] == "="):
            continue
        try:
            path = _key_path(tomllib.loads(f"{match[2]} = 0"))
        except (ValueError, RecursionError):  # the line is inside a text
            continue
        header, path = (path, path) if match[1] else (header, (*header, *path))
        for n in range(1, len(path) + 1):
            lines.setdefault(path[:n], number)
    return lines


def _key_path(table: Any) -> KeyPath:
    """Return the keys of a table that holds one table, which holds one table, and so on."""
    return () if not isinstance(table, dict) else next((key, *_key_path(value)) for key, value in table.items())


def _depth(value: Any) -> int:
    """Return how many tables and lists are around the innermost value."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if items is None else 1 + max(map(_depth, items), default=0)


def format_key(path: KeyPath) -> str:
    """Format a key path as in TOML.

    Example:
        >>> format_key(("learners", "two copies", "means", 1))
        'learners."two copies".means[1]'
    """
    words = ""
    for key in path:
        bare = isinstance(key, str) and re.fullmatch(r"[A-Za-z0-9_-]+", key)
        words += f"[{key}]" if isinstance(key, int) else f".{key if bare else json.dumps(key, ensure_ascii=False)}"
    return words.removeprefix(".")


def read_source(name: str) -> SourceFile:
    """Read a TOML file, or a shipped file by its name; raises StudyFileError if it is missing or invalid."""
    path = Path(name)
    if path.suffix != ".toml":
        if path.is_file() or name not in EXAMPLES:
            words = "must end in .toml, or be the name of a shipped study"
            raise StudyFileError(f"{path}: {words}{did_you_mean(name, EXAMPLES)}")
        if name in EXTRA_FILES:
            raise StudyFileError(f"{name}: needs other files; `jaxonline new {name}` writes all of them")
        path = example_path(name)
    try:
        text = read_file(path).decode("utf-8-sig").replace("\r\n", "\n")
        source = SourceFile(path, tomllib.loads(text), text)
    except DamagedStoreError as error:
        raise StudyFileError(str(error)) from None
    except OSError as error:
        raise StudyFileError(f"{path}: cannot be read ({(error.strerror or str(error)).lower()})") from None
    except UnicodeDecodeError as error:
        raise StudyFileError(f"{path}:{error.object[: error.start].count(10) + 1}: must be UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise StudyFileError(f"{path}:{error.lineno}: not valid TOML: {error.msg}") from None
    except (RecursionError, ValueError):
        raise StudyFileError(f"{path}: is nested too deeply, or has an integer of more than 4,300 digits") from None
    for key, value in source.data.items():
        if _depth(value) > MAX_DEPTH:
            raise source.error((key,), f"must be nested in at most {MAX_DEPTH} levels")
    return source
