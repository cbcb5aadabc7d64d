"""Functions that check arguments when an object is constructed.

The error of a failed check names the argument, its value, and the allowed values.

Values that are unknown while JAX traces (tracers, shape structs) pass: they were checked when they were concrete.
"""

import operator
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError, UnderflowWarning, did_you_mean

MAX_DEPTH = 64  # of nested lists: a NumPy array has at most 64 dimensions

_NUMBERS = int | float | np.ndarray | np.generic | jax.Array


def concrete_array(value: Any) -> np.ndarray | None:
    """Return the value as a NumPy array, or None if it is a tracer or a placeholder."""
    if isinstance(value, Tracer) or not isinstance(value, _NUMBERS):
        return None
    return np.asarray(value)


def number(name: str, value: Any, *, gt: float | None = None, ge: float | None = None,
           lt: float | None = None, le: float | None = None) -> Any:  # fmt: skip
    """Check that `value` is one finite number within the limits; return it."""
    if is_abstract(value):
        return value
    if isinstance(value, list | tuple):
        raise ArgumentTypeError(name, f"must be a number (got {quote(value)})")
    array = real_array(name, value, "be a number")
    if array.ndim:
        raise ArgumentError(name, f"must be a number (got an array of shape {array.shape})")
    _inside(name, array, gt, ge, lt, le)
    return value


def numbers(name: str, value: Any, *, gt: float | None = None, ge: float | None = None,
            lt: float | None = None, le: float | None = None) -> Any:  # fmt: skip
    """Check that an array `value` is not empty, and is finite and within the limits in all entries; return it."""
    if not is_abstract(value):
        array = real_array(name, value, "hold numbers")
        if array.size == 0:
            raise ArgumentError(name, f"must have at least one entry (got shape {array.shape})")
        _inside(name, array, gt, ge, lt, le)
    return value


def whole_number(name: str, value: Any, *, ge: float) -> Any:
    """Check that `value`, which may be a leaf and unknown while JAX traces, is an integer of at least `ge`."""
    array = concrete_array(number(name, value, ge=ge))
    if array is not None and array != np.floor(array):
        raise ArgumentTypeError(name, f"must be an integer of at least {ge} (got {quote(value)})")
    return value


def positive(name: str, value: Any) -> Any:
    """Check that `value` is one finite number above 0."""
    return number(name, value, gt=0.0)


def non_negative(name: str, value: Any) -> Any:
    """Check that `value` is one finite number of at least 0."""
    return number(name, value, ge=0.0)


def count(name: str, value: Any, *, gt: float | None = None, ge: float | None = None,
          lt: float | None = None, le: float | None = None) -> int:  # fmt: skip
    """Check that `value` is an integer within the limits (by default at least 1); return it as an int."""
    if gt is ge is lt is le is None:
        ge = 1
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        wanted = "an integer" if ge is None else f"an integer of at least {ge}"
        raise ArgumentTypeError(name, f"must be {wanted} (got {quote(value)})")
    if any(wrong(value, limit) for wrong, limit in zip(_OUTSIDE, (gt, ge, lt, le), strict=True) if limit is not None):
        limits = zip(("above", "at least", "below", "at most"), (gt, ge, lt, le), strict=True)
        wanted = " and ".join(f"{word} {limit}" for word, limit in limits if limit is not None)
        raise ArgumentError(name, f"must be {wanted} (got {value})")
    return int(value)


_OUTSIDE = (operator.le, operator.lt, operator.ge, operator.gt)


