"""Functions that check arguments when an object is constructed.

The error of a failed check names the argument, its value, and the allowed values. The limits of a number are given by
name: `gt` (above), `ge` (at least), `lt` (below), `le` (at most).

Values that are unknown while JAX traces (tracers, shape structs) pass: they were checked when they were concrete.
"""

import operator
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.core import Tracer

from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError, SettingsWarning, did_you_mean
from jaxonline.parameters.short_repr import short_repr

MAX_DEPTH = 64  # of nested lists: a NumPy array has at most 64 dimensions

NUMBERS = int | float | np.ndarray | np.generic | jax.Array


class Limits(NamedTuple):
    """The range of a number: the number is above `gt`, at least `ge`, below `lt` and at most `le`."""

    gt: float | None = None
    ge: float | None = None
    lt: float | None = None
    le: float | None = None

    @property
    def words(self) -> str:
        """Return the range in words, such as "above 0 and at most 1"; "" for a range without limits."""
        words = zip(("above", "at least", "below", "at most"), self, strict=True)
        return " and ".join(f"{word} {format_limit(limit)}" for word, limit in words if limit is not None)

    @property
    def given(self) -> dict[str, float]:
        """Return the limits that are not None, by name."""
        return {name: limit for name, limit in self._asdict().items() if limit is not None}

    def exclude(self, value: Any) -> bool:
        """Return whether a number, or an entry of an array, is outside of the range."""
        outside = zip((operator.le, operator.lt, operator.ge, operator.gt), self, strict=True)
        return any(np.any(is_outside(value, limit)) for is_outside, limit in outside if limit is not None)


def format_limit(value: float) -> str:
    """Format the limit of a range with all its digits, such as 100,000 instead of 1e+05."""
    whole = 1000 <= abs(value) < 1e15 and value == round(value)
    return f"{value:,.0f}" if whole else f"{float(value):g}"


# ---------------------------------------------------------------------------------------------------------------------
# Numbers


def concrete_array(value: Any) -> np.ndarray | None:
    """Return the value as a NumPy array, or None if it is a tracer or a placeholder."""
    return np.asarray(value) if isinstance(value, NUMBERS) and not isinstance(value, Tracer) else None


def number(name: str, value: Any, **limits: float | None) -> Any:
    """Check that `value` is one finite number within the limits; return it."""
    if is_abstract(value):
        return value
    instance(name, value, not isinstance(value, list | tuple), "a number")
    array = real_array(name, value, "be a number")
    if array.ndim:
        raise ArgumentError(name, f"must be a number (got an array of shape {array.shape})")
    _inside(name, array, **limits)
    return value


def numbers(name: str, value: Any, **limits: float | None) -> Any:
    """Check that `value` is a number or a nonempty array, finite and within the limits; a list becomes an array."""
    return value if is_abstract(value) else array(name, value, **limits)  # type: ignore[arg-type]


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


def count(name: str, value: Any, **given: float | None) -> int:
    """Check that `value` is an integer within the limits (by default at least 1); return it as an int."""
    limits = Limits(**given) if given else Limits(ge=1)
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        wanted = "" if limits.ge is None else f" of at least {limits.ge}"
        raise ArgumentTypeError(name, f"must be an integer{wanted} (got {quote(value)})")
    if limits.exclude(value):
        raise ArgumentError(name, f"must be {limits.words} (got {value})")
    return int(value)


def seed(name: str, value: Any, bits: int = 32) -> int:
    """Check that `value` is an integer from 0 to 2^bits - 1; return it as an int.

    If float64 is disabled, JAX makes the same key from seeds that are equal modulo 2^32.
    """
    if count(name, value, ge=0) >= 2**bits:
        raise ArgumentError(name, f"must be below 2^{bits} (got {value})")
    return int(value)


# ---------------------------------------------------------------------------------------------------------------------
# Texts, functions and objects


def flag(name: str, value: Any) -> bool:
    """Check that `value` is True or False."""
    return bool(instance(name, value, bool | np.bool_, "True or False"))


