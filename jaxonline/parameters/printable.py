"""Text that a terminal shows without acting on it: control characters and marks of direction are replaced."""

import unicodedata
from typing import Any


def replace_controls(words: str) -> str:
    """Replace control characters, except for line breaks and tabs, and marks that change the direction of the text.

    Example:
        >>> from jaxonline.parameters.printable import replace_controls
        >>> replace_controls("a  b\\nc\\x1b[31m")
        'a  b\\nc�[31m'
    """
    if words.isprintable():
        return words
    return "".join(
        sign if sign.isprintable() or sign in "\n\t" or unicodedata.category(sign) == "Zs" else "�" for sign in words
    )


def to_one_line(words: str) -> str:
    """Return a text in one line, with control characters replaced.

    Example:
        >>> from jaxonline.parameters.printable import to_one_line
        >>> to_one_line("a\\nb\\x1b[31m")
        'a b�[31m'
    """
    return replace_controls(" ".join(words.split()))


def replace_unencodable(*streams: Any) -> None:
    """Make text streams print a question mark for a character that their encoding lacks."""
    for stream in streams:
        stream.reconfigure(errors="replace")