def flag(name: str, value: Any) -> bool:
    """Check that `value` is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ArgumentTypeError(name, f"must be True or False (got {quote(value)})")
    return bool(value)


def text(name: str, value: Any) -> str:
    """Check that `value` is a nonempty string without the null character, which no file name may contain."""
    if not isinstance(value, str):
        raise ArgumentTypeError(name, f"must be a string (got {quote(value)})")
    if not value.strip() or "\0" in value:
        problem = "contain the null character" if value.strip() else "be empty"
        raise ArgumentError(name, f"must not {problem} (got {value!r})")
    return value


def path(name: str, value: Any) -> Any:
    """Check that `value` is the path of a file or folder: a nonempty string, or an object such as `pathlib.Path`."""
    return text(name, value) if isinstance(value, str) else instance(name, value, os.PathLike, "a path")


def choice(name: str, value: Any, options: Iterable[str]) -> str:
    """Check that `value` is one of `options`."""
    options = tuple(options)
    if not isinstance(value, str) or value not in options:
        known = ", ".join(map(repr, options)) or "nothing"
        raise ArgumentError(name, f"must be one of {known} (got {quote(value)}){did_you_mean(value, options)}")
    return value


def dictionary(name: str, value: Any, known: Iterable[str]) -> Mapping[str, Any]:
    """Check that `value` is a dictionary whose keys are all in `known`; return it, or {} for None."""
    if value is None:
        return {}
    for entry in instance(name, value, Mapping, "a dictionary"):
        choice(name, entry, known)
    return value


def function(name: str, value: Any, arguments: str) -> Any:
    """Check that `value` is callable and not a class; the error message quotes `arguments`, a text such as "(w, x)"."""
    return instance(name, value, callable(value), f"a function of {arguments}")


def instance(name: str, value: Any, good: bool | type | tuple[type, ...], wanted: str) -> Any:
    """Check that `value` has a type (or that `good` is True) and is not a class; the error message quotes `wanted`."""
    if isinstance(value, type):
        raise ArgumentTypeError(name, f"must be {wanted} (got the class itself); write {value.__name__}(...)")
    if not (good if isinstance(good, bool) else isinstance(value, good)):
        raise ArgumentTypeError(name, f"must be {wanted} (got {quote(value)})")
    return value


def leaf(name: str, value: Any) -> None:
    """Check that `value` can be a leaf of a struct: neither a class nor a masked array."""
    if isinstance(value, type):
        raise ArgumentTypeError(name, f"must be an object (got the class itself); write {value.__name__}(...)")
    _unmasked(name, value)


def not_string(name: str, value: Any) -> None:
    """Check that `value`, a leaf of a struct, is no string."""
    if isinstance(value, str | bytes):
        raise ArgumentTypeError(name, f"must not be a string (got {quote(value)})")


def finite_array(name: str, value: Any, *, ndim: int | None = None) -> np.ndarray:
    """Check that `value` is a real array without NaN and infinity, and has `ndim` dimensions if `ndim` is given."""
    array = real_array(name, value)
    if ndim is not None and array.ndim != ndim:
        raise ArgumentError(name, f"must have {ndim} dimension{'s' * (ndim != 1)} (got shape {array.shape})")
    bad = np.argwhere(~np.isfinite(array.astype(float)))
    if len(bad):
        where = ", ".join(map(str, bad[0]))
        raise ArgumentError(name, f"must be finite (got {array[tuple(bad[0])]} at [{where}] ({len(bad)} such entries))")
    return array


def array(name: str, value: Any, *, ndim: int | None = None, gt: float | None = None, ge: float | None = None,
          lt: float | None = None, le: float | None = None) -> Any:  # fmt: skip
    """Check that `value` is a nonempty array, finite and within the limits; a list becomes an array."""
    entries = finite_array(name, value, ndim=ndim)
    if entries.size == 0:
        raise ArgumentError(name, f"must have at least one entry (got {'none' if ndim == 1 else entries.shape})")
    if (gt, ge, lt, le) != (None,) * 4:
        _inside(name, entries, gt, ge, lt, le)
    return list_to_array(name, value)


def vector(name: str, value: Any) -> np.ndarray:
    """Check that `value` is a finite, nonempty vector."""
    return np.asarray(array(name, value, ndim=1))


def list_to_array(name: str, value: Any) -> Any:
    """Convert a (nested) list or tuple of numbers to an array; return anything else unchanged."""
    if not isinstance(value, list | tuple) or is_abstract(value):
        return value
    return real_array(name, value, "hold numbers").astype(float)


def key(name: str, value: Any) -> Any:
    """Check that `value` is a JAX random key."""
    if not isinstance(value, jax.Array):
        raise ArgumentTypeError(name, f"must be a JAX key (jax.random.key) (got {quote(value)})")
    old = value.dtype == np.uint32 and value.shape[-1:] == (2,)
    if not (jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key) or old):
        raise ArgumentTypeError(name, f"must be a JAX key (jax.random.key) (got an array of dtype {value.dtype})")
    return value


def as_key(name: str, value: Any) -> Any:
    """Return the JAX random key of a seed; a key is returned unchanged."""
    if isinstance(value, jax.Array):
        return key(name, value)
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ArgumentTypeError(name, f"must be an integer or a JAX key (got {quote(value)})")
    return jax.random.key(seed(name, value, 63 if jax.config.jax_enable_x64 else 32))  # type: ignore[attr-defined]


def sequence(name: str, value: Any, item: str) -> Any:
    """Check that `value` is a nonempty list or tuple."""
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        raise ArgumentTypeError(name, f"must be a list of {item}s (got {quote(value)})")
    if not value:
        raise ArgumentError(name, f"must have at least one {item} (got none)")
    return value


def texts(name: str, value: Any) -> None:
    """Check that `value` is a nonempty list or tuple of nonempty strings."""
    for item in sequence(name, value, "name"):
        text(name, item)


def fits_dtype(name: str, value: Any, dtype: Any) -> None:
    """Check that finite numbers stay finite in `dtype` (1e39 is infinite in float32)."""
    if is_abstract(value) or not jax.dtypes.issubdtype(dtype, np.floating):
        return
    array = np.asarray(value)
    largest = float(jax.numpy.finfo(dtype).max)
    if array.dtype == dtype or not jax.dtypes.issubdtype(array.dtype, np.number) or array.size == 0:
        return
    beyond = np.abs(array[np.isfinite(array)].astype(float)) > largest
    if beyond.any():
        largest_entry = np.nanmax(np.abs(np.where(np.isfinite(array), array, 0)))
        raise ArgumentError(
            name,
            f"must be finite in {np.dtype(dtype).name} (got {largest_entry:g}, which is above {largest:.3g}); scale it",
        )


def warn_of_tiny_numbers(name: str, array: Any, dtype: Any) -> None:
    """Warn if entries differ from 0, but all are below the normal numbers of `dtype`, so that they are rounded to 0."""
    if is_abstract(array):
        return
    sizes = np.abs(np.asarray(array, float))
    smallest = float(jax.numpy.finfo(dtype).tiny)
    if 0 < sizes.max(initial=0.0) < smallest:
        warnings.warn(
            f"{name}: numbers below {smallest:.3g} are rounded to 0 in {np.dtype(dtype).name} (got {sizes.max():g} as "
            "the largest); scale them, or enable float64",
            UnderflowWarning,
            stacklevel=5,
        )


def rows(name: str, X: Any, y_name: str, y: Any, *, vectors: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Check instances and outcomes: finite, and as many rows in both; with `vectors=False`, rows have any shape."""
    X, y = finite_array(name, X, ndim=2 if vectors else None), finite_array(y_name, y, ndim=1 if vectors else None)
    if X.ndim < 2 or y.ndim < 1:
        raise ArgumentError(y_name, f"must have one row for each round, as {name} (got shapes {y.shape} and {X.shape})")
    if len(X) != len(y) or X.size == 0 or y.size == 0:
        raise ArgumentError(
            y_name, f"must have as many rows as {name}, at least one (got shapes {y.shape} and {X.shape})"
        )
    return X, y


