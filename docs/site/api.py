"""Pages of the API: one for each package, with its public names, their docstrings and their signatures in the source.

Public are the names that a package exports, and the names of the modules that `jaxonline` exports. The
names of `jo.*` have a separate page. A public name without a docstring raises an error.
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

import tasks
from docstrings import first_sentence, to_markdown

import jaxonline
from jaxonline.parameters.signatures import exported_names, parameters_of

HIDDEN = ("jaxonline.cli", "jaxonline.__main__")
FACADE = "jaxonline"


class Entry(NamedTuple):
    """A documented name: the module whose page shows it, the module that defines it, its name and its value."""

    shown: str
    module: str
    name: str
    value: Any

    @property
    def full(self) -> str:
        return f"{self.shown}.{self.name}"


def pages() -> dict[str, str]:
    """Return the text of every page of the API."""
    written = {"index": facade_page()}
    written |= {package.removeprefix("jaxonline."): package_page(package) for package in documented_packages()}
    return written


@functools.cache
def modules() -> list[str]:
    """Return the names of all public modules."""
    names = (info.name for info in pkgutil.walk_packages(jaxonline.__path__, "jaxonline."))
    return [name for name in names if name not in HIDDEN and not any(p.startswith("_") for p in name.split("."))]


@functools.cache
def packages() -> list[str]:
    """Return the modules with a page: packages, and all modules of the first level."""
    return [name for name in modules() if name.count(".") == 1 or hasattr(importlib.import_module(name), "__path__")]


def home(module: str) -> str:
    """Return the package whose page shows a module."""
    return module if module in packages() else module.rpartition(".")[0]


def exported_by(module: str) -> list[str]:
    """Return the names that a package exports; a module exports none."""
    room = importlib.import_module(module)
    return exported_names(room) if hasattr(room, "__path__") else []


def own_names(module: str) -> dict[str, Any]:
    """Return the public classes and functions that a module defines."""
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
    """Return every public name by the id of its value, shown where a package exports it or where it is defined."""
    by_id = {}
    for module in modules():
        for name, value in own_names(module).items():
            exported = [p for p in _above(module) if getattr(importlib.import_module(p), name, None) is value]
            exported = [p for p in exported if name in exported_by(p)]
            by_id[id(value)] = Entry(exported[0] if exported else module, module, name, value)
    for name in jaxonline.__all__:  # public names that private modules define
        value = getattr(jaxonline, name)
        if not isinstance(value, types.ModuleType) and id(value) not in by_id:
            by_id[id(value)] = Entry(FACADE, getattr(value, "__module__", FACADE), name, value)
    return {key: entry for key, entry in by_id.items() if is_public(entry)}


def is_public(entry: Entry) -> bool:
    """Return whether a package exports a name, or `jaxonline` exports it, or a module that has it."""
    if entry.name in exported_by(entry.shown):
        return True
    exported = [getattr(jaxonline, name) for name in jaxonline.__all__]
    plain_modules = [m for m in exported if isinstance(m, types.ModuleType) and not hasattr(m, "__path__")]
    return any(value is entry.value for value in exported) or any(
        getattr(module, entry.name, None) is entry.value and entry.module.startswith(module.__name__)
        for module in plain_modules
    )


@functools.cache
def documented_packages() -> list[str]:
    """Return the packages with a page: those that have public names."""
    homes = {home(entry.module) for entry in entries().values()} | {entry.shown for entry in entries().values()}
    return [package for package in packages() if package in homes]


@functools.cache
def documented_modules() -> list[str]:
    """Return the modules whose docstring is shown: packages with a page, and modules with public names."""
    defining = {entry.module for entry in entries().values()}
    return [module for module in modules() if module in documented_packages() or module in defining]


def _above(module: str) -> list[str]:
    parts = module.split(".")
    return [".".join(parts[:n]) for n in range(2, len(parts) + 1)]


# ---------------------------------------------------------------------------------------------------------------------
# Pages


def facade_page() -> str:
    """Return the page of the names of `jo.*` and of the packages."""
    lines = ["# API reference", "", "After `import jaxonline as jo`, by task:", ""]
    for task, names in tasks.by_task().items():
        lines += [f"## {task}", "", "| name | description |", "| --- | --- |"]
        for name in names:
            entry = entries()[id(getattr(jaxonline, name))]
            lines.append(f"| {{py:obj}}`jo.{name} <{entry.full}>` | {_first(entry)} |")
        lines.append("")
    lines += ["## Packages", "", "| package | contents |", "| --- | --- |"]
    for package in documented_packages():
        short, doc = package.removeprefix("jaxonline."), _doc(importlib.import_module(package), package)
        lines.append(f"| [{short}]({short}.md) | {first_sentence(doc, _linker(package))} |")
    short_names = [package.removeprefix("jaxonline.") for package in documented_packages()]
    lines += ["", "```{toctree}", ":hidden:", "", *short_names, "```", ""]
    private = [entry for entry in entries().values() if entry.shown == FACADE]
    lines += ["## Other public names", "", "```{py:module} jaxonline", "```", ""]
    return "\n".join([*lines, *(part for entry in private for part in shown(entry))]) + "\n"


def package_page(package: str) -> str:
    """Return the page of a package: its docstring, a table of its names, and its modules."""
    short = package.removeprefix("jaxonline.")
    inside = [module for module in documented_modules() if home(module) == package]
    here = [e for e in entries().values() if e.module in inside]
    lines = [f"# {short}", "", f"```{{py:module}} {package}", "```", ""]
    lines += [to_markdown(_doc(importlib.import_module(package), package), _linker(package)), ""]
    exported = [entry for entry in entries().values() if entry.shown == package or (entry in here and _exported(entry))]
    lines += [*_table(exported), ""]
    if inner := [entry for entry in here if entry not in exported]:
        lines += ["Other names of its modules:" if exported else "", "", *_table(inner), ""]
    for module in inside:
        names = [entry for entry in here if entry.module == module]
        if module != package:
            doc = _doc(importlib.import_module(module), module)
            lines += ["", f"## {module.removeprefix('jaxonline.')}", "", f"```{{py:module}} {module}", "```", ""]
            lines += [to_markdown(doc, _linker(module)), ""]
        for entry in names:
            lines += shown(entry)
    return "\n".join(lines) + "\n"


def _exported(entry: Entry) -> bool:
    return entry.shown != entry.module


def _table(names: list[Entry]) -> list[str]:
    """Return a table with a line for each name."""
    rows = [f"| {{py:obj}}`{e.name} <{e.full}>` | {_first(e)} |" for e in sorted(names, key=lambda e: e.name.lower())]
    return ["| name | description |", "| --- | --- |", *rows] if rows else []


def shown(entry: Entry) -> Iterator[str]:
    """Yield the lines of a class with its methods, or of a function."""
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
    member = getattr(member, "fn", member)  # of scikit-learn's available_if
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
    """Return the ranges and choices that annotations declare, by argument."""
    try:
        parameters = parameters_of(value)
    except (TypeError, ValueError):
        return {}
    words = {p.name: p.limits.words or " or ".join(f'"{choice}"' for choice in p.choices) for p in parameters}
    return {name: text for name, text in words.items() if text}


def _doc(value: Any, name: str) -> str:
    """Return the docstring of a name.

    Raises:
        ValueError: it has none, or only the generated one of a dataclass.
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
    """Return full names by the short forms that docstrings may use: `jo.x`, `x`, `package.x`, `X` if it is unique."""
    full_names: dict[str, str] = {}
    for entry in entries().values():
        room = entry.full.split(".")[1] if entry.full.count(".") > 1 else ""
        for short in (
            entry.full,
            entry.full.removeprefix("jaxonline."),
            f"{room}.{entry.name}",
            f"{entry.module}.{entry.name}",
        ):
            full_names[short] = entry.full
        if entry.name[0].isupper():
            full_names[entry.name] = "" if entry.name in full_names else entry.full
    for name in jaxonline.__all__:
        if (entry := entries().get(id(getattr(jaxonline, name)))) is not None:
            full_names |= {f"jo.{name}": entry.full, name: entry.full}
    return {short: full for short, full in full_names.items() if full}


