"""Line numbers of the keys in TOML and JSON text."""

import bisect
import contextlib
import json
import re
from collections.abc import Callable

KeyPath = tuple[str | int, ...]
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_PLAIN = re.compile(r"[^,\]}#\n]+")
_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}' r"|'''.*?'{3,5}" r'|"(?:\\.|[^"\\\n])*"' r"|'[^'\n]*'", flags=re.DOTALL
)

MAX_KEY_PARTS = 50
_STRING_OR_COMMENT = re.compile(rf"#[^\n]*|{_STRING.pattern}", flags=re.DOTALL)
_LONG_KEY = re.compile(rf"(?<![\w.-])(?:[\w-]+|'')(?:[ \t]*\.[ \t]*(?:[\w-]+|'')){{{MAX_KEY_PARTS},}}")


def line_of_long_key(text: str) -> int | None:
    """Return the line number of a dotted TOML key with more than `MAX_KEY_PARTS` parts; None if there is no such key.

    The memory that tomllib needs for a key is quadratic in the number of its parts.

    Example:
        >>> from jaxonline.study.files.key_lines import line_of_long_key
        >>> line_of_long_key("a.b = 1"), line_of_long_key("rounds = 5\\n" + ".".join("a" * 60) + " = 1")
        (None, 2)
    """
    plain = _STRING_OR_COMMENT.sub(lambda match: "''" + "\n" * match[0].count("\n"), text)
    match = _LONG_KEY.search(plain)
    return plain.count("\n", 0, match.start()) + 1 if match else None


def lines_of_toml(text: str) -> dict[KeyPath, int]:
    r"""Return the line number of every TOML key by its path; a path contains the positions of list entries.

    Line numbers start at 1. Invalid TOML ends the search; the keys before it are returned.

    Example:
        >>> from jaxonline.study.files.key_lines import lines_of_toml
        >>> lines_of_toml('rounds = 5\n[game]\nnoise = {type = "gaussian"}')[("game", "noise", "type")]
        3
    """
    return _Scanner(text).toml()


def lines_of_json(text: str) -> dict[KeyPath, int]:
    """Return the line number of every JSON key by its path (see `lines_of_toml`)."""
    return _Scanner(text).json()


class _NotFound(Exception):
    """The text does not continue with the expected token."""


class _Scanner:
    def __init__(self, text: str):
        self.text, self.at = text, 0
        self.ends = [match.start() for match in re.finditer("\n", text)]
        self.lines: dict[KeyPath, int] = {}

    def toml(self) -> dict[KeyPath, int]:
        with contextlib.suppress(_NotFound, ValueError, RecursionError):
            self.toml_file()
        return self.lines

    def json(self) -> dict[KeyPath, int]:
        with contextlib.suppress(_NotFound, ValueError, RecursionError):
            self.json_value(())
        return self.lines

    def toml_file(self) -> None:
        table: KeyPath = ()
        last_positions: dict[KeyPath, int] = {}
        while self.skip_blank() < len(self.text):
            if not self.text.startswith("[", self.at):
                self.pair(table)
                continue
            is_list = self.text.startswith("[[", self.at)
            self.at += 1 + is_list
            table = self.numbered_path(self.dotted_key(), last_positions)
            if is_list:
                last_positions[table] = last_positions.get(table, -1) + 1
                table = (*table, last_positions[table])
            self.record_line(table)
            self.expect("]]" if is_list else "]")

    def numbered_path(self, path: KeyPath, last_positions: dict[KeyPath, int]) -> KeyPath:
        """Insert into a key path, after the name of each list of tables, the position of its last table."""
        numbered: KeyPath = ()
        for i, part in enumerate(path):
            numbered = (*numbered, part)
            if numbered in last_positions and i < len(path) - 1:
                numbered = (*numbered, last_positions[numbered])
        return numbered

    def record_line(self, path: KeyPath) -> None:
        for n in range(1, len(path) + 1):
            self.lines.setdefault(path[:n], bisect.bisect_left(self.ends, self.at) + 1)

    def skip_blank(self) -> int:
        match = _BLANK.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return self.at

    def expect(self, mark: str) -> None:
        self.skip_blank()
        if not self.text.startswith(mark, self.at):
            raise _NotFound
        self.at += len(mark)

    def match(self, pattern: re.Pattern[str]) -> str:
        self.skip_blank()
        match = pattern.match(self.text, self.at)
        if match is None:
            raise _NotFound
        self.at = match.end()
        return match[0]

    def dotted_key(self) -> KeyPath:
        parts: list[str] = []
        while True:
            self.skip_blank()
            if self.text[self.at : self.at + 1] in ("'", '"'):
                quoted = self.match(_STRING)
                parts.append(json.loads(quoted) if quoted[0] == '"' else quoted[1:-1])
            else:
                parts.append(self.match(_BARE))
            self.skip_blank()
            if not self.text.startswith(".", self.at):
                return tuple(parts)
            self.at += 1

    def pair(self, table: KeyPath) -> None:
        self.skip_blank()
        start = self.at
        path = (*table, *self.dotted_key())
        end, self.at = self.at, start
        self.record_line(path)
        self.at = end
        self.expect("=")
        self.toml_value(path)

    def toml_value(self, path: KeyPath) -> None:
        self.skip_blank()
        first = self.text[self.at : self.at + 1]
        if first == "[":
            self.bracketed_items("[]", lambda number: self.item(path, number, self.toml_value))
        elif first == "{":
            self.bracketed_items("{}", lambda _: self.pair(path))
        else:
            self.match(_STRING if first in ("'", '"') else _PLAIN)

    def json_value(self, path: KeyPath) -> None:
        self.skip_blank()
        first = self.text[self.at : self.at + 1]
        if first == "[":
            self.bracketed_items("[]", lambda number: self.item(path, number, self.json_value))
        elif first == "{":
            self.bracketed_items("{}", lambda _: self.member(path))
        else:
            self.match(_STRING if first == '"' else _PLAIN)

    def member(self, path: KeyPath) -> None:
        self.skip_blank()
        start = self.at
        key = json.loads(self.match(_STRING))
        end, self.at = self.at, start
        self.record_line((*path, key))
        self.at = end
        self.expect(":")
        self.json_value((*path, key))

    def item(self, path: KeyPath, number: int, value: Callable[[KeyPath], None]) -> None:
        self.record_line((*path, number))
        value((*path, number))

    def bracketed_items(self, marks: str, scan_item: Callable[[int], None]) -> None:
        self.expect(marks[0])
        for number in range(len(self.text)):
            self.skip_blank()
            if self.text.startswith(marks[1], self.at):
                break
            scan_item(number)
            self.skip_blank()
            if self.text.startswith(",", self.at):
                self.at += 1
        self.expect(marks[1])
