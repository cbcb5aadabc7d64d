"""Pages of the API, a room (or a folder in it) a page: whatever is public, from docstrings and signatures as written.

The facade is a page of its own. A name that is offered there or in a room without a docstring is an error.
"""

import ast
import functools
import importlib
import inspect
import pkgutil
import textwrap
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

from docstrings import first_sentence, to_markdown

import jaxonline
from jaxonline.parameters.signatures import parameters_of

HIDDEN = ("jaxonline.cli", "jaxonline.__main__")
FACADE = "jaxonline"


class Entry(NamedTuple):
    """A documented name: the module in which it is shown, the module that defines it, its name, what it is."""

    shown: str
    module: str
    name: str
    value: Any

    @property
    def full(self) -> str:
        return f"{self.shown}.{self.name}"


def pages() -> dict[str, str]:
    """Of every page of the API: its text."""
    written = {"index": facade_page()}
    written |= {package.removeprefix("jaxonline."): package_page(package) for package in packages()}
    return written


@functools.cache
def modules() -> list[str]:
    """All public modules."""
    names = (found.name for found in pkgutil.walk_packages(jaxonline.__path__, "jaxonline."))
    return [name for name in names if name not in HIDDEN and not any(p.startswith("_") for p in name.split("."))]


@functools.cache
def packages() -> list[str]:
    """Those with modules in them, and any other of the first level: a page each."""
    return [name for name in modules() if name.count(".") == 1 or hasattr(importlib.import_module(name), "__path__")]


def home(module: str) -> str:
    """The package on whose page a module is shown."""
    return module if module in packages() else module.rpartition(".")[0]


def own(module: str) -> dict[str, Any]:
    """Public classes and functions that a module defines."""
    names = vars(importlib.import_module(module)).items()
    return {
        name: value
        for name, value in names
        if not name.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(inspect.unwrap(value) if callable(value) else value))
        and getattr(value, "__module__", None) == module
    }


@functools.cache
def entries() -> dict[int, Entry]:
    """Every documented name by the identity of its value: where it is offered, or else where it is defined."""
    found = {}
    for module in modules():
        for name, value in own(module).items():
            offered = [p for p in _above(module) if getattr(importlib.import_module(p), name, None) is value]
            offered = [p for p in offered if name in getattr(importlib.import_module(p), "__all__", ())]
            found[id(value)] = Entry(offered[0] if offered else module, module, name, value)
    for name in jaxonline.__all__:  # what has its home in a private module, and is offered all the same
        value = getattr(jaxonline, name)
        if not isinstance(value, types.ModuleType) and id(value) not in found:
            found[id(value)] = Entry(FACADE, getattr(value, "__module__", FACADE), name, value)
    return found


def _above(module: str) -> list[str]:
    parts = module.split(".")
    return [".".join(parts[:n]) for n in range(2, len(parts) + 1)]


# ---------------------------------------------------------------------------------------------------------------------
# Pages


def facade_page() -> str:
    """All names of `jo.*`, and the rooms."""
    names = [name for name in jaxonline.__all__ if not isinstance(getattr(jaxonline, name), types.ModuleType)]
    lines = [
        "# The facade, and the rooms",
        "",
        "After `import jaxonline as jo`:",
        "",
        "| name | what it is |",
        "| --- | --- |",
    ]
    for name in names:
        entry = entries()[id(getattr(jaxonline, name))]
        lines.append(f"| {{py:obj}}`jo.{name} <{entry.full}>` | {_first(entry)} |")
    lines += ["", "The rooms:", "", "| room | what is in it |", "| --- | --- |"]
    for package in packages():
        short, doc = package.removeprefix("jaxonline."), _doc(importlib.import_module(package), package)
        lines.append(f"| [{short}]({short}.md) | {first_sentence(doc, _linker(package))} |")
    lines += ["", "```{toctree}", ":hidden:", "", *(p.removeprefix("jaxonline.") for p in packages()), "```", ""]
    private = [entry for entry in entries().values() if entry.shown == FACADE]
    lines += ["## What has no room", "", "```{py:module} jaxonline", "```", ""]
    return "\n".join([*lines, *(part for entry in private for part in shown(entry))]) + "\n"


