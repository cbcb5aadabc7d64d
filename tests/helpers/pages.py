"""The Markdown pages of the project, and the code in them."""

import re

from fresh_python import ROOT


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str, language: str = "python") -> list[tuple[str, str]]:
    """Of every fenced block: the paragraph before it, and its code."""
    parts = re.split(r"^```(\w*)\n", text_of(page), flags=re.MULTILINE)
    fences = zip(parts[0::4], parts[1::4], parts[2::4], strict=False)  # text, language, code, and what closes the code
    return [(text.strip().rpartition("\n\n")[2], code) for text, opened, code in fences if opened == language]
