"""Closures of optax, such as `optax.adam(1.0)`: equal closures become one object, and can be pickled.

`optax.adam(1.0)` builds new functions at each call. JAX compares functions by identity, so two equal learners would be
compiled twice. Here, two functions of optax with the same code are equal if the values in their closures are equal.
Closures of other libraries stay as they are, since the values in these closures may change after construction.

The module `pickle` cannot write a function that was made inside another function; `cloudpickle` writes it as a whole.
"""

import contextlib
import functools
import pickle
import types
from collections.abc import Callable
from typing import Any

import jax

_FIRST: dict[Any, Any] = {}  # by their keys
_KEPT: dict[int, Any] = {}  # values that are compared by identity: no other object gets their address
_BY_CONTENT: dict[bytes, Any] = {}  # what cloudpickle wrote or read in this process


def intern_functions(value: Any) -> Any:
    """Return the first function (or tuple of functions) equal to `value`.

    Example:
        >>> import optax
        >>> from jaxonline.parameters.closures import intern_functions
        >>> optax.sgd(0.1) == optax.sgd(0.1), intern_functions(optax.sgd(0.1)) is intern_functions(optax.sgd(0.1))
        (False, True)
    """
    return _FIRST.setdefault(_key_of(value), value)


@functools.cache
def build_cached(factory: Callable[[], Any]) -> Any:
    """Call a factory without arguments once and cache the result."""
    return factory()


def closure_values(function: types.FunctionType) -> dict[str, Any]:
    """Return the values in the closure of a function by the names of the variables, without variables not set yet."""
    values = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):
            values[name] = cell.cell_contents
    return values


def _key_of(value: Any, inside: tuple[Any, ...] = ()) -> Any:
    """Return a key that is equal for equal values; `inside` has the enclosing values, which a function may contain."""

    def keys_of(values: Any) -> tuple[Any, ...]:
        return tuple(_key_of(part, (*inside, value)) for part in values)

    if isinstance(value, tuple):
        return type(value), keys_of(value)
    if isinstance(value, functools.partial):
        return type(value), keys_of((value.func, *value.args, *sorted(value.keywords.items())))
    module = value.__globals__.get("__name__") if isinstance(value, types.FunctionType) else None
    if str(module).split(".")[0] == "optax":
        if any(value is outer for outer in inside):
            return "itself", [value is outer for outer in inside].index(True)
        parts = value.__defaults__, *(value.__kwdefaults__ or {}).items(), *closure_values(value).items()
        return module, value.__code__, keys_of(parts)
    if value is None or type(value) in (bool, int, str, bytes):
        return type(value), value
    if type(value) is float:
        return float, value.hex()  # 0.0 is not -0.0, and nan is nan
    _KEPT[id(value)] = value
    return "identity", id(value)


# ---------------------------------------------------------------------------------------------------------------------
# Pickle


class Portable:
    """Wrapper of functions in a pickled field of a struct; unpickling returns the functions, deepcopy keeps them."""

    def __init__(self, field: str, value: Any):
        self.field, self.value = field, value

    def __deepcopy__(self, memo: Any) -> "Portable":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        try:
            pickle.dumps(self.value)
        except (pickle.PicklingError, AttributeError, TypeError) as error:  # a function made inside another function
            return _load, (_dump(self.field, self.value, error),)
        return intern_functions, (self.value,)


def make_portable(field: str, value: Any) -> Any:
    """Return the value of a field in a form that `pickle` can write: functions become `Portable`."""
    leaves = jax.tree.leaves(value, is_leaf=lambda part: isinstance(part, functools.partial))
    is_function = any(isinstance(leaf, types.FunctionType | functools.partial) for leaf in leaves)
    return Portable(field, value) if is_function else value


def _dump(field: str, value: Any, error: Exception) -> bytes:
    try:
        import cloudpickle
    except ModuleNotFoundError:
        raise pickle.PicklingError(f"{field}: {error}; pip install cloudpickle, or 'jaxonline[cluster]'") from None
    content = cloudpickle.dumps(value)
    _BY_CONTENT.setdefault(content, value)
    return content


def _load(content: bytes) -> Any:
    """Return what cloudpickle wrote; equal bytes give the same functions, so that their programs are reused."""
    if content not in _BY_CONTENT:
        _BY_CONTENT[content] = intern_functions(pickle.loads(content))
    return _BY_CONTENT[content]
