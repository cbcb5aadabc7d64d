"""Lines of code and modules of each package, without docstrings, comments and blank lines.

python -m benchmarks.size [FOLDER]
"""

import ast
import io
import sys
import tokenize
from pathlib import Path
from typing import NamedTuple

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


class Size(NamedTuple):
    """Lines of code and modules of a package."""

    lines: int = 0
    modules: int = 0


def package_sizes(root: Path) -> dict[str, Size]:
    """Return the size of each package in a folder, and of each module at its root."""
    sizes: dict[str, Size] = {}
    for path in root.rglob("*.py"):
        name = path.relative_to(root).parts[0].removesuffix(".py")
        lines, modules = sizes.get(name, Size())
        sizes[name] = Size(lines + count_code(path.read_text("utf-8")), modules + 1)
    return sizes


def main() -> None:
    """Print the size of each package, and the sum."""
    sizes = package_sizes(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1] / "jaxonline"))
    total = Size(*map(sum, zip(*sizes.values(), strict=True)))
    print(f"{'package':16} {'lines':>7} {'modules':>8}")
    for name, size in [*sorted(sizes.items(), key=lambda item: -item[1].lines), ("total", total)]:
        print(f"{name:16} {size.lines:7,} {size.modules:8,}")


if __name__ == "__main__":
    main()
