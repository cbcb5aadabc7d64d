"""In which line of a file a key stands: of TOML and of JSON that are known to be right, or nearly."""

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


def lines_of_toml(text: str) -> dict[KeyPath, int]:
    """The line of every key, counted from 1, by its path; entries of lists have their number in it.

    What is no TOML ends the search: the lines before it are known.

    Example:
        >>> from jaxonline.study.files.key_lines import lines_of_toml
        >>> lines_of_toml('rounds = 5\\n[game]\\nnoise = {type = "gaussian"}')[("game", "noise", "type")]
        3
    """
    return _Scanner(text).toml()


def lines_of_json(text: str) -> dict[KeyPath, int]:
    """As `lines_of_toml`, of JSON."""
    return _Scanner(text).json()


class _Nothing(Exception):
    """Here is not what was looked for."""


class _Scanner:
    def __init__(self, text: str):
        self.text, self.at = text, 0
        self.ends = [match.start() for match in re.finditer("\n", text)]
        self.lines: dict[KeyPath, int] = {}

    def toml(self) -> dict[KeyPath, int]:
        with contextlib.suppress(_Nothing, ValueError, RecursionError):
            self.toml_file()
        return self.lines

    def json(self) -> dict[KeyPath, int]:
        with contextlib.suppress(_Nothing, ValueError, RecursionError):
            self.json_value(())
        return self.lines

    def toml_file(self) -> None:
        table: KeyPath = ()
        counted: dict[KeyPath, int] = {}
        while self.blank() < len(self.text):
            if not self.text.startswith("[", self.at):
                self.pair(table)
                continue
            several = self.text.startswith("[[", self.at)
            self.at += 1 + several
            table = self.resolved(self.dotted(), counted)
            if several:
                counted[table] = counted.get(table, -1) + 1
                table = (*table, counted[table])
            self.note(table)
            self.take("]]" if several else "]")

    def resolved(self, path: KeyPath, counted: dict[KeyPath, int]) -> KeyPath:
        """With the number of the last table of a list of tables after its name."""
        found: KeyPath = ()
        for i, part in enumerate(path):
            found = (*found, part)
            if found in counted and i < len(path) - 1:
                found = (*found, counted[found])
        return found

    def note(self, path: KeyPath) -> None:
        for n in range(1, len(path) + 1):
            self.lines.setdefault(path[:n], bisect.bisect_left(self.ends, self.at) + 1)

    def blank(self) -> int:
        match = _BLANK.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return self.at

    def take(self, mark: str) -> None:
        self.blank()
        if not self.text.startswith(mark, self.at):
            raise _Nothing
        self.at += len(mark)

    def match(self, pattern: re.Pattern[str]) -> str:
        self.blank()
        match = pattern.match(self.text, self.at)
        if match is None:
            raise _Nothing
        self.at = match.end()
        return match[0]

    def dotted(self) -> KeyPath:
        parts: list[str] = []
        while True:
            self.blank()
            if self.text[self.at : self.at + 1] in ("'", '"'):
                quoted = self.match(_STRING)
                parts.append(json.loads(quoted) if quoted[0] == '"' else quoted[1:-1])
            else:
                parts.append(self.match(_BARE))
            self.blank()
            if not self.text.startswith(".", self.at):
                return tuple(parts)
            self.at += 1

    def pair(self, table: KeyPath) -> None:
        self.blank()
        start = self.at
        path = (*table, *self.dotted())
        end, self.at = self.at, start
        self.note(path)
        self.at = end
        self.take("=")
        self.toml_value(path)

    def toml_value(self, path: KeyPath) -> None:
        self.blank()
        first = self.text[self.at : self.at + 1]
        if first == "[":
            self.several("[]", lambda number: self.item(path, number, self.toml_value))
        elif first == "{":
            self.several("{}", lambda _: self.pair(path))
        else:
            self.match(_STRING if first in ("'", '"') else _PLAIN)

    def json_value(self, path: KeyPath) -> None:
        self.blank()
        first = self.text[self.at : self.at + 1]
        if first == "[":
            self.several("[]", lambda number: self.item(path, number, self.json_value))
        elif first == "{":
            self.several("{}", lambda _: self.member(path))
        else:
            self.match(_STRING if first == '"' else _PLAIN)

    def member(self, path: KeyPath) -> None:
        self.blank()
        start = self.at
        key = json.loads(self.match(_STRING))
        end, self.at = self.at, start
        self.note((*path, key))
        self.at = end
        self.take(":")
        self.json_value((*path, key))

    def item(self, path: KeyPath, number: int, value: Callable[[KeyPath], None]) -> None:
        self.note((*path, number))
        value((*path, number))

    def several(self, marks: str, one: Callable[[int], None]) -> None:
        """What stands between brackets, with commas between."""
        self.take(marks[0])
        for number in range(len(self.text)):
            self.blank()
            if self.text.startswith(marks[1], self.at):
                break
            one(number)
            self.blank()
            if self.text.startswith(",", self.at):
                self.at += 1
        self.take(marks[1])
