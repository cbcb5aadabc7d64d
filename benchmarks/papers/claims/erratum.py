"""A note on a statement of a paper: a slip of the pen, an error, or a remark, with its class."""

from typing import Literal, NamedTuple

Kind = Literal["slip of the pen", "formula", "gap in a proof", "statement false", "remark"]
SLIP: Kind = "slip of the pen"
FORMULA: Kind = "formula"
GAP: Kind = "gap in a proof"
FALSE: Kind = "statement false"
REMARK: Kind = "remark"
KINDS: dict[Kind, str] = {
    SLIP: "a misprint that the paper's own text or proof corrects, or that misleads no reader",
    FORMULA: "a sign, factor, term or constant is wrong or too large; the statement holds with the right one",
    GAP: "a step of a proof does not hold; the result stands",
    FALSE: "a statement does not hold as it stands, and needs another condition or another conclusion",
    REMARK: "not an error: an observation that qualifies or extends a statement, or an inference of ours",
}


class Erratum(NamedTuple):
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
    kind: Kind
    place: str
    printed: str
    right: str
    note: str = ""

    def __str__(self) -> str:
        text = (
            f"E{self.number} ({self.kind}). {self.paper}, {self.place}. Printed: {self.printed}. Right: {self.right}."
        )
        return f"{text} {self.note}." if self.note else text
