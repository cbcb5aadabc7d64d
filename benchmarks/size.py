"""Lines of code of each package, without docstrings, comments and blank lines.

python -m benchmarks.size [FOLDER]
"""

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def count_code(text: str) -> int:
    """Return the number of lines of code of a module."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    lines = {line for token in tokens if token.type not in LAYOUT for line in range(token.start[0], token.end[0] + 1)}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            lines -= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    written = text.split("\n")
    return sum(1 for line in lines if written[line - 1].strip())


def main() -> None:
    """Print the number of lines of each package, and the sum."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1] / "jaxonline")
    sizes: Counter[str] = Counter()
    for path in root.rglob("*.py"):
        sizes[path.relative_to(root).parts[0].removesuffix(".py")] += count_code(path.read_text("utf-8"))
    for name, size in [*sizes.most_common(), ("total", sizes.total())]:
        print(f"{name:16} {size:7,}")


if __name__ == "__main__":
    main()
