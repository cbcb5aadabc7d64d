"""Games, learners and comparators in readable words: classes with their parameters, arrays shortened."""

import dataclasses
import itertools
import types
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

ENTRIES = 6  # of a vector
LONGEST = 500  # of all words


def short_repr(value: Any) -> str:
    """One line: classes with their parameters, arrays shortened, functions by name.

    Fields that are None are left out, and functions that are as by default.

    Example:
        >>> import numpy as np
        >>> import jaxonline as jo
        >>> from jaxonline.parameters.short_repr import short_repr
        >>> short_repr(jo.noise.laplace(0.2))
        'Noise(covariance=0.2, law=laplace, factor=0.4472136)'
        >>> short_repr({"a": np.zeros((442, 10)), "b": np.array([0.5, 1.0])})
        '{a: array of 442 x 10, b: [0.5 1.0]}'
    """
    words = _words(value, depth=8)
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 2]} …"


def _words(value: Any, depth: int) -> str:
    if depth <= 0:
        return "…"
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        return _array(value)
    if isinstance(value, type):
        return value.__name__
    if dataclasses.is_dataclass(value):
        shown = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if _told(field, value)}
        return _call(type(value).__name__, shown, depth)
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _call(type(value).__name__, value._asdict(), depth)  # type: ignore[attr-defined]
    if isinstance(value, list | tuple):
        inside = ", ".join(_words(each, depth - 1) for each in value[:ENTRIES])
        return f"[{inside}{', …' * (len(value) > ENTRIES)}]"
    if isinstance(value, Mapping):
        some = itertools.islice(value.items(), 5 * ENTRIES)
        inside = ", ".join(f"{name}: {_words(each, depth - 1)}" for name, each in some)
        return f"{{{inside}{', …' * (len(value) > 5 * ENTRIES)}}}"
    if isinstance(value, types.FunctionType):
        return _function(value, depth)
    if isinstance(value, float):
        return str(float(f"{value:.7g}"))
    if isinstance(value, str | int | complex | None):
        return str(value)
    if type(value).__repr__ is object.__repr__:  # says no more than where it is
        return _call(type(value).__name__, getattr(value, "__dict__", {}), depth - 2)
    try:
        return " ".join(repr(value).split())
    except Exception:  # what someone's own class says of itself decides no number
        return type(value).__name__


def _call(name: str, parts: Mapping[str, Any], depth: int) -> str:
    return f"{name}({', '.join(f'{key}={_words(each, depth - 1)}' for key, each in parts.items())})"


def _told(field: Any, value: Any) -> bool:
    own = getattr(value, field.name)
    plain = isinstance(own, str | int | float)
    return own is not None and (plain or not (field.metadata.get("static") and own is field.default))


def _array(value: Any) -> str:
    if jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
        return "key"
    if value.ndim > 1 or value.size > ENTRIES:
        return f"array of {' x '.join(map(str, value.shape))}"
    array = np.asarray(value)
    if array.ndim == 0:
        return _words(array.item(), depth=1) if array.dtype == float else str(array[()])
    return f"[{' '.join(map(str, array))}]"


def _function(value: types.FunctionType, depth: int) -> str:
    """Its name, and of one that another one made, the name of that and the numbers that it was made of."""
    name = value.__qualname__.split(".<locals>")[0]
    if "<locals>" not in value.__qualname__ or name == "<lambda>":
        return name
    cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
    numbers = {}
    for key, cell in cells:
        try:
            content = cell.cell_contents
        except ValueError:  # not there yet
            continue
        if isinstance(content, bool | int | float | str | np.ndarray | jax.Array):
            numbers[key] = content
    return _call(name, numbers, depth)