def margin_labels(name: str, y: Any) -> None:
    """Check that the labels are -1 and +1, as a margin loss requires."""
    labels = np.unique(np.asarray(y))
    if not np.isin(labels, (-1, 1)).all():
        hint = "; write 2 * y - 1" if np.isin(labels, (0, 1)).all() else ""
        raise ArgumentError(name, f"must be -1 or +1 for a margin loss (got {quote(labels[:6].tolist())}){hint}")


def covariance(name: str, value: Any) -> Any:
    """Check a covariance: a variance, a vector of variances, or a symmetric PSD matrix."""
    if is_abstract(value):
        return value
    array = real_array(name, value, "be a number, a vector or a square matrix")
    finite_array(name, array)
    if array.ndim < 2:
        return numbers(name, value, ge=0.0)
    if array.ndim > 2 or array.shape[0] != array.shape[1]:
        raise ArgumentError(name, f"must be a number, a vector or a square matrix (got shape {array.shape})")
    if array.size == 0:
        raise ArgumentError(name, f"must have at least one entry (got shape {array.shape})")
    scale = max(float(np.abs(array).max()), np.finfo(float).tiny)
    if np.abs(array - array.T).max() > 1e-6 * scale:
        raise ArgumentError(name, f"must be symmetric (got a difference of {np.abs(array - array.T).max():g})")
    smallest = float(np.linalg.eigvalsh(array.astype(float)).min())
    if smallest < -1e-6 * scale:
        raise ArgumentError(name, f"must be positive semi-definite (got the eigenvalue {smallest:g})")
    return value


