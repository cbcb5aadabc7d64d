"""Inspection of code: the source of functions and classes, the values that code reads, and libraries of modules."""

import ast
import enum
import functools
import importlib.metadata
import linecache
import site
import sys
import sysconfig
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

GENERATED_ATTRIBUTES = ("_abc_impl", "_is_protocol", "_is_runtime_protocol", "__annotate__", "__annotate_func__")


def syntax_of(function: types.FunctionType) -> list[ast.AST]:
    """Return the syntax trees of a function with decorators, without docstrings and comments.

    Several lambdas on one line have the same place, and all of them are returned. The list is empty unless the source
    compiles to the running code.
    """
    code = function.__code__
    source = _read_source(function)
    if source is None or code not in source.codes:
        linecache.checkcache(code.co_filename)
        source = _read_source(function)
    if source is None or code not in source.codes:
        return []
    name = "" if code.co_name == "<lambda>" else code.co_name
    return [node for first, node_name, node in source.nodes if (first, node_name) == (code.co_firstlineno, name)]


def _read_source(function: types.FunctionType) -> "_SourceText | None":
    name = function.__code__.co_filename
    return _parse_source("".join(linecache.getlines(name, function.__globals__)), name)


class _SourceText:
    """The functions of a source text: their code objects, and their first lines, names and syntax trees."""

    def __init__(self, tree: ast.Module, name: str):
        self.codes = frozenset(_nested(compile(tree, name, "exec", dont_inherit=True)))
        self.nodes: list[tuple[int, str, ast.AST]] = []
        for node in ast.walk(tree):
            if isinstance(node, ast.Lambda):
                self.nodes.append((node.lineno, "", node))
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                self.nodes.append((first, node.name, node))
            if (
                isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
                and ast.get_docstring(node) is not None
            ):
                node.body = node.body[1:] or [ast.Pass()]


@functools.lru_cache(maxsize=256)
def _parse_source(text: str, name: str) -> _SourceText | None:
    try:
        return _SourceText(ast.parse(text), name)
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