def package_page(package: str) -> str:
    """A room: what it says of itself, a table of its names, and module after module."""
    short = package.removeprefix("jaxonline.")
    inside = [module for module in modules() if home(module) == package]
    here = [e for e in entries().values() if e.module in inside]
    lines = [f"# {short}", "", f"```{{py:module}} {package}", "```", ""]
    lines += [to_markdown(_doc(importlib.import_module(package), package), _linker(package)), ""]
    offered = [entry for entry in entries().values() if entry.shown == package or (entry in here and _offered(entry))]
    lines += [*_table(offered), ""]
    if inner := [entry for entry in here if entry not in offered]:
        lines += ["Beside these, what its modules share or make:" if offered else "", "", *_table(inner), ""]
    for module in inside:
        names = [entry for entry in here if entry.module == module]
        if module != package:
            doc = _doc(importlib.import_module(module), module)
            lines += ["", f"## {module.removeprefix('jaxonline.')}", "", f"```{{py:module}} {module}", "```", ""]
            lines += [to_markdown(doc, _linker(module)), ""]
        for entry in names:
            lines += shown(entry)
    return "\n".join(lines) + "\n"


def _offered(entry: Entry) -> bool:
    return entry.shown != entry.module


def _table(names: list[Entry]) -> list[str]:
    """A line for each name."""
    rows = [f"| {{py:obj}}`{e.name} <{e.full}>` | {_first(e)} |" for e in sorted(names, key=lambda e: e.name.lower())]
    return ["| name | what it is |", "| --- | --- |", *rows] if rows else []


def shown(entry: Entry) -> Iterator[str]:
    """A class with its methods, or a function."""
    value = entry.value
    kind = "class" if inspect.isclass(value) else "function"
    if kind == "class" and issubclass(value, BaseException):
        kind = "exception"
    alias = [] if entry.shown == entry.module else [f":canonical: {entry.module}.{entry.name}"]
    yield f"::::{{py:{kind}}} {entry.name}{signature(value)}"
    yield from [f":module: {entry.shown}", *alias, ""]
    yield to_markdown(_doc(value, entry.full), _linker(entry.module), _ranges(value))
    if inspect.isclass(value):
        for name, member in vars(value).items():
            yield from _member(entry, name, member)
    yield "::::\n"


def _member(entry: Entry, name: str, member: Any) -> Iterator[str]:
    kinds = {types.FunctionType: "", classmethod: ":classmethod:", staticmethod: ":staticmethod:", property: "property"}
    mark = next((word for kind, word in kinds.items() if isinstance(member, kind)), None)
    if mark is None or (name.startswith("_") and name != "__call__") or not inspect.getdoc(member):
        return
    if name == "__call__" and "__call__" not in _source_names(entry.value):
        return
    function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
    is_property = mark == "property"
    bound = not is_property and mark != ":staticmethod:"
    yield f"\n:::{{py:{'property' if is_property else 'method'}}} {name}" + (
        "" if is_property else signature(function, bound)
    )
    yield from [f":module: {entry.shown}", *([mark] if mark and not is_property else []), ""]
    ranges = {} if is_property else _ranges(getattr(entry.value, name))
    yield to_markdown(inspect.cleandoc(function.__doc__ or ""), _linker(entry.module), ranges)
    yield ":::\n"


def _ranges(value: Any) -> dict[str, str]:
    """The ranges and choices that annotations declare, by argument."""
    try:
        parameters = parameters_of(value)
    except (TypeError, ValueError):
        return {}
    words = {
        each.name: each.limits.words or " or ".join(f'"{choice}"' for choice in each.choices) for each in parameters
    }
    return {name: said for name, said in words.items() if said}


def _doc(value: Any, name: str) -> str:
    """What a name says of itself.

    Raises:
        ValueError: nothing, or what a dataclass says by itself.
    """
    doc = value.__doc__ or ""
    if not doc or (inspect.isclass(value) and doc.startswith(f"{value.__name__}(")):
        raise ValueError(f"{name} has no docstring")
    return inspect.cleandoc(doc)


def _first(entry: Entry) -> str:
    return first_sentence(_doc(entry.value, entry.full), _linker(entry.module))


# ---------------------------------------------------------------------------------------------------------------------
# Names in backticks


@functools.cache
def _names() -> dict[str, str]:
    """What may be said of a documented name, wherever: `jo.x`, `x` of the facade, `room.x`, X if it is the only one."""
    found: dict[str, str] = {}
    for entry in entries().values():
        room = entry.full.split(".")[1] if entry.full.count(".") > 1 else ""
        for said in (
            entry.full,
            entry.full.removeprefix("jaxonline."),
            f"{room}.{entry.name}",
            f"{entry.module}.{entry.name}",
        ):
            found[said] = entry.full
        if entry.name[0].isupper():
            found[entry.name] = "" if entry.name in found else entry.full
    for name in jaxonline.__all__:
        if (entry := entries().get(id(getattr(jaxonline, name)))) is not None:
            found |= {f"jo.{name}": entry.full, name: entry.full}
    return {said: full for said, full in found.items() if full}


