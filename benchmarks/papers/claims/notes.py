"""The five papers and the notes E1 to E62 on them, which `notes.toml` contains.

Each note has a class: most are slips of the pen or formulas, and some are remarks and no errors. Docstrings, claims and
documents refer to papers by letter and to notes by number.
"""

import tomllib
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from jaxonline.parameters import check

_DATA = tomllib.loads(Path(__file__).with_name("notes.toml").read_text(encoding="utf-8"))


class Paper(NamedTuple):
    """A paper or lecture; `link` is empty if the text has no permanent address."""

    authors: str
    title: str
    published: str
    link: str = ""

    def __str__(self) -> str:
        title = f"[{self.title}]({self.link})" if self.link else self.title
        return f"{self.authors}, {title}, {self.published}"


class Note(NamedTuple):
    """A note on a statement of a paper.

    Attributes:
        number: the number n in the name En of the note.
        paper: the letter of the paper, a key of `PAPERS`.
        kind: the class, a key of `KINDS`.
        place: the section, equation, theorem or algorithm.
        printed: the printed statement.
        right: the correct statement.
        note: the size of the error, the evidence, or the later results that inherit the error.
    """

    number: int
    paper: str
    kind: str
    place: str
    printed: str
    right: str
    note: str = ""


class Kind(NamedTuple):
    """A class of notes: its name in the plural, and its meaning."""

    plural: str
    meaning: str


KINDS = {name: Kind(**kind) for name, kind in _DATA["kinds"].items()}
PAPERS = {letter: Paper(**paper) for letter, paper in _DATA["papers"].items()}
NOTES = tuple(Note(**note) for note in _DATA["notes"])


def find_note(number: int) -> Note:
    """Return the note with a given number; raise a ValueError for an unknown number.

    Example:
        >>> from benchmarks.papers.claims.notes import find_note
        >>> find_note(8).place, find_note(8).right
        ('Algorithm 1', 'sqrt(B_w / n~)')
    """
    return NOTES[check.count("number", number, ge=1, le=len(NOTES)) - 1]


def count_by_kind() -> str:
    """Return the numbers of the classes as a phrase, in the order of `KINDS`."""
    counts = Counter(note.kind for note in NOTES)
    return ", ".join(f"{counts[name]} {kind.plural}" for name, kind in KINDS.items())
