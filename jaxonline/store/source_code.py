"""Inspection of code: the source of functions and classes, the values that code reads, and libraries of modules."""

import ast
import enum
import functools
import importlib.metadata
import linecache
import site
import sys
import sysconfig
import textwrap
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

GENERATED_ATTRIBUTES = ("_abc_impl", "_is_protocol", "_is_runtime_protocol", "__annotate__", "__annotate_func__")


def source_of(function: types.FunctionType) -> str | None:
    """Return the source of a function with its decorators; None unless the source compiles to the running code."""
    code = function.__code__
    source = _read_source(function)
    if source is None or code not in source.codes:
        linecache.checkcache(code.co_filename)
        source = _read_source(function)
    if source is None or code not in source.codes:
        return None
    name = "" if code.co_name == "<lambda>" else code.co_name
    # one line may have several lambdas
    segments = [
        text for first, segment_name, text in source.segments if (first, segment_name) == (code.co_firstlineno, name)
    ]
    return "\n".join(segments) or None


def _read_source(function: types.FunctionType) -> "_SourceText | None":
    name = function.__code__.co_filename
    return _parse_source("".join(linecache.getlines(name, function.__globals__)), name)


class _SourceText:
    """The functions of a source text: their code objects, source segments, first lines and names."""

    def __init__(self, tree: ast.Module, text: str, name: str):
        self.codes = frozenset(_nested(compile(tree, name, "exec", dont_inherit=True)))
        lines = text.splitlines(keepends=True)
        self.segments: list[tuple[int, str, str]] = []
        for node in ast.walk(tree):
            if isinstance(node, ast.Lambda):
                self.segments.append((node.lineno, "", ast.get_source_segment(text, node) or ""))
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                segment = "".join(lines[first - 1 : node.end_lineno])
                self.segments.append((first, node.name, textwrap.dedent(segment)))


@functools.lru_cache(maxsize=256)
def _parse_source(text: str, name: str) -> _SourceText | None:
    try:
        return _SourceText(ast.parse(text), text, name)
    except (SyntaxError, ValueError):
        return None


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _nested(constant)


def names_read_by(code: types.CodeType) -> tuple[str, ...]:
    """Return the names of all globals, attributes and modules that a code object and its nested code objects read."""
    return tuple(sorted({name for inner in _nested(code) for name in inner.co_names}))


def top_level_package(module: str) -> str:
    """Return the top-level package of a module."""
    return module.partition(".")[0]


@functools.cache
def library_version(module: str) -> str | None:
    """Return name and version of the library that contains a module; None for a module of the user.

    A module in an editable install counts as a module of the user. For the standard library and jaxonline, only the
    name is returned.
    """
    if not is_library(module):
        return None
    root = top_level_package(module)
    if root == top_level_package(__name__) or root in sys.stdlib_module_names or root in sys.builtin_module_names:
        return root
    package = sys.modules[root]
    version = getattr(package, "__version__", None)
    return f"{root} {version if isinstance(version, str) else _distribution_version(root)}"


def is_library(module: str) -> bool:
    """Return whether a module belongs to an installed library, the standard library or jaxonline."""
    root = top_level_package(module)
    if root == top_level_package(__name__):
        return True
    if root in sys.stdlib_module_names or root in sys.builtin_module_names:
        return root != "__main__"
    package = sys.modules.get(root)
    spec = getattr(package, "__spec__", None)
    paths = list(getattr(package, "__path__", ())) or [
        getattr(package, "__file__", None) or getattr(spec, "origin", "")
    ]
    return bool(package and paths[0]) and any(Path(paths[0]).resolve().is_relative_to(at) for at in _library_folders())


@functools.cache
def _library_folders() -> list[Path]:
    paths = sysconfig.get_paths()
    folders = [paths[name] for name in ("purelib", "platlib")] + site.getsitepackages() + [site.getusersitepackages()]
    return [Path(folder).resolve() for folder in folders]


def _distribution_version(root: str) -> str:
    names = importlib.metadata.packages_distributions().get(root, [root])
    try:
        return importlib.metadata.version(names[0])
    except importlib.metadata.PackageNotFoundError:
        return "of an unknown version"


def defining_module(function: types.FunctionType) -> str:
    """Return the module that defines a function; wrappers copy `__module__` from the wrapped function."""
    return function.__globals__.get("__name__", "")


def attributes_of(item: Any) -> dict[str, Any]:
    """Return the attributes of an instance, without cached properties."""
    kind = type(item)
    slots = [slot for base in kind.__mro__ for slot in np.atleast_1d(vars(base).get("__slots__", ())).tolist()]
    attributes = {slot: getattr(item, slot) for slot in slots if hasattr(item, slot)} | getattr(item, "__dict__", {})
    return {
        name: value
        for name, value in attributes.items()
        if name == "__wrapped__"
        or not (name.startswith("__") or isinstance(getattr(kind, name, None), functools.cached_property))
    }


def is_written_by_author(kind: type, name: str, value: Any) -> bool:
    """Return whether the author of a class wrote an entry of the class; Python or a library adds other entries."""
    if name in GENERATED_ATTRIBUTES or (
        issubclass(kind, enum.Enum) and (name in kind.__members__ or name.startswith("_"))
    ):
        return False
    if not (name.startswith("__") and name.endswith("__")):
        return True
    value = getattr(value, "__func__", value)
    if isinstance(value, types.FunctionType):
        module = defining_module(value)
        generated = value.__code__.co_qualname.startswith("__create_fn__") or module.startswith("namedtuple_")
        return not generated and library_version(module) is None
    return callable(value) and not isinstance(value, type)


def cell_content(cell: types.CellType) -> Any:
    """Return the value of a closure cell; None if the cell has no value yet."""
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet
        return None
