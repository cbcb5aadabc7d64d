"""Reads of a user's function: modules that it imports, attributes of libraries, and reads that no store can compare."""

import ast
import builtins
import functools
import importlib
import os
import re
import sys
import types
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any

from jaxonline.store.source_code import cell_content, defining_module, library_version, names_read_by, top_level_package

# functions and attributes of libraries that read a file, the environment, or a module with a computed name
READERS = re.compile(
    r"(load(?!s$)|read|fetch|open|from_?file|genfromtxt|memmap|File$|getenv|environb?$|listdir|scandir|i?glob$|"
    r"argv$|getcwd|getsize$|exists$|url(open|retrieve)$|import_module|currentframe|_getframe|modules$|"
    r"FileIO$|FileInput$|input$|getlines?$|(iter)?parse$|(Raw)?ConfigParser$|connect$|"  # files with a structure
    r"Popen$|popen|run$|run_(path|module)$|call$|check_(call|output)$|get(status)?output$)"  # other programs
)
BUILTIN_READERS = (open, eval, exec, globals, __import__)
READING_METHODS_OF_PATHS = ("open", "stat", "exists", "iterdir", "glob", "rglob")
READING_ATTRIBUTES = ("read_text", "read_bytes", "__globals__", "f_globals", "__builtins__")


class Reads:
    """What a function with the syntax trees `nodes` reads.

    Attributes:
        values: names that the function uses as values, and not only as `name.attribute`.
        imports: modules that the function imports when it is called, each with the names that it takes.
    """

    def __init__(self, function: types.FunctionType, nodes: Sequence[ast.AST]):
        every = [node for outer in nodes for node in ast.walk(outer)]
        self._attributes = [node for node in every if isinstance(node, ast.Attribute)]
        names = [node for node in every if isinstance(node, ast.Name)]
        self._globals = {node.id for node in names}.intersection(names_read_by(function.__code__))
        prefixes = {id(node.value) for node in self._attributes if node.attr != "__dict__"}
        self.values = {node.attr for node in self._attributes if id(node) not in prefixes}
        self.values |= {node.id for node in names if id(node) not in prefixes}
        cells = map(cell_content, function.__closure__ or ())
        self._scope = {**function.__globals__, **dict(zip(function.__code__.co_freevars, cells, strict=True))}
        self.imports: list[tuple[types.ModuleType, set[str]]] = []
        for node in every:
            if isinstance(node, ast.Import):
                self._import(node)
            elif isinstance(node, ast.ImportFrom):
                self._import_from(node, function.__globals__.get("__package__"))

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            module = _module_named(alias.name)
            if module is not None:
                root, *path = alias.name.split(".")
                name = alias.asname or root
                self._scope[name] = module if alias.asname else sys.modules[root]
                self.imports.append((sys.modules[root], set(path)))
                if name in self.values:
                    self.values.add(alias.name.rpartition(".")[2] if alias.asname else root)

    def _import_from(self, node: ast.ImportFrom, package: str | None) -> None:
        module = _module_named("." * node.level + (node.module or ""), package)
        if module is not None:
            for alias in node.names:
                if not hasattr(module, alias.name):
                    _module_named(f"{module.__name__}.{alias.name}")
                name = alias.asname or alias.name
                self._scope[name] = getattr(module, alias.name, None)
                self._globals.add(name)
                if name in self.values:
                    self.values.add(alias.name)
            self.imports.append((module, {alias.name for alias in node.names}))

    def library_attributes(self) -> Iterator[tuple[str, Any]]:
        """Yield the attributes of libraries' modules that the function reads as `module.name`, and their values."""
        for path in sorted({path for path in map(_dotted, self._attributes) if path}):
            value, module = self._scope.get(path[0]), None
            for name in path[1:]:
                if not isinstance(value, types.ModuleType):
                    break
                is_lazy = top_level_package(value.__name__) == top_level_package(__name__)
                module, value = value, getattr(value, name, None) if is_lazy else vars(value).get(name)
            if (
                module is not None
                and library_version(module.__name__) is not None
                and not isinstance(value, types.ModuleType)
            ):
                yield f"{module.__name__}.{name}", value

    def find_reader(self) -> str | None:
        """Return the name with which the function reads a file, the environment or a computed name; None if none."""
        for name in sorted(self._globals):
            value = self._scope.get(name, getattr(builtins, name, None))
            if any(value is item for item in (*BUILTIN_READERS, os.environ, sys.modules)):
                return name
            if (
                callable(value)
                and library_version(owner_of(value))
                and READERS.match(getattr(value, "__name__", None) or "")
            ):
                return name
        for name, _ in self.library_attributes():
            if READERS.match(name.rpartition(".")[2]) and not name.startswith("jax.experimental"):
                return name
        used = {name: self._scope.get(name) for name in self._globals}.values()
        has_path = any(issubclass(value if isinstance(value, type) else type(value), PurePath) for value in used)
        attributes = {node.attr for node in self._attributes}
        return next(
            (
                name
                for name in (*READING_ATTRIBUTES, *(READING_METHODS_OF_PATHS if has_path else ()))
                if name in attributes
            ),
            None,
        )


def owner_of(value: Any) -> str:
    """Return the module that defines a function, a class, or the class of another object."""
    while isinstance(value, functools.partial) or hasattr(value, "__wrapped__"):
        if isinstance(value, types.FunctionType):  # a wrapper of the user may have a library's names
            break
        value = value.func if isinstance(value, functools.partial) else value.__wrapped__
    if isinstance(value, types.FunctionType):
        return defining_module(value)
    return (
        getattr(value if isinstance(value, type | types.BuiltinFunctionType) else type(value), "__module__", "") or ""
    )


def is_user_code(value: Any) -> bool:
    """Return whether a module of the user defines a function, a class, or the class of another object."""
    owner = owner_of(value)
    return top_level_package(owner) in sys.modules and library_version(owner) is None


def replaced_functions(module: str, kind: type | None = None) -> dict[str, Any]:
    """Return the user's functions that replace functions of a library's module, or of one of its classes."""
    places = [vars(sys.modules[module]) if module in sys.modules else {}, {} if kind is None else vars(kind)]
    return {
        name: value
        for place in places
        for name, value in sorted(place.items())
        if isinstance(getattr(value, "__func__", value), types.FunctionType)
        and is_user_code(getattr(value, "__func__", value))
    }


def _dotted(node: ast.Attribute) -> tuple[str, ...]:
    """Return the parts of an expression such as `a.b.c`; () for other expressions."""
    if isinstance(node.value, ast.Name):
        return node.value.id, node.attr
    inner = _dotted(node.value) if isinstance(node.value, ast.Attribute) else ()
    return (*inner, node.attr) if inner else ()


def _module_named(name: str, package: str | None = None) -> types.ModuleType | None:
    try:
        return importlib.import_module(name, package)
    except Exception:  # a module may raise any error; the function will raise it too
        return None
