"""Everything that Sphinx reads, in one folder in which files lie as in the repository, so that their links hold.

Links to what is no page become links to source pages (`sources`), and to rooms of the API.
"""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import api
import papers
import speed
from sources import files

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\])\(([^()\s]+)\)")


def stage(folder: Path) -> None:
    """Write the pages, of which README is the first, and copy the pictures."""
    texts = {path.relative_to(ROOT).as_posix(): path.read_text() for path in markdown()}
    texts["index.md"] = texts.pop("README.md") + "\n" + (HERE / "contents.md").read_text()
    texts["docs/claims.md"] = papers.claims_with_code(texts["docs/claims.md"])
    texts |= {f"papers/{name}.md": text for name, text in papers.pages().items()}
    texts |= {f"api/{name}.md": text for name, text in api.pages().items()}
    texts["docs/how-fast.md"] = speed.page()
    for name, text in texts.items():
        write(folder / name, linked(drawn(text, name), name, texts))
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        name = path.relative_to(ROOT).as_posix()
        write(folder / name, json.dumps(notebook(json.loads(path.read_text()), name, texts)))
    for pattern in ("docs/**/*.png", "benchmarks/results/*.json", "LICENSE"):
        for path in ROOT.glob(pattern):
            target = folder / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


def markdown() -> list[Path]:
    """What is written by hand, or made by hand, as Markdown."""
    named = ("README.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "SECURITY.md", "benchmarks/README.md")
    return [*(ROOT / name for name in named), *sorted((ROOT / "docs").glob("*.md"))]


def write(path: Path, text: str) -> None:
    """A file, and its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def drawn(text: str, name: str) -> str:
    """Drawings (SVG) become part of the page, so that they take its colours, light or dark."""

    def inline(match: re.Match) -> str:
        drawing = (ROOT / Path(name).parent / match[2]).read_text()
        return f'```{{raw}} html\n<figure class="drawing" role="img" aria-label="{match[1]}">{drawing}</figure>\n```'

    return re.sub(r"^!\[(.*)\]\(([^)]+\.svg)\)$", inline, text, flags=re.MULTILINE)


def notebook(content: dict, name: str, texts: dict[str, str]) -> dict:
    """A notebook whose links lead into the site."""
    for cell in content["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = linked("".join(cell["source"]), name, texts)
    return content


def linked(text: str, name: str, texts: dict[str, str]) -> str:
    """A page whose relative links lead into the site; those in code are none."""
    up = "../" * name.count("/")

    def target(match: re.Match) -> str:
        words, link = match[1], match[2]
        path, mark, anchor = link.partition("#")
        if "://" in link or ":" in link.split("/")[0] or not path:
            return match[0]
        there = (ROOT / Path(name).parent / path).resolve().relative_to(ROOT).as_posix()
        if there == "README.md":
            return f"{words}({up}index.md{mark}{anchor})"
        if there in files():
            return f"{words}(source:{there}{mark}{anchor})"
        if (room := there.removeprefix("jaxonline/").replace("/", ".")) and f"api/{room}.md" in texts:
            return f"{words}({up}api/{room}.md)"
        return match[0]

    return outside_code(text, lambda part: LINK.sub(target, part))


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """Change all of a text but its fenced code and its directives' heads."""
    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if i % 2 else change(part) for i, part in enumerate(parts))
