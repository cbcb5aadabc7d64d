"""Equal functions of optax, built twice, as one object.

`optax.adam(1.0)` builds new functions at every call, and JAX compares functions by identity: a learner built twice
would be two programs. What optax's functions close over says whether they are equal. Functions that others wrote are
left as they are, since what they close over may change after they were built.
"""

import functools
import types
from typing import Any

_FIRST: dict[Any, Any] = {}


def interned(value: Any) -> Any:
    """The first function, or tuple of functions, that was equal to `value`."""
    return _FIRST.setdefault(_contents(value, ()), value)


class _Same:
    """An object that is equal to itself only; it is kept, so that no other one takes its address."""

    def __init__(self, value: Any):
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def _contents(value: Any, inside: tuple[Any, ...]) -> Any:
    """What makes a value equal to another one; `inside` are the functions that are being looked into."""
    if value is None or type(value) in (bool, int, str, bytes):
        return type(value), value
    if type(value) is float:
        return float, value.hex()  # 0.0 is not -0.0, and nan is nan

    def of(*values: Any) -> tuple[Any, ...]:
        return tuple(_contents(each, (*inside, value)) for each in values)

    if isinstance(value, tuple):
        return type(value), of(*value)
    if isinstance(value, functools.partial):
        names = sorted(value.keywords)
        return functools.partial, of(value.func, *value.args), (*names,), of(*(value.keywords[name] for name in names))
    if isinstance(value, types.FunctionType) and (value.__module__ or "").split(".")[0] == "optax":
        if any(value is each for each in inside):
            return "itself", len(inside)
        cells = value.__closure__ or ()
        held = of(*map(_held, cells), *(value.__defaults__ or ()))
        keywords = value.__kwdefaults__ or {}
        return _Same(value.__code__), len(cells), held, (*keywords,), of(*keywords.values())
    return _Same(value)


def _held(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a variable that was never set
        return "nothing"
