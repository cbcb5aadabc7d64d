"""Short text forms of games, learners and comparators: classes with parameters, arrays abbreviated."""

import dataclasses
import functools
import itertools
import re
import types
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

MAX_ENTRIES = 6  # of a vector or a list
MAX_MAPPING_ENTRIES = 30
MAX_CHARACTERS = 500
MAX_DEPTH = 8

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def short_repr(value: Any) -> str:
    """Format an object in one line: classes with parameters, arrays abbreviated, functions by name.

    Fields that are None and functions equal to the default are omitted.

    Example:
        >>> import numpy as np
        >>> import jaxonline as jo
        >>> from jaxonline.parameters.short_repr import short_repr
        >>> short_repr(jo.noise.laplace(0.2))
        "Noise(covariance=0.2, law='laplace')"
        >>> short_repr({"a": np.zeros((442, 10)), "b": np.array([0.5, 1.0])})
        '{a: float64[442, 10], b: [0.5, 1.0]}'
    """
    line = _format(value, MAX_DEPTH)
    return line if len(line) <= MAX_CHARACTERS else f"{line[: MAX_CHARACTERS - 2]} …"


def _format(value: Any, depth: int) -> str:
    if depth <= 0:
        return "…"
    if isinstance(value, np.ndarray | np.generic | jax.Array | jax.ShapeDtypeStruct):
        return _format_array(value)
    if isinstance(value, type):
        return value.__name__
    if dataclasses.is_dataclass(value):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if _shows(field, value)}
        return _format_call(type(value).__name__, fields, depth)
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        if _is_functions(value):  # an optimizer of optax
            return _format(value[-1], depth)
        return _format_call(type(value).__name__, value._asdict(), depth)  # type: ignore[attr-defined]
    if isinstance(value, list | tuple):
        entries = ", ".join(_format(entry, depth - 1) for entry in value[:MAX_ENTRIES])
        return f"[{entries}{', …' * (len(value) > MAX_ENTRIES)}]"
    if isinstance(value, Mapping):
        items = itertools.islice(value.items(), MAX_MAPPING_ENTRIES)
        entries = ", ".join(f"{key}: {_format(entry, depth - 1)}" for key, entry in items)
        return f"{{{entries}{', …' * (len(value) > MAX_MAPPING_ENTRIES)}}}"
    if isinstance(value, functools.partial) and (value.args or value.keywords):
        return _format_call(_format(value.func, depth - 1), dict(enumerate(value.args)) | value.keywords, depth)
    if isinstance(value, functools.partial):
        return _format(value.func, depth)
    if isinstance(value, types.FunctionType):
        return _format_function(value, depth)
    if isinstance(value, float):
        return str(float(f"{value:.7g}"))
    if isinstance(value, int | complex | None):
        return str(value)
    if callable(value) and hasattr(value, "__wrapped__"):  # a compiled function
        return _format(value.__wrapped__, depth - 1)
    if type(value).__repr__ is object.__repr__:
        return _format_call(type(value).__name__, getattr(value, "__dict__", {}), depth - 2)
    try:
        return _ADDRESS.sub("", " ".join(repr(value).split()))
    except Exception:  # a user's class may raise anything here
        return type(value).__name__


def _format_call(name: str, arguments: Mapping[Any, Any], depth: int) -> str:
    words = (
        ("" if isinstance(key, int) else f"{key}=") + _format(value, depth - 1) for key, value in arguments.items()
    )
    return f"{name}({', '.join(words)})"


def _shows(field: Any, owner: Any) -> bool:
    value = getattr(owner, field.name, None)
    is_default_function = (
        field.metadata.get("static") and value is field.default and not isinstance(value, str | int | float)
    )
    return value is not None and field.init and not is_default_function


def _format_array(value: Any) -> str:
    if jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
        return "key"
    is_known = not isinstance(value, Tracer | jax.ShapeDtypeStruct)
    if value.ndim > 1 or value.size > MAX_ENTRIES or not is_known:
        return f"{value.dtype}[{', '.join(map(str, value.shape))}]"
    array = np.asarray(value)
    entries = [f"{float(f'{entry:.7g}')}" if array.dtype.kind == "f" else str(entry) for entry in array.ravel()]
    return f"[{', '.join(entries)}]" if array.ndim else entries[0]


def _format_function(value: types.FunctionType, depth: int) -> str:
    """Return a function's name; for a closure, the name of the function that made it, with its numbers as arguments."""
    name = value.__qualname__.split(".<locals>")[0]
    if "<locals>" not in value.__qualname__ or name == "<lambda>":
        return name
    cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
    arguments = {}
    for key, cell in cells:
        try:
            content = cell.cell_contents
        except ValueError:  # not bound yet
            continue
        if _is_functions(content) or isinstance(content, bool | int | float | str | np.ndarray | jax.Array):
            arguments[key] = content
    if list(arguments) == ["tx"]:  # optax wraps optimizers
        return _format(arguments["tx"], depth)
    return _format_call(name, arguments, depth)


def _is_functions(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(entry, types.FunctionType) for entry in value) and bool(value)
