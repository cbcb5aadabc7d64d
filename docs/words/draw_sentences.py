"""Draw sentences at random from all docstrings and pages, to be read by somebody who does not know the project.

python docs/words/draw_sentences.py --seed 1 --number 40
"""

import argparse
import ast
import random
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
WORDS = 4  # a sentence has at least so many words


def docstrings() -> Iterator[tuple[str, str]]:
    """The place and the text of each docstring, without examples."""
    for path in sorted((ROOT / "jaxonline").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node) or ""
                yield f"{path.relative_to(ROOT)}: {getattr(node, 'name', 'module')}", text.partition("Example:")[0]


def pages() -> Iterator[tuple[str, str]]:
    """The place and the text of each page, without code and tables."""
    for path in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md")), ROOT / "benchmarks" / "README.md"]:
        text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        yield str(path.relative_to(ROOT)), re.sub(r"^(\||    |#).*$", "", text, flags=re.MULTILINE)


def sentences() -> list[tuple[str, str]]:
    """The place and the words of each sentence."""
    drawn = []
    for place, text in (*docstrings(), *pages()):
        # paragraphs, items of lists, and arguments with their names
        for paragraph in re.split(r"\n\s*\n|\n\s*[*-] |\n(?=\s*\w+: )", text):
            for sentence in re.split(r"(?<=[.?!]) +(?=[A-Z`])", " ".join(paragraph.split())):
                if len(sentence.split()) >= WORDS:
                    drawn.append((place, sentence))
    return drawn


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--number", type=int, default=40)
    arguments = parser.parse_args()
    for place, sentence in random.Random(arguments.seed).sample(sentences(), arguments.number):
        print(f"[{place}]\n    {sentence}")
