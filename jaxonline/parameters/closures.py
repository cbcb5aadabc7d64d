"""Closures of optax, such as `optax.adam(1.0)`: equal closures become one object, and can be pickled.

`optax.adam(1.0)` builds new functions at each call. JAX compares functions by identity, so two equal learners would be
compiled twice. The module `pickle` cannot write nested functions. Here, two functions with the same code are equal if
the values in their closures are equal. The values in a closure also suffice to rebuild the function from its code in
optax. Closures of other libraries stay as they are, since the values in these closures may change after construction.
"""

import functools
import importlib
import inspect
import operator
import pickle
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

_FIRST: dict[Any, Any] = {}
_FACTORIES: dict[Any, Callable[[], Any]] = {}  # by what they built


def intern_functions(value: Any) -> Any:
    """Return the first function (or tuple of functions) equal to `value`."""
    return _FIRST.setdefault(_walk(value, _key_of), value)


@functools.cache
def build_cached(factory: Callable[[], Any]) -> Any:
    """Call a factory without arguments once and cache the result; `pickle` writes the factory instead of the result."""
    value, unnamed = intern_functions(factory()), []
    _walk(value, lambda part, module="": unnamed.append(part) if _is_unnamed(part) else None)
    if unnamed:
        _FACTORIES[_walk(value, _key_of)] = factory
    return value


class _Same:
    """Wrapper that compares a value by identity, and keeps the value alive so that no other object gets its address."""

    def __init__(self, value: Any):
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def _key_of(value: Any, module: str = "") -> Any:
    if value is None or type(value) in (bool, int, str, bytes):
        return type(value), value
    if type(value) is float:
        return float, value.hex()  # 0.0 is not -0.0, and nan is nan
    return _Same(value)


