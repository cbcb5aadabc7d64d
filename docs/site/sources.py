"""Pages with the source of every module, links source:PATH#line-N to them, and [source] links at signatures."""

import functools
import html
import importlib
import inspect
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from sphinx import addnodes

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("jaxonline", "benchmarks")


@functools.cache
def files() -> list[str]:
    """Return the files with a page, relative to the root of the repository."""
    return [path.relative_to(ROOT).as_posix() for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]


def place_of(value: Any) -> tuple[str, int]:
    """Return the file and the line that define a class or a function.

    Raises:
        ValueError: it belongs to another package.
    """
    value = inspect.unwrap(value)
    file = Path(inspect.getfile(value)).relative_to(ROOT).as_posix()
    if file not in files():
        raise ValueError(f"{file} has no page")
    return file, inspect.getsourcelines(value)[1]


def page_of(file: str) -> str:
    """Return the name of the page of a file."""
    return f"source/{file.removesuffix('.py')}"


def link_of_object(domain: str, info: dict[str, str]) -> str | None:
    """Return the link from a page of the API to the source of a documented name."""
    value: Any = importlib.import_module(info["module"])
    for part in info["fullname"].split("."):
        value = inspect.getattr_static(value, part) if inspect.isclass(value) else getattr(value, part)
    value = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
    try:
        file, line = place_of(value)
    except (OSError, TypeError, ValueError):  # a value, or of another package
        return None
    return f"../{page_of(file)}.html#line-{line}"


def resolve(app: Any, doctree: Any, docname: str) -> None:
    """Resolve links of the form source:PATH#line-N."""
    known = set(files())
    for node in doctree.findall(nodes.reference):
        path, _, anchor = node.get("refuri", "").partition("#")
        if not path.startswith("source:"):
            continue
        if (file := path.removeprefix("source:")) not in known:
            raise ValueError(f"{docname}: there is no file {file}")
        uri = app.builder.get_relative_uri(docname, page_of(file))
        node["refuri"], node["internal"] = f"{uri}#{anchor}" if anchor else uri, True


def remove_type_links(app: Any, doctree: Any) -> None:
    """Remove the links of types in signatures, which belong to other packages."""
    for signature in doctree.findall(addnodes.desc_signature):
        for reference in list(signature.findall(addnodes.pending_xref)):
            reference.replace_self(reference.children)


def write_pages(app: Any, error: Exception | None) -> None:
    """Write a page with numbered lines for every file, without navigation, which would take minutes."""
    if error is not None:
        return
    form = HtmlFormatter(linenos="inline", lineanchors="line", anchorlinenos=True)
    template = (Path(__file__).parent / "source.html").read_text()
    for file in files():
        path = Path(app.outdir, f"{page_of(file)}.html")
        path.parent.mkdir(parents=True, exist_ok=True)
        code = highlight((ROOT / file).read_text(), PythonLexer(), form)
        page = template.replace("TITLE", html.escape(file)).replace("UP", "../" * page_of(file).count("/"))
        path.write_text(page.replace("CODE", code))


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("doctree-read", remove_type_links)
    app.connect("doctree-resolved", resolve)
    app.connect("build-finished", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
