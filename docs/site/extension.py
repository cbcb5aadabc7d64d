"""What Sphinx lacks: stars and bars in docstrings, links from short names, MathML, captions, search for some words."""

import inspect
import re
import types
import typing
from pathlib import Path
from typing import Any

import api
from docutils import nodes
from latex2mathml.converter import convert
from sphinx.ext.autodoc.preserve_defaults import DefaultValue
from sphinx.util.inspect import stringify_signature
from sphinx.util.nodes import make_refnode

from jaxonline.parameters.signatures import parameters_of

TABLE = re.compile(r'<table class="docutils.*?</table>', re.DOTALL)
CODE = re.compile(r'(?<=<span class="pre">)[^<]+(?=</span>)')
NUMBER = re.compile(
    r"(~jaxtyping\.Float\[Array, '[^']*'\] \| )~jaxtyping\.Float\[ndarray, '[^']*'\] \| ~numpy\.number \| float"
)
SEARCH = {
    r"if \(\s*(wordList\.length !== searchTerms\.size\s*&& wordList\.length !== filteredTermCount)\s*\)\s*continue;":
        r"const partial = \1;",
    r"const score = Math\.max\(\.\.\.wordList":
        r"const score = (partial ? 20 * wordList.length - 400 : 0) + Math.max(...wordList",
}  # fmt: skip
WORD_END = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[._(=/])(?<!\bjo\.)(?=[A-Za-z])")


def escape(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Escape marks of reStructuredText outside of names in backticks and of examples."""
    is_example, ranges = False, ranges_of(value)
    for i, line in enumerate(lines):
        if (argument := re.match(r"    (\w+): ", line)) and argument[1] in ranges:
            line = f"{argument[0]}({ranges[argument[1]]}) {line[argument.end() :]}"
        is_example = line.lstrip().startswith(">>>") or (is_example and bool(line.strip()))
        if not is_example:
            bullet, rest = re.fullmatch(r"(\s*\* )?(.*)", line).groups(default="")
            parts = re.split(r"(`+[^`]*`+)", rest.replace("...", "…"))  # three dots would end a summary
            parts[::2] = (re.sub(r"([*|\\]|(?<=\w)_(?!\w))", r"\\\1", part) for part in parts[::2])
            lines[i] = bullet + re.sub(r"(?<=`)\0(?=\w)", r"\\ ", "\0".join(parts)).replace("\0", "")


def ranges_of(value: Any) -> dict[str, str]:
    """Return the ranges and choices that annotations declare, by argument."""
    try:
        parameters = parameters_of(value)
    except (AttributeError, TypeError, ValueError):
        return {}
    words = {p.name: p.limits.words or " or ".join(f'"{choice}"' for choice in p.choices) for p in parameters}
    return {name: text for name, text in words.items() if text}


def shorten_signature(app: Any, what: str, name: str, value: Any, options: Any, *texts: str) -> tuple[str, str] | None:
    """Remove metadata of types from a signature, long defaults, and the signature of a protocol, which nobody calls."""
    if getattr(value, "_is_protocol", False):
        return "", ""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return None
    parameters = []
    for parameter in signature.parameters.values():
        opaque = parameter.default is not parameter.empty and "<" in repr(parameter.default)
        default = DefaultValue("...") if opaque else parameter.default
        parameters.append(parameter.replace(annotation=without_metadata(parameter.annotation), default=default))
    shown = signature.replace(parameters=[parameter for parameter in parameters if parameter.name != "self"])
    text = stringify_signature(shown, show_return_annotation=False, unqualified_typehints=True)
    return NUMBER.sub(r"\1float", text).replace("~jaxtyping.Float[Array, ''] | float", "float"), texts[1]


def without_metadata(annotation: Any) -> Any:
    """Return a type without the ranges and conversions that `Annotated` adds to it and to its parts."""
    if annotation is inspect.Parameter.empty:
        return annotation
    try:
        return typing.get_type_hints(types.SimpleNamespace(__annotations__={"of": annotation}))["of"]
    except (NameError, TypeError):  # a name that only a type checker imports
        return annotation


def skip(app: Any, what: str, name: str, value: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out methods of scikit-learn, and the fields of named tuples, which the docstring of the class describes."""
    foreign = str(getattr(value, "__module__", "")).startswith("sklearn.")
    return True if foreign or str(value.__doc__).startswith("Alias for field number") else None


def link_short_name(app: Any, env: Any, node: Any, content: Any) -> Any:
    """Return the link of `jo.x`, `package.x` or `X` in a docstring, if one public name ends so."""
    target = node["reftarget"].partition("(")[0].removeprefix("jo.")
    matches = [full for full in api.full_names().values() if full.endswith(f".{target}")]
    if node.get("refdomain") != "py" or len(matches) != 1:
        return None
    found = env.domains["py"].objects.get(matches[0])
    return found and make_refnode(app.builder, node["refdoc"], found.docname, found.node_id, content, matches[0])


def set_captions(app: Any, doctree: Any) -> None:
    """Move each paragraph that is only emphasis, and follows a table, into the table as its caption."""
    for table in list(doctree.findall(nodes.table)):
        below = table.next_node(descend=False, siblings=True)
        if isinstance(below, nodes.paragraph) and [type(child) for child in below] == [nodes.emphasis]:
            table.insert(0, nodes.title("", "", *below[0].children))
            doctree.set_id(table)  # Sphinx numbers tables with captions, and warns if they have no id
            below.parent.remove(below)


def allow_breaks(app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Allow line breaks between the words of a name in a table; copied text stays the same."""
    body = context.get("body") or ""
    context["body"] = TABLE.sub(lambda table: CODE.sub(lambda code: WORD_END.sub("<wbr>", code[0]), table[0]), body)


def inline_formula(translator: Any, node: Any) -> None:
    """Write an inline formula."""
    translator.body.append(convert(node.astext(), display="inline"))
    raise nodes.SkipNode


def displayed_formula(translator: Any, node: Any) -> None:
    """Write a displayed formula."""
    translator.body.append(f'<div class="formula">{convert(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


def find_some_words(app: Any, error: Exception | None) -> None:
    """Let the search also find pages with only some of the words, after those with all words.

    Raises:
        ValueError: Sphinx has changed its search.
    """
    if error is not None:
        return
    script = Path(app.outdir, "_static", "searchtools.js")
    text = script.read_text(encoding="utf-8")
    for pattern, replacement in SEARCH.items():
        text, number = re.subn(pattern, replacement, text)
        if number != 1:
            raise ValueError(f"searchtools.js: {number} places instead of one have the form {pattern}")
    script.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("autodoc-process-docstring", escape, priority=400)  # before napoleon
    app.connect("autodoc-process-signature", shorten_signature)
    app.connect("autodoc-skip-member", skip)
    app.connect("missing-reference", link_short_name)
    app.connect("doctree-read", set_captions)
    app.connect("html-page-context", allow_breaks)
    app.connect("build-finished", find_some_words)
    app.add_html_math_renderer("mathml", (inline_formula, None), (displayed_formula, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
