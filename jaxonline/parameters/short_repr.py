"""Short text forms of games, learners and comparators: classes with parameters, arrays abbreviated."""

import contextlib
import dataclasses
import functools
import re
import reprlib
import types
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
import wadler_lindig as wl
from jax.core import Tracer

MAX_ENTRIES = 6  # of a vector or a list
MAX_CHARACTERS = 500

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_NESTED = list | tuple | dict | set | frozenset | type | types.NoneType | functools.partial  # as wadler_lindig does


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
        "{'a': float64[442, 10], 'b': [0.5, 1.0]}"
    """
    line = wl.pformat(value, width=10**6, custom=_format, show_type_module=False)  # type: ignore
    return line if len(line) <= MAX_CHARACTERS else f"{line[: MAX_CHARACTERS - 2]} …"


@reprlib.recursive_repr(wl.TextDoc("<recursive>"))  # type: ignore[arg-type]
def _format(value: Any) -> wl.AbstractDoc | None:
    """Format what wadler_lindig would format in another way; None for anything else."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if _shows(field, value)}
        return _format_call(type(value).__name__, fields)
    if hasattr(value, "_fields") and _is_functions(value):  # an optimizer of optax
        return _format(value[-1])  # type: ignore
    if isinstance(function := getattr(value, "__wrapped__", value), types.FunctionType):  # also a compiled function
        return _format_function(function)
    if isinstance(value, np.ndarray | np.generic | jax.Array | jax.ShapeDtypeStruct):
        return wl.TextDoc(_format_array(value))
    is_long = type(value) in (list, tuple) and len(value) > MAX_ENTRIES  # type: ignore
    if isinstance(value, _NESTED) and not is_long:
        return None
    try:
        words = (reprlib.repr if is_long else repr)(value)
    except Exception:  # a user's class may raise anything here
        words = type(value).__name__
    text = f"{float(f'{value:.7g}')}" if isinstance(value, float) else " ".join(words.split())
    return wl.TextDoc(_ADDRESS.sub("", text))


def _format_call(name: str, arguments: Mapping[str, Any]) -> wl.AbstractDoc:
    named = wl.named_objs(arguments.items(), custom=_format, show_type_module=False)
    return wl.bracketed(wl.TextDoc(f"{name}("), named, wl.comma, wl.TextDoc(")"), indent=2)


def _shows(field: Any, owner: Any) -> bool:
    value = getattr(owner, field.name, None)
    is_hidden = field.metadata.get("static") and (field.kw_only or not isinstance(value, str | int | float))
    return value is not None and field.init and not (is_hidden and value is field.default)


def _format_array(value: Any) -> str:
    if jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
        return "key"
    if value.ndim > 1 or value.size > MAX_ENTRIES or isinstance(value, Tracer | jax.ShapeDtypeStruct):
        return f"{value.dtype}[{', '.join(map(str, value.shape))}]"
    array = np.asarray(value)
    entries = [f"{float(f'{entry:.7g}')}" if array.dtype.kind == "f" else str(entry) for entry in array.ravel()]
    return f"[{', '.join(entries)}]" if array.ndim else entries[0]


def _format_function(value: types.FunctionType) -> wl.AbstractDoc:
    """Return a function's name; for a closure, the name of the function that made it, with its numbers as arguments."""
    name = value.__qualname__.split(".<locals>")[0]
    if "<locals>" not in value.__qualname__ or name == "<lambda>":
        return wl.TextDoc(name)
    kinds = bool | int | float | str | np.ndarray | jax.Array
    arguments = {k: part for k, part in closure_values(value).items() if _is_functions(part) or isinstance(part, kinds)}
    # optax wraps optimizers
    return wl.pdoc(arguments["tx"], custom=_format) if list(arguments) == ["tx"] else _format_call(name, arguments)  # type: ignore


def closure_values(function: types.FunctionType) -> dict[str, Any]:
    """Return the values in the closure of a function by the names of the variables, without variables not set yet."""
    values = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):
            values[name] = cell.cell_contents
    return values


def _is_functions(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(entry, types.FunctionType) for entry in value)