def text(name: str, value: Any) -> str:
    """Check that `value` is a nonempty string without the null character, which no file name may contain."""
    instance(name, value, str, "a string")
    if not value.strip() or "\0" in value:
        problem = "contain the null character" if value.strip() else "be empty"
        raise ArgumentError(name, f"must not {problem} (got {value!r})")
    return value


def texts(name: str, value: Any) -> None:
    """Check that `value` is a nonempty list or tuple of nonempty strings."""
    for item in sequence(name, value, "name"):
        text(name, item)


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


def sequence(name: str, value: Any, item: str) -> Any:
    """Check that `value` is a nonempty list or tuple."""
    is_sequence = isinstance(value, Sequence) and not isinstance(value, str | bytes)
    if not instance(name, value, is_sequence, f"a list of {item}s"):
        raise ArgumentError(name, f"must have at least one {item} (got none)")
    return value


def function(name: str, value: Any, arguments: str) -> Any:
    """Check that `value` is callable and not a class; the error message quotes `arguments`, a text such as "(w, x)"."""
    return instance(name, value, callable(value), f"a function of {arguments}")


def instance(name: str, value: Any, good: Any, wanted: str) -> Any:
    """Check that `value` has a type (or that `good` is True) and is not a class; the error message quotes `wanted`."""
    if isinstance(value, type):
        raise ArgumentTypeError(name, f"must be {wanted} (got the class itself); write {value.__name__}(...)")
    if not (good if isinstance(good, bool) else isinstance(value, good)):
        raise ArgumentTypeError(name, f"must be {wanted} (got {quote(value)})")
    return value


def key(name: str, value: Any) -> Any:
    """Check that `value` is a JAX random key."""
    is_old_key = isinstance(value, jax.Array) and value.dtype == np.uint32 and value.shape[-1:] == (2,)
    is_key = isinstance(value, jax.Array) and jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key)
    return instance(name, value, is_key or is_old_key, "a JAX key (jax.random.key)")


def as_key(name: str, value: Any) -> Any:
    """Return the JAX random key of a seed; a key is returned unchanged."""
    if isinstance(value, jax.Array):
        return key(name, value)
    is_integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
    instance(name, value, is_integer, "an integer or a JAX key")
    return jax.random.key(seed(name, value, 63 if jax.config.jax_enable_x64 else 32))  # type: ignore[attr-defined]


def leaves(name: str, value: Any, strings: bool = True) -> None:
    """Check that `value` can have the leaves of a struct: no class, no masked array, and no string unless `strings`."""
    for leaf in jax.tree.leaves(nesting(name, value)):
        _unmasked(name, instance(name, leaf, True, "an object"))
        if isinstance(leaf, str | bytes) and not strings:
            raise ArgumentTypeError(name, f"must not be a string (got {quote(leaf)})")


# ---------------------------------------------------------------------------------------------------------------------
# Arrays


def finite_array(name: str, value: Any, *, ndim: int | None = None) -> np.ndarray:
    """Check that `value` is a real array without NaN and infinity, and has `ndim` dimensions if `ndim` is given."""
    array = real_array(name, value)
    if ndim is not None and array.ndim != ndim:
        raise ArgumentError(name, f"must have {ndim} dimension{'s' * (ndim != 1)} (got shape {array.shape})")
    bad = np.argwhere(~np.isfinite(array.astype(float)))
    if len(bad):
        where = f" at {bad[0].tolist()}{_column(value, bad[0])} ({len(bad)} such entries)" if array.ndim else ""
        raise ArgumentError(name, f"must be finite (got {array[tuple(bad[0])]}{where})")
    return array


def array(name: str, value: Any, *, ndim: int | None = None, **limits: float | None) -> Any:
    """Check that `value` is a nonempty array, finite and within the limits; a list becomes an array."""
    entries = finite_array(name, value, ndim=ndim)
    if entries.size == 0:
        raise ArgumentError(name, f"must have at least one entry (got {'none' if ndim == 1 else entries.shape})")
    _inside(name, entries, **limits)
    return list_to_array(name, value)


def vector(name: str, value: Any) -> np.ndarray:
    """Check that `value` is a finite, nonempty vector."""
    return np.asarray(array(name, value, ndim=1))


