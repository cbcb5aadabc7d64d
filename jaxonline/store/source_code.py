"""What functions and classes were written as, what they hold and read, and which modules are installed libraries."""

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
    """The text of a function with its decorators; None where there is none that is sure to be what runs.

    A file may have been edited since it was imported, or rewritten on import: the text counts where it compiles to the
    code that runs.
    """
    code = function.__code__
    written = _read(function)
    if written is None or code not in written.codes:
        linecache.checkcache(code.co_filename)
        written = _read(function)
    if written is None or code not in written.codes:
        return None
    name = "" if code.co_name == "<lambda>" else code.co_name
    # several lambdas may stand on one line
    found = [text for first, own, text in written.segments if (first, own) == (code.co_firstlineno, name)]
    return "\n".join(found) or None


def _read(function: types.FunctionType) -> "_Written | None":
    name = function.__code__.co_filename
    return _written("".join(linecache.getlines(name, function.__globals__)), name)


class _Written:
    """The functions of a text: their codes, and their segments with first lines and names."""

    def __init__(self, tree: ast.Module, text: str, name: str):
        self.codes = frozenset(_nested(compile(tree, name, "exec", dont_inherit=True)))
        lines = text.splitlines(keepends=True)
        self.segments: list[tuple[int, str, str]] = []
        for node in ast.walk(tree):
            if isinstance(node, ast.Lambda):
                self.segments.append((node.lineno, "", ast.get_source_segment(text, node) or ""))
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                own = "".join(lines[first - 1 : node.end_lineno])
                self.segments.append((first, node.name, textwrap.dedent(own)))


@functools.lru_cache(maxsize=256)
def _written(text: str, name: str) -> _Written | None:
    try:
        return _Written(ast.parse(text), text, name)
    except (SyntaxError, ValueError):
        return None


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code and all codes inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _nested(constant)


def names_read_by(code: types.CodeType) -> tuple[str, ...]:
    """All names that a code or one inside it reads: of globals, attributes and modules."""
    return tuple(sorted({name for each in _nested(code) for name in each.co_names}))


def top_level_package(module: str) -> str:
    """The package of a module."""
    return module.partition(".")[0]


@functools.cache
def library_version(module: str) -> str | None:
    """Name and version of the installed library that a module belongs to; None for a user's own module.

    What is installed in place (an editable install) is the user's own: its version does not say what is in it. The
    standard library goes by its name, and so does this package, whose files count by themselves.
    """
    if not is_library(module):
        return None
    root = top_level_package(module)
    if root == top_level_package(__name__) or root in sys.stdlib_module_names or root in sys.builtin_module_names:
        return root
    found = sys.modules[root]
    version = getattr(found, "__version__", None)
    return f"{root} {version if isinstance(version, str) else _distribution_version(root)}"


def is_library(module: str) -> bool:
    """Whether a module belongs to an installed library, the standard library or this package: see `library_version`."""
    root = top_level_package(module)
    if root == top_level_package(__name__):
        return True
    if root in sys.stdlib_module_names or root in sys.builtin_module_names:
        return root != "__main__"
    found = sys.modules.get(root)
    spec = getattr(found, "__spec__", None)
    places = list(getattr(found, "__path__", ())) or [getattr(found, "__file__", None) or getattr(spec, "origin", "")]
    return bool(found and places[0]) and any(Path(places[0]).resolve().is_relative_to(at) for at in _installed())


@functools.cache
def _installed() -> list[Path]:
    """Where libraries are installed."""
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
    """The module in which a function was written; wrappers copy `__module__` from what they wrap."""
    return function.__globals__.get("__name__", "")


def attributes_of(item: Any) -> dict[str, Any]:
    """The attributes of an instance that are its own, but for what was only remembered."""
    kind = type(item)
    slots = [slot for each in kind.__mro__ for slot in np.atleast_1d(vars(each).get("__slots__", ())).tolist()]
    own = {slot: getattr(item, slot) for slot in slots if hasattr(item, slot)} | getattr(item, "__dict__", {})
    return {
        name: value
        for name, value in own.items()
        if name == "__wrapped__"
        or not (name.startswith("__") or isinstance(getattr(kind, name, None), functools.cached_property))
    }


def is_written_by_author(kind: type, name: str, value: Any) -> bool:
    """Whether an entry of a class was written by its author, and is not what Python adds to classes."""
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
    """What a function has closed over in one cell."""
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet
        return None