def _linker(module: str) -> Any:
    """Return the function that links names in backticks in a docstring of a module."""
    room = importlib.import_module(module)
    public = own_names(module) | {name: getattr(room, name) for name in exported_by(module)}
    local = {name: entries()[id(value)].full for name, value in public.items() if id(value) in entries()}
    below = [other for other in documented_modules() if other.startswith(f"{module}.")]

    def link(name: str) -> str:
        path = name.strip("/").replace("/", ".")
        known = [m for m in (path, f"jaxonline.{path}", f"{module}.{path}") if m in documented_modules()]
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
    """Return the signature with annotations as in the source, so that shapes are readable."""
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
    """Return the annotation and the default of each argument, as in the source."""
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
    """Return the annotation and the default of each field of a class, or of each argument of its `__init__`."""
    fields: dict[str, tuple[str, str]] = {}
    for base in reversed(cls.__mro__):
        if not base.__module__.startswith("jaxonline"):
            continue
        for node in _tree(base).body:
            if isinstance(node, ast.FunctionDef) and node.name == "__init__":
                fields |= _arguments(node)
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                fields[node.target.id] = (ast.unparse(node.annotation), _default(node.value))
    return fields


def _default(node: ast.expr | None) -> str:
    """Return a default, also that of `static(default=...)` and `Field(...)`."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("static", "dataclasses.field", "field", "Field"):
        named = {keyword.arg: keyword.value for keyword in node.keywords}
        inner = named.get("default") or (node.args[0] if node.args else None)
        return ast.unparse(inner) if inner is not None else ""
    return ast.unparse(node) if node is not None else ""