def list_to_array(name: str, value: Any) -> Any:
    """Convert a (nested) list or tuple of numbers to an array; return anything else unchanged."""
    if not isinstance(value, list | tuple) or is_abstract(value):
        return value
    return real_array(name, value, "hold numbers").astype(float)


def real_array(name: str, value: Any, wanted: str = "hold real numbers") -> np.ndarray:
    """Return the value as an array of real numbers; the error for any other value states what it must be."""
    _unmasked(name, value)
    if is_abstract(value):
        raise ArgumentTypeError(name, f"must be known here (computed outside jit) (got {quote(value)})")
    try:
        array = np.asarray(value)
    except (ValueError, TypeError):  # rows of different lengths, a list in itself, or no array
        raise ArgumentTypeError(name, f"must {wanted} (got {quote(value)})") from None
    if array.size == 0 and isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return array
    if array.dtype.kind in "OUTb" and type(value).__module__.partition(".")[0] == "pandas":
        return _pandas_array(name, value, wanted)
    kind = array.dtype
    if not jax.dtypes.issubdtype(kind, np.number) or jax.dtypes.issubdtype(kind, np.complexfloating):
        raise ArgumentTypeError(name, f"must {wanted} (got {quote(value) if array.size < 8 else f'dtype {kind}'})")
    return array


def fits_dtype(name: str, value: Any, dtype: Any) -> None:
    """Check that finite numbers stay finite in `dtype` (1e39 is infinite in float32)."""
    if is_abstract(value) or not jax.dtypes.issubdtype(dtype, np.floating):
        return
    array = real_array(name, value) if hasattr(value, "columns") else np.asarray(value)
    if array.dtype == dtype or not jax.dtypes.issubdtype(array.dtype, np.number):
        return
    largest, limit = _largest(array[np.isfinite(array)]), float(jax.numpy.finfo(dtype).max)
    if largest > limit:
        place = _column(value, np.argwhere(np.abs(array) == largest)[0])
        where = f"in {np.dtype(dtype).name} (got {largest:g}{place}, which is above {limit:.3g}); scale it"
        raise ArgumentError(name, f"must be finite {where}")


def squares_fit_dtype(name: str, rows: np.ndarray, dtype: Any) -> None:
    """Check that the sum of the squares of each row is finite in `dtype`; learners divide by it."""
    entries = rows.reshape(len(rows), -1).astype(dtype)
    with np.errstate(over="ignore"):
        overflows = np.isinf(np.sum(entries * entries, axis=1))
    if overflows.any():
        row, largest = int(np.argmax(overflows)), np.abs(entries[np.argmax(overflows)])
        where = f"(got {largest.max():g} in row {row}, column {int(largest.argmax())}); scale it"
        limit = f"{float(jax.numpy.finfo(dtype).max):.3g}, the largest {np.dtype(dtype).name}"
        raise ArgumentError(name, f"must have a sum of squares of at most {limit}, in each row {where}")


def warn_of_tiny_numbers(name: str, array: Any, dtype: Any) -> None:
    """Warn if entries differ from 0, but all are below the normal numbers of `dtype`, so that they are rounded to 0."""
    if is_abstract(array):
        return
    largest, smallest = _largest(array), float(jax.numpy.finfo(dtype).tiny)
    if 0 < largest < smallest:
        where = f"in {np.dtype(dtype).name} (got {largest:g} as the largest); scale them, or enable float64"
        message = f"{name}: numbers below {smallest:.3g} are rounded to 0 {where}"
        warnings.warn(message, SettingsWarning, stacklevel=5)


