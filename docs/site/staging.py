"""Collect the files for Sphinx in one folder with the layout of the repository, so that their links work."""

import json
import re
from pathlib import Path

import api
import gallery
import papers
import speed

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGES = ("README.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "SECURITY.md", "benchmarks/*.md", "docs/*.md",
         "benchmarks/papers/*.md", "benchmarks/papers/docs/*.md")  # fmt: skip
NOTEBOOKS = ("notebooks/*.ipynb", "benchmarks/papers/notebooks/*.ipynb")
FILES = ("docs/*.png", "benchmarks/papers/docs/gallery/*.png", "benchmarks/results/*.*", "LICENSE")
LINK = re.compile(r"(!?)(\[(?:[^\[\]]|\[[^\]]*\])*\])\(([^()\s#]+)(#[^()\s]*)?\)")
CODE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
DRAWING = re.compile(r"^!\[(.*)\]\(([^)]+\.svg)\)$", re.MULTILINE)
BUILT = re.compile(r"^<!-- built: (!\[.*\]\(\S+\)) -->$", re.MULTILINE)  # a picture that the site draws
EXAMPLES = "jaxonline/study/examples"  # the gallery


def stage(folder: Path) -> None:
    """Write the pages, with README as index, and copy the pictures."""
    for path in (path for pattern in FILES for path in ROOT.glob(pattern)):
        write(folder / path.relative_to(ROOT), path.read_bytes())
    texts = {path.relative_to(ROOT).as_posix(): path.read_text() for pattern in PAGES for path in ROOT.glob(pattern)}
    texts["index.md"] = texts.pop("README.md")
    texts |= papers.pages()
    texts["docs/how-fast.md"], texts["docs/gallery.md"] = speed.page(folder / "docs"), gallery.page(folder / "docs")
    summaries = api.pages()
    pages = {"README.md": "index.md", EXAMPLES: "docs/gallery.md", **papers.SOURCES, **{name: name for name in texts}}
    pages |= {f"jaxonline/{name.replace('.', '/')}": f"api/{name}.rst" for name in summaries}
    for name, tree in toctrees((HERE / "contents.md").read_text()).items():
        texts[f"{name}.md"] = texts.get(f"{name}.md", "") + tree
    for name, text in summaries.items():
        write(folder / "api" / f"{name}.rst", text.encode())
    for name, text in texts.items():
        write(folder / name, convert(text, name, pages).encode())
    for path in (path for pattern in NOTEBOOKS for path in ROOT.glob(pattern)):
        name = path.relative_to(ROOT).as_posix()
        notebook = json.loads(path.read_text())
        for cell in notebook["cells"]:
            if cell["cell_type"] == "markdown":
                cell["source"] = convert("".join(cell["source"]), name, pages)
        write(folder / name, json.dumps(notebook).encode())


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


def write(path: Path, content: bytes) -> None:
    """Write a file, and create its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def convert(text: str, name: str, pages: dict[str, str]) -> str:
    """Convert a page: drawings become inline, and links to files that are no pages lead to the API or vanish."""
    up = "../" * name.count("/")

    def link(match: re.Match) -> str:
        picture, words, path, anchor = match.groups(default="")
        if ":" in path.split("/")[0] or picture:
            return match[0]
        there = (ROOT / Path(name).parent / path).resolve().relative_to(ROOT).as_posix()
        if there.startswith(f"{EXAMPLES}/"):
            return f"{words}(#study-{Path(there).stem})"
        if there.startswith("jaxonline/") and there not in pages:
            there, anchor = next((str(p) for p in Path(there).parents if str(p) in pages), there), ""
        name_in_code = re.match(r"\[`(\w+)", words)
        full = f"{there.replace('/', '.')}.{name_in_code and name_in_code[1]}"
        if full in api.full_names().values():
            return f"{{py:obj}}`{words[1:-1].replace('`', '')} <{full}>`"
        if there in pages:
            return f"{words}({up}{pages[there]}{anchor})"
        return match[0] if Path(there).suffix in (".ipynb", ".json") or there == "LICENSE" else words[1:-1]

    def drawing(match: re.Match) -> str:  # inline, so that it has the light or dark colours of the page
        svg = (ROOT / Path(name).parent / match[2]).read_text()
        return f'```{{raw}} html\n<figure class="drawing" role="img" aria-label="{match[1]}">{svg}</figure>\n```'

    text = DRAWING.sub(drawing, BUILT.sub(r"\1", text))
    return "".join(part if i % 2 else LINK.sub(link, part) for i, part in enumerate(CODE.split(text)))