def _linker(module: str) -> Any:
    """What becomes of a name in backticks in a docstring of a module."""
    room = importlib.import_module(module)
    said = own(module) | {name: getattr(room, name) for name in getattr(room, "__all__", ())}
    local = {name: entries()[id(value)].full for name, value in said.items() if id(value) in entries()}
    below = [other for other in modules() if other.startswith(f"{module}.")]

    def link(name: str) -> str:
        path = name.strip("/").replace("/", ".")
        known = [m for m in (path, f"jaxonline.{path}", f"{module}.{path}") if m in modules()]
        known = known or [other for other in below if other.endswith(f".{path}")]
        if known:
            return f"{{py:mod}}`{name} <{known[0]}>`"
        called = name.partition("(")[0] if name.endswith(")") and name[0].isupper() else name
        full = local.get(called) or _names().get(called)
        return f"{{py:obj}}`{name} <{full}>`" if full else f"`{name}`"

    return link


# ---------------------------------------------------------------------------------------------------------------------
# Signatures


def signature(value: Any, bound: bool = False) -> str:
    """Arguments as they are written in the source, so that shapes are readable."""
    try:
        parameters = list(inspect.signature(value).parameters.values())
    except (TypeError, ValueError):
        return "()"
    if inspect.isclass(value):
        if issubclass(value, BaseException) or getattr(value, "_is_protocol", False):
            return ""
        written, returns = _fields(value), ""
    else:
        node = _tree(inspect.unwrap(value))
        if not isinstance(node, ast.FunctionDef):  # a method that is another function
            node = ast.parse("def f(): ...").body[0]
        written, returns = _arguments(node), f" -> {ast.unparse(node.returns)}" if node.returns else ""
    parts, star = [], False
    for parameter in parameters[1 if bound and not inspect.ismethod(value) else 0 :]:
        name, (annotation, default) = parameter.name, written.get(parameter.name, ("", ""))
        if parameter.kind is parameter.VAR_POSITIONAL:
            name, star = f"*{name}", True
        elif parameter.kind is parameter.VAR_KEYWORD:
            name = f"**{name}"
        elif parameter.kind is parameter.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        if parameter.default is not parameter.empty:
            default = default or _short(parameter.default)
            default = "..." if default.startswith("_") else default
        equal = " = " if annotation else "="
        parts.append(name + (f": {annotation}" if annotation else "") + (f"{equal}{default}" if default else ""))
    return " ".join(f"({', '.join(parts)}){returns}".split())


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 40 and not text.startswith("<") else "..."


def _tree(value: Any) -> Any:
    return ast.parse(textwrap.dedent(inspect.getsource(value))).body[0]


def _source_names(value: type) -> set[str]:
    return {node.name for node in _tree(value).body if isinstance(node, ast.FunctionDef)}


def _arguments(node: ast.FunctionDef) -> dict[str, tuple[str, str]]:
    """Of each argument: its annotation and its default, as written."""
    given = node.args
    positional = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(positional) - len(given.defaults)) + list(given.defaults)
    pairs = [*zip(positional, defaults, strict=True), *zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    pairs += [(arg, None) for arg in (given.vararg, given.kwarg) if arg is not None]
    return {
        arg.arg: (ast.unparse(arg.annotation) if arg.annotation else "", ast.unparse(default) if default else "")
        for arg, default in pairs
    }


def _fields(cls: type) -> dict[str, tuple[str, str]]:
    """Of each field of a class: its annotation and its default; or those of its `__init__`."""
    found: dict[str, tuple[str, str]] = {}
    for each in reversed(cls.__mro__):
        if not each.__module__.startswith("jaxonline"):
            continue
        for node in _tree(each).body:
            if isinstance(node, ast.FunctionDef) and node.name == "__init__":
                found |= _arguments(node)
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                found[node.target.id] = (ast.unparse(node.annotation), _default(node.value))
    return found


def _default(node: ast.expr | None) -> str:
    """A default, also one inside of `static(default=...)` and `Field(...)`."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("static", "dataclasses.field", "field", "Field"):
        named = {keyword.arg: keyword.value for keyword in node.keywords}
        inner = named.get("default") or (node.args[0] if node.args else None)
        return ast.unparse(inner) if inner is not None else ""
    return ast.unparse(node) if node is not None else ""