def _walk(value: Any, leaf: Callable[..., Any], inside: tuple[Any, ...] = ()) -> tuple[Any, ...]:
    """Return a value as nested tuples with `leaf(part)` for each innermost part; `inside` has the enclosing values."""

    def walk_all(values: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(_walk(part, leaf, (*inside, value)) for part in values)

    if isinstance(value, tuple):
        return "tuple", type(value), walk_all(value)
    if isinstance(value, functools.partial):
        names = sorted(value.keywords)
        return (
            "partial",
            walk_all((value.func, *value.args)),
            tuple(names),
            walk_all(value.keywords[name] for name in names),
        )
    if _is_unnamed(value) and str(value.__globals__.get("__name__")).split(".")[0] == "optax":
        if any(value is outer for outer in inside):
            return "itself", [value is outer for outer in inside].index(True)
        module, keywords = value.__globals__["__name__"], value.__kwdefaults__ or {}
        defaults, cells = walk_all(value.__defaults__ or ()), walk_all(map(_content, value.__closure__ or ()))
        return (
            "function",
            module,
            leaf(value.__code__, module),
            defaults,
            tuple(keywords),
            walk_all(keywords.values()),
            cells,
        )
    return "leaf", leaf(value)


def _has_name(function: types.FunctionType) -> bool:
    """Return whether `pickle` finds a function under its name in its module."""
    target: Any = sys.modules.get(function.__module__ or "")
    for name in function.__qualname__.split("."):
        target = getattr(target, name, None)
    return target is function


def _is_unnamed(value: Any) -> bool:
    return isinstance(value, types.FunctionType) and not _has_name(value)


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a variable that was never set
        return ...


# ---------------------------------------------------------------------------------------------------------------------
# Pickle


class Portable:
    """Wrapper of functions in a pickled field of a struct; unpickling returns the functions, deepcopy keeps them."""

    def __init__(self, field: str, value: Any):
        self.field, self.value = field, value

    def __deepcopy__(self, memo: Any) -> "Portable":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        factory = _FACTORIES.get(_walk(self.value, _key_of))
        if factory is not None:
            return build_cached, (make_portable(self.field, factory),)
        return _rebuild, (_walk(self.value, functools.partial(_writable, self.field)),)


def make_portable(field: str, value: Any) -> Any:
    """Return the value of a field in a form that `pickle` can write: functions become `Portable`."""
    return Portable(field, value) if _holds_functions(value) else value


def _holds_functions(value: Any) -> bool:
    if isinstance(value, dict | list | tuple):
        return any(map(_holds_functions, value.values() if isinstance(value, dict) else value))
    return isinstance(value, types.FunctionType | functools.partial)


class _Whole(bytes):
    """The bytes that cloudpickle writes for a function."""


def _writable(field: str, value: Any, module: str = "") -> Any:
    """Return a part of a value for `pickle`; a code object becomes the names of the functions that contain it."""
    if isinstance(value, types.CodeType):
        matches = [code is value for code in _codes(module, value.co_qualname)]
        if any(matches):
            return value.co_qualname, matches.index(True)
        name = value.co_qualname
    elif isinstance(value, dict):
        return {key: make_portable(field, part) for key, part in value.items()}
    elif isinstance(value, list):
        return [make_portable(field, part) for part in value]
    elif not _is_unnamed(value):
        return value
    elif (cloudpickle := sys.modules.get("cloudpickle")) is not None:  # a program that uses it writes functions whole
        return _Whole(cloudpickle.dumps(value))
    else:
        name = value.__qualname__
    raise pickle.PicklingError(
        f"{field}: pickle cannot write the function {name}, which was made inside another function; define it at the "
        "top level of a module (for an optimizer of your own, pass a function defined there, without arguments, that "
        "returns the optax transformation)"
    )


def _codes(module: str, qualname: str) -> list[types.CodeType]:
    outer, *inner = qualname.split(".<locals>.")
    try:
        function = operator.attrgetter(outer)(importlib.import_module(module))
    except (ImportError, AttributeError):
        return []
    codes = [inspect.unwrap(function).__code__]
    for name in inner:
        constants = [constant for code in codes for constant in code.co_consts]
        codes = [part for part in constants if isinstance(part, types.CodeType) and part.co_name == name]
    return codes


def _rebuild(parts: tuple[Any, ...]) -> Any:
    """Rebuild functions from the nested tuples that `_walk` returns with `_writable`."""
    return intern_functions(_build(parts))


def _build(parts: tuple[Any, ...], inside: tuple[Any, ...] = ()) -> Any:
    kind, *content = parts
    if kind == "leaf":
        (value,) = content
        return pickle.loads(value) if isinstance(value, _Whole) else value
    if kind == "itself":
        return inside[content[0]]
    if kind == "tuple":
        values = [_build(part, (*inside, None)) for part in content[1]]
        return content[0](*values) if hasattr(content[0], "_fields") else content[0](values)
    if kind == "partial":
        (function, *values), names, keywords = content
        rebuild = functools.partial(_build, inside=(*inside, None))
        return functools.partial(
            rebuild(function), *map(rebuild, values), **dict(zip(names, map(rebuild, keywords), strict=True))
        )
    module, (qualname, index), defaults, names, keywords, cells = content
    codes = _codes(module, qualname)
    if index >= len(codes) or len(codes[index].co_freevars) != len(cells):
        raise pickle.UnpicklingError(f"{qualname} of {module} is not as it was pickled; use the same version of optax")
    code, closure = codes[index], tuple(types.CellType() for _ in cells)
    function = types.FunctionType(code, vars(sys.modules[module]), code.co_name, closure=closure)
    rebuild = functools.partial(_build, inside=(*inside, function))
    function.__defaults__ = tuple(map(rebuild, defaults)) or None
    function.__kwdefaults__ = dict(zip(names, map(rebuild, keywords), strict=True)) or None
    for cell, part in zip(closure, cells, strict=True):
        if (value := rebuild(part)) is not ...:
            cell.cell_contents = value
    return function
