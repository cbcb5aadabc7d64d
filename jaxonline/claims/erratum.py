"""A misprint, or a statement of a paper that does not hold."""

from typing import NamedTuple


class Erratum(NamedTuple):
    """A misprint, or a statement that does not hold.

    Attributes:
        number: the number n in the name En of the misprint.
        paper: the letter of the paper, a key of `PAPERS`.
        place: the section, equation, theorem or algorithm with the misprint.
        printed: the printed statement.
        right: the correct statement.
        note: the size of the error, or the later results that inherit the error.
    """

    number: int
    paper: str
    place: str
    printed: str
    right: str
    note: str = ""

    def __str__(self) -> str:
        text = f"E{self.number}. {self.paper}, {self.place}. Printed: {self.printed}. Right: {self.right}."
        return f"{text} {self.note}." if self.note else text