def seed(name: str, value: Any, bits: int = 32) -> int:
    """Check that `value` is an integer from 0 to 2^bits - 1; return it as an int.

    If float64 is disabled, JAX makes the same key from seeds that are equal modulo 2^32.
    """
    if count(name, value, ge=0) >= 2**bits:
        raise ArgumentError(name, f"must be below 2^{bits} (got {value})")
    return int(value)


def is_abstract(value: Any) -> bool:
    """Return whether `value`, or an entry of a list `value`, is a tracer or a placeholder, unknown while JAX traces."""
    if isinstance(value, list | tuple):
        return not exceeds_depth(value) and any(map(is_abstract, value))
    return isinstance(value, Tracer | jax.ShapeDtypeStruct)


def exceeds_depth(value: Any, depth: int = MAX_DEPTH) -> bool:
    """Return whether lists, tuples and dictionaries are nested more than `depth` times, as in a list in itself."""
    if not isinstance(value, list | tuple | dict):
        return False
    items = value.values() if isinstance(value, dict) else value
    return depth == 0 or any(exceeds_depth(item, depth - 1) for item in items)


def nesting(name: str, value: Any) -> Any:
    """Check that lists, tuples and dictionaries are nested at most `MAX_DEPTH` times."""
    if exceeds_depth(value):
        raise ArgumentError(name, f"must be nested at most {MAX_DEPTH} times (got {quote(value)})")
    return value


def quote(value: Any) -> str:
    """Format a value for an error message: one line of at most 100 characters."""
    if isinstance(value, type):
        return f"the class {value.__name__} itself"
    if isinstance(value, np.ndarray | jax.Array) and not isinstance(value, Tracer):
        return _short(np.asarray(value)) if value.ndim < 2 else f"an array of shape {value.shape}"
    try:
        text = " ".join(repr(value).split())
    except Exception:  # a user's class may raise anything here
        text = f"an object of class {type(value).__name__}"
    return text if len(text) <= 100 else f"{text[:97]}..."


def real_array(name: str, value: Any, wanted: str = "hold real numbers") -> np.ndarray:
    """Return the value as an array of real numbers; the error for any other value states what it must be."""
    _unmasked(name, value)
    if isinstance(value, Tracer) or is_abstract(value):
        raise ArgumentTypeError(name, f"must be known here (computed outside jit) (got {quote(value)})")
    nesting(name, value)
    try:
        array = np.asarray(value)
    except (ValueError, TypeError):  # rows of different lengths, or no array
        raise ArgumentTypeError(name, f"must {wanted} (got {quote(value)})") from None
    kind = array.dtype
    if array.size == 0 and isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return array
    if not jax.dtypes.issubdtype(kind, np.number) or jax.dtypes.issubdtype(kind, np.complexfloating):
        got = quote(value) if array.size < 8 else f"dtype {kind}"
        raise ArgumentTypeError(name, f"must {wanted} (got {got})")
    return array


def _unmasked(name: str, value: Any) -> None:
    parts = value if isinstance(value, list | tuple) else (value,)
    masked = next((part for part in parts if isinstance(part, np.ma.MaskedArray)), None)
    if masked is not None:
        raise ArgumentTypeError(
            name,
            "must not be a masked array (what is masked would count) (got one with "
            f"{int(np.ma.count_masked(masked))} masked entries); fill it, or leave these rows out",
        )


def _inside(
    name: str, array: np.ndarray, gt: float | None, ge: float | None, lt: float | None, le: float | None
) -> None:
    limits = [
        (gt, "above", np.greater),
        (ge, "at least", np.greater_equal),
        (lt, "below", np.less),
        (le, "at most", np.less_equal),
    ]
    wanted = " and ".join(f"{word} {limit:g}" for limit, word, _ in limits if limit is not None) or "finite"
    finite = bool(np.all(np.isfinite(array)))
    good = finite and all(bool(np.all(test(array, limit))) for limit, _, test in limits if limit is not None)
    if not good:
        wanted += " and finite" * (not finite and wanted != "finite")
        raise ArgumentError(name, f"must be {wanted} (got {_short(array)})")


def _short(array: np.ndarray) -> str:
    if array.ndim:
        return " ".join(np.array2string(array, threshold=6, precision=6).split())
    return f"{array.item():g}" if np.issubdtype(array.dtype, np.number) else repr(array.item())