def rows(name: str, X: Any, y_name: str, y: Any, *, vectors: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Check instances and outcomes: finite, and as many rows in both; with `vectors=False`, rows have any shape."""
    X, y = finite_array(name, X, ndim=2 if vectors else None), finite_array(y_name, y, ndim=1 if vectors else None)
    if X.ndim < 2 or y.ndim < 1 or len(X) != len(y) or X.size == 0 or y.size == 0:
        problem = f"must have as many rows as {name}, at least one (got shapes {y.shape} and {X.shape})"
        raise ArgumentError(y_name, problem)
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
    array = finite_array(name, value)
    if array.ndim < 2:
        return numbers(name, value, ge=0.0)
    if array.shape != (len(array), len(array)) or array.size == 0:
        raise ArgumentError(name, f"must be a number, a vector or a square matrix (got shape {array.shape})")
    tolerance = 1e-6 * max(_largest(array), np.finfo(float).tiny)
    if (difference := _largest(array - array.T)) > tolerance:
        raise ArgumentError(name, f"must be symmetric (got a difference of {difference:g})")
    if (smallest := float(np.linalg.eigvalsh(array.astype(float)).min())) < -tolerance:
        raise ArgumentError(name, f"must be positive semi-definite (got the eigenvalue {smallest:g})")
    return value


# ---------------------------------------------------------------------------------------------------------------------
# Parts of the checks


def is_abstract(value: Any) -> bool:
    """Return whether `value`, or an entry of a list `value`, is a tracer or a placeholder, unknown while JAX traces."""
    if isinstance(value, list | tuple):
        return not _exceeds_depth(value) and any(map(is_abstract, value))
    return isinstance(value, Tracer | jax.ShapeDtypeStruct)


def nesting(name: str, value: Any) -> Any:
    """Check that lists, tuples and dictionaries are nested at most `MAX_DEPTH` times, unlike a list in itself."""
    if _exceeds_depth(value):
        raise ArgumentError(name, f"must be nested at most {MAX_DEPTH} times (got {quote(value)})")
    return value


def _exceeds_depth(value: Any, depth: int = MAX_DEPTH) -> bool:
    if not isinstance(value, list | tuple | dict):
        return False
    items = value.values() if isinstance(value, dict) else value
    return depth == 0 or any(_exceeds_depth(item, depth - 1) for item in items)


def quote(value: Any) -> str:
    """Format a value for an error message: one line of at most 100 characters."""
    text = f"the class {value.__name__} itself" if isinstance(value, type) else short_repr(value)
    return text if len(text) <= 100 else f"{text[:97]}..."


def _unmasked(name: str, value: Any) -> None:
    parts = value if isinstance(value, list | tuple) else (value,)
    if any(isinstance(part, np.ma.MaskedArray) for part in parts):
        raise ArgumentTypeError(name, "must not be a masked array; fill it, or leave out the masked rows")


def _pandas_array(name: str, value: Any, wanted: str) -> np.ndarray:
    """Convert a DataFrame or a Series to an array; the error names the first column that holds no numbers."""
    columns = []
    for label, column in (value if value.ndim == 2 else value.to_frame()).items():
        known = column.notna()
        is_plain = column.dtype.kind in "biuf"  # bool: as pandas.get_dummies returns columns
        cells = column.to_numpy(float, na_value=np.nan) if is_plain else np.asarray(column[known].tolist() or [0.0])
        if cells.dtype.kind not in "biuf":
            examples = ", ".join(repr(str(cell)) for cell in column[known].unique()[:3])
            cure = "leave the column out, or encode it with pandas.get_dummies"
            raise ArgumentTypeError(name, f"must {wanted} (got {examples} in column {label!r}); {cure}")
        columns.append(cells if is_plain else column.astype(object).where(known, np.nan).to_numpy(float))
    return np.column_stack(columns).reshape(value.shape)


def _column(value: Any, index: Any) -> str:
    """Return the column of an entry in words, if the value is a DataFrame."""
    return f" in column {value.columns[index[1]]!r}" if hasattr(value, "columns") and len(index) == 2 else ""


def _inside(name: str, array: np.ndarray, **given: float | None) -> None:
    limits, is_finite = Limits(**given), bool(np.all(np.isfinite(array)))
    if not is_finite or limits.exclude(array):
        wanted = [words for words in (limits.words, "" if is_finite else "finite") if words]
        raise ArgumentError(name, f"must be {' and '.join(wanted)} (got {_short(array)})")


def _largest(array: Any) -> float:
    return float(np.abs(np.asarray(array, float)).max(initial=0.0))


def _short(array: np.ndarray) -> str:
    text = np.array2string(array, threshold=6, precision=6) if array.ndim else f"{array.item():g}"
    return " ".join(text.split())
