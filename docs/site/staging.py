"""Collect the files for Sphinx in one folder with the layout of the repository, so that their links work.

Links to files that are not pages become links to source pages (`sources`) and to pages of the API.
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
NOTEBOOKS = ("notebooks", "benchmarks/papers/notebooks")
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\])\(([^()\s]+)\)")


def stage(folder: Path) -> None:
    """Write the pages, with README as index, and copy the pictures."""
    texts = {path.relative_to(ROOT).as_posix(): path.read_text() for path in markdown()}
    texts["index.md"] = texts.pop("README.md")
    texts |= papers.pages()
    texts |= {f"api/{name}.md": text for name, text in api.pages().items()}
    texts["docs/how-fast.md"] = speed.page()
    for name, tree in toctrees((HERE / "contents.md").read_text()).items():
        texts[f"{name}.md"] += tree
    for name, text in texts.items():
        write(folder / name, convert_links(inline_drawings(text, name), name, texts))
    for path in sorted(path for folder in NOTEBOOKS for path in (ROOT / folder).glob("*.ipynb")):
        name = path.relative_to(ROOT).as_posix()
        write(folder / name, json.dumps(notebook(json.loads(path.read_text()), name, texts)))
    for pattern in ("docs/**/*.png", "benchmarks/**/*.png", "benchmarks/results/*.json", "LICENSE"):
        for path in ROOT.glob(pattern):
            target = folder / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


def toctrees(contents: str) -> dict[str, str]:
    """Return the navigation of pages by name: of the index the first level of a nested list, of others their children.

    Raises:
        ValueError: a page has children of children.
    """
    below: dict[str, list[str]] = {"index": []}
    parent = "index"
    for indent, title, page in re.findall(r"^( *)\* \[(.+)\]\((.+)\)$", contents, flags=re.MULTILINE):
        if len(indent) > 2:
            raise ValueError(f"docs/site/contents.md: {title} is on a third level; the site shows two")
        if not indent:
            parent = page
        entry = f"{title} <{'self' if page == 'index' else f'/{page}'}>"
        below.setdefault(parent if indent else "index", []).append(entry)
    lines = {name: "\n".join(entries) for name, entries in below.items()}
    return {name: f"\n```{{toctree}}\n:hidden:\n\n{text}\n```\n" for name, text in lines.items()}


def markdown() -> list[Path]:
    """Return the Markdown files of the repository."""
    named = ("README.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "SECURITY.md")
    folders = ("benchmarks", "benchmarks/papers", "benchmarks/papers/docs", "docs")
    return [
        *(ROOT / name for name in named),
        *(page for name in folders for page in sorted((ROOT / name).glob("*.md"))),
    ]


def write(path: Path, text: str) -> None:
    """Write a file, and create its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def inline_drawings(text: str, name: str) -> str:
    """Inline drawings (SVG), so that they have the light or dark colours of the page."""

    def inline(match: re.Match) -> str:
        drawing = (ROOT / Path(name).parent / match[2]).read_text()
        return f'```{{raw}} html\n<figure class="drawing" role="img" aria-label="{match[1]}">{drawing}</figure>\n```'

    return re.sub(r"^!\[(.*)\]\(([^)]+\.svg)\)$", inline, text, flags=re.MULTILINE)


def notebook(content: dict, name: str, texts: dict[str, str]) -> dict:
    """Convert the links of a notebook to links of the site."""
    for cell in content["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = convert_links("".join(cell["source"]), name, texts)
    return content


def convert_links(text: str, name: str, texts: dict[str, str]) -> str:
    """Convert the relative links of a page to links of the site, except in code."""
    up = "../" * name.count("/")

    def target(match: re.Match) -> str:
        words, link = match[1], match[2]
        path, mark, anchor = link.partition("#")
        if "://" in link or ":" in link.split("/")[0] or not path:
            return match[0]
        there = (ROOT / Path(name).parent / path).resolve().relative_to(ROOT).as_posix()
        if there == "README.md":
            return f"{words}({up}index.md{mark}{anchor})"
        if there in papers.SOURCES:
            return f"{words}({up}{papers.SOURCES[there]})"
        if there in files():
            return f"{words}(source:{there}{mark}{anchor})"
        if (room := there.removeprefix("jaxonline/").replace("/", ".")) and f"api/{room}.md" in texts:
            return f"{words}({up}api/{room}.md)"
        if f"{there}/__init__.py" in files():
            return f"{words}(source:{there}/__init__.py)"
        return match[0]

    return outside_code(text, lambda part: LINK.sub(target, part))


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """Change a text outside of fenced code and of the heads of directives."""
    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if i % 2 else change(part) for i, part in enumerate(parts))
