"""The Markdown pages of the project, the code in them, and comparisons of shown with printed text."""

import itertools
import re
import sys

import jax
from fresh_python import ROOT

# the versions whose output pages and notebooks show; others may differ by ROUNDING in a number
SHOWN_WITH = (3, 13), (0, 12)
IS_EXACT = (sys.version_info[:2], jax.__version_info__[:2]) == SHOWN_WITH
ROUNDING = 0.02  # relative; and one unit of the last digit
TIME = re.compile(r"\b\d+(\.\d+)? (s|ms|seconds?|minutes?)\b")
NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str, language: str = "python") -> list[tuple[str, str]]:
    """Of every fenced block: the paragraph before it, and its code."""
    return [(before, code) for before, opened, code in _fences(page) if opened == language]


def shown(page: str) -> list[str]:
    """Of every block of Python: the text in the next fenced block if this is `text`, the output; otherwise nothing."""
    pairs = itertools.pairwise([*_fences(page), ("", "", "")])
    return [after[2] if after[1] == "text" else "" for block, after in pairs if block[1] == "python"]


def _fences(page: str) -> list[tuple[str, str, str]]:
    parts = re.split(r"^```(\w*)\n", text_of(page), flags=re.MULTILINE)
    fences = zip(parts[0::4], parts[1::4], parts[2::4], strict=False)  # text, language, code, and what closes the code
    return [(text.strip().rpartition("\n\n")[2], language, code) for text, language, code in fences]


def is_shown_in(text: str, printed: str, exact: bool = IS_EXACT) -> bool:
    """Whether lines of the printed text, one after the other, equal the shown text."""
    expected, lines = text.rstrip("\n").split("\n"), printed.split("\n")
    parts = ("\n".join(lines[i : i + len(expected)]) for i in range(len(lines) - len(expected) + 1))
    return any(is_same(text.rstrip("\n"), part, exact) for part in parts)


def is_same(shown_text: str, printed: str, exact: bool = IS_EXACT) -> bool:
    """Whether two texts are equal except for times; if not `exact`, with rounding of numbers and other spaces."""
    first, second = (TIME.sub("a time", text) for text in (shown_text, printed))
    if exact:
        return first == second
    words = [" ".join(re.sub("─+", "", NUMBER.sub("0", text)).split()) for text in (first, second)]
    return words[0] == words[1] and all(map(_is_near, NUMBER.findall(first), NUMBER.findall(second)))


def _is_near(first: str, second: str) -> bool:
    unit = 10.0 ** -len(first.partition("e")[0].partition(".")[2])
    unit *= 10.0 ** int(first.partition("e")[2] or 0)
    a, b = (float(number.replace(",", "")) for number in (first, second))
    return abs(a - b) <= max(1.001 * unit, ROUNDING * max(abs(a), abs(b)))


def outputs_of(notebook: dict) -> list[list[tuple[str, str]]]:
    """Of every cell of code: the kinds of its outputs with their text; of a picture only that there is one."""
    cells = []
    for cell in (cell for cell in notebook["cells"] if cell["cell_type"] == "code"):
        outputs: list[tuple[str, str]] = []
        for output in cell["outputs"]:
            data = output.get("data", {"stdout": output.get("text", "")})
            kinds = ["picture"] if any(kind.startswith("image/") for kind in data) else sorted(data)
            for kind in kinds:
                text = "".join(data.get(kind, ""))
                if kind == "stdout" and outputs and outputs[-1][0] == kind:  # printed in several parts
                    text = outputs.pop()[1] + text
                outputs.append((kind, text))
        cells.append(outputs)
    return cells
